/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permit.h - pods that Permit holds: let go, turned back, or out of time.
 *
 * Purpose:   what plugins, the clock and preemption do to an op that waits (op.h). The answer
 *            puts it on the engine's list of ready ops; it goes on from there.
 * Ownership: borrows the ops.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_BIND_PERMIT_H
#define BERTH_ENGINE_BIND_PERMIT_H

#include "engine/bind/binding_op.h"

/* The order of engine.held. */
bool permit_less(const struct heap_node *a, const struct heap_node *b, void *ctx);
/* The plugins in op.waiting hold the pod from now on. */
void permit_hold(struct berth_binding_op *op);
/* An answer has come, or it ends without one. Who is not held is passed over. */
void permit_release(struct berth_binding_op *op);

/* A plugin no longer holds the pod. False where it did not. */
bool permit_allow(struct berth_binding_op *op, const struct berth_handle *by);
/* The pod is not to be placed. False where nobody holds it any more. */
bool permit_reject(struct berth_binding_op *op, const struct berth_handle *by, struct str reason);
/*
 * Somebody else needs the room, by the idea of that plugin: the pod is tried again. False where it
 * is too late, since its binding is being written.
 */
bool permit_preempt(struct berth_binding_op *op, struct str plugin);
/* Rejects what has waited long enough. */
void permit_expire(struct engine *engine, int64_t now);
/* The time at which to look again; INT64_MAX: never. */
int64_t permit_next_deadline(const struct engine *engine);

#endif
