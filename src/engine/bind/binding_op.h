/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding_op.h - a binding under way, from one answer to the next. The ABI's struct
 * berth_binding_op.
 *
 * Purpose:   where a binding (binding.h) has got to, which answer it waits for, and by what it is
 *            found: by its pod, or by the id of the write or extender call that it has asked for.
 * Ownership: an op owns its cycle and the assumed pod. It is in engine.ops for as long as it lives.
 * Threading: the engine's thread.
 *
 * A plugin may allow or reject a waiting pod, or answer for a binding, from within any of its
 * functions. Nothing happens then and there: the op is put on the engine's list of ready ops and
 * goes on when the plugin has returned (binding_run_ready).
 */
#ifndef BERTH_ENGINE_BIND_BINDING_OP_H
#define BERTH_ENGINE_BIND_BINDING_OP_H

#include "base/heap.h"
#include "engine/bind/reserve.h"
#include "engine/cycle/cycle.h"
#include "engine/ports/ports.h"

/* What a plugin sees of a pod that is held. */
struct berth_waiting_pod {
    struct berth_binding_op *op;
    permit_waits waits;
};

struct berth_binding_op {
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

/* The pod is assumed on the node, at POINT_PERMIT. Takes cycle and queued over. */
struct berth_binding_op *binding_op_new(struct engine *engine, struct berth_queued_pod *queued,
                                        struct berth_cycle *cycle, const struct berth_node *node,
                                        int64_t started);
/* Who has queued decides what becomes of it; the op's references are given back. */
void binding_op_free(struct berth_binding_op *op);
/* The world is ending: gives everything back without a word. */
void binding_op_abandon(struct berth_binding_op *op);

/* The op of a pod; NULL: none is under way. */
struct berth_binding_op *binding_op_of(const struct engine *engine, struct str uid);
/* Pods that plugins asked to have activated with it, by its cycle, are. */
void binding_op_activate_pods(struct berth_binding_op *op);

/* It waits for the outcome of what is about to be asked for, a write or a call; gives its id. */
uint64_t binding_op_expect_answer(struct berth_binding_op *op);
/* The answer that it waits for: of a plugin, or of a write. Only the first one counts. */
void binding_op_answer(struct berth_binding_op *op, const struct berth_handle *by,
                       enum berth_code code, struct str reason);
/* No answer to what was asked before counts from now on. */
void binding_op_forget_answers(struct berth_binding_op *op);

#endif
