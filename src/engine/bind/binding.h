/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h - from the chosen node to the confirmed binding (upstream: binding cycle).
 *
 * Purpose:   assumes the pod on its node, then runs Reserve, Permit, PreBind, Bind and PostBind.
 *            Permit may hold the pod; PreBind and Bind may wait for writes and extenders. The state
 *            in between is a struct binding_cycle; a step that fails undoes those before it.
 *            A node that is deleted meanwhile does not stop a binding, as in upstream: its NodeInfo
 *            stays while the assumed pod is on it, and the API server accepts or rejects the write.
 * Ownership: a binding owns its binding cycle and frees it at its end.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_BIND_BINDING_H
#define BERTH_ENGINE_BIND_BINDING_H

#include "engine/bind/binding_cycle.h"

/* Takes over cycle and queued. */
void binding_start(struct bindings *b, struct berth_queued_pod *queued, struct berth_cycle *cycle,
                   struct berth_node *node, int64_t started);
/* Continues the bindings that have been answered. */
void bindings_run_ready(struct bindings *b);
/* The ABI's write_binding: writes the binding; the outcome becomes the op's answer. */
void bindings_write(struct bindings *b, const struct berth_handle *by, berth_op op,
                    struct str node_name);
/* The outcome of a write. Returns false if no binding waits for it. */
bool bindings_write_done(struct bindings *b, uint64_t id, const struct write_result *result);
/* The answer of an extender that binds. */
void bindings_extender_done(struct bindings *b, uint64_t id, const struct extender_result *result);

#endif
