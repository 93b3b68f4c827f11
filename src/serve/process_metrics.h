/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_metrics.h - the process as the kernel sees it, and which program it is.
 *
 * Purpose:   process_* as Prometheus' clients have it, and those of go_* that mean something in a
 *            C program: threads and the heap; kubernetes_build_info, version_info and
 *            kubernetes_feature_enabled.
 * Ownership: the state belongs to the registry.
 * Threading: the loop's thread; /proc is read whenever a page is written.
 */
#ifndef BERTH_SERVE_PROCESS_METRICS_H
#define BERTH_SERVE_PROCESS_METRICS_H

#include "base/metrics.h"
#include "engine/config/features.h"

void process_metrics_add(struct metrics *metrics);
/* Seconds since 1970; 0 where /proc does not say. */
double process_start_time(void);

/* git_version: "v1.36.3". */
void build_metrics_add(struct metrics *metrics, const struct features *features,
                       struct str git_version);

#endif
