/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/up/up.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/rand.h"
#include "cmd/cli/cmd.h"
#include "cmd/explain/explain_output.h"
#include "cmd/up/up_export.h"
#include "cmd/up/up_files.h"
#include "cmd/up/up_objects.h"
#include "cmd/up/up_scheduler.h"
#include "cmd/up/up_view.h"
#include "kube/file.h"
#include "live/call_report.h"

#define POLL_PERIOD (100 * NSEC_PER_MSEC)
#define MAX_TOKENS  ((size_t)1 << 20)
/* Counts must stay the same for so many polls before the work counts as done. */
#define CALM_POLLS  5
/* The live table is drawn once per so many polls. */
#define DRAW_POLLS  5

struct up {
    const struct up_options *options;
    struct up_files files;
    struct up_import import;
    bool has_import;
    struct loop *loop;
    struct cluster_host *host;
    struct up_scheduler *scheduler;
    struct loop_io signals;
    struct loop_timer poll, limit;
    int log_fd;

    bool terminal; /* shows the live table */
    struct up_view view;
    size_t n_polls, n_calm;
    struct up_counts last;
    bool summarized;
    bool stopping;
    int exit_code;
};

/* --- the end ---------------------------------------------------------------------------------- */

static void on_shut_down(void *ctx)
{
    struct up *up = ctx;
    loop_stop(up->loop);
}

static void on_scheduler_stopped(void *ctx)
{
    struct up *up = ctx;
    up->stopping = true;
    cluster_host_shutdown(up->host, on_shut_down, up);
}

static void stop(struct up *up, int exit_code)
{
    if (up->stopping)
        return;
    up->stopping = true;
    up->exit_code = exit_code;
    loop_timer_stop(&up->poll);
    loop_timer_stop(&up->limit);
    if (up->terminal)
        up_view_clear(&up->view);
    if (up->scheduler)
        up_scheduler_stop(up->scheduler);
    else
        on_scheduler_stopped(up);
}

static void on_signal(struct loop_io *io, unsigned events UNUSED)
{
    struct up *up = CONTAINER_OF(io, struct up, signals);
    struct signalfd_siginfo info;
    while (read(io->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (up->stopping)
            _exit(EXIT_FAILED);
        stop(up, EXIT_DONE);
    }
}

static int watch_signals(struct up *up, struct err *reterr)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    /* Blocked before any thread starts, so that all threads inherit the mask. */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return err_set(reterr, -errno, "signalfd: %s", strerror(errno));
    loop_io_init(&up->signals, up->loop, fd, on_signal);
    loop_io_set(&up->signals, LOOP_READ);
    return 0;
}

/* --- while it runs ---------------------------------------------------------------------------- */

static void on_limit(struct loop_timer *timer)
{
    struct up *up = CONTAINER_OF(timer, struct up, limit);
    stop(up, up->options->wait ? EXIT_PENDING : EXIT_DONE);
}

static void after_summary(struct up *up)
{
    fflush(stdout);
    if (up->options->wait)
        stop(up, EXIT_DONE);
}

/* The last attempt tells most. */
static void on_explained(void *ctx, struct str json)
{
    struct up *up = ctx;
    struct explain_output output;
    struct str rest = json, line, last = {0};
    while (rest.n && str_split(&rest, '\n', &line))
        if (line.n)
            last = line;
    if (last.n) {
        putchar('\n');
        explain_output_init(&output, EXPLAIN_FORMAT_TABLE, EXPLAIN_TABLE_NODES);
        explain_output_add(&output, last);
        explain_output_end(&output);
    }
    after_summary(up);
}

/* Where the pods went, and why one of them did. */
static void summarize(struct up *up)
{
    struct control_plane *plane = cluster_host_plane(up->host);
    struct store_key pod;
    struct arena a;
    arena_init(&a, 0);
    if (up->terminal)
        up_view_clear(&up->view);
    putchar('\n');
    up_print_placements(plane);
    if (up->scheduler && up_pick_pod(plane, &a, &pod))
        up_scheduler_explain(up->scheduler, pod.namespace, pod.name, on_explained, up);
    else
        after_summary(up);
    arena_release(&a);
}

