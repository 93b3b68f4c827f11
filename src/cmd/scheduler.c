/* SPDX-License-Identifier: Apache-2.0 */
/* berth scheduler: schedules the pods of a cluster. */
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rand.h"
#include "cmd/cmd.h"
#include "cmd/flags.h"
#include "cmd/out_of_tree.h"
#include "cmd/serving.h"
#include "engine/complaints.h"
#include "engine/config.h"
#include "kube/world.h"
#include "plugins/registry.h"

struct scheduler {
    /* Flags. */
    const char *config_file, *write_config_to, *kubeconfig, *master, *bind_address, *cert_file,
        *key_file;
    const char *logging_format, *explain_file;
    const char *resource_lock, *resource_name, *resource_namespace;
    int64_t secure_port, verbosity;
    int64_t lease_duration, renew_deadline, retry_period, max_in_unschedulable;
    bool leader_elect, help, version;
    struct features features;

    struct arena arena;
    struct scheduler_config config;
    struct registry registry;
    struct kube_config kube;
    struct loop *loop;
    struct loop_io signals;
    struct serving *serving;
    struct world *world;
    int exit_code;
    bool stopping;
};

static const char usage[] =
    "Watches for pods without a node and binds each to the best one: what kube-scheduler does.\n"
    "Talks to the API server of a kubeconfig or, inside a cluster, to that cluster's.\n"
    "\nUsage: berth scheduler [FLAGS]\n"
    "\nExamples:\n"
    "  berth scheduler --kubeconfig ~/.kube/config\n"
    "  berth scheduler --config /etc/kubernetes/scheduler-config.yaml\n";

/* --- configuration ---------------------------------------------------------------------------- */

/* Flags given on the command line win over the file. */
static void apply_leader_flags(struct scheduler *s, const struct flag *flags, size_t n)
{
    struct leader_election_config *le = &s->config.leader_election;
    for (size_t i = 0; i < n; i++) {
        if (!flags[i].given)
            continue;
        if (flags[i].value == &s->leader_elect)
            *le->leader_elect = s->leader_elect;
        else if (flags[i].value == &s->lease_duration)
            le->lease_duration = s->lease_duration;
        else if (flags[i].value == &s->renew_deadline)
            le->renew_deadline = s->renew_deadline;
        else if (flags[i].value == &s->retry_period)
            le->retry_period = s->retry_period;
        else if (flags[i].value == &s->resource_lock)
            le->resource_lock = str_of(s->resource_lock);
        else if (flags[i].value == &s->resource_name)
            le->resource_name = str_of(s->resource_name);
        else if (flags[i].value == &s->resource_namespace)
            le->resource_namespace = str_of(s->resource_namespace);
    }
}

static int load_config(struct scheduler *s, const struct flag *flags, size_t n, struct err *reterr)
{
    config_default(&s->config, &s->arena);
    if (*s->config_file) {
        struct str text;
        int r = cmd_read_file(s->config_file, &s->arena, &text, reterr);
        if (r == 0)
            r = config_load(s->config_file, text, &s->arena, &s->config, reterr);
        if (r < 0)
            return r;
    } else {
        s->config.client_connection.kubeconfig = str_of(s->kubeconfig);
    }
    apply_leader_flags(s, flags, n);
    if (s->secure_port < 0 || s->secure_port > 65535)
        return err_set(reterr, -EINVAL,
                       "--secure-port %lld must be between 0 and 65535, inclusive. 0 for turning "
                       "off secure port",
                       (long long)s->secure_port);
    if (strcmp(s->logging_format, "text") != 0 && strcmp(s->logging_format, "json") != 0)
        return err_set(reterr, -EINVAL, "--logging-format: \"%s\" is neither text nor json",
                       s->logging_format);
    return 0;
}

/* All that is wrong with it, in one line, which may be a long one. */
static bool config_is_good(const struct scheduler *s)
{
    struct complaints complaints = {0};
    struct buf text = BUF_INIT;
    config_complain(&s->config, &s->registry, &s->features, &complaints);
    bool good = complaints.n == 0;
    complaints_write(&complaints, &text);
    if (!good)
        cmd_fail(EXIT_FAILED, "%s%s%s", s->config_file, *s->config_file ? ": " : "",
                 buf_cstr(&text));
    buf_release(&text);
    complaints_release(&complaints);
    return good;
}

