/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/authz.h"

#include "api/authorization.h"
#include "base/log.h"
#include "codec/json.h"
#include "serve/review_metrics.h"
#include "serve/reviews.h"
#include "serve/ttl_cache.h"

#define CACHE_ENTRIES  8192
#define CACHE_BYTES    ((size_t)8 << 20)
/* Upstream: requests with longer keys are not cached. */
#define CACHED_KEY_MAX 10000
#define REVIEW_TIMEOUT (10 * NSEC_PER_SEC)

struct authz {
    struct loop *loop;
    struct rest_client *client; /* NULL: no reviews */
    struct arena arena;         /* of the lists below */
    struct str *paths;          /* without leading '/' */
    size_t n_paths;
    struct str *groups;
    size_t n_groups;
    struct reviews *reviews;
    int64_t authorized_ttl, unauthorized_ttl;
    struct ttl_cache cache; /* spec as JSON → status as JSON */
    struct authz_call *calls;
    struct metrics *metrics;
};

struct authz_call {
    struct authz *authz;
    struct authz_call *next, **prev;
    struct review_wait wait;
    authz_fn *fn;
    void *ctx;
};

/* --- requests that are always allowed --------------------------------------------------------- */

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

static void finish(authz_fn *fn, void *ctx, const struct subject_access_review_status *status)
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

/* False if the request is not in the cache. */
static bool finish_cached(struct authz *authz, struct str key, authz_fn *fn, void *ctx)
{
    struct str text;
    if (!ttl_cache_get(&authz->cache, key, loop_now(authz->loop), &text))
        return false;
    struct arena arena;
    struct subject_access_review_status status;
    arena_init(&arena, 0);
    bool ok = json_decode(text, &subject_access_review_status_type, 0, &arena, &status, NULL) == 0;
    if (ok)
        finish(fn, ctx, &status);
    arena_release(&arena);
    return ok;
}

static void cache_status(struct authz *authz, struct str key,
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

/* Called once per review: caches and counts the response. */
static void on_answer(void *ctx, struct str key, const struct rest_result *result, int64_t took)
{
    struct authz *authz = ctx;
    struct subject_access_review review;
    struct arena arena;
    arena_init(&arena, 0);
    review_metrics_answer(authz->metrics, REVIEW_AUTHZ, result->status, took);
    struct err err = result->err;
    int r = result->code;
    if (r == 0)
        r = json_decode(result->body, &subject_access_review_type, 0, &arena, &review, &err);
    if (r == 0)
        cache_status(authz, key, &review.status);
    else
        log_error("Failed to make webhook authorizer request", KV_ERR(&err));
    arena_release(&arena);
}

static void call_free(struct authz_call *call)
{
    *call->prev = call->next;
    if (call->next)
        call->next->prev = call->prev;
    free(call);
}

static void on_review(struct review_wait *wait, const struct rest_result *result)
{
    struct authz_call *call = CONTAINER_OF(wait, struct authz_call, wait);
    struct subject_access_review review;
    struct arena arena;
    authz_fn *fn = call->fn;
    void *ctx = call->ctx;
    call_free(call);
    if (!result) {
        fn(ctx, AUTHZ_BUSY, STR(""));
        return;
    }
    arena_init(&arena, 0);
    struct err err = result->err;
    int r = result->code;
    if (r == 0)
        r = json_decode(result->body, &subject_access_review_type, 0, &arena, &review, &err);
    if (r == 0)
        finish(fn, ctx, &review.status);
    else
        fn(ctx, AUTHZ_FAILED, str_of(err.msg));
    arena_release(&arena);
}

/* NULL if too many reviews are waiting. */
static struct authz_call *ask(struct authz *authz, const struct authz_request *request,
                              struct str key, authz_fn *fn, void *ctx)
{
    struct buf body = BUF_INIT;
    bool anonymous = str_is(request->user->username, USER_ANONYMOUS);
    subject_access_review_write(key, &body);
    struct review_request review = {.key = key,
                                    .text = buf_str(&body),
                                    .caller = anonymous ? request->from : request->user->username,
                                    .anonymous = anonymous};
    struct authz_call *call = xnew(struct authz_call);
    *call = (struct authz_call){
        .authz = authz, .fn = fn, .ctx = ctx, .next = authz->calls, .prev = &authz->calls};
    if (call->next)
        call->next->prev = &call->next;
    authz->calls = call;
    if (!reviews_ask(authz->reviews, &review, &call->wait, on_review)) {
        call_free(call);
        call = NULL;
    }
    buf_release(&body);
    return call;
}

struct authz_call *authz_check(struct authz *authz, const struct authz_request *request,
                               authz_fn *fn, void *ctx)
{
    if (is_privileged(authz, request->user) || is_open_path(authz, request->path)) {
        fn(ctx, AUTHZ_ALLOWED, STR(""));
        return NULL;
    }
    if (!authz->client) {
        fn(ctx, AUTHZ_FORBIDDEN, STR(""));
        return NULL;
    }
    struct buf key = BUF_INIT;
    struct authz_call *call = NULL;
    write_key(request->user, request->verb, request->path, &key);
    if (!finish_cached(authz, buf_str(&key), fn, ctx)) {
        call = ask(authz, request, buf_str(&key), fn, ctx);
        if (!call)
            fn(ctx, AUTHZ_BUSY, STR(""));
    }
    buf_release(&key);
    return call;
}

struct authz_call *authz_cancel(struct authz_call *call)
{
    if (!call)
        return NULL;
    reviews_cancel(&call->wait);
    call_free(call);
    return NULL;
}

/* --- making and freeing ----------------------------------------------------------------------- */

int authz_new(struct loop *loop, const struct authz_options *options, struct authz **ret_authz,
              struct err *reterr)
{
    struct authz *authz = xnew(struct authz);
    struct rest_options rest = {.metrics = options->metrics};
    authz->loop = loop;
    authz->metrics = options->metrics;
    authz->authorized_ttl = options->authorized_ttl;
    authz->unauthorized_ttl = options->unauthorized_ttl;
    arena_init(&authz->arena, 0);
    ttl_cache_init(&authz->cache, CACHE_ENTRIES, CACHE_BYTES);
    authz->n_groups = options->n_always_allow_groups;
    authz->groups = arena_array(&authz->arena, struct str, authz->n_groups);
    for (size_t i = 0; i < authz->n_groups; i++)
        authz->groups[i] = arena_dup(&authz->arena, options->always_allow_groups[i]);
    int r = take_paths(authz, options, reterr);
    if (r == 0 && options->kube)
        r = rest_client_new(loop, options->kube, &rest, &authz->client, reterr);
    if (r < 0) {
        authz_free(authz);
        return r;
    }
    if (options->kube) {
        struct reviews_options reviews = {.path = SUBJECT_ACCESS_REVIEWS_PATH,
                                          .timeout =
                                              options->timeout ? options->timeout : REVIEW_TIMEOUT,
                                          .qps = options->kube->qps,
                                          .burst = options->kube->burst,
                                          .on_answer = on_answer,
                                          .ctx = authz};
        authz->reviews = reviews_new(loop, authz->client, &reviews);
    }
    *ret_authz = authz;
    return 0;
}

struct authz *authz_free(struct authz *authz)
{
    if (!authz)
        return NULL;
    while (authz->calls)
        authz_cancel(authz->calls);
    reviews_free(authz->reviews);
    rest_client_free(authz->client);
    ttl_cache_release(&authz->cache);
    arena_release(&authz->arena);
    free(authz);
    return NULL;
}
