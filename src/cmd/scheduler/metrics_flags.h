/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_flags.h - makes the process's registry of metrics.
 *
 * Purpose:   applies --disabled-metrics, --show-hidden-metrics-for-version, --allow-metric-labels
 *            and --allow-metric-labels-manifest to a new registry.
 * Ownership: the caller owns the registry.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_SCHEDULER_METRICS_FLAGS_H
#define BERTH_CMD_SCHEDULER_METRICS_FLAGS_H

#include "base/metrics.h"
#include "cmd/scheduler/scheduler_flags.h"

/* Includes the families of the process. Flags must be valid (scheduler_options_check). */
struct metrics *metrics_of_flags(const struct scheduler_options *options,
                                 const struct features *features);

#endif
