/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/authn.h"

#include "base/log.h"
#include "codec/json.h"
#include "serve/authn_internal.h"
#include "serve/review_metrics.h"
#include "serve/reviews.h"
#include "serve/ttl_cache.h"

#define CACHE_ENTRIES  4096
#define CACHE_BYTES    ((size_t)16 << 20)
#define LOOKUP_WAITS   256 /* requests that wait for the first lookup */
#define REVIEW_TIMEOUT (10 * NSEC_PER_SEC)

struct authn {
    struct loop *loop;
    struct rest_client *client; /* NULL: tokens are not accepted */
    struct reviews *reviews;
    struct authn_trust trust;
    int64_t token_ttl;
    struct ttl_cache cache; /* token → status of its review as JSON */
    struct authn_call *calls;
    size_t n_calls;
    struct metrics *metrics;
};

struct authn_call {
    struct authn *authn;
    struct authn_call *next, **prev;
    const struct http_exchange *x;
    struct review_wait wait;
    char *token; /* NULL: waits for the first lookup */
    int64_t asked;
    bool good; /* the token is valid */
    authn_fn *fn;
    void *ctx;
};

/* The result of one authenticator; NO_OPINION: the request has no credentials for it. */
enum outcome { NO_OPINION, AUTHENTICATED, REFUSED };

/* --- users ------------------------------------------------------------------------------------ */

static bool in_group(const struct user_info *user, const char *group)
{
    for (size_t i = 0; i < user->groups.n; i++)
        if (str_is(user->groups.v[i], group))
            return true;
    return false;
}

static void add_group(struct user_info *user, const char *group, struct arena *a)
{
    struct str *groups = arena_array(a, struct str, user->groups.n + 1);
    if (user->groups.n)
        memcpy(groups, user->groups.v, user->groups.n * sizeof(*groups));
    groups[user->groups.n++] = str_of(group);
    user->groups.v = groups;
}

/* Upstream: every authenticated user is in system:authenticated. */
static void finish_user(authn_fn *fn, void *ctx, struct user_info *user, struct arena *a)
{
    if (!str_is(user->username, USER_ANONYMOUS) && !in_group(user, GROUP_AUTHENTICATED) &&
        !in_group(user, GROUP_UNAUTHENTICATED))
        add_group(user, GROUP_AUTHENTICATED, a);
    fn(ctx, AUTHN_OK, user);
}

/* No authenticator has accepted the request: it is anonymous, or has bad credentials. */
static void finish_without_user(authn_fn *fn, void *ctx, bool refused)
{
    struct str group = STR(GROUP_UNAUTHENTICATED);
    struct user_info anonymous = {.username = STR(USER_ANONYMOUS), .groups = {&group, 1}};
    fn(ctx, refused ? AUTHN_REFUSED : AUTHN_OK, refused ? NULL : &anonymous);
}

static void log_refusal(const struct err *err)
{
    log_error("Unable to authenticate the request", KV_ERR(err));
}

/* --- certificates ----------------------------------------------------------------------------- */

static enum outcome by_proxy(struct authn *authn, const struct http_exchange *x, struct arena *a,
                             struct user_info *user)
{
    const struct authn_trust *trust = &authn->trust;
    struct err err;
    if (!x->peer || !trust->proxies)
        return NO_OPINION;
    if (tls_peer_verify(x->peer, trust->proxies, &err) < 0 ||
        !authn_proxy_allows(&trust->proxy, x->peer->common_name))
        return REFUSED;
    return authn_proxy_user(&trust->proxy, &x->headers, a, user) ? AUTHENTICATED : NO_OPINION;
}

static double seconds_left(const struct tls_peer *peer)
{
    return (double)tls_peer_validity(peer).not_after - (double)time_wall() / (double)NSEC_PER_SEC;
}

