/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth/auth.h"

#include "base/log.h"
#include "codec/base64.h"
#include "kube/auth/exec.h"
#include "kube/file.h"

#define TOKEN_MAX_BYTES ((size_t)1 << 20)

/* A file that is read again when it changes. */
struct watched {
    const char *path; /* NULL: none */
    struct file_stamp stamp;
};

struct auth {
    struct loop *loop;
    const struct kube_config *config;
    struct auth_options options;
    uint64_t generation;

    char *token; /* current token; NULL: none */
    struct watched token_file, ca_file, cert_file, key_file;
    int64_t checked_at; /* last check of the files, on loop_now's clock */

    struct tls_config *tls;
    auth_tls_fn *on_tls;
    void *on_tls_ctx;

    /* The plugin's last result. */
    struct exec_run *run;
    bool have_exec;
    char *exec_cert, *exec_key;
    struct timestamp expiration;
    int64_t failed_at;
    struct err failure;       /* code 0: the last run succeeded */
    struct auth_wait waiting; /* head of the ring */
    struct loop_task answer;  /* notifies waiters of a plugin that failed to start */
};

/* --- files ------------------------------------------------------------------------------------ */

static bool has_changed(const struct watched *w)
{
    struct file_stamp now;

    /* A file that is missing for a moment is being replaced: check again later. */
    return w->path && file_stamp_of(w->path, &now) == 0 && !file_stamp_eq(now, w->stamp);
}

static void remember(struct watched *w)
{
    if (w->path && file_stamp_of(w->path, &w->stamp) < 0)
        w->stamp = (struct file_stamp){0};
}

static int read_token(struct auth *auth, struct err *reterr)
{
    struct buf text = BUF_INIT;
    struct str token;
    int r;

    remember(&auth->token_file);
    r = file_read(auth->token_file.path, TOKEN_MAX_BYTES, &text, reterr);
    token = str_trim(buf_str(&text));
    if (r == 0 && str_empty(token))
        r = err_set(reterr, -ENODATA, "%s: the token is empty", auth->token_file.path);
    if (r == 0 && !http_is_value(token))
        r = err_set(reterr, -EINVAL, "%s: the token contains a line break or control character",
                    auth->token_file.path);
    if (r == 0 && (!auth->token || !str_is(token, auth->token))) {
        free(auth->token);
        auth->token = str_dup(token);
        auth->generation++;
    }
    buf_release(&text);
    return r;
}

static int make_tls(struct auth *auth, struct tls_config **ret_tls, struct err *reterr)
{
    const struct kube_config *c = auth->config;
    struct tls_options options = {
        .ca_pem = c->ca_data,
        .ca_file = auth->ca_file.path,
        .insecure_skip_verify = c->insecure,
        .server_name = c->tls_server_name,
        .cert_pem = auth->exec_cert ? str_of(auth->exec_cert) : c->cert_data,
        .key_pem = auth->exec_key ? str_of(auth->exec_key) : c->key_data,
        .cert_file = auth->cert_file.path,
        .key_file = auth->key_file.path,
    };

    remember(&auth->ca_file);
    remember(&auth->cert_file);
    remember(&auth->key_file);
    return tls_config_new_client(&options, ret_tls, reterr);
}

/* On failure the old certificate stays in use. */
static int renew_tls(struct auth *auth, struct err *reterr)
{
    struct tls_config *tls;
    int r = make_tls(auth, &tls, reterr);

    if (r < 0)
        return r;
    tls_config_unref(auth->tls);
    auth->tls = tls;
    auth->generation++;
    if (auth->on_tls)
        auth->on_tls(auth->on_tls_ctx, tls);
    return 0;
}

static enum rest_ca_reload ca_outcome(bool changed, int code)
{
    if (!changed)
        return REST_CA_UNCHANGED;
    if (code == 0)
        return REST_CA_UPDATED;
    return code == -EINVAL ? REST_CA_BAD : REST_CA_UNREADABLE;
}

