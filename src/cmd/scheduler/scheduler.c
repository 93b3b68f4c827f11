/* SPDX-License-Identifier: Apache-2.0 */
/* berth scheduler, once its flags are parsed: configuration, start, signals and shutdown. */
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/rand.h"
#include "cmd/cli/cmd.h"
#include "cmd/config/config_file.h"
#include "cmd/scheduler/metrics_flags.h"
#include "cmd/scheduler/reload.h"
#include "cmd/scheduler/scheduler.h"
#include "cmd/scheduler/serving_flags.h"
#include "engine/config/config.h"
#include "engine/config/error_list.h"
#include "live/call_report.h"
#include "live/world.h"

struct scheduler {
    const struct scheduler_options *options;
    struct features features;

    const struct scheduler_config *config; /* in use */
    const struct registry *registry;       /* its plugins */
    struct kube_config kube;
    struct metrics *metrics; /* of the whole process: /metrics */
    struct loop *loop;
    struct loop_io signals;
    struct scheduler_serving *serving;
    struct world *world;
    struct reloader *reloader;
    struct loop_timer flush; /* of the log */
    int exit_code;
    bool stopping, lost;
};

/* --- configuration ---------------------------------------------------------------------------- */

/* Logs the lines of `berth config validate`, then upstream's error: all problems in one line. */
static void fail_as_upstream(const struct scheduler *s, const struct buf *lines)
{
    struct str rest = buf_str(lines), line;
    struct buf text = BUF_INIT, why = BUF_INIT;
    while (rest.n && str_split(&rest, '\n', &line))
        log_error("Invalid configuration", KV_STR("problem", line));
    if (s->config->file)
        buf_add_printf(&text, "%s: ", s->config->file);
    (void)config_check_text(s->config, s->registry, &s->features, &why);
    buf_add_str(&text, buf_str(&why));
    scheduler_fail(s->options, buf_cstr(&text));
    buf_release(&text);
    buf_release(&why);
}

static bool config_is_good(const struct scheduler *s)
{
    struct buf lines = BUF_INIT;
    bool good = config_file_check(s->config, s->registry, &s->features, &lines);
    if (!good && s->options->as_upstream)
        fail_as_upstream(s, &lines);
    else
        config_file_print(&lines);
    buf_release(&lines);
    return good;
}

static int write_config(const struct scheduler *s, struct str text, struct err *reterr)
{
    FILE *file = fopen(s->options->write_config_to, "we");
    bool ok = file && fwrite(text.p, 1, text.n, file) == text.n;
    int error = errno;
    ok = file && fclose(file) == 0 && ok;
    if (!ok)
        return cmd_file_error(file ? "write" : "open", s->options->write_config_to, -error, reterr);
    log_info(0, "Wrote configuration", KV_CSTR("file", s->options->write_config_to));
    return 0;
}

/* Logs the configuration, and writes it to --write-config-to. */
static int show_config(const struct scheduler *s, struct err *reterr)
{
    int r = 0;
    struct buf text = BUF_INIT;
    if (log_on(2) || *s->options->write_config_to)
        config_write(s->config, s->registry, &s->features, &text);
    log_info(2, "Using component config", KV_STR("config", buf_str(&text)));
    if (*s->options->write_config_to)
        r = write_config(s, buf_str(&text), reterr);
    buf_release(&text);
    return r;
}

static int load_kube(struct scheduler *s, struct err *reterr)
{
    const struct client_connection_config *c = &s->config->client_connection;
    char *kubeconfig = str_dup(c->kubeconfig);
    struct kube_config_options options = {
        .kubeconfig = kubeconfig,
        .master = s->options->master,
        .content_type = c->content_type,
        .accept_content_types = c->accept_content_types,
        .qps = c->qps,
        .burst = c->burst,
    };
    int r = kube_config_load(&s->kube, &options, reterr);
    free(kubeconfig);
    return r;
}

/* --- shutdown and other callbacks ------------------------------------------------------------- */

/* How long shutdown waits for requests in progress. */
#define SERVING_PATIENCE (5 * NSEC_PER_SEC)

