/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_flags.h - the process's registry as the command line wants it.
 *
 * Purpose:   --disabled-metrics, --show-hidden-metrics-for-version, --allow-metric-labels and
 *            --allow-metric-labels-manifest become the rules of a registry.
 * Ownership: the registry is the caller's.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_SCHEDULER_METRICS_FLAGS_H
#define BERTH_CMD_SCHEDULER_METRICS_FLAGS_H

#include "base/metrics.h"
#include "cmd/scheduler/scheduler_flags.h"

/* With the families of the process itself. The flags have been checked (scheduler_options_check).
 */
struct metrics *metrics_of_flags(const struct scheduler_options *options,
                                 const struct features *features);

#endif
