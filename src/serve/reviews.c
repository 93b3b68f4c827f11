/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/reviews.h"

#include "base/map.h"
#include "kube/backoff.h"

#define REVIEW_RETRIES 5

enum kind_of_caller { USERS, ANONYMOUS, CALLER_KINDS };

/* A caller with reviews that wait to be sent. Exists only while there are any. */
struct caller {
    struct str name; /* stored after this struct */
    enum kind_of_caller kind;
    struct review *first, **last;
    size_t n;
    struct caller *next, **prev; /* in the queue of callers */
};

struct review {
    struct reviews *reviews;
    struct str key, text; /* stored after this struct */
    struct review_wait *waits;
    enum kind_of_caller kind;
    struct caller *caller; /* NULL: sent */
    struct review *next, **prev;
    struct rest_call *call;
    struct loop_timer late;
    int64_t sent;
};

/* The callers of one kind, in the order of their turns. */
struct turns {
    struct caller *first, **last;
    struct map callers; /* by name */
    size_t sent, waits;
};

struct reviews {
    struct loop *loop;
    struct rest_client *client;
    struct reviews_options options;
    struct ratelimit limit;
    struct loop_timer next_token;
    struct map by_key;
    struct turns turns[CALLER_KINDS];
};

static void send_waiting(struct reviews *r);

/* --- queue of callers ------------------------------------------------------------------------- */

static void enqueue(struct turns *t, struct caller *c)
{
    c->next = NULL;
    c->prev = t->last;
    *t->last = c;
    t->last = &c->next;
}

static void dequeue(struct turns *t, struct caller *c)
{
    *c->prev = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        t->last = c->prev;
}

static struct caller *caller_of(struct turns *t, enum kind_of_caller kind, struct str name)
{
    struct caller *c = map_get(&t->callers, name);
    if (c)
        return c;
    c = xmalloc(sizeof(*c) + name.n);
    *c = (struct caller){.name = {(char *)(c + 1), name.n}, .kind = kind, .last = &c->first};
    if (name.n)
        memcpy(c + 1, name.p, name.n);
    map_put(&t->callers, c->name, c);
    enqueue(t, c);
    return c;
}

static void wait_for_turn(struct caller *c, struct review *review)
{
    review->caller = c;
    review->next = NULL;
    review->prev = c->last;
    *c->last = review;
    c->last = &review->next;
    c->n++;
}

/* Removes a review from its caller, and the caller if that was its last review. */
static void leave_queue(struct reviews *r, struct review *review)
{
    struct caller *c = TAKE(review->caller);
    struct turns *t = &r->turns[c->kind];
    *review->prev = review->next;
    if (review->next)
        review->next->prev = review->prev;
    else
        c->last = review->prev;
    loop_timer_stop(&review->late);
    if (--c->n)
        return;
    dequeue(t, c);
    map_del(&t->callers, c->name);
    free(c);
}

/* --- reviews ---------------------------------------------------------------------------------- */

static void stop_waiting(struct review_wait *wait)
{
    struct review *review = TAKE(wait->review);
    *wait->prev = wait->next;
    if (wait->next)
        wait->next->prev = wait->prev;
    review->reviews->turns[review->kind].waits--;
}

/* Calls all waits. Each callback may cancel other waits or ask again. */
static void finish_waits(struct review *review, const struct rest_result *result)
{
    struct reviews *r = review->reviews;
    map_del(&r->by_key, review->key);
    while (review->waits) {
        struct review_wait *wait = review->waits;
        stop_waiting(wait);
        wait->fn(wait, result);
    }
}

static void on_done(void *ctx, const struct rest_result *result)
{
    struct review *review = ctx;
    struct reviews *r = review->reviews;
    review->call = NULL;
    r->turns[review->kind].sent--;
    if (r->options.on_answer)
        r->options.on_answer(r->options.ctx, review->key, result, loop_now(r->loop) - review->sent);
    send_waiting(r);
    finish_waits(review, result); /* may free r */
    free(review);
}

static void on_late(struct loop_timer *timer)
{
    struct review *review = CONTAINER_OF(timer, struct review, late);
    leave_queue(review->reviews, review);
    finish_waits(review, NULL);
    free(review);
}

static void send_one(struct reviews *r, struct review *review)
{
    struct rest_request request = {.verb = REST_CREATE,
                                   .path = str_of(r->options.path),
                                   .text = review->text,
                                   .confidential = r->options.confidential,
                                   .timeout = r->options.timeout,
                                   .max_retries = REVIEW_RETRIES};
    leave_queue(r, review);
    r->turns[review->kind].sent++;
    review->sent = loop_now(r->loop);
    review->call = rest_send(r->client, &request, on_done, review);
}