static void check_files(struct auth *auth, bool now)
{
    int64_t interval = auth->options.file_interval;
    bool ca_changed;
    struct err err;
    int r = 0;

    if (!now && interval > 0 && loop_now(auth->loop) - auth->checked_at < interval)
        return;
    auth->checked_at = loop_now(auth->loop);
    if (has_changed(&auth->token_file)) {
        if (read_token(auth, &err) < 0)
            log_error("Unable to rotate token", KV_ERR(&err));
        else
            log_info(2, "Token file has changed", KV_CSTR("file", auth->token_file.path));
    }
    ca_changed = has_changed(&auth->ca_file);
    if (ca_changed || has_changed(&auth->cert_file) || has_changed(&auth->key_file)) {
        r = renew_tls(auth, &err);
        if (r < 0)
            log_error("Unable to rotate client certificate", KV_ERR(&err));
        else
            log_info(2, "Certificate files have changed; new connections use them");
    }
    if (auth->ca_file.path)
        rest_metrics_ca_reload(auth->options.metrics, ca_outcome(ca_changed, r));
}

/* --- plugin ----------------------------------------------------------------------------------- */

static bool exec_valid(const struct auth *auth)
{
    return auth->have_exec && (!auth->expiration.set ||
                               timestamp_cmp(timestamp_of(time_wall()), auth->expiration) <= 0);
}

static void ring_init(struct auth_wait *head)
{
    head->next = head->prev = head;
}

/* Inserts it before `at`; before the head means last. */
static void ring_add(struct auth_wait *at, struct auth_wait *wait)
{
    wait->next = at;
    wait->prev = at->prev;
    at->prev->next = wait;
    at->prev = wait;
}

void auth_wait_cancel(struct auth_wait *wait)
{
    if (!wait->next)
        return;
    wait->prev->next = wait->next;
    wait->next->prev = wait->prev;
    wait->next = wait->prev = NULL;
}

/*
 * A waiter may cancel others, wait again or free everything: the waiters to notify are moved to a
 * ring of their own, and auth is not used once the first callback is made.
 */
static void notify_waiters(struct auth *auth, int code, struct err err)
{
    struct auth_wait turn, *wait;

    ring_init(&turn);
    ring_add(&auth->waiting, &turn);
    auth_wait_cancel(&auth->waiting);
    ring_init(&auth->waiting);
    while ((wait = turn.next) != &turn) {
        auth_wait_cancel(wait);
        wait->fn(wait, code, &err);
    }
}

static char *dup_or_null(struct str s)
{
    return str_empty(s) ? NULL : str_dup(s);
}

/* The plugin has provided another certificate. */
static void count_certificate(struct auth *auth, const char *old_cert)
{
    struct tls_validity old, now;

    if (old_cert && tls_pem_validity(str_of(old_cert), &old) == 0)
        rest_metrics_exec_rotated(auth->options.metrics,
                                  time_wall() - old.not_before * NSEC_PER_SEC);
    if (auth->exec_cert && tls_pem_validity(str_of(auth->exec_cert), &now) == 0)
        rest_metrics_exec_expiry(auth->options.metrics, auth, now.not_after);
    else
        rest_metrics_exec_expiry(auth->options.metrics, auth, 0);
}

static int take_credential(struct auth *auth, const struct exec_credential *credential,
                           struct err *reterr)
{
    char *old_cert = auth->exec_cert, *old_key = auth->exec_key;
    bool same = str_eq(str_of(old_cert), credential->cert_pem) &&
                str_eq(str_of(old_key), credential->key_pem);
    int r = 0;

