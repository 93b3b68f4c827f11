/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/backoff.h"

void backoff_init(struct backoff *b, const struct backoff_options *options, uint64_t seed)
{
    *b = (struct backoff){.options = *options, .next = options->initial, .last = INT64_MIN};
    rand_seed(&b->rand, seed);
}

void backoff_reset(struct backoff *b)
{
    b->next = b->options.initial;
}

int64_t backoff_jitter(struct rand *rand, int64_t ns, double jitter)
{
    return ns + (int64_t)(rand_double(rand) * jitter * (double)ns);
}

int64_t backoff_next(struct backoff *b, int64_t now)
{
    int64_t delay;
    double longer;

    if (b->options.reset > 0 && b->last != INT64_MIN && now - b->last > b->options.reset)
        backoff_reset(b);
    b->last = now;
    delay = b->next;
    longer = (double)delay * b->options.factor;
    b->next = longer >= (double)b->options.max ? b->options.max : (int64_t)longer;
    return backoff_jitter(&b->rand, delay, b->options.jitter);
}

void ratelimit_init(struct ratelimit *rl, double qps, int64_t burst, int64_t now)
{
    *rl = (struct ratelimit){0};
    if (!(qps > 0))
        return;
    /* At least one token per day, so that the arithmetic below cannot overflow. */
    rl->interval = (int64_t)(1e9 / (qps < 1.0 / 86400 ? 1.0 / 86400 : qps));
    rl->interval = MAX(rl->interval, 1);
    burst = MIN(MAX(burst, 1), 10000);
    rl->credit = rl->interval * burst;
    rl->at = now - rl->credit;
}

int64_t ratelimit_take(struct ratelimit *rl, int64_t now)
{
    int64_t wait = ratelimit_peek(rl, now);

    if (rl->interval)
        rl->at = MAX(rl->at, now - rl->credit) + rl->interval;
    return wait;
}

void ratelimit_spend(struct ratelimit *rl, int64_t now)
{
    if (rl->interval)
        rl->at = MIN(MAX(rl->at, now - rl->credit) + rl->interval, MAX(rl->at, now));
}

int64_t ratelimit_peek(const struct ratelimit *rl, int64_t now)
{
    if (rl->interval == 0)
        return 0;
    return MAX(MAX(rl->at, now - rl->credit) + rl->interval - now, 0);
}