/* The caller whose review is sent next. NULL if none waits, or too many are in progress. */
static struct caller *next_caller(struct reviews *r)
{
    size_t users = r->turns[USERS].sent, anonymous = r->turns[ANONYMOUS].sent;
    if (users + anonymous >= REVIEWS_SENT_MAX)
        return NULL;
    if (r->turns[USERS].first)
        return r->turns[USERS].first;
    return anonymous < REVIEWS_SENT_MAX / 2 ? r->turns[ANONYMOUS].first : NULL;
}

static void send_waiting(struct reviews *r)
{
    for (struct caller *c; (c = next_caller(r));) {
        int64_t now = loop_now(r->loop), wait = ratelimit_peek(&r->limit, now);
        if (wait > 0) {
            loop_timer_set(&r->next_token, wait);
            return;
        }
        (void)ratelimit_take(&r->limit, now);
        /* Round robin: the caller goes to the end of the queue. */
        dequeue(&r->turns[c->kind], c);
        enqueue(&r->turns[c->kind], c);
        send_one(r, c->first);
    }
}

static void on_token(struct loop_timer *timer)
{
    send_waiting(CONTAINER_OF(timer, struct reviews, next_token));
}

/* --- public functions ------------------------------------------------------------------------- */

static struct review *review_new(struct reviews *r, const struct review_request *q, struct turns *t,
                                 enum kind_of_caller kind)
{
    struct caller *c = caller_of(t, kind, q->caller);
    if (c->n >= REVIEWS_WAITING_MAX)
        return NULL;
    struct review *review = xmalloc(sizeof(*review) + q->key.n + q->text.n);
    char *bytes = (char *)(review + 1);
    *review = (struct review){.reviews = r,
                              .key = {bytes, q->key.n},
                              .text = {bytes + q->key.n, q->text.n},
                              .kind = kind};
    memcpy(bytes, q->key.p, q->key.n);
    memcpy(bytes + q->key.n, q->text.p, q->text.n);
    loop_timer_init(&review->late, r->loop, on_late);
    loop_timer_set(&review->late, r->options.timeout);
    wait_for_turn(c, review);
    map_put(&r->by_key, review->key, review);
    return review;
}

bool reviews_ask(struct reviews *r, const struct review_request *q, struct review_wait *wait,
                 review_fn *fn)
{
    enum kind_of_caller kind = q->anonymous ? ANONYMOUS : USERS;
    struct turns *t = &r->turns[kind];
    if (t->waits >= (q->anonymous ? REVIEWS_ANONYMOUS_MAX : REVIEWS_USERS_MAX))
        return false;
    struct review *review = map_get(&r->by_key, q->key);
    if (!review)
        review = review_new(r, q, t, kind);
    if (!review)
        return false;
    *wait = (struct review_wait){
        .review = review, .fn = fn, .next = review->waits, .prev = &review->waits};
    if (wait->next)
        wait->next->prev = &wait->next;
    review->waits = wait;
    r->turns[review->kind].waits++;
    send_waiting(r);
    return true;
}

void reviews_cancel(struct review_wait *wait)
{
    struct review *review = wait->review;
    if (!review)
        return;
    struct reviews *r = review->reviews;
    bool asked = map_get(&r->by_key, review->key) == review;
    stop_waiting(wait);
    /* A review that was sent is kept: its response is cached for the next request. */
    if (review->waits || !asked || !review->caller)
        return;
    leave_queue(r, review);
    map_del(&r->by_key, review->key);
    free(review);
}

struct reviews *reviews_new(struct loop *loop, struct rest_client *client,
                            const struct reviews_options *options)
{
    struct reviews *r = xnew(struct reviews);
    r->loop = loop;
    r->client = client;
    r->options = *options;
    ratelimit_init(&r->limit, options->qps, options->burst, loop_now(loop));
    loop_timer_init(&r->next_token, loop, on_token);
    for (size_t i = 0; i < CALLER_KINDS; i++)
        r->turns[i].last = &r->turns[i].first;
    return r;
}

struct reviews *reviews_free(struct reviews *r)
{
    if (!r)
        return NULL;
    loop_timer_stop(&r->next_token);
    map_each (e, &r->by_key) {
        struct review *review = e->value;
        rest_cancel(review->call);
        free(review);
    }
    for (size_t i = 0; i < CALLER_KINDS; i++)
        map_release(&r->turns[i].callers);
    map_release(&r->by_key);
    free(r);
    return NULL;
}