/* Everything is placed, and nothing has changed for a while. */
static bool is_calm(struct up *up)
{
    struct up_counts counts;
    up_count(cluster_host_plane(up->host), &counts);
    if (!up_counts_settled(&counts) || memcmp(&counts, &up->last, sizeof(counts)) != 0)
        up->n_calm = 0;
    else
        up->n_calm++;
    up->last = counts;
    return up->n_calm >= CALM_POLLS;
}

static void on_poll(struct loop_timer *timer)
{
    struct up *up = CONTAINER_OF(timer, struct up, poll);
    const struct up_options *o = up->options;
    loop_timer_set(timer, POLL_PERIOD);
    if (!up->summarized && (o->wait || o->summary) && is_calm(up)) {
        up->summarized = true;
        summarize(up);
    }
    if (up->terminal && !up->stopping && up->n_polls++ % DRAW_POLLS == 0)
        up_view_draw(&up->view, cluster_host_plane(up->host), time_mono());
}

/* --- the beginning ---------------------------------------------------------------------------- */

static int make_scheduler(struct up *up, struct err *reterr)
{
    const struct up_options *o = up->options;
    const char *config = o->config_file;
    if (o->without_scheduler)
        return 0;
    if (!*config && up->has_import && up_import_config(&up->import)) {
        int r = up_files_write_config(&up->files, up_import_config(&up->import), reterr);
        if (r < 0)
            return r;
        config = up->files.config;
    }
    struct up_scheduler_options options = {
        .loop = up->loop,
        .config_file = config,
        .feature_gates = o->feature_gates,
        .plugins = &o->plugins,
        .on_stopped = on_scheduler_stopped,
        .ctx = up,
    };
    return up_scheduler_new(&options, &up->scheduler, reterr);
}

static int make_host(struct up *up, struct err *reterr)
{
    const struct up_options *o = up->options;
    struct buf tokens = BUF_INIT;
    int r = *o->token_auth_file ? file_read(o->token_auth_file, MAX_TOKENS, &tokens, reterr) : 0;
    if (r < 0)
        return r;
    struct cluster_host_options options = {
        .loop = up->loop,
        .data_dir = *o->data_dir ? o->data_dir : NULL,
        .address = o->address,
        .port = (uint16_t)o->port,
        .plain = o->plain,
        .without_controllers = o->without_controllers,
        .authorization = o->authorization,
        .disabled_admission = o->disabled_admission,
        .tokens = buf_str(&tokens),
        .seed = rand_entropy(),
    };
    r = cluster_host_new(&options, &up->host, reterr);
    buf_release(&tokens);
    return r;
}

static int add_nodes(struct up *up, struct err *reterr)
{
    const struct up_options *o = up->options;
    struct control_plane *plane = cluster_host_plane(up->host);
    struct node_templates templates;
    int r = 0;
    node_templates_init(&templates);
    if (*o->node_template)
        r = up_read_templates(o->node_template, &templates, reterr);
    struct node_set set = {
        .n = (size_t)o->nodes, .templates = &templates, .zones = o->zones.v, .n_zones = o->zones.n};
    if (r == 0)
        r = control_plane_add_nodes(plane, &set, time_wall(), reterr);
    node_templates_release(&templates);
    return r;
}

/* Nodes, then what is imported, then what is created. */
static int fill(struct up *up, struct err *reterr)
{
    const struct up_options *o = up->options;
    struct control_plane *plane = cluster_host_plane(up->host);
    size_t n, n_refused = 0;
    int r = add_nodes(up, reterr);
    if (r == 0 && up->has_import)
        r = up_import_run(&up->import, plane, &n, reterr);
    /* Controllers make what the objects need: service accounts, for example. */
    control_plane_settle(plane, time_wall());
    for (size_t i = 0; i < o->files.n && r == 0; i++) {
        r = up_create_files(plane, o->files.v[i], o->recursive, &n, reterr);
        n_refused += r == 0 ? n : 0;
    }
    if (r == 0 && n_refused)
        return err_set(reterr, -EINVAL, "%zu %s refused", n_refused,
                       n_refused == 1 ? "object was" : "objects were");
    return r == 0 ? control_plane_commit(plane, reterr) : r;
}

