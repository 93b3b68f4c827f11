/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_error.h - "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable."
 *
 * Purpose:   upstream's FitError text, byte for byte, from the verdicts of a cycle.
 * Ownership: appends to the caller's buffer.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_FIT_ERROR_H
#define BERTH_ENGINE_CYCLE_FIT_ERROR_H

#include "engine/cycle/cycle.h"

/* No node passed the filters. */
void fit_error_write(const struct berth_cycle *cycle, struct buf *out);
/* A PreFilter plugin rejected the pod before any node was filtered. */
void fit_error_pre_filter(const struct berth_cycle *cycle, const struct berth_status *status,
                          struct buf *out);
/* Reserve or Permit rejected the pod on the chosen node. */
void fit_error_one_node(const struct berth_status *status, struct reasons *reasons,
                        struct buf *out);
/* Preemption helps no node. n_refused: nodes that were tried; reasons: n of all of these. */
void fit_error_preemption(const struct berth_cycle *cycle, size_t n_refused,
                          const struct str *reasons, size_t n, struct buf *out);
/* PreFilter plugins have no allowed node in common. */
void fit_error_limits(const struct berth_cycle *cycle, struct buf *out);

#endif
