/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/plugin_base.h"

void normalize_scores(int64_t *scores, size_t n, int64_t max, bool reverse)
{
    int64_t highest = 0;
    for (size_t i = 0; i < n; i++)
        highest = MAX(highest, scores[i]);
    if (highest == 0) {
        for (size_t i = 0; reverse && i < n; i++)
            scores[i] = max;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        /* Absurd scores wrap around, as they do upstream. */
        int64_t scaled = (int64_t)((uint64_t)max * (uint64_t)scores[i]) / highest;
        scores[i] = reverse ? (int64_t)((uint64_t)max - (uint64_t)scaled) : scaled;
    }
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

void no_events(void *self, struct berth_registrar *r)
{
    (void)self;
    (void)r;
}
