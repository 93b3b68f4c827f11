/* SPDX-License-Identifier: Apache-2.0 */
/* berth scheduler, once its flags are parsed: configuration, start, signals and shutdown. */
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "cmd/scheduler/scheduler.h"
#include "cmd/scheduler/scheduler_instance.h"
#include "cmd/scheduler/serving_flags.h"
#include "live/call_report.h"
#include "live/world.h"

struct scheduler {
    struct scheduler_instance is;
    const struct scheduler_options *options;
    struct loop *loop;
    struct loop_io signals;
    struct scheduler_serving *serving;
    struct loop_timer flush; /* of the log */
    int exit_code;
    bool stopping, lost;
};

/* --- configuration ---------------------------------------------------------------------------- */

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
        config_write(s->is.config, s->is.registry, &s->is.features, &text);
    log_info(2, "Using component config", KV_STR("config", buf_str(&text)));
    if (*s->options->write_config_to)
        r = write_config(s, buf_str(&text), reterr);
    buf_release(&text);
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
    } else if (*s->is.config->leader_election.leader_elect) {
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

static void on_config(void *ctx)
{
    struct scheduler *s = ctx;
    if (s->serving)
        scheduler_serving_set_config(s->serving, s->is.config, s->is.registry);
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
        world_explain(s->is.world, on_explained, s);
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
            world_dump(s->is.world);
            continue;
        }
        if (info.ssi_signo == SIGHUP) {
            reloader_now(s->is.reloader);
            continue;
        }
        /* Upstream: a second signal exits immediately. */
        if (s->stopping) {
            log_flush();
            _exit(EXIT_FAILED);
        }
        log_info(1, "Shutting down", KV_INT("signal", info.ssi_signo));
        s->stopping = true;
        reloader_stop(s->is.reloader);
        world_stop(s->is.world);
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
    return world_is_healthy(((struct scheduler *)ctx)->is.world);
}

static bool check_shutdown(void *ctx)
{
    return !((struct scheduler *)ctx)->stopping;
}

static bool check_synced(void *ctx)
{
    return world_has_synced(((struct scheduler *)ctx)->is.world);
}

static bool check_candidate(void *ctx)
{
    return world_candidate_has_synced(((struct scheduler *)ctx)->is.world);
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
    bool elects = *s->is.config->leader_election.leader_elect;
    struct serving_parts parts = {
        .options = s->options,
        .features = &s->is.features,
        .config = s->is.config,
        .registry = s->is.registry,
        .world = s->is.world,
        .metrics = s->is.metrics,
        .checks = elects ? checks_with_election : checks_without_election,
        .n_checks = elects ? ARRAY_LEN(checks_with_election) - !world_is_candidate(s->is.world)
                           : ARRAY_LEN(checks_without_election),
        .ctx = s,
        .on_failed = on_serving_failed,
    };
    int r = scheduler_serving_new(s->loop, &parts, &s->serving, reterr);
    if (r == 0)
        log_address(s, "Serving securely on");
    return r;
}

static int start(struct scheduler *s, struct err *reterr)
{
    int r = loop_new(&s->loop);
    if (r < 0)
        return err_set(reterr, r, "event loop: %s", strerror(-r));
    r = watch_signals(s, reterr);
    if (r == 0)
        r = scheduler_instance_start(&s->is, s->loop, reterr);
    if (r < 0)
        return r;
    struct str version = s->options->version.reported;
    log_info(0, "Starting Kubernetes Scheduler",
             KV_STR("version", version.n ? version : STR(KUBE_GIT_VERSION)));
    log_info(0, "This is berth", KV_CSTR("version", BERTH_VERSION),
             KV_STR("server", s->is.kube.server));
    loop_timer_init(&s->flush, s->loop, on_flush);
    if (s->options->logs.text_buffer || s->options->logs.json_buffer)
        loop_timer_set(&s->flush, s->options->logs.flush_frequency);
    r = start_serving(s, reterr);
    if (r == 0)
        world_start(s->is.world);
    return r;
}

static void end(struct scheduler *s)
{
    scheduler_serving_free(s->serving);
    scheduler_instance_end(&s->is);
    if (s->flush.loop)
        loop_timer_stop(&s->flush);
    if (s->signals.loop) {
        loop_io_stop(&s->signals);
        close(s->signals.fd);
    }
    loop_free(s->loop);
}

static int run(struct scheduler *s)
{
    struct err err;
    if (!scheduler_instance_check(&s->is))
        return EXIT_FAILED;
    int r = scheduler_instance_connect(&s->is, &err);
    if (r == 0)
        r = scheduler_options_check_tls(s->options, &err);
    if (r == 0)
        r = show_config(s, &err);
    if (r == 0 && !*s->options->write_config_to) {
        r = start(s, &err);
        if (r == 0)
            loop_run(s->loop);
        end(s);
    }
    return r < 0 ? scheduler_fail(s->options, err.msg) : s->exit_code;
}

int scheduler_run(const struct scheduler_options *options, const struct features *features)
{
    (void)block_signals();
    call_report_crashes();
    descriptors_raise();
    struct scheduler s = {.options = options};
    struct err err;
    s.is = (struct scheduler_instance){
        .options = options,
        .features = *features,
        .on_lost = on_lost,
        .on_stopped = on_stopped,
        .on_config = on_config,
        .ctx = &s,
    };
    if (scheduler_instance_load(&s.is, &err) < 0)
        return scheduler_fail(options, err.msg);
    int code = run(&s);
    scheduler_instance_release(&s.is);
    return code;
}