static void log_address(const struct scheduler *s, const char *what)
{
    struct buf line = BUF_INIT;
    buf_add_printf(&line, "%s %s", what, scheduler_serving_address(s->serving));
    log_plain(0, buf_cstr(&line));
    buf_release(&line);
}

static void on_flush(struct loop_timer *timer)
{
    const struct scheduler *s = CONTAINER_OF(timer, struct scheduler, flush);
    log_flush();
    loop_timer_set(timer, s->options->logs.flush_frequency);
}

static void finish(struct scheduler *s, int exit_code)
{
    s->exit_code = exit_code;
    loop_stop(s->loop);
}

/* The last step of a shutdown: upstream's messages and exit codes. */
static void exit_loop(struct scheduler *s)
{
    if (s->lost) {
        log_error("Leaderelection lost");
        finish(s, EXIT_FAILED);
    } else if (*s->config->leader_election.leader_elect) {
        log_info(0, "Requested to terminate, exiting");
        finish(s, EXIT_DONE);
    } else {
        /* kube-scheduler fails here; `berth scheduler` exits with 0 after SIGTERM. */
        finish(s, s->options->as_upstream
                      ? scheduler_fail(s->options, "finished without leader elect")
                      : EXIT_DONE);
    }
}

static void on_served(void *ctx)
{
    log_info(0, "[graceful-termination] secure server is exiting");
    exit_loop(ctx);
}

/* Scheduling has ended: stop listening, and answer the requests in progress. */
static void end_serving(struct scheduler *s)
{
    if (!s->serving) {
        exit_loop(s);
        return;
    }
    log_address(s, "Stopped listening on");
    log_info(0, "[graceful-termination] secure server has stopped listening");
    scheduler_serving_shutdown(s->serving, SERVING_PATIENCE, on_served, s);
}

static void on_lost(void *ctx)
{
    struct scheduler *s = ctx;
    s->lost = true;
    end_serving(s);
}

static void on_stopped(void *ctx)
{
    end_serving(ctx);
}

static void on_reloaded(void *ctx, void *owner, const struct reload_result *result,
                        const struct err *err)
{
    struct scheduler *s = ctx;
    reloader_on_reloaded(s->reloader, owner, result, err);
}

static void on_retired(void *ctx, void *owner)
{
    struct scheduler *s = ctx;
    reloader_on_retired(s->reloader, owner);
}

static const struct world_callbacks world_callbacks = {
    .on_lost = on_lost,
    .on_stopped = on_stopped,
    .on_reloaded = on_reloaded,
    .on_retired = on_retired,
};

