/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reviews.h - asks the API server on behalf of clients, fairly.
 *
 * Purpose:   TokenReviews and SubjectAccessReviews are what anybody who reaches the port can make
 *            berth send. So their rate is limited, and who asks matters: users take turns, clients
 *            that are not authenticated come after them, each caller can have only so many waiting,
 *            and a caller that goes away takes along what was not sent yet. What several ask at the
 *            same time is asked once.
 * Ownership: belongs to its maker, who cancels waits before they go; the client must outlive it.
 * Threading: the loop's thread.
 */
#ifndef BERTH_SERVE_REVIEWS_H
#define BERTH_SERVE_REVIEWS_H

#include "kube/rest/rest.h"

#define REVIEWS_SENT_MAX      64  /* under way; those for strangers: half */
#define REVIEWS_WAITING_MAX   128 /* to be sent, for one caller */
#define REVIEWS_USERS_MAX     2048
#define REVIEWS_STRANGERS_MAX 256 /* waits of either kind, those for the same answer included */

struct reviews;
struct review;

/* Embedded in whoever waits. */
struct review_wait {
    struct review *review; /* NULL: nothing is asked */
    struct review_wait *next, **prev;
    void (*fn)(struct review_wait *wait, const struct rest_result *result);
};

/* result NULL: there was no room for it in time. Lives until it returns. */
typedef void review_fn(struct review_wait *wait, const struct rest_result *result);

struct reviews_options {
    const char *path; /* of the resource */
    int64_t timeout;  /* of waiting to be sent, and of one attempt; ns */
    double qps;
    int64_t burst;
    bool confidential; /* neither requests nor answers are logged */
    /* Once for each answer, before those who wait for it are told; NULL: nobody wants to know. */
    void (*on_answer)(void *ctx, struct str key, const struct rest_result *result, int64_t took);
    void *ctx;
};

struct review_request {
    struct str key;    /* the same key, the same answer */
    struct str text;   /* the object to be sent */
    struct str caller; /* a user or an address */
    bool stranger;     /* not authenticated */
};

struct reviews *reviews_new(struct loop *loop, struct rest_client *client,
                            const struct reviews_options *options);
/* Nobody must wait any more. NULL is fine; returns NULL. */
struct reviews *reviews_free(struct reviews *reviews);

/*
 * Everything is copied. False: too many wait already, and fn is not called. Else fn is called once,
 * not before this returns, unless the wait is cancelled.
 */
bool reviews_ask(struct reviews *reviews, const struct review_request *request,
                 struct review_wait *wait, review_fn *fn);
void reviews_cancel(struct review_wait *wait); /* one that does not wait is fine */

#endif
