/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h - from the decision to its confirmation (upstream: binding cycle).
 *
 * Purpose:   assumes the pod on its node, then runs Reserve, Permit, PreBind, Bind and PostBind.
 *            Permit may hold the pod; PreBind and Bind may take their time. The state between them
 *            is a struct berth_binding_op (op.h), and every step that fails undoes the ones before
 * it. Ownership: a binding owns its op, and ends it. Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_BIND_BINDING_H
#define BERTH_ENGINE_BIND_BINDING_H

#include "engine/bind/binding_op.h"

/* Takes cycle and queued over. */
void binding_start(struct engine *engine, struct berth_queued_pod *queued,
                   struct berth_cycle *cycle, struct berth_node *node, int64_t started);
/* Goes on with the ops that have been answered. */
void binding_run_ready(struct engine *engine);
/* Writes the binding to the API; the outcome becomes the op's answer. */
void binding_write(struct berth_binding_op *op, const struct berth_pod *pod, struct str node_name);
/* The answer of an extender that binds. */
void binding_extender_done(struct engine *engine, uint64_t id,
                           const struct extender_result *result);

#endif