static void on_absent(void *ctx, const char *name, const char *noticed_by)
{
    struct buf *text = ctx;
    buf_add_printf(text, "%s%s (%s)", text->n ? "; " : "", name, noticed_by);
}

/* A configuration is good though it names what berth does not have yet; who runs it must know. */
static void tell_absent(const struct scheduler *s)
{
    struct buf text = BUF_INIT;
    config_each_absent(&s->config, &s->registry, &s->features, on_absent, &text);
    if (text.n)
        log_warning("Plugins that this version does not have do nothing",
                    KV_CSTR("plugins", buf_cstr(&text)));
    buf_release(&text);
}

static int write_config(const struct scheduler *s, struct str text, struct err *reterr)
{
    FILE *file = fopen(s->write_config_to, "we");
    bool ok = file && fwrite(text.p, 1, text.n, file) == text.n;
    int error = errno;
    ok = file && fclose(file) == 0 && ok;
    if (!ok)
        return err_set(reterr, -EIO, "%s: %s", s->write_config_to, strerror(error));
    log_info(0, "Wrote configuration", KV_CSTR("file", s->write_config_to));
    return 0;
}

/* Logs the configuration or writes it to --write-config-to. */
static int show_config(const struct scheduler *s, struct err *reterr)
{
    int r = 0;
    struct buf text = BUF_INIT;
    config_write(&s->config, &s->registry, &s->features, &text);
    log_info(2, "Using component config", KV_STR("config", buf_str(&text)));
    if (*s->write_config_to)
        r = write_config(s, buf_str(&text), reterr);
    else
        tell_absent(s);
    buf_release(&text);
    return r;
}

static int load_kube(struct scheduler *s, struct err *reterr)
{
    const struct client_connection_config *c = &s->config.client_connection;
    char *kubeconfig = str_dup(c->kubeconfig);
    struct kube_config_options options = {
        .kubeconfig = kubeconfig,
        .master = s->master,
        .content_type = c->content_type,
        .accept_content_types = c->accept_content_types,
        .qps = c->qps,
        .burst = c->burst,
    };
    int r = kube_config_load(&s->kube, &options, reterr);
    free(kubeconfig);
    return r;
}

/* --- life ------------------------------------------------------------------------------------- */

static void finish(struct scheduler *s, int exit_code)
{
    s->exit_code = exit_code;
    loop_stop(s->loop);
}

static void on_lost(void *ctx)
{
    log_error("Leaderelection lost");
    finish(ctx, EXIT_FAILED);
}

static void on_stopped(void *ctx)
{
    finish(ctx, EXIT_DONE);
}

static const struct world_callbacks world_callbacks = {.on_lost = on_lost,
                                                       .on_stopped = on_stopped};

/* The file appears whole or not at all, and only its owner may read it. */
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
    if (write_file(s->explain_file, json, &err) < 0)
        log_error("Explanations could not be written", KV_ERR(&err));
    else
        log_info(0, "Explanations written", KV_CSTR("file", s->explain_file),
                 KV_INT("attempts", attempts));
}

static void explain(struct scheduler *s)
{
    if (*s->explain_file)
        world_explain(s->world, on_explained, s);
    else
        log_info(0, "SIGUSR1 without --explain-file: nothing is written");
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
        /* The second signal means it. */
        if (s->stopping)
            _exit(EXIT_FAILED);
        log_info(0, "Shutting down", KV_INT("signal", info.ssi_signo));
        s->stopping = true;
        world_stop(s->world);
    }
}

static int watch_signals(struct scheduler *s, struct err *reterr)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);
    /* Blocked before any thread starts, so that all inherit it. */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return err_set(reterr, -errno, "signalfd: %s", strerror(errno));
    loop_io_init(&s->signals, s->loop, fd, on_signal);
    loop_io_set(&s->signals, LOOP_READ);
    return 0;
}

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

