/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth/exec.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "codec/json.h"
#include "kube/file.h"

#define TOO_MUCH "printed more than %zu bytes"

/* --- credential ------------------------------------------------------------------------------- */

struct status {
    struct str token;
    struct str cert, key;
    struct str expiration;
};

struct credential_file {
    struct str kind, api_version;
    struct status *status;
};

#define C struct status
static const struct field status_fields[] = {
    F_ONE(C, expiration, "expirationTimestamp", 0, STR),
    F_ONE(C, token, "token", 0, STR),
    F_ONE(C, cert, "clientCertificateData", 0, STR),
    F_ONE(C, key, "clientKeyData", 0, STR),
};
static const struct type status_type = TYPE("ExecCredentialStatus", C, status_fields);
#undef C

#define C struct credential_file
static const struct field credential_fields[] = {
    F_ONE(C, kind, "kind", 0, STR),
    F_ONE(C, api_version, "apiVersion", 0, STR),
    F_PTR_MSG(C, status, "status", 0, struct status, &status_type),
};
static const struct type credential_type = TYPE("ExecCredential", C, credential_fields);
#undef C

int exec_credential_parse(struct str text, struct str api_version, struct arena *a,
                          struct exec_credential *ret_credential, struct err *reterr)
{
    struct credential_file file;
    struct exec_credential result = {0};
    int r = json_decode(text, &credential_type, 0, a, &file, reterr);

    if (r < 0)
        return err_prefix(reterr, r, "the output is not an ExecCredential");
    if (!str_is(file.kind, "ExecCredential"))
        return err_set(reterr, -EBADMSG, "kind: expected ExecCredential, got \"%.*s\"",
                       STR_ARG(file.kind));
    if (!str_eq(file.api_version, api_version))
        return err_set(reterr, -EBADMSG, "apiVersion: expected \"%.*s\", got \"%.*s\"",
                       STR_ARG(api_version), STR_ARG(file.api_version));
    if (!file.status)
        return err_set(reterr, -EBADMSG, "status: missing");
    if (str_empty(file.status->token) && str_empty(file.status->cert) &&
        str_empty(file.status->key))
        return err_set(reterr, -EBADMSG,
                       "status: must have a token, or a client certificate and its key");
    if (str_empty(file.status->cert) != str_empty(file.status->key))
        return err_set(reterr, -EBADMSG,
                       "status: clientCertificateData and clientKeyData must be set together");
    if (!str_empty(file.status->expiration) &&
        !timestamp_parse(file.status->expiration, &result.expiration))
        return err_set(reterr, -EBADMSG, "status.expirationTimestamp: \"%.*s\" is not a time",
                       STR_ARG(file.status->expiration));
    result.token = file.status->token;
    result.cert_pem = file.status->cert;
    result.key_pem = file.status->key;
    *ret_credential = result;
    return 0;
}

/* --- input of the plugin ---------------------------------------------------------------------- */

/* The members of spec.cluster, so that the JSON encoder does quoting and base64. */
#define C struct kubeconfig_cluster
static const struct field cluster_fields[] = {
    F_ALWAYS(C, server, "server", 0, STR),
    F_ONE(C, tls_server_name, "tls-server-name", 0, STR),
    F_ONE(C, insecure_skip_tls_verify, "insecure-skip-tls-verify", 0, BOOL),
    F_ONE(C, certificate_authority_data, "certificate-authority-data", 0, BYTES),
    F_ONE(C, proxy_url, "proxy-url", 0, STR),
};
static const struct type cluster_type = TYPE("Cluster", C, cluster_fields);
#undef C

