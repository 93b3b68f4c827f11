/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/plugin_base.h"

#include "engine/framework/framework.h"
#include "plugins/common/go_math.h"

int plain_plugin_create(const struct berth_host *host, struct berth_handle *h,
                        struct berth_str args, void **ret_self, struct berth_error *error)
{
    (void)args, (void)error;
    struct plain_plugin *self = xnew(struct plain_plugin);
    *self = (struct plain_plugin){host, h, handle_log(h)};
    *ret_self = self;
    return 0;
}

/* Counts of taints and sums of weights are small: each is scaled once and cached. */
#define SMALL_SCORES 256

struct scale {
    int64_t highest, max;
    bool reverse;
};

/*
 * a / b for a of any sign and b > 0. If both are exact as double, so is the truncated quotient: it
 * is at least 1 / b below the next whole number. That is several times faster.
 */
static inline int64_t divide(int64_t a, int64_t b)
{
    const int64_t exact = (int64_t)1 << 52;
    return a > -exact && a < exact && b < exact ? (int64_t)((double)a / (double)b) : a / b;
}

static inline int64_t scale_one(const struct scale *s, int64_t score)
{
    int64_t scaled = divide(go_mul(s->max, score), s->highest);
    return s->reverse ? go_sub(s->max, scaled) : scaled;
}

static void scale_small(const struct scale *s, int64_t *scores, size_t n)
{
    int64_t table[SMALL_SCORES];
    for (int64_t i = 0; i <= s->highest; i++)
        table[i] = scale_one(s, i);
    for (size_t i = 0; i < n; i++)
        scores[i] = scores[i] >= 0 ? table[scores[i]] : scale_one(s, scores[i]);
}

void normalize_scores(int64_t *scores, size_t n, int64_t max, bool reverse)
{
    struct scale s = {.max = max, .reverse = reverse};
    for (size_t i = 0; i < n; i++)
        s.highest = MAX(s.highest, scores[i]);
    if (s.highest == 0) {
        for (size_t i = 0; reverse && i < n; i++)
            scores[i] = max;
        return;
    }
    if (s.highest < SMALL_SCORES && s.highest < (int64_t)n) {
        scale_small(&s, scores, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        scores[i] = scale_one(&s, scores[i]);
}

/* --- batches ---------------------------------------------------------------------------------- */

enum berth_code normalize_highest_best(void *self, const struct berth_cycle *cycle,
                                       const struct berth_pod *pod, const uint32_t *slots,
                                       int64_t *scores, size_t n, struct berth_status *status)
{
    (void)self;
    (void)cycle;
    (void)pod;
    (void)slots;
    (void)status;
    normalize_scores(scores, n, MAX_NODE_SCORE, false);
    return BERTH_SUCCESS;
}

enum berth_code normalize_lowest_best(void *self, const struct berth_cycle *cycle,
                                      const struct berth_pod *pod, const uint32_t *slots,
                                      int64_t *scores, size_t n, struct berth_status *status)
{
    (void)self;
    (void)cycle;
    (void)pod;
    (void)slots;
    (void)status;
    normalize_scores(scores, n, MAX_NODE_SCORE, true);
    return BERTH_SUCCESS;
}

void batch_refuse(struct berth_filter_batch *batch, size_t word, uint64_t bits,
                  enum berth_code code, berth_reason reason)
{
    bits &= batch->feasible[word];
    batch->feasible[word] &= ~bits;
    for (; bits; bits &= bits - 1) {
        size_t slot = word * 64 + (size_t)__builtin_ctzll(bits);
        batch->codes[slot] = (uint8_t)code;
        batch->reasons[slot] = reason;
    }
}

void batch_refuse_set(struct berth_filter_batch *batch, const uint64_t *set, enum berth_code code,
                      berth_reason reason)
{
    for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++)
        if (batch->feasible[w] & set[w])
            batch_refuse(batch, w, set[w], code, reason);
}

void batch_refuse_others(struct berth_filter_batch *batch, const uint64_t *set,
                         enum berth_code code, berth_reason reason)
{
    for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++)
        if (batch->feasible[w] & ~set[w])
            batch_refuse(batch, w, ~set[w], code, reason);
}

bool sets_meet(const uint64_t *a, const uint64_t *b, size_t n)
{
    for (size_t w = 0; w < BITSET_WORDS(n); w++)
        if (a[w] & b[w])
            return true;
    return false;
}

/* --- keys ------------------------------------------------------------------------------------- */

void key_add_number(struct buf *key, int64_t number)
{
    buf_add(key, &number, sizeof(number));
}

void key_add(struct buf *key, struct str part)
{
    key_add_number(key, (int64_t)part.n);
    buf_add_str(key, part);
}

/* The effects of a toleration: all if it names none. */
static unsigned effects_of(const struct toleration *t)
{
    struct taint alike = {.effect = t->effect};
    return str_empty(t->effect) ? ~0U : taint_effect(&alike);
}

void key_add_tolerations(struct buf *key, const struct pod *pod, unsigned effects)
{
    for (size_t i = 0; i < pod->spec.tolerations.n; i++) {
        const struct toleration *t = &pod->spec.tolerations.v[i];
        if (!(effects_of(t) & effects))
            continue;
        key_add(key, t->key);
        key_add(key, t->operator);
        key_add(key, t->value);
        key_add(key, t->effect);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

void status_printf(const struct berth_host *host, struct berth_status *status, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(&text, fmt, ap);
    va_end(ap);
    host->status_text(status, abi_str(buf_str(&text)));
    buf_release(&text);
}

void no_events(void *self, struct berth_registrar *r)
{
    (void)self;
    (void)r;
}

enum berth_hint hint_own_pod(void *self, const struct berth_pod *pod,
                             const struct berth_object *before, const struct berth_object *after)
{
    (void)self;
    (void)before;
    const struct pod *changed = hint_pod(after);
    return changed && hint_about(pod, changed) ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}
