/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding_end.h - the two ends of a binding: the pod is bound, or it failed.
 *
 * Purpose:   says, counts and records what came of it, and undoes what a binding that failed had
 *            done. Used by binding.c.
 * Ownership: the op is gone afterwards, and with it its cycle; queued goes back to the queue.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_BIND_BINDING_END_H
#define BERTH_ENGINE_BIND_BINDING_END_H

#include "engine/bind/binding_op.h"

/* PostBind follows, then the queue forgets the pod. */
void binding_bound(struct berth_binding_op *op);
/* Gives the room back; waiting pods learn of it, the pod itself only where something broke. */
void binding_failed(struct berth_binding_op *op, const struct cycle_failure *failure);
/*
 * A plugin said no, or broke, with engine.status for its reasons: both end the binding, with
 * upstream's words. Permit is the last point at which a pod may be called unschedulable; who says
 * no after it is not asked when the pod may be tried again.
 */
void binding_failed_at(struct berth_binding_op *op, enum point point, const struct berth_handle *by,
                       enum berth_code code);

#endif