    if (!str_empty(credential->token) && !http_is_value(credential->token))
        return err_set(reterr, -EBADMSG,
                       "status.token: contains a line break or control character");
    if (!same) {
        auth->exec_cert = dup_or_null(credential->cert_pem);
        auth->exec_key = dup_or_null(credential->key_pem);
        r = renew_tls(auth, reterr);
        if (r < 0) {
            free(auth->exec_cert);
            free(auth->exec_key);
            auth->exec_cert = old_cert;
            auth->exec_key = old_key;
            return r;
        }
        count_certificate(auth, old_cert);
        free(old_cert);
        free(old_key);
    }
    free(auth->token);
    auth->token = dup_or_null(credential->token);
    auth->expiration = credential->expiration;
    auth->have_exec = true;
    auth->generation++;
    return 0;
}

static void on_exec(void *ctx, int code, const struct exec_credential *credential,
                    const struct err *err)
{
    struct auth *auth = ctx;
    struct err failure = {0};

    auth->run = NULL;
    if (code == 0) {
        code = take_credential(auth, credential, &failure);
        if (code < 0)
            err_prefix(&failure, code, "credential plugin %.*s",
                       STR_ARG(auth->config->exec->command));
    } else {
        failure = *err;
    }
    if (code < 0) {
        log_error("Unable to get credentials", KV_ERR(&failure));
        auth->failed_at = loop_now(auth->loop);
    }
    auth->failure = failure;
    notify_waiters(auth, code, failure);
}

static void on_answer(struct loop_task *task)
{
    struct auth *auth = CONTAINER_OF(task, struct auth, answer);

    notify_waiters(auth, auth->failure.code, auth->failure);
}

/* Runs the plugin unless it is running or has just failed. */
static void run_plugin(struct auth *auth)
{
    int64_t now = loop_now(auth->loop);

    if (auth->run)
        return;
    if (auth->failure.code < 0 && now - auth->failed_at < auth->options.exec_retry) {
        loop_task_schedule(auth->loop, &auth->answer);
        return;
    }
    auth->run = exec_start(auth->loop, auth->config, auth->options.exec_timeout, on_exec, auth,
                           &auth->failure);
    if (auth->run) {
        exec_count(auth->run, auth->options.metrics);
    } else {
        rest_metrics_exec(auth->options.metrics,
                          auth->failure.code == -ENOENT ? REST_EXEC_NOT_FOUND : REST_EXEC_INTERNAL,
                          1);
        log_error("Unable to get credentials", KV_ERR(&auth->failure));
        auth->failed_at = now;
        loop_task_schedule(auth->loop, &auth->answer);
    }
}

/* --- requests --------------------------------------------------------------------------------- */

bool auth_ready(struct auth *auth, struct auth_wait *wait, auth_wait_fn *fn)
{
    check_files(auth, false);
    if (!auth->config->exec || exec_valid(auth))
        return true;
    wait->fn = fn;
    ring_add(&auth->waiting, wait);
    run_plugin(auth);
    return false;
}

static void add_impersonation(const struct kube_config *c, struct arena *a,
                              auth_headers_vec *headers)
{
    if (str_empty(c->as))
        return;
    vec_push(headers, HTTP_HEADER("Impersonate-User", c->as));
    if (!str_empty(c->as_uid))
        vec_push(headers, HTTP_HEADER("Impersonate-Uid", c->as_uid));
    for (size_t i = 0; i < c->as_groups.n; i++)
        vec_push(headers, HTTP_HEADER("Impersonate-Group", c->as_groups.v[i]));
    for (size_t i = 0; i < c->as_extra.n; i++) {
        struct buf name = BUF_INIT;

        /*
         * Characters that a header name does not allow are percent-encoded, and '%' as well
         * (client-go: headerKeyEscape).
         */
        buf_add_cstr(&name, "Impersonate-Extra-");
        for (size_t k = 0; k < c->as_extra.v[i].key.n; k++) {
            char one = c->as_extra.v[i].key.p[k];

            if (one != '%' && http_is_token((struct str){&one, 1}))
                buf_add_char(&name, one);
            else
                buf_add_printf(&name, "%%%02X", (unsigned char)one);
        }
        vec_push(headers,
                 (struct http_header){arena_dup(a, buf_str(&name)), c->as_extra.v[i].value});
        buf_release(&name);
    }
}

