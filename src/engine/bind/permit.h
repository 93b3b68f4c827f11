/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permit.h - pods that Permit holds (upstream: waitingPod).
 *
 * Purpose:   allows, rejects, preempts or times out an bc that waits. The answer puts it on the
 *            list of ready ops, where it continues.
 * Ownership: borrows the binding cycles.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_BIND_PERMIT_H
#define BERTH_ENGINE_BIND_PERMIT_H

#include "engine/bind/binding_cycle.h"

/* The order of bindings.held: by deadline. */
bool permit_less(const struct heap_node *a, const struct heap_node *b, void *ctx);
/* The plugins in bc->waiting hold the pod from now on. */
void permit_hold(struct binding_cycle *bc);
/* Removes it from bindings.held, if it is there. */
void permit_release(struct binding_cycle *bc);

/* The plugin no longer holds the pod. Returns false if it did not hold it. */
bool permit_allow(struct binding_cycle *bc, const struct berth_handle *by);
/* Rejects the pod. Returns false if Permit no longer holds it. */
bool permit_reject(struct binding_cycle *bc, const struct berth_handle *by, struct str reason);
/*
 * A preemptor takes the pod's room: the pod is tried again. Returns false if it is too late, since
 * its binding is being written.
 */
bool permit_preempt(struct binding_cycle *bc, struct str plugin);
/* Rejects the pods whose deadline has passed. */
void permit_expire(struct bindings *b, int64_t now);
/* The earliest deadline; INT64_MAX if no pod is held. */
int64_t permit_next_deadline(const struct bindings *b);

#endif