static const struct health_check checks_with_election[] = {
    {"leaderElection", check_leader_election, HEALTHZ | READYZ},
    {"ping", check_ping, LIVEZ},
    {"shutdown", check_shutdown, READYZ},
    {"sched-handler-sync", check_synced, READYZ},
};
static const struct health_check checks_without_election[] = {
    {"ping", check_ping, HEALTHZ | LIVEZ},
    {"shutdown", check_shutdown, READYZ},
    {"sched-handler-sync", check_synced, READYZ},
};

static int start_serving(struct scheduler *s, struct err *reterr)
{
    if (s->secure_port == 0)
        return 0;
    bool elects = *s->config.leader_election.leader_elect;
    struct serving_options options = {
        .address = s->bind_address,
        .port = (uint16_t)s->secure_port,
        .cert_file = s->cert_file,
        .key_file = s->key_file,
        .checks = elects ? checks_with_election : checks_without_election,
        .n_checks = elects ? ARRAY_LEN(checks_with_election) : ARRAY_LEN(checks_without_election),
        .ctx = s,
    };
    int r = serving_new(s->loop, &options, &s->serving, reterr);
    if (r == 0)
        log_info(0, "Serving securely", KV_CSTR("address", s->bind_address),
                 KV_INT("port", serving_port(s->serving)));
    return r;
}

static int start(struct scheduler *s, struct err *reterr)
{
    int r = loop_new(&s->loop);
    if (r < 0)
        return err_set(reterr, r, "event loop: %s", strerror(-r));
    r = watch_signals(s, reterr);
    if (r < 0)
        return r;
    struct world_options world = {
        .loop = s->loop,
        .kube = &s->kube,
        .config = &s->config,
        .registry = &s->registry,
        .features = &s->features,
        .seed = rand_entropy(),
        .max_in_unschedulable = s->max_in_unschedulable,
    };
    r = world_new(&world, &world_callbacks, s, &s->world, reterr);
    if (r < 0)
        return r;
    log_info(0, "Starting Kubernetes Scheduler", KV_CSTR("version", "berth " BERTH_VERSION),
             KV_STR("server", s->kube.server));
    r = start_serving(s, reterr);
    if (r == 0)
        world_start(s->world);
    return r;
}

static void end(struct scheduler *s)
{
    serving_free(s->serving);
    world_free(s->world);
    if (s->signals.loop) {
        loop_io_stop(&s->signals);
        close(s->signals.fd);
    }
    loop_free(s->loop);
}

