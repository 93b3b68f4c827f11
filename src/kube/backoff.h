/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff.h - how long to wait before trying again, and how often to try at all.
 *
 * Purpose:   backoff: exponential, jittered, forgotten after a healthy while. ratelimit: a token
 *            bucket for clientConnection.qps and burst. Both are told the time, so that tests need
 *            none.
 * Ownership: values.
 * Threading: one thread at a time.
 */
#ifndef BERTH_KUBE_BACKOFF_H
#define BERTH_KUBE_BACKOFF_H

#include "base/rand.h"

struct backoff_options {
    int64_t initial; /* ns */
    int64_t max;     /* ns, before jitter */
    double factor;   /* of one delay to the one before */
    double jitter;   /* adds up to jitter * delay, evenly */
    int64_t reset;   /* asked again later than this, it starts anew; 0: never */
};

struct backoff {
    struct backoff_options options;
    int64_t next; /* before jitter */
    int64_t last; /* when it was asked last */
    struct rand rand;
};

void backoff_init(struct backoff *b, const struct backoff_options *options, uint64_t seed);
/* The next delay in ns. now: monotonic. */
int64_t backoff_next(struct backoff *b, int64_t now);
void backoff_reset(struct backoff *b);
/* ns plus up to jitter * ns. */
int64_t backoff_jitter(struct rand *rand, int64_t ns, double jitter);

/* No limit where interval is 0. */
struct ratelimit {
    int64_t interval; /* ns between two when the burst is used up */
    int64_t credit;   /* ns: interval * burst */
    int64_t at;       /* when the bucket is, or was, exactly empty */
};

/* qps <= 0: no limit. A burst below 1 counts as 1. */
void ratelimit_init(struct ratelimit *rl, double qps, int64_t burst, int64_t now);
/* How many ns until there is a token; 0: there is one. */
int64_t ratelimit_wait(const struct ratelimit *rl, int64_t now);
/* Takes one token and tells how many ns to wait before using it. */
int64_t ratelimit_take(struct ratelimit *rl, int64_t now);
/* Takes one token where there is one; who calls it does not wait. */
void ratelimit_spend(struct ratelimit *rl, int64_t now);
/* How many ns a token taken now would have to wait. */
int64_t ratelimit_peek(const struct ratelimit *rl, int64_t now);

#endif
