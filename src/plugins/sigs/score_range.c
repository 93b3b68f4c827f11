/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/score_range.h"

#include "base/base.h"
#include "engine/framework/framework.h"

enum berth_code normalize_range(void *self, const struct berth_cycle *cycle,
                                const struct berth_pod *pod, const uint32_t *slots, int64_t *scores,
                                size_t n, struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)slots, (void)status;
    int64_t lowest = INT64_MAX, highest = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        lowest = MIN(lowest, scores[i]);
        highest = MAX(highest, scores[i]);
    }
    /* The range of two int64 does not fit one. */
    __int128 range = (__int128)highest - lowest;
    for (size_t i = 0; i < n; i++)
        scores[i] =
            range > 0 ? (int64_t)(((__int128)scores[i] - lowest) * MAX_NODE_SCORE / range) : 0;
    return BERTH_SUCCESS;
}