static void greet(const struct up *up)
{
    printf("API server: %.*s\n", STR_ARG(cluster_host_url(up->host)));
    printf("export KUBECONFIG=%s\n", up->files.kubeconfig);
    fflush(stdout);
}

/* In a terminal the log would tear the table apart. */
static int start_log(struct up *up, struct err *reterr)
{
    up->terminal = isatty(STDOUT_FILENO) && !up->options->wait;
    log_set_verbosity((int)up->options->verbosity);
    if (!up->terminal)
        return 0;
    up->log_fd = up_files_open_log(&up->files, reterr);
    if (up->log_fd < 0)
        return up->log_fd;
    log_set_fd(up->log_fd);
    return 0;
}

static int start(struct up *up, struct err *reterr)
{
    const struct up_options *o = up->options;
    int r = 0;
    if (*o->import) {
        r = up_import_open(&up->import, o->import, reterr);
        up->has_import = r == 0;
    }
    if (r == 0)
        r = make_scheduler(up, reterr);
    if (r == 0)
        r = make_host(up, reterr);
    if (r == 0)
        r = fill(up, reterr);
    if (r == 0)
        r = up_files_write_kubeconfigs(&up->files, up->host, reterr);
    if (r == 0)
        r = start_log(up, reterr);
    if (r == 0 && up->scheduler)
        r = up_scheduler_start(up->scheduler, up->files.scheduler_kubeconfig, reterr);
    return r;
}

static void run(struct up *up)
{
    const struct up_options *o = up->options;
    greet(up);
    if (o->wait || o->summary || up->terminal)
        loop_timer_set(&up->poll, POLL_PERIOD);
    if (o->limit)
        loop_timer_set(&up->limit, o->limit);
    loop_run(up->loop);
}

static void release(struct up *up)
{
    up_scheduler_free(up->scheduler);
    cluster_host_free(up->host);
    loop_timer_stop(&up->poll);
    loop_timer_stop(&up->limit);
    if (up->signals.loop) {
        loop_io_stop(&up->signals);
        close(up->signals.fd);
    }
    loop_free(up->loop);
    if (up->has_import)
        up_import_release(&up->import);
    log_flush();
    if (up->log_fd > 0) {
        log_set_fd(STDERR_FILENO);
        close(up->log_fd);
    }
    up_files_release(&up->files);
}

static int run_on_loop(struct up *up, struct err *reterr)
{
    int r = loop_new(&up->loop);
    if (r < 0)
        return err_set(reterr, r, "event loop: %s", strerror(-r));
    loop_timer_init(&up->poll, up->loop, on_poll);
    loop_timer_init(&up->limit, up->loop, on_limit);
    r = watch_signals(up, reterr);
    if (r == 0)
        r = start(up, reterr);
    if (r < 0)
        return r;
    run(up);
    if (*up->options->export)
        r = up_export(cluster_host_plane(up->host), up->options->export, reterr);
    return r;
}

int up_run(const struct up_options *options)
{
    struct up up = {.options = options};
    struct err err = {0};
    call_report_crashes();
    descriptors_raise();
    log_set_verbosity((int)options->verbosity);
    int r = up_files_init(&up.files, options->data_dir, options->kubeconfig, &err);
    if (r == 0)
        r = run_on_loop(&up, &err);
    release(&up);
    if (r < 0 && !err.msg[0])
        return EXIT_FAILED; /* the problems were printed */
    return r < 0 ? cmd_fail(EXIT_FAILED, "%s", err.msg) : up.exit_code;
}