static int run(struct scheduler *s)
{
    struct err err;
    log_set_verbosity((int)s->verbosity);
    log_set_format(strcmp(s->logging_format, "json") == 0 ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
    registry_init(&s->registry, &in_tree_registry);
    int r = registry_merge(&s->registry, out_of_tree_plugins, &err);
    bool good = r < 0 || config_is_good(s);
    if (r == 0 && good)
        r = load_kube(s, &err);
    if (r == 0 && good)
        r = show_config(s, &err);
    if (r == 0 && good && !*s->write_config_to) {
        r = start(s, &err);
        if (r == 0)
            loop_run(s->loop);
        end(s);
    }
    registry_release(&s->registry);
    kube_config_release(&s->kube);
    if (!good)
        return EXIT_FAILED;
    return r < 0 ? cmd_fail(EXIT_FAILED, "%s", err.msg) : s->exit_code;
}

int cmd_scheduler(int argc, char **argv)
{
    struct scheduler s = {
        .config_file = "",
        .write_config_to = "",
        .kubeconfig = "",
        .master = "",
        .bind_address = "0.0.0.0",
        .cert_file = "",
        .key_file = "",
        .logging_format = "text",
        .explain_file = "",
        .resource_lock = "leases",
        .resource_name = "kube-scheduler",
        .resource_namespace = "kube-system",
        .secure_port = 10259,
        .lease_duration = 15 * NSEC_PER_SEC,
        .renew_deadline = 10 * NSEC_PER_SEC,
        .retry_period = 2 * NSEC_PER_SEC,
        .max_in_unschedulable = 5 * 60 * NSEC_PER_SEC,
        .leader_elect = true,
    };
    features_default(&s.features);
    struct flag_custom features = flag_features(&s.features);
    struct flag flags[] = {
        {"Misc", "config", '\0', FLAG_STR, &s.config_file, "FILE",
         "a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)", false, NULL},
        {NULL, "write-config-to", '\0', FLAG_STR, &s.write_config_to, "FILE",
         "write the configuration with all its defaults there, and exit", false, NULL},
        {NULL, "master", '\0', FLAG_STR, &s.master, "URL",
         "the API server; overrides the one in the kubeconfig", false, NULL},
        {"Secure serving", "bind-address", '\0', FLAG_STR, &s.bind_address, "IP",
         "where to listen for --secure-port", false, NULL},
        {NULL, "secure-port", '\0', FLAG_INT, &s.secure_port, "PORT",
         "HTTPS for health checks; 0 serves nothing", false, NULL},
        {NULL, "tls-cert-file", '\0', FLAG_STR, &s.cert_file, "FILE",
         "certificate for HTTPS; without one a self-signed is made in memory", false, NULL},
        {NULL, "tls-private-key-file", '\0', FLAG_STR, &s.key_file, "FILE",
         "private key of --tls-cert-file", false, NULL},
        {"Deprecated", "kubeconfig", '\0', FLAG_STR, &s.kubeconfig, "FILE",
         "who and where the API server is; ignored when --config is given", false, NULL},
        {NULL, "pod-max-in-unschedulable-pods-duration", '\0', FLAG_DURATION,
         &s.max_in_unschedulable, "DURATION",
         "the longest a pod waits for an event before it is tried again", false, NULL},
        {"Leader election", "leader-elect", '\0', FLAG_BOOL, &s.leader_elect, NULL,
         "schedule only while holding the lease", false, NULL},
        {NULL, "leader-elect-lease-duration", '\0', FLAG_DURATION, &s.lease_duration, "DURATION",
         "how long others wait before they take a lease that nobody renews", false, NULL},
        {NULL, "leader-elect-renew-deadline", '\0', FLAG_DURATION, &s.renew_deadline, "DURATION",
         "how long a leader tries to renew before it gives up", false, NULL},
        {NULL, "leader-elect-retry-period", '\0', FLAG_DURATION, &s.retry_period, "DURATION",
         "between two tries", false, NULL},
        {NULL, "leader-elect-resource-lock", '\0', FLAG_STR, &s.resource_lock, "KIND",
         "what is held; only leases", false, NULL},
        {NULL, "leader-elect-resource-name", '\0', FLAG_STR, &s.resource_name, "NAME",
         "name of the lease", false, NULL},
        {NULL, "leader-elect-resource-namespace", '\0', FLAG_STR, &s.resource_namespace,
         "NAMESPACE", "namespace of the lease", false, NULL},
        {"Explanations", "explain-file", '\0', FLAG_STR, &s.explain_file, "FILE",
         "on SIGUSR1, write why the latest pods are where they are: one JSON object per attempt",
         false, NULL},
        {"Feature gate", "feature-gates", '\0', FLAG_CUSTOM, &features, "GATES", FEATURE_GATES_HELP,
         false, NULL},
        {"Logs", "logging-format", '\0', FLAG_STR, &s.logging_format, "FORMAT", "text or json",
         false, NULL},
        {NULL, "v", 'v', FLAG_INT, &s.verbosity, "LEVEL", "how much to log", false, NULL},
        {"Global", "help", 'h', FLAG_BOOL, &s.help, NULL, "this text", false, NULL},
        {NULL, "version", '\0', FLAG_BOOL, &s.version, NULL, "print the version", false, NULL},
    };
    struct err err;
    int n;
    if (flags_parse(flags, ARRAY_LEN(flags), argc, argv, &n, &err) < 0)
        return cmd_fail(EXIT_USAGE, "%s; see `berth scheduler --help`", err.msg);
    if (s.help)
        return cmd_help(usage, flags, ARRAY_LEN(flags));
    if (s.version) {
        puts("berth " BERTH_VERSION);
        return EXIT_DONE;
    }
    if (n > 0)
        return cmd_fail(EXIT_USAGE, "\"scheduler\" does not take any arguments, got [%s]", argv[1]);
    arena_init(&s.arena, 4096);
    int code = load_config(&s, flags, ARRAY_LEN(flags), &err) < 0
                   ? cmd_fail(EXIT_FAILED, "%s", err.msg)
                   : run(&s);
    arena_release(&s.arena);
    return code;
}
