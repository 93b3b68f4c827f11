/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding_op.h - the bindings under way. The ABI's struct berth_binding_op.
 *
 * Purpose:   which extension point a binding (binding.h) has reached, which answer it waits for,
 *            and how it is found: by its pod, or by the id of its write or extender call.
 * Ownership: an op owns its cycle and the assumed pod. It is in bindings.ops as long as it lives.
 * Threading: the engine's thread.
 *
 * A plugin may allow or reject a waiting pod, or answer for a binding, from within any of its
 * functions. The answer only puts the op on the list of ready ops; it continues when the plugin has
 * returned (bindings_run_ready).
 */
#ifndef BERTH_ENGINE_BIND_BINDING_OP_H
#define BERTH_ENGINE_BIND_BINDING_OP_H

#include "base/heap.h"
#include "engine/bind/reserve.h"
#include "engine/explain/report.h"

/* All bindings of an engine. */
struct bindings {
    struct framework *framework;
    struct queue *queue;
    const struct report *report;
    VEC(struct berth_binding_op *) ops;
    struct map by_write; /* those that wait for a write or an extender, by its id */
    struct map by_pod;   /* by UID */
    VEC(struct berth_binding_op *) ready;      /* answered; NULL: ended since */
    struct heap held;                          /* by Permit, the earliest deadline on top */
    VEC(struct berth_binding_op *) newly_held; /* since ready ops were last run; NULL: ended */
    struct berth_status status; /* of one plugin call; not read after the function that made it */
    /* Pods of groups whose binding has failed, with a reference each. The caller takes them. */
    VEC(struct berth_pod *) lost;
};

/* What a plugin sees of a pod that Permit holds. */
struct berth_waiting_pod {
    struct berth_binding_op *op;
    permit_waits waits;
};

struct berth_binding_op {
    struct bindings *bindings;
    struct berth_queued_pod *queued;
    struct berth_cycle *cycle;
    struct berth_pod *pod; /* assumed */
    struct str node_name;
    int64_t started;
    int64_t plugin_began; /* metrics: when the plugin was called, in a sampled cycle */
    size_t index;         /* in bindings.ops */

    struct berth_waiting_pod waiting;
    bool holds;            /* Permit holds it */
    struct heap_node held; /* in bindings.held, until the answer comes */
    int64_t deadline;      /* the earliest of those in waiting */
    size_t newly_held;     /* index in bindings.newly_held + 1; 0: not in there */
    bool after_cycle;      /* the scheduling cycle is over: other pods have seen it on its node */
    struct plugin_set skip_pre_bind; /* plugins whose PreBindPreFlight said Skip */
    char *preempted;                 /* why it must not be bound; NULL: it may */

    enum point point;     /* POINT_PERMIT, then POINT_PRE_BIND, POINT_BIND */
    size_t plugin;        /* index in the profile's list at that point */
    uint64_t write_id;    /* the write or extender call it waits for; 0: none */
    size_t next_extender; /* POINT_BIND: the next to consider */
    bool at_extender;     /* the one before that has been called */

    /* The answer it waits for, once it has come. */
    bool answered, ready; /* ready: on bindings.ready */
    enum berth_code code;
    const struct berth_handle *answered_by;
    struct buf reason;
};

void bindings_init(struct bindings *b, struct framework *fw, struct queue *queue,
                   const struct report *report);
/* Ends all bindings without a report. */
void bindings_release(struct bindings *b);

/* The pod is assumed on the node, at POINT_PERMIT. Takes over cycle and queued. */
struct berth_binding_op *binding_op_new(struct bindings *b, struct berth_queued_pod *queued,
                                        struct berth_cycle *cycle, const struct berth_node *node,
                                        int64_t started);
/* Frees the op; the caller has disposed of op->queued. */
void binding_op_free(struct berth_binding_op *op);

/* The op of a pod; NULL if it is not being bound. */
struct berth_binding_op *binding_op_of(const struct bindings *b, struct str uid);
/* Activates the pods that plugins added to its cycle. */
void binding_op_activate_pods(struct berth_binding_op *op);

/* Returns the id under which the answer to the next write or call is expected. */
uint64_t binding_op_expect_answer(struct berth_binding_op *op);
/* The answer of a plugin or write. Only the first one counts. */
void binding_op_answer(struct berth_binding_op *op, const struct berth_handle *by,
                       enum berth_code code, struct str reason);
/* Answers to earlier writes and calls are ignored from now on. */
void binding_op_forget_answers(struct berth_binding_op *op);

#endif