static void on_config(void *ctx, const struct loaded_config *loaded)
{
    struct scheduler *s = ctx;
    s->config = &loaded->config;
    s->registry = &loaded->plugins->registry;
    if (s->serving)
        scheduler_serving_set_config(s->serving, s->config, s->registry);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* Replaces the file atomically. Only its owner can read it. */
static int write_file(const char *path, struct str text, struct err *reterr)
{
    char *temporary = xasprintf("%s.tmp", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    for (size_t at = 0; ok && at < text.n;) {
        ssize_t n = write(fd, text.p + at, text.n - at);
        ok = n > 0 || (n < 0 && errno == EINTR);
        at += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    ok = ok && rename(temporary, path) == 0;
    int r = ok ? 0 : err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    free(temporary);
    return r;
}

static void on_explained(void *ctx, struct str json, size_t attempts)
{
    const struct scheduler *s = ctx;
    struct err err;
    if (write_file(s->options->explain_file, json, &err) < 0)
        log_error("Failed to write explanations", KV_ERR(&err));
    else
        log_info(0, "Wrote explanations", KV_CSTR("file", s->options->explain_file),
                 KV_INT("attempts", attempts));
}

static void explain(struct scheduler *s)
{
    if (*s->options->explain_file)
        world_explain(s->world, on_explained, s);
    else
        log_info(0, "Ignored SIGUSR1: --explain-file is not set");
}

static void on_signal(struct loop_io *io, unsigned events)
{
    (void)events;
    struct scheduler *s = CONTAINER_OF(io, struct scheduler, signals);
    struct signalfd_siginfo info;
    while (read(io->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGUSR1) {
            explain(s);
            continue;
        }
        if (info.ssi_signo == SIGUSR2) {
            world_dump(s->world);
            continue;
        }
        if (info.ssi_signo == SIGHUP) {
            reloader_now(s->reloader);
            continue;
        }
        /* Upstream: a second signal exits immediately. */
        if (s->stopping) {
            log_flush();
            _exit(EXIT_FAILED);
        }
        log_info(1, "Shutting down", KV_INT("signal", info.ssi_signo));
        s->stopping = true;
        reloader_stop(s->reloader);
        world_stop(s->world);
    }
}

/* Blocks signals that come during start; they are handled once the scheduler runs. */
static sigset_t block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return set;
}

static int watch_signals(struct scheduler *s, struct err *reterr)
{
    sigset_t set = block_signals();
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    /* Blocked before any thread starts, so that all threads inherit the mask. */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return err_set(reterr, -errno, "signalfd: %s", strerror(errno));
    loop_io_init(&s->signals, s->loop, fd, on_signal);
    loop_io_set(&s->signals, LOOP_READ);
    return 0;
}

/* --- start ------------------------------------------------------------------------------------ */

static bool check_ping(void *ctx)
{
    (void)ctx;
    return true;
}

static bool check_leader_election(void *ctx)
{
    return world_is_healthy(((struct scheduler *)ctx)->world);
}

static bool check_shutdown(void *ctx)
{
    return !((struct scheduler *)ctx)->stopping;
}

static bool check_synced(void *ctx)
{
    return world_has_synced(((struct scheduler *)ctx)->world);
}

static bool check_candidate(void *ctx)
{
    return world_candidate_has_synced(((struct scheduler *)ctx)->world);
}

static const struct health_check checks_with_election[] = {
    {"leaderElection", check_leader_election, HEALTHZ | READYZ},
    {"ping", check_ping, LIVEZ},
    {"shutdown", check_shutdown, READYZ},
    {"sched-handler-sync", check_synced, READYZ},
    {"informer-sync", check_candidate, READYZ}, /* coordinated leader election only */
};
static const struct health_check checks_without_election[] = {
    {"ping", check_ping, HEALTHZ | LIVEZ},
    {"shutdown", check_shutdown, READYZ},
    {"sched-handler-sync", check_synced, READYZ},
};

static void on_serving_failed(void *ctx, const struct err *err)
{
    log_error("unable to load configmap based request-header-client-ca-file", KV_ERR(err));
    finish(ctx, EXIT_FAILED);
}

static int start_serving(struct scheduler *s, struct err *reterr)
{
    if (s->options->serving.port == 0)
        return 0;
    bool elects = *s->config->leader_election.leader_elect;
    struct serving_parts parts = {
        .options = s->options,
        .features = &s->features,
        .config = s->config,
        .registry = s->registry,
        .world = s->world,
        .metrics = s->metrics,
        .checks = elects ? checks_with_election : checks_without_election,
        .n_checks = elects ? ARRAY_LEN(checks_with_election) - !world_is_candidate(s->world)
                           : ARRAY_LEN(checks_without_election),
        .ctx = s,
        .on_failed = on_serving_failed,
    };
    int r = scheduler_serving_new(s->loop, &parts, &s->serving, reterr);
    if (r == 0)
        log_address(s, "Serving securely on");
    return r;
}

static void start_reloader(struct scheduler *s, struct loaded_config *loaded)
{
    struct reload_parts parts = {
        .loop = s->loop,
        .options = s->options,
        .features = &s->features,
        .metrics = s->metrics,
        .world = s->world,
        .on_config = on_config,
        .ctx = s,
    };
    s->reloader = reloader_new(&parts, loaded);
    reloader_start(s->reloader);
}

/* For EBSLimits and the like; 0: not set. */
static int64_t max_pd_volumes(void)
{
    static const char name[] = "KUBE_MAX_PD_VOLS";
    const char *text = getenv(name);
    int64_t max = 0;
    if (!text || !text[0])
        return 0;
    if (str_to_i64(str_of(text), &max) && max > 0)
        return max;
    log_error("Unable to parse maximum PD volumes value, using default", KV_CSTR(name, text));
    return 0;
}

/* If s->reloader is set afterwards, it owns the configuration. */
static int start(struct scheduler *s, struct loaded_config *loaded, struct err *reterr)
{
    s->metrics = metrics_of_flags(s->options, &s->features);
    int r = loop_new(&s->loop);
    if (r < 0)
        return err_set(reterr, r, "event loop: %s", strerror(-r));
    r = watch_signals(s, reterr);
    if (r < 0)
        return r;
    struct world_options world = {
        .loop = s->loop,
        .kube = &s->kube,
        .config = s->config,
        .registry = s->registry,
        .owner = loaded,
        .features = &s->features,
        .version = &KUBE_GIT_VERSION[1], /* without the v */
        .seed = rand_entropy(),
        .max_in_unschedulable = s->options->deprecated.max_in_unschedulable,
        .max_pd_volumes = max_pd_volumes(),
        .plugin_call_limit = s->options->plugin_call_limit,
        .metrics = s->metrics,
    };
    r = world_new(&world, &world_callbacks, s, &s->world, reterr);
    if (r < 0)
        return r;
    start_reloader(s, loaded);
    struct str version = s->options->version.reported;
    log_info(0, "Starting Kubernetes Scheduler",
             KV_STR("version", version.n ? version : STR(KUBE_GIT_VERSION)));
    log_info(0, "This is berth", KV_CSTR("version", BERTH_VERSION),
             KV_STR("server", s->kube.server));
    loop_timer_init(&s->flush, s->loop, on_flush);
    if (s->options->logs.text_buffer || s->options->logs.json_buffer)
        loop_timer_set(&s->flush, s->options->logs.flush_frequency);
    r = start_serving(s, reterr);
    if (r == 0)
        world_start(s->world);
    return r;
}

static void end(struct scheduler *s)
{
    scheduler_serving_free(s->serving);
    world_free(s->world);
    if (s->reloader)
        reloader_stop(s->reloader);
    if (s->flush.loop)
        loop_timer_stop(&s->flush);
    if (s->signals.loop) {
        loop_io_stop(&s->signals);
        close(s->signals.fd);
    }
    loop_free(s->loop);
    metrics_free(s->metrics);
}

static int run(struct scheduler *s, struct loaded_config *loaded)
{
    struct err err;
    int r = 0;
    bool good = config_is_good(s);
    if (good)
        r = load_kube(s, &err);
    if (r == 0 && good)
        r = scheduler_options_check_tls(s->options, &err);
    if (r == 0 && good)
        r = show_config(s, &err);
    if (r == 0 && good && !*s->options->write_config_to) {
        r = start(s, loaded, &err);
        if (r == 0)
            loop_run(s->loop);
        end(s);
    }
    kube_config_release(&s->kube);
    if (!good)
        return EXIT_FAILED;
    return r < 0 ? scheduler_fail(s->options, err.msg) : s->exit_code;
}

int scheduler_run(const struct scheduler_options *options, const struct features *features)
{
    (void)block_signals();
    call_report_crashes();
    descriptors_raise();
    struct scheduler s = {.options = options, .features = *features};
    struct loaded_plugins *plugins;
    struct loaded_config *loaded;
    struct err err;
    if (loaded_plugins_new(&options->plugins.sources, NULL, &plugins, &err) < 0)
        return scheduler_fail(options, err.msg);
    int r = loaded_config_new(options, plugins, &loaded, &err);
    loaded_plugins_unref(plugins);
    if (r < 0)
        return scheduler_fail(options, err.msg);
    s.config = &loaded->config;
    s.registry = &loaded->plugins->registry;
    int code = run(&s, loaded);
    if (s.reloader)
        reloader_free(s.reloader);
    else
        loaded_config_unref(loaded);
    return code;
}
