/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff.h - delays between attempts, and rate limits.
 *
 * Purpose:   backoff: exponential with jitter, reset after a healthy period (client-go:
 *            wait.BackoffManager). ratelimit: a token bucket for clientConnection.qps and burst
 *            (client-go: flowcontrol.NewTokenBucketRateLimiter). Both take the time as an argument,
 *            so that tests need no clock.
 * Ownership: plain values; nothing to release.
 * Threading: one thread at a time.
 */
#ifndef BERTH_KUBE_BACKOFF_H
#define BERTH_KUBE_BACKOFF_H

#include "base/rand.h"

struct backoff_options {
    int64_t initial; /* ns */
    int64_t max;     /* ns, before jitter */
    double factor;   /* ratio of one delay to the previous one */
    double jitter;   /* adds a random part of up to jitter * delay */
    int64_t reset;   /* starts over if not used for longer than this; 0: never */
};

struct backoff {
    struct backoff_options options;
    int64_t next; /* before jitter */
    int64_t last; /* time of the last call */
    struct rand rand;
};

void backoff_init(struct backoff *b, const struct backoff_options *options, uint64_t seed);
/* Returns the next delay in ns. now: monotonic. */
int64_t backoff_next(struct backoff *b, int64_t now);
void backoff_reset(struct backoff *b);
/* Returns ns plus a random part of up to jitter * ns. */
int64_t backoff_jitter(struct rand *rand, int64_t ns, double jitter);

/* interval 0: no limit. */
struct ratelimit {
    int64_t interval; /* ns between two tokens once the burst is used up */
    int64_t credit;   /* ns: interval * burst */
    int64_t at;       /* when the bucket is, or was, exactly empty */
};

/* qps <= 0: no limit. A burst below 1 counts as 1. */
void ratelimit_init(struct ratelimit *rl, double qps, int64_t burst, int64_t now);
/* Takes one token. Returns the ns to wait before using it. */
int64_t ratelimit_take(struct ratelimit *rl, int64_t now);
/* Takes one token if one is available; does not wait. */
void ratelimit_spend(struct ratelimit *rl, int64_t now);
/* Returns the ns until a token is available; 0: now. */
int64_t ratelimit_peek(const struct ratelimit *rl, int64_t now);

#endif
