/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycle_failure.h - why an attempt did not place its pod (upstream: FitError and Status).
 *
 * Purpose:   the text for event and condition, the plugins whose events may help (rejectors and
 *            pending, see queue.h), and what becomes of the pod's nominated node.
 * Ownership: owns its text; the nominated node's name is in the cycle's arena. {0} is empty.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_CYCLE_FAILURE_H
#define BERTH_ENGINE_CYCLE_CYCLE_FAILURE_H

#include "base/buf.h"
#include "engine/framework/framework.h"
#include "engine/framework/status.h"

struct cycle_failure {
    bool error;      /* a plugin or extender failed; false: the pod is unschedulable */
    struct buf text; /* for the event and the condition */
    struct plugin_set rejectors, pending;
    bool of_group;             /* the pod's group could not be placed */
    bool keep_nomination;      /* the nominated node stays as it is */
    struct str nominated_node; /* otherwise the new one; empty: none */
};

void cycle_failure_release(struct cycle_failure *failure);
/* Forgets error, text and plugins; keeps the memory. */
void cycle_failure_clear(struct cycle_failure *failure);
/* Moves `from` into failure and leaves it empty. */
void cycle_failure_move(struct cycle_failure *failure, struct cycle_failure *from);
/* Makes it an error with this text. */
void cycle_failure_error(struct cycle_failure *failure, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same, followed by ": " and the plugin's reasons. */
void cycle_failure_status(struct cycle_failure *failure, const struct reasons *reasons,
                          const struct berth_status *status, enum berth_code code, const char *fmt,
                          ...) PRINTF_LIKE(5, 6);
/* Adds the plugin to pending (BERTH_PENDING) or to rejectors. */
void cycle_failure_blame(struct cycle_failure *failure, const struct berth_handle *h,
                         enum berth_code code);

#endif