static struct str basic_value(const struct kube_config *c, struct arena *a)
{
    struct str plain = arena_printf(a, "%.*s:%.*s", STR_ARG(c->username), STR_ARG(c->password));
    struct buf value = BUF_INIT;
    struct str result;

    buf_add_cstr(&value, "Basic ");
    base64_encode(plain, &value);
    result = arena_dup(a, buf_str(&value));
    buf_release(&value);
    return result;
}

void auth_add_headers(struct auth *auth, struct arena *a, auth_headers_vec *headers)
{
    const struct kube_config *c = auth->config;

    if (auth->token)
        vec_push(headers, HTTP_HEADER("Authorization", arena_printf(a, "Bearer %s", auth->token)));
    else if (!str_empty(c->username) || !str_empty(c->password))
        vec_push(headers, HTTP_HEADER("Authorization", basic_value(c, a)));
    add_impersonation(c, a, headers);
}

uint64_t auth_generation(const struct auth *auth)
{
    return auth->generation;
}

bool auth_reject(struct auth *auth, uint64_t generation)
{
    if (generation != auth->generation)
        return true;
    check_files(auth, true);
    if (generation != auth->generation)
        return true;
    if (!auth->config->exec)
        return false;
    auth->have_exec = false;
    return true;
}

struct tls_config *auth_tls(struct auth *auth)
{
    return auth->tls;
}

void auth_set_tls_listener(struct auth *auth, auth_tls_fn *on_tls, void *ctx)
{
    auth->on_tls = on_tls;
    auth->on_tls_ctx = ctx;
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static const char *path_of(struct str file, struct str data)
{
    return str_empty(file) || !str_empty(data) ? NULL : file.p;
}

static int first_token(struct auth *auth, struct err *reterr)
{
    const struct kube_config *c = auth->config;
    int r = 0;

    if (!str_empty(c->token)) {
        if (!http_is_value(c->token))
            return err_set(reterr, -EINVAL,
                           "%.*s: token: contains a line break or control character",
                           STR_ARG(c->source));
        auth->token = str_dup(c->token);
    }
    if (auth->token_file.path)
        r = read_token(auth, reterr);
    /* A token given with the file is used until the file can be read. */
    return auth->token ? 0 : r;
}

int auth_new(struct loop *loop, const struct kube_config *config,
             const struct auth_options *options, struct auth **ret_auth, struct err *reterr)
{
    struct auth *auth = xnew(struct auth);
    int r;

    auth->loop = loop;
    auth->config = config;
    if (options)
        auth->options = *options;
    if (auth->options.file_interval == 0)
        auth->options.file_interval = 10 * NSEC_PER_SEC;
    if (auth->options.exec_retry == 0)
        auth->options.exec_retry = NSEC_PER_SEC;
    ring_init(&auth->waiting);
    auth->generation = 1;
    loop_task_init(&auth->answer, on_answer);
    auth->checked_at = loop_now(loop);
    auth->token_file.path = path_of(config->token_file, (struct str){0});
    auth->ca_file.path = path_of(config->ca_file, config->ca_data);
    auth->cert_file.path = path_of(config->cert_file, config->cert_data);
    auth->key_file.path = path_of(config->key_file, config->key_data);
    r = first_token(auth, reterr);
    if (r == 0 && config->tls)
        r = make_tls(auth, &auth->tls, reterr);
    if (r < 0) {
        auth_free(auth);
        return r;
    }
    *ret_auth = auth;
    return 0;
}

struct auth *auth_free(struct auth *auth)
{
    if (!auth)
        return NULL;
    exec_cancel(auth->run);
    rest_metrics_exec_expiry(auth->options.metrics, auth, 0);
    loop_task_cancel(auth->loop, &auth->answer);
    tls_config_unref(auth->tls);
    free(auth->token);
    free(auth->exec_cert);
    free(auth->exec_key);
    free(auth);
    return NULL;
}
