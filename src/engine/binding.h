/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h - from the decision to its confirmation (upstream: binding cycle).
 *
 * Purpose:   assumes the pod on its node, then runs Reserve, Permit, PreBind, Bind and PostBind.
 *            Permit may hold the pod; PreBind and Bind may take their time. The state between them
 *            is a struct berth_op, and every step that fails undoes the ones before it.
 * Ownership: an op owns its cycle and the assumed pod; it ends itself.
 * Threading: the engine's thread.
 *
 * A plugin may allow or reject a waiting pod, or answer for a binding, from within any of its
 * functions. Nothing happens then and there: the op is put on the engine's list of ready ops and
 * goes on when the plugin has returned (binding_run_ready).
 */
#ifndef BERTH_ENGINE_BINDING_H
#define BERTH_ENGINE_BINDING_H

#include "base/heap.h"
#include "engine/cycle.h"
#include "engine/ports.h"
#include "engine/reserve.h"

/* What a plugin sees of a pod that is held. */
struct berth_waiting_pod {
    struct berth_op *op;
    permit_waits waits;
};

struct berth_op {
    struct engine *engine;
    struct berth_queued_pod *queued;
    struct berth_cycle *cycle;
    struct berth_pod *pod; /* assumed */
    struct str node_name;
    int64_t started;
    int64_t plugin_began; /* metrics: when the plugin was asked, of a sampled cycle */
    size_t index;         /* in engine.ops */

    struct berth_waiting_pod waiting;
    bool holds;            /* Permit holds it */
    struct heap_node held; /* while it does and nobody has answered: in engine.held */
    int64_t deadline;      /* the first of those in waiting */
    size_t newly_held;     /* index in engine.newly_held + 1; 0: not in there */
    bool after_cycle;      /* the scheduling cycle is over: others have seen it on its node */
    struct plugin_set skip_pre_bind; /* PreBind plugins that will have nothing to do */
    char *preempted;                 /* it is not to be bound, and why; NULL: it is */

    enum point point;     /* POINT_PERMIT, then POINT_PRE_BIND, POINT_BIND */
    size_t plugin;        /* index in the profile's list at that point */
    uint64_t write_id;    /* the write or extender call it waits for; 0: none */
    size_t next_extender; /* POINT_BIND: the next to ask whether it binds */
    bool at_extender;     /* the one before that has been asked */

    /* The answer it waits for, once it has come. */
    bool answered, ready; /* ready: on engine.ready_ops */
    enum berth_code code;
    const struct berth_handle *answered_by;
    struct buf reason;
};

/* Takes cycle and queued over. */
void binding_start(struct engine *engine, struct berth_queued_pod *queued,
                   struct berth_cycle *cycle, struct berth_node *node, int64_t started);
/* The answer that the op waits for: of a plugin, or of a write. */
void binding_answer(struct berth_op *op, const struct berth_handle *by, enum berth_code code,
                    struct str reason);
/* Goes on with the ops that have been answered. */
void binding_run_ready(struct engine *engine);
/* Writes the binding to the API; the outcome becomes the op's answer. */
void binding_write(struct berth_op *op, const struct berth_pod *pod, struct str node_name);

/* The answer of an extender that binds. */
void binding_extender_done(struct engine *engine, uint64_t id,
                           const struct extender_result *result);

/* The op of a pod; NULL: none is under way. */
struct berth_op *binding_of(const struct engine *engine, struct str uid);
/* The world is ending: gives everything back without a word. */
void binding_abandon(struct berth_op *op);

#endif
