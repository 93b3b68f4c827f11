/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/authz.h"

#include "api/authorization.h"
#include "base/log.h"
#include "codec/json.h"
#include "kube/rest.h"
#include "kube/review_metrics.h"
#include "kube/ttl_cache.h"

#define CACHE_ENTRIES  8192
#define CACHE_BYTES    ((size_t)8 << 20)
/* What is longer than this is asked about every time, as upstream does. */
#define CACHED_KEY_MAX 10000
#define CALLS_MAX      256
#define REVIEW_TIMEOUT (10 * NSEC_PER_SEC)
#define REVIEW_RETRIES 5

struct authz {
    struct loop *loop;
    struct rest_client *client; /* NULL: nobody to ask */
    struct arena arena;         /* of the lists below */
    struct str *paths;          /* without leading '/' */
    size_t n_paths;
    struct str *groups;
    size_t n_groups;
    int64_t authorized_ttl, unauthorized_ttl, timeout;
    struct ttl_cache cache; /* spec as JSON → status as JSON */
    struct authz_call *calls;
    size_t n_calls;
    struct metrics *metrics;
};

struct authz_call {
    struct authz *authz;
    struct authz_call *next, **prev;
    struct rest_call *rest;
    char *key;
    size_t key_n;
    int64_t asked;
    authz_fn *fn;
    void *ctx;
};

/* --- what needs no question ------------------------------------------------------------------- */

static struct str without_slash(struct str path)
{
    return str_starts(path, STR("/")) ? str_slice(path, 1, path.n) : path;
}

static int take_paths(struct authz *authz, const struct authz_options *o, struct err *reterr)
{
    authz->n_paths = o->n_always_allow_paths;
    authz->paths = arena_array(&authz->arena, struct str, authz->n_paths);
    for (size_t i = 0; i < authz->n_paths; i++) {
        struct str path = arena_dup(&authz->arena, without_slash(o->always_allow_paths[i]));
        if (path.n && str_find(path, '*') < path.n - 1)
            return err_set(reterr, -EINVAL, "only trailing * allowed in \"%.*s\"", STR_ARG(path));
        authz->paths[i] = path;
    }
    return 0;
}

static bool is_open_path(const struct authz *authz, struct str path)
{
    path = without_slash(path);
    for (size_t i = 0; i < authz->n_paths; i++) {
        struct str open = authz->paths[i];
        if (str_ends(open, STR("*")) ? str_starts(path, str_slice(open, 0, open.n - 1))
                                     : str_eq(path, open))
            return true;
    }
    return false;
}

static bool is_privileged(const struct authz *authz, const struct user_info *user)
{
    for (size_t i = 0; i < user->groups.n; i++)
        for (size_t k = 0; k < authz->n_groups; k++)
            if (str_eq(user->groups.v[i], authz->groups[k]))
                return true;
    return false;
}

/* --- reviews ---------------------------------------------------------------------------------- */

static void write_key(const struct user_info *user, struct str verb, struct str path,
                      struct buf *out)
{
    struct non_resource_attributes attributes = {.path = path, .verb = verb};
    struct subject_access_review_spec spec = {
        .non_resource_attributes = &attributes,
        .user = user->username,
        .groups = {user->groups.v, user->groups.n},
        .extra = user->extra,
        .uid = user->uid,
    };
    json_encode(&subject_access_review_spec_type, &spec, out);
}

static void tell(authz_fn *fn, void *ctx, const struct subject_access_review_status *status)
{
    if (status->denied && status->allowed)
        fn(ctx, AUTHZ_FAILED,
           STR("webhook subject access review returned both allow and deny response"));
    else
        fn(ctx,
           status->allowed  ? AUTHZ_ALLOWED
           : status->denied ? AUTHZ_DENIED
                            : AUTHZ_FORBIDDEN,
           status->reason);
}

static bool tell_cached(struct authz *authz, struct str key, authz_fn *fn, void *ctx)
{
    struct str text;
    if (!ttl_cache_get(&authz->cache, key, loop_now(authz->loop), &text))
        return false;
    struct arena arena;
    struct subject_access_review_status status;
    arena_init(&arena, 0);
    bool ok = json_decode(text, &subject_access_review_status_type, 0, &arena, &status, NULL) == 0;
    if (ok)
        tell(fn, ctx, &status);
    arena_release(&arena);
    return ok;
}

static void keep(struct authz *authz, struct str key,
                 const struct subject_access_review_status *status)
{
    int64_t ttl = status->allowed ? authz->authorized_ttl : authz->unauthorized_ttl;
    if (ttl <= 0 || key.n > CACHED_KEY_MAX)
        return;
    struct buf text = BUF_INIT;
    json_encode(&subject_access_review_status_type, status, &text);
    ttl_cache_put(&authz->cache, key, buf_str(&text), loop_now(authz->loop) + ttl);
    buf_release(&text);
}

