/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reviews.h - sends TokenReviews and SubjectAccessReviews, with fairness between callers.
 *
 * Purpose:   any client that reaches the port can make berth send reviews. So their rate is
 *            limited: users take turns, anonymous clients come after them, each caller has a limit
 *            of waiting reviews, and reviews that were not sent yet are dropped when their caller
 *            disconnects. Concurrent requests for the same review share it.
 * Ownership: the caller owns reviews, and cancels its waits before it frees them. The client must
 *            outlive reviews.
 * Threading: the loop's thread.
 */
#ifndef BERTH_SERVE_REVIEWS_H
#define BERTH_SERVE_REVIEWS_H

#include "kube/rest/rest.h"

#define REVIEWS_SENT_MAX      64   /* in progress; half of them for anonymous clients */
#define REVIEWS_WAITING_MAX   128  /* per caller, not sent yet */
#define REVIEWS_USERS_MAX     2048 /* waits of all users */
#define REVIEWS_ANONYMOUS_MAX 256  /* waits of all anonymous clients */

struct reviews;
struct review;

/* Embedded in the struct of the waiting caller. */
struct review_wait {
    struct review *review; /* NULL: not waiting */
    struct review_wait *next, **prev;
    void (*fn)(struct review_wait *wait, const struct rest_result *result);
};

/* result: valid until it returns; NULL: the review was not sent in time. */
typedef void review_fn(struct review_wait *wait, const struct rest_result *result);

struct reviews_options {
    const char *path; /* of the resource */
    int64_t timeout;  /* of waiting to be sent, and of one attempt, ns */
    double qps;
    int64_t burst;
    bool confidential; /* do not log requests and responses */
    /* Called once per response, before the waits for it; NULL: not called. */
    void (*on_answer)(void *ctx, struct str key, const struct rest_result *result, int64_t took);
    void *ctx;
};

struct review_request {
    struct str key;    /* requests with the same key share a review */
    struct str text;   /* the object to send */
    struct str caller; /* a user or an address */
    bool anonymous;
};

struct reviews *reviews_new(struct loop *loop, struct rest_client *client,
                            const struct reviews_options *options);
/* All waits must be cancelled. NULL is allowed; returns NULL. */
struct reviews *reviews_free(struct reviews *reviews);

/*
 * Copies the request. Returns false if too many are waiting. Otherwise fn is called once, after
 * this returns, unless the wait is cancelled.
 */
bool reviews_ask(struct reviews *reviews, const struct review_request *request,
                 struct review_wait *wait, review_fn *fn);
void reviews_cancel(struct review_wait *wait); /* does nothing if it is not waiting */

#endif
