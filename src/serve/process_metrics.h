/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_metrics.h - metrics of the process, its version and its feature gates.
 *
 * Purpose:   process_* of Prometheus' clients; those of go_* that apply to a C program (threads,
 *            heap); kubernetes_build_info, version_info and kubernetes_feature_enabled.
 * Ownership: the registry owns the state.
 * Threading: the loop's thread; /proc is read for every page.
 */
#ifndef BERTH_SERVE_PROCESS_METRICS_H
#define BERTH_SERVE_PROCESS_METRICS_H

#include "base/metrics.h"
#include "engine/config/features.h"

void process_metrics_add(struct metrics *metrics);
/* Seconds since 1970; 0 if unknown. */
double process_start_time(void);

/* git_version: "v1.36.3". */
void build_metrics_add(struct metrics *metrics, const struct features *features,
                       struct str git_version);

#endif