static void call_free(struct authz_call *call)
{
    *call->prev = call->next;
    if (call->next)
        call->next->prev = call->prev;
    call->authz->n_calls--;
    free(call->key);
    free(call);
}

static void on_review(void *ctx, const struct rest_result *result)
{
    struct authz_call *call = ctx;
    struct subject_access_review review;
    struct arena arena;
    struct err err = result->err;
    authz_fn *fn = call->fn;
    void *fn_ctx = call->ctx;
    arena_init(&arena, 0);
    review_metrics_answer(call->authz->metrics, REVIEW_AUTHZ, result->status,
                          loop_now(call->authz->loop) - call->asked);
    int r = result->code;
    if (r == 0)
        r = json_decode(result->body, &subject_access_review_type, 0, &arena, &review, &err);
    if (r == 0)
        keep(call->authz, (struct str){call->key, call->key_n}, &review.status);
    call_free(call);
    if (r == 0) {
        tell(fn, fn_ctx, &review.status);
    } else {
        log_error("Failed to make webhook authorizer request", KV_ERR(&err));
        fn(fn_ctx, AUTHZ_FAILED, str_of(err.msg));
    }
    arena_release(&arena);
}

static struct authz_call *ask(struct authz *authz, struct buf *key, authz_fn *fn, void *ctx)
{
    struct authz_call *call = xnew(struct authz_call);
    struct buf body = BUF_INIT;
    call->authz = authz;
    call->fn = fn;
    call->ctx = ctx;
    call->asked = loop_now(authz->loop);
    call->key_n = key->n;
    call->key = buf_take(key);
    call->next = authz->calls;
    call->prev = &authz->calls;
    if (call->next)
        call->next->prev = &call->next;
    authz->calls = call;
    authz->n_calls++;
    subject_access_review_write((struct str){call->key, call->key_n}, &body);
    struct rest_request request = {.verb = REST_CREATE,
                                   .path = STR(SUBJECT_ACCESS_REVIEWS_PATH),
                                   .text = buf_str(&body),
                                   .timeout = authz->timeout,
                                   .max_retries = REVIEW_RETRIES};
    call->rest = rest_send(authz->client, &request, on_review, call);
    buf_release(&body);
    return call;
}

struct authz_call *authz_check(struct authz *authz, const struct user_info *user, struct str verb,
                               struct str path, authz_fn *fn, void *ctx)
{
    if (is_privileged(authz, user) || is_open_path(authz, path)) {
        fn(ctx, AUTHZ_ALLOWED, STR(""));
        return NULL;
    }
    if (!authz->client) {
        fn(ctx, AUTHZ_FORBIDDEN, STR(""));
        return NULL;
    }
    struct buf key = BUF_INIT;
    struct authz_call *call = NULL;
    write_key(user, verb, path, &key);
    if (!tell_cached(authz, buf_str(&key), fn, ctx)) {
        if (authz->n_calls >= CALLS_MAX)
            fn(ctx, AUTHZ_BUSY, STR(""));
        else
            call = ask(authz, &key, fn, ctx);
    }
    buf_release(&key);
    return call;
}

struct authz_call *authz_cancel(struct authz_call *call)
{
    if (!call)
        return NULL;
    rest_cancel(call->rest);
    call_free(call);
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

int authz_new(struct loop *loop, const struct authz_options *options, struct authz **ret_authz,
              struct err *reterr)
{
    struct authz *authz = xnew(struct authz);
    struct rest_options rest = {.metrics = options->metrics};
    authz->loop = loop;
    authz->metrics = options->metrics;
    authz->authorized_ttl = options->authorized_ttl;
    authz->unauthorized_ttl = options->unauthorized_ttl;
    authz->timeout = options->timeout ? options->timeout : REVIEW_TIMEOUT;
    arena_init(&authz->arena, 0);
    ttl_cache_init(&authz->cache, CACHE_ENTRIES, CACHE_BYTES);
    authz->n_groups = options->n_always_allow_groups;
    authz->groups = arena_array(&authz->arena, struct str, authz->n_groups);
    for (size_t i = 0; i < authz->n_groups; i++)
        authz->groups[i] = arena_dup(&authz->arena, options->always_allow_groups[i]);
    int r = take_paths(authz, options, reterr);
    if (r == 0 && options->kube)
        r = rest_client_new(loop, options->kube, &rest, &authz->client, reterr);
    if (r < 0)
        authz_free(authz);
    else
        *ret_authz = authz;
    return r;
}

struct authz *authz_free(struct authz *authz)
{
    if (!authz)
        return NULL;
    while (authz->calls)
        authz_cancel(authz->calls);
    rest_client_free(authz->client);
    ttl_cache_release(&authz->cache);
    arena_release(&authz->arena);
    free(authz);
    return NULL;
}
