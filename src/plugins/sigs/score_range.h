/* SPDX-License-Identifier: Apache-2.0 */
/*
 * score_range.h - normalization by the range of the scores.
 *
 * Purpose:   the lowest score becomes 0 and the highest 100; if all are equal, all become 0. Shared
 *            by plugins of sigs.k8s.io/scheduler-plugins whose scores may be negative.
 * Ownership: nothing is kept.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_SIGS_SCORE_RANGE_H
#define BERTH_PLUGINS_SIGS_SCORE_RANGE_H

#include "berth/plugin.h"

/* As a plugin's normalize. */
enum berth_code normalize_range(void *self, const struct berth_cycle *cycle,
                                const struct berth_pod *pod, const uint32_t *slots, int64_t *scores,
                                size_t n, struct berth_status *status);

#endif
