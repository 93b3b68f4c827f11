/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding_cycle.h - the binding cycles under way, and the calls that each of them waits for.
 *
 * Purpose:   which extension point a binding (binding.h) has reached, which plugins have yet to
 *            answer, and how it is found: by its pod, or by the id of a write or extender call.
 * Ownership: a binding cycle owns its cycle and the assumed pod. It is in bindings.cycles as long
 *            as it lives, and so are its calls, which plugins know by their id (berth_op).
 * Threading: the engine's thread.
 *
 * A plugin may allow or reject a waiting pod, or answer for a binding, from within any of its
 * functions. The answer only puts the binding on the list of ready ones; it continues when the
 * plugin has returned (bindings_run_ready).
 */
#ifndef BERTH_ENGINE_BIND_BINDING_CYCLE_H
#define BERTH_ENGINE_BIND_BINDING_CYCLE_H

#include "base/heap.h"
#include "engine/bind/reserve.h"
#include "engine/explain/report.h"

/* All binding cycles of an engine. */
struct bindings {
    struct framework *framework;
    struct queue *queue;
    const struct report *report;
    VEC(struct binding_cycle *) cycles;
    struct map by_write;               /* calls that wait for a write or an extender, by its id */
    struct map by_op;                  /* calls of plugins, by the id that the plugin knows */
    struct map by_pod;                 /* by UID */
    VEC(struct binding_cycle *) ready; /* answered; NULL: ended since */
    struct heap held;                  /* by Permit, the earliest deadline on top */
    VEC(struct binding_cycle *) newly_held; /* since ready ones were last run; NULL: ended */
    struct berth_status status; /* of one plugin call; not read after the function that made it */
    /* Pods of groups whose binding has failed, with a reference each. The caller takes them. */
    VEC(struct berth_pod *) lost;
};

/* What a plugin sees of a pod that Permit holds. */
struct berth_waiting_pod {
    struct binding_cycle *binding;
    permit_waits waits;
};

/* One answer that a binding waits for: of a plugin at PreBind or Bind, of Permit, an extender. */
struct binding_call {
    struct binding_cycle *binding;
    berth_op op;                       /* the plugin's id for it; 0: no plugin is asked */
    const struct berth_handle *handle; /* whose answer; NULL: Permit, an extender */
    int64_t began;                     /* metrics: when the plugin was called, in a sampled cycle */
    uint64_t write_id;                 /* the write or extender call it waits for; 0: none */
    bool running;                      /* a worker runs the plugin: the cycle is its own */
    bool cancelled;                    /* is to be cancelled when the worker has returned */
    bool open;                         /* the answer has not been taken */
    bool answered;                     /* it has come; the first one counts */
    enum berth_code code;
    const struct berth_handle *answered_by;
    struct buf reason;
};

struct binding_cycle {
    struct bindings *bindings;
    struct berth_queued_pod *queued;
    struct berth_cycle *cycle;
    struct berth_pod *pod; /* assumed */
    struct str node_name;
    int64_t started;
    size_t index; /* in bindings.cycles */

    struct berth_waiting_pod waiting;
    bool holds;            /* Permit holds it */
    struct heap_node held; /* in bindings.held, until the answer comes */
    int64_t deadline;      /* the earliest of those in waiting */
    size_t newly_held;     /* index in bindings.newly_held + 1; 0: not in there */
    bool after_cycle;      /* the scheduling cycle is over: other pods have seen it on its node */
    struct plugin_set skip_pre_bind; /* plugins whose PreBindPreFlight said Skip */
    char *preempted;                 /* why it must not be bound; NULL: it may */

    enum point point;     /* POINT_PERMIT, then POINT_PRE_BIND, POINT_BIND */
    size_t plugin;        /* the next in the profile's list at that point */
    size_t next_extender; /* POINT_BIND: the next to consider */
    bool at_extender;     /* the one before that has been called */
    bool ready;           /* on bindings.ready */

    /* The calls under way: several at PreBind, if the plugins allow it. */
    struct binding_call first, *others;
    size_t n_calls, n_open;
    struct binding_call failed; /* the first call that failed; its handle is NULL: none */
};

void bindings_init(struct bindings *b, struct framework *fw, struct queue *queue,
                   const struct report *report);
/* Ends all bindings without a report. */
void bindings_release(struct bindings *b);

/* The pod is assumed on the node, at POINT_PERMIT. Takes over cycle and queued. */
struct binding_cycle *binding_cycle_new(struct bindings *b, struct berth_queued_pod *queued,
                                        struct berth_cycle *cycle, const struct berth_node *node,
                                        int64_t started);
/* Frees it; the caller has disposed of bc->queued. */
void binding_cycle_free(struct binding_cycle *bc);

/* NULL if the pod is not being bound. */
struct binding_cycle *binding_cycle_of(const struct bindings *b, struct str uid);
/* Whether a binding waits for a plugin while no plugin has a request or timer: for a thread. */
bool bindings_wait_for_threads(const struct bindings *b);
/* Activates the pods that plugins added to its cycle. */
void binding_cycle_activate_pods(struct binding_cycle *bc);

/* --- calls ------------------------------------------------------------------------------------ */

/* Opens n calls; none is open before. handles NULL: n is 1, and no plugin is called. */
void binding_calls_open(struct binding_cycle *bc, struct berth_handle *const *handles, size_t n);
struct binding_call *binding_call(struct binding_cycle *bc, size_t i);
/* The answer is taken: later answers and writes of this call are ignored. */
void binding_call_close(struct binding_call *op);
static inline bool binding_call_has_answer(const struct binding_call *call)
{
    return call->answered && !call->running;
}
/* Closes the open calls of plugins that can cancel them; those of workers when they return. */
void binding_calls_cancel(struct binding_cycle *bc);
/* Puts the binding on the list of ready ones. */
void binding_make_ready(struct binding_cycle *bc);

/* Returns the id under which the answer to the next write or call is expected. */
uint64_t binding_op_expect_answer(struct binding_call *op);
/* The answer of a plugin or write. Only the first one counts. */
void binding_op_answer(struct binding_call *op, const struct berth_handle *by, enum berth_code code,
                       struct str reason);
/* The ABI's op_done, on the engine's thread. */
void bindings_op_done(struct bindings *b, const struct berth_handle *by, berth_op op,
                      enum berth_code code, struct str reason);

#endif