static void write_info(const struct kube_config *config, bool interactive, struct buf *out)
{
    buf_add_printf(out, "KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":");
    json_write_str(out, config->exec->api_version);
    buf_add_cstr(out, ",\"spec\":{");
    if (config->exec->provide_cluster_info) {
        struct buf ca = BUF_INIT;
        struct kubeconfig_cluster cluster = {
            .server = config->server,
            .tls_server_name = config->tls_server_name,
            .insecure_skip_tls_verify = config->insecure,
            .certificate_authority_data = config->ca_data,
            .proxy_url = config->proxy_url,
        };

        /*
         * The plugin always gets the CA's content. A file that cannot be read is reported by TLS.
         */
        if (str_empty(config->ca_data) && !str_empty(config->ca_file) &&
            file_read(config->ca_file.p, EXEC_MAX_OUTPUT, &ca, NULL) == 0)
            cluster.certificate_authority_data = buf_str(&ca);
        buf_add_cstr(out, "\"cluster\":");
        json_encode(&cluster_type, &cluster, out);
        out->n--; /* the closing brace: config is added inside */
        buf_add_cstr(out, ",\"config\":");
        buf_add_str(out, str_empty(config->exec_cluster_config) ? STR("null")
                                                                : config->exec_cluster_config);
        buf_add_cstr(out, "},");
        buf_release(&ca);
    }
    buf_add_printf(out, "\"interactive\":%s}}", interactive ? "true" : "false");
}

/* Whether the kubeconfig or berth itself sets the variable of `entry` ("NAME=value"). */
static bool overridden(const struct kubeconfig_exec *exec, const char *entry)
{
    struct str name = str_slice(str_of(entry), 0, str_find(str_of(entry), '='));

    if (str_is(name, "KUBERNETES_EXEC_INFO"))
        return true;
    for (size_t i = 0; i < exec->env.n; i++) {
        if (str_eq(exec->env.v[i].name, name))
            return true;
    }
    return false;
}

struct argv {
    VEC(char *) args, env;
    struct arena arena;
};

static void argv_init(struct argv *v, const struct kube_config *config, bool interactive)
{
    const struct kubeconfig_exec *exec = config->exec;
    struct buf info = BUF_INIT;

    *v = (struct argv){0};
    arena_init(&v->arena, 0);
    vec_push(&v->args, (char *)arena_dup(&v->arena, exec->command).p);
    for (size_t i = 0; i < exec->args.n; i++)
        vec_push(&v->args, (char *)arena_dup(&v->arena, exec->args.v[i]).p);
    vec_push(&v->args, NULL);
    for (char **e = environ; *e; e++) {
        if (!overridden(exec, *e))
            vec_push(&v->env, *e);
    }
    for (size_t i = 0; i < exec->env.n; i++)
        vec_push(&v->env, (char *)arena_printf(&v->arena, "%.*s=%.*s", STR_ARG(exec->env.v[i].name),
                                               STR_ARG(exec->env.v[i].value))
                              .p);
    write_info(config, interactive, &info);
    vec_push(&v->env, (char *)arena_dup(&v->arena, buf_str(&info)).p);
    vec_push(&v->env, NULL);
    buf_release(&info);
}

static void argv_release(struct argv *v)
{
    vec_release(&v->args);
    vec_release(&v->env);
    arena_release(&v->arena);
}

/* --- run -------------------------------------------------------------------------------------- */

struct exec_run {
    struct loop *loop;
    const struct kube_config *config;
    exec_done_fn *fn;
    void *ctx;
    pid_t pid;
    int out_fd, pid_fd;
    struct loop_io out_io, pid_io;
    struct loop_timer timer;
    struct buf out;
    bool grouped; /* the plugin has a process group of its own */
    bool exited, closed;
    int status; /* of waitpid */
    struct metrics *metrics;
};

static void run_free(struct exec_run *run)
{
    loop_io_stop(&run->out_io);
    loop_io_stop(&run->pid_io);
    loop_timer_stop(&run->timer);
    if (!run->exited) {
        kill(run->grouped ? -run->pid : run->pid, SIGKILL);
        while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(run->out_fd);
    close(run->pid_fd);
    buf_release(&run->out);
    free(run);
}

struct exec_run *exec_cancel(struct exec_run *run)
{
    if (run)
        run_free(run);
    return NULL;
}

/* The run is freed before the callback, which therefore cannot cancel it. */
static void finish(struct exec_run *run, int code, const struct exec_credential *credential,
                   struct err *err)
{
    exec_done_fn *fn = run->fn;
    void *ctx = run->ctx;

    if (code < 0)
        err_prefix(err, code, "credential plugin %.*s", STR_ARG(run->config->exec->command));
    run_free(run);
    fn(ctx, code, credential, err);
}

void exec_count(struct exec_run *run, struct metrics *metrics)
{
    run->metrics = metrics;
}

/* As in Go, the exit code after a signal is -1. */
static void count_exit(const struct exec_run *run)
{
    int code = WIFSIGNALED(run->status) ? -1 : WEXITSTATUS(run->status);

    rest_metrics_exec(run->metrics, code ? REST_EXEC_FAILED : REST_EXEC_OK, code);
}

static void finish_exited(struct exec_run *run)
{
    struct exec_credential credential;
    struct arena arena;
    struct err err = {0};
    struct str hint = run->config->exec->install_hint;
    int r;

    arena_init(&arena, 0);
    count_exit(run);
    if (WIFSIGNALED(run->status))
        r = err_set(&err, -ECHILD, "terminated by signal %d", WTERMSIG(run->status));
    else if (WEXITSTATUS(run->status) == 127 && !str_empty(hint))
        r = err_set(&err, -ENOENT, "not found. %.*s", STR_ARG(hint));
    else if (WEXITSTATUS(run->status) != 0)
        r = err_set(&err, -ECHILD, "failed with exit code %d", WEXITSTATUS(run->status));
    else if (run->out.overflow)
        r = err_set(&err, -EMSGSIZE, TOO_MUCH, EXEC_MAX_OUTPUT);
    else
        r = exec_credential_parse(buf_str(&run->out), run->config->exec->api_version, &arena,
                                  &credential, &err);
    finish(run, r, r == 0 ? &credential : NULL, &err);
    arena_release(&arena);
}

static void on_output(struct loop_io *io, unsigned events)
{
    struct exec_run *run = CONTAINER_OF(io, struct exec_run, out_io);
    char scratch[16384];
    ssize_t n = read(run->out_fd, scratch, sizeof(scratch));

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        buf_add(&run->out, scratch, (size_t)n);
        if (run->out.overflow) {
            struct err err;

            finish(run, err_set(&err, -EMSGSIZE, TOO_MUCH, EXEC_MAX_OUTPUT), NULL, &err);
        }
        return;
    }
    loop_io_stop(&run->out_io);
    run->closed = true;
    if (run->exited)
        finish_exited(run);
}

/*
 * When the plugin has exited, its output is in the pipe. A grandchild that keeps the pipe open is
 * not waited for.
 */
static void on_exited(struct loop_io *io, unsigned events)
{
    struct exec_run *run = CONTAINER_OF(io, struct exec_run, pid_io);
    char scratch[16384];
    ssize_t n;

    (void)events;
    if (waitpid(run->pid, &run->status, WNOHANG) != run->pid)
        return;
    run->exited = true;
    while (!run->closed && (n = read(run->out_fd, scratch, sizeof(scratch))) > 0)
        buf_add(&run->out, scratch, (size_t)n);
    finish_exited(run);
}

static void on_timeout(struct loop_timer *timer)
{
    struct exec_run *run = CONTAINER_OF(timer, struct exec_run, timer);
    struct err err;

    rest_metrics_exec(run->metrics, REST_EXEC_INTERNAL, 1);
    finish(run, err_set(&err, -ETIMEDOUT, "timed out"), NULL, &err);
}

static int is_interactive(const struct kubeconfig_exec *exec, bool *ret_interactive,
                          struct err *reterr)
{
    bool terminal = isatty(STDIN_FILENO);

    if (str_is(exec->interactive_mode, "Always") && !terminal)
        return err_set(reterr, -ENOTTY, "interactiveMode Always: standard input is not a terminal");
    *ret_interactive = terminal && !str_is(exec->interactive_mode, "Never");
    return 0;
}

static int spawn(struct argv *v, int out_fd, bool interactive, pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t all, none;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    int r;

    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    /*
     * A group of its own, so that a timeout also ends its children. An interactive plugin must stay
     * in the terminal's foreground group.
     */
    if (!interactive)
        flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(&attr, flags);
    if (!interactive)
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
    descriptors_before_child();
    r = -posix_spawnp(ret_pid, v->args.v[0], &files, &attr, v->args.v, v->env.v);
    descriptors_after_child();
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return r;
}

static struct exec_run *run_new(struct loop *loop, pid_t pid, int out_fd, int pid_fd)
{
    struct exec_run *run = xnew(struct exec_run);

    run->loop = loop;
    run->pid = pid;
    run->out_fd = out_fd;
    run->pid_fd = pid_fd;
    buf_init(&run->out, EXEC_MAX_OUTPUT);
    loop_timer_init(&run->timer, loop, on_timeout);
    loop_io_init(&run->out_io, loop, out_fd, on_output);
    loop_io_init(&run->pid_io, loop, pid_fd, on_exited);
    loop_io_set(&run->out_io, LOOP_READ);
    loop_io_set(&run->pid_io, LOOP_READ);
    return run;
}

/* Kills and reaps a child that cannot be watched. */
static void kill_child(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int start(struct loop *loop, const struct kube_config *config, bool interactive,
                 struct exec_run **ret_run, struct err *reterr)
{
    struct str hint = config->exec->install_hint;
    struct argv argv;
    int fds[2];
    pid_t pid;
    int r, pid_fd;

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_set(reterr, -errno, "%s", strerror(errno));
    /* Only our end is non-blocking: the plugin expects ordinary pipes. */
    fcntl(fds[1], F_SETFL, 0);
    argv_init(&argv, config, interactive);
    r = spawn(&argv, fds[1], interactive, &pid);
    argv_release(&argv);
    close(fds[1]);
    if (r < 0) {
        close(fds[0]);
        return err_set(reterr, r, "%s%s%.*s", strerror(-r), str_empty(hint) ? "" : ". ",
                       STR_ARG(hint));
    }
    pid_fd = pidfd_open(pid, 0);
    if (pid_fd < 0) {
        r = err_set(reterr, -errno, "pidfd_open: %s", strerror(errno));
        kill_child(pid);
        close(fds[0]);
        return r;
    }
    *ret_run = run_new(loop, pid, fds[0], pid_fd);
    (*ret_run)->grouped = !interactive;
    return 0;
}

struct exec_run *exec_start(struct loop *loop, const struct kube_config *config, int64_t timeout,
                            exec_done_fn *fn, void *ctx, struct err *reterr)
{
    struct exec_run *run = NULL;
    bool interactive = false;
    int r = is_interactive(config->exec, &interactive, reterr);

    if (r == 0)
        r = start(loop, config, interactive, &run, reterr);
    if (r < 0) {
        err_prefix(reterr, r, "credential plugin %.*s", STR_ARG(config->exec->command));
        return NULL;
    }
    run->config = config;
    run->fn = fn;
    run->ctx = ctx;
    if (timeout == 0)
        timeout = interactive ? EXEC_TIMEOUT_INTERACTIVE : EXEC_TIMEOUT;
    loop_timer_set(&run->timer, timeout);
    return run;
}