static enum outcome by_certificate(struct authn *authn, const struct http_exchange *x,
                                   struct arena *a, struct user_info *user)
{
    const struct tls_peer *peer = x->peer;
    struct buf extra = BUF_INIT;
    struct err err;
    if (!peer || !authn->trust.clients)
        return NO_OPINION;
    review_metrics_certificate(authn->metrics, seconds_left(peer));
    if (tls_peer_verify(peer, authn->trust.clients, &err) < 0) {
        err_prefix(&err, err.code, "verifying certificate of \"%.*s\" failed",
                   STR_ARG(peer->common_name));
        log_refusal(&err);
        return REFUSED;
    }
    if (str_empty(peer->common_name))
        return NO_OPINION;
    *user = (struct user_info){.username = arena_dup(a, peer->common_name)};
    user->groups.v = arena_array(a, struct str, peer->n_organizations);
    for (size_t i = 0; i < peer->n_organizations; i++)
        user->groups.v[user->groups.n++] = arena_dup(a, peer->organizations[i]);
    buf_add_cstr(&extra, "{\"authentication.kubernetes.io/credential-id\":[\"X509SHA256=");
    tls_peer_fingerprint(peer, &extra);
    buf_add_cstr(&extra, "\"]}");
    user->extra = arena_dup(a, buf_str(&extra));
    buf_release(&extra);
    return AUTHENTICATED;
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* The token of "Authorization: Bearer TOKEN"; empty if none. */
static struct str bearer_token(const struct http_exchange *x)
{
    struct str rest = str_trim(http_headers_get(&x->headers, "authorization")), word, token;
    if (!str_split(&rest, ' ', &word) || !str_eq_fold(word, STR("bearer")) ||
        !str_split(&rest, ' ', &token))
        return (struct str){0};
    return token;
}

static void finish_review(authn_fn *fn, void *ctx, struct token_review_status *status,
                          struct arena *a)
{
    if (status->authenticated)
        finish_user(fn, ctx, &status->user, a);
    else
        finish_without_user(fn, ctx, true);
}

/* False if the token is not in the cache. */
static bool finish_cached(struct authn *authn, struct str token, authn_fn *fn, void *ctx)
{
    struct str text;
    if (!ttl_cache_get(&authn->cache, token, loop_now(authn->loop), &text))
        return false;
    struct arena arena;
    struct token_review_status status;
    arena_init(&arena, 0);
    bool ok = json_decode(text, &token_review_status_type, 0, &arena, &status, NULL) == 0;
    if (ok)
        review_metrics_token_hit(authn->metrics);
    if (ok)
        finish_review(fn, ctx, &status, &arena);
    arena_release(&arena);
    return ok;
}

/* A response with an error is not cached: the next one may differ. */
static void cache_status(struct authn *authn, struct str token,
                         const struct token_review_status *status)
{
    if (authn->token_ttl <= 0 || status->error.n)
        return;
    struct buf text = BUF_INIT;
    json_encode(&token_review_status_type, status, &text);
    ttl_cache_put(&authn->cache, token, buf_str(&text), loop_now(authn->loop) + authn->token_ttl);
    buf_release(&text);
}

static void call_free(struct authn_call *call)
{
    *call->prev = call->next;
    if (call->next)
        call->next->prev = call->prev;
    call->authn->n_calls--;
    if (call->token)
        review_metrics_token_fetched(call->authn->metrics, call->good,
                                     loop_now(call->authn->loop) - call->asked);
    free(call->token);
    free(call);
}

/* Upstream's aggregate of the two errors. */
static int refusal(struct str why, struct err *reterr)
{
    if (str_empty(why) || str_is(why, "invalid bearer token"))
        return err_set(reterr, -EACCES, "invalid bearer token");
    return err_set(reterr, -EACCES, "[invalid bearer token, %.*s]", STR_ARG(why));
}

static int read_review(const struct rest_result *result, struct arena *a,
                       struct token_review *ret_review, struct err *reterr)
{
    *reterr = result->err;
    return result->code < 0
               ? result->code
               : json_decode(result->body, &token_review_type, 0, a, ret_review, reterr);
}

/* Called once per review: caches and counts the response. */
static void on_answer(void *ctx, struct str token, const struct rest_result *result, int64_t took)
{
    struct authn *authn = ctx;
    struct token_review review = {0};
    struct arena arena;
    struct err err;
    arena_init(&arena, 0);
    review_metrics_answer(authn->metrics, REVIEW_AUTHN, result->status, took);
    int r = read_review(result, &arena, &review, &err);
    if (r == 0)
        cache_status(authn, token, &review.status);
    if (r == 0 && !review.status.authenticated)
        r = refusal(review.status.error, &err);
    if (r < 0)
        log_refusal(&err);
    arena_release(&arena);
}

static void on_review(struct review_wait *wait, const struct rest_result *result)
{
    struct authn_call *call = CONTAINER_OF(wait, struct authn_call, wait);
    struct token_review review = {0};
    struct arena arena;
    struct err err;
    authn_fn *fn = call->fn;
    void *ctx = call->ctx;
    if (!result) {
        call_free(call);
        fn(ctx, AUTHN_BUSY, NULL);
        return;
    }
    arena_init(&arena, 0);
    call->good = read_review(result, &arena, &review, &err) == 0 && review.status.authenticated;
    call_free(call);
    finish_review(fn, ctx, &review.status, &arena);
    arena_release(&arena);
}

/* The user is not known yet, so fairness is by client address. False: fn got AUTHN_BUSY. */
static bool ask(struct authn_call *call, struct str token)
{
    struct authn *authn = call->authn;
    struct token_review_spec spec = {.token = token};
    struct buf body = BUF_INIT;
    call->token = str_dup(token);
    call->asked = loop_now(authn->loop);
    review_metrics_token_fetch(authn->metrics);
    token_review_write(&spec, &body);
    struct review_request request = {
        .key = token, .text = buf_str(&body), .caller = call->x->remote_host};
    bool asked = reviews_ask(authn->reviews, &request, &call->wait, on_review);
    buf_release(&body);
    if (!asked)
        on_review(&call->wait, NULL);
    return asked;
}

/* --- the chain of authenticators -------------------------------------------------------------- */

static struct authn_call *call_new(struct authn *authn, const struct http_exchange *x, authn_fn *fn,
                                   void *ctx)
{
    struct authn_call *call = xnew(struct authn_call);
    *call = (struct authn_call){
        .authn = authn, .x = x, .fn = fn, .ctx = ctx, .next = authn->calls, .prev = &authn->calls};
    if (call->next)
        call->next->prev = &call->next;
    authn->calls = call;
    authn->n_calls++;
    return call;
}

/* Authenticates by headers and certificate. *refused: a credential was presented and is invalid. */
static bool by_connection(struct authn *authn, const struct http_exchange *x, authn_fn *fn,
                          void *ctx, bool *refused)
{
    struct arena arena;
    struct user_info user;
    arena_init(&arena, 0);
    authn_trust_refresh(&authn->trust);
    enum outcome outcome = by_proxy(authn, x, &arena, &user);
    *refused = outcome == REFUSED;
    if (outcome != AUTHENTICATED)
        outcome = by_certificate(authn, x, &arena, &user);
    *refused |= outcome == REFUSED;
    if (outcome == AUTHENTICATED)
        finish_user(fn, ctx, &user, &arena);
    arena_release(&arena);
    return outcome == AUTHENTICATED;
}

struct authn_call *authn_check(struct authn *authn, const struct http_exchange *x, authn_fn *fn,
                               void *ctx)
{
    bool refused;
    /* Requests with a certificate wait for the first lookup of the CAs. */
    if (x->peer && authn->trust.looks_up && !authn->trust.looked_up &&
        authn->n_calls < LOOKUP_WAITS)
        return call_new(authn, x, fn, ctx);
    if (by_connection(authn, x, fn, ctx, &refused))
        return NULL;
    struct str token = bearer_token(x);
    if (str_empty(token) || !authn->client) {
        finish_without_user(fn, ctx, refused);
        return NULL;
    }
    if (finish_cached(authn, token, fn, ctx))
        return NULL;
    struct authn_call *call = call_new(authn, x, fn, ctx);
    return ask(call, token) ? call : NULL;
}

static struct authn_call *find_waiting(struct authn *authn)
{
    struct authn_call *call = authn->calls;
    while (call && call->token)
        call = call->next;
    return call;
}

/* Continues the requests that waited. Restarts the search every time: fn may cancel other calls. */
static void on_first_lookup(struct authn_trust *trust)
{
    struct authn *authn = CONTAINER_OF(trust, struct authn, trust);
    for (struct authn_call *call; (call = find_waiting(authn));) {
        const struct http_exchange *x = call->x;
        authn_fn *fn = call->fn;
        void *ctx = call->ctx;
        struct str token = bearer_token(x);
        bool refused;
        if (by_connection(authn, x, fn, ctx, &refused)) {
            call_free(call);
        } else if (!str_empty(token)) {
            (void)ask(call, token);
        } else {
            call_free(call);
            finish_without_user(fn, ctx, refused);
        }
    }
}

struct authn_call *authn_cancel(struct authn_call *call)
{
    if (!call)
        return NULL;
    reviews_cancel(&call->wait);
    call_free(call);
    return NULL;
}

/* --- making and freeing ----------------------------------------------------------------------- */

static struct reviews *make_reviews(struct authn *authn, const struct authn_options *options)
{
    struct reviews_options reviews = {.path = TOKEN_REVIEWS_PATH,
                                      .timeout =
                                          options->timeout ? options->timeout : REVIEW_TIMEOUT,
                                      .qps = options->kube->qps,
                                      .burst = options->kube->burst,
                                      .confidential = true,
                                      .on_answer = on_answer,
                                      .ctx = authn};
    return reviews_new(authn->loop, authn->client, &reviews);
}

int authn_new(struct loop *loop, const struct authn_options *options, struct authn **ret_authn,
              struct err *reterr)
{
    struct authn *authn = xnew(struct authn);
    struct rest_options rest = {.metrics = options->metrics};
    int r = 0;
    authn->loop = loop;
    authn->metrics = options->metrics;
    review_metrics_init(authn->metrics);
    authn->token_ttl = options->token_ttl;
    authn->trust.on_first = on_first_lookup;
    ttl_cache_init(&authn->cache, CACHE_ENTRIES, CACHE_BYTES);
    if (options->kube)
        r = rest_client_new(loop, options->kube, &rest, &authn->client, reterr);
    if (r == 0 && options->kube)
        authn->reviews = make_reviews(authn, options);
    if (r == 0)
        r = authn_trust_init(&authn->trust, loop, authn->client, options, reterr);
    if (r < 0)
        authn_free(authn);
    else
        *ret_authn = authn;
    return r;
}

struct authn *authn_free(struct authn *authn)
{
    if (!authn)
        return NULL;
    while (authn->calls)
        authn_cancel(authn->calls);
    authn_trust_release(&authn->trust);
    reviews_free(authn->reviews);
    rest_client_free(authn->client);
    ttl_cache_release(&authn->cache);
    free(authn);
    return NULL;
}
