/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ports.h - everything the engine can do to the world.
 *
 * Purpose:   the engine has no sockets, clock, randomness or threads. Whoever makes an engine hands
 *            it this struct of functions: the live world (src/kube), the simulated one (src/sim),
 *            a test's.
 * Ownership: arguments are borrowed for the call; a port that keeps a pod refs its object and
 *            copies texts.
 * Threading: called on the engine's thread only; must not block.
 */
#ifndef BERTH_ENGINE_PORTS_PORTS_H
#define BERTH_ENGINE_PORTS_PORTS_H

#include "api/object.h"
#include "base/pool.h"
#include "base/str.h"
#include "engine/ports/engine_log.h"
#include "engine/ports/extender.h"

/* A write that should be made. */
enum write_kind {
    WRITE_BINDING,    /* pods/binding: pod to node_name */
    WRITE_POD_STATUS, /* pods/status: the PodScheduled condition, the nominated node, or both */
    WRITE_EVENT,      /* events.k8s.io, regarding the pod */
    /* pods/status: the DisruptionTarget condition; then, once it is written, DELETE of the pod.
     * The outcome is that of the first of the two that fails. */
    WRITE_EVICTION,
    WRITE_POD_GROUP_STATUS, /* podgroups/status: the PodGroupScheduled condition */
};

struct write {
    enum write_kind kind;
    uint64_t id;            /* comes back in engine_write_done; 0: nobody waits for the outcome */
    struct object *object;  /* what it is about: a pod; WRITE_POD_GROUP_STATUS: a PodGroup */
    struct object *related; /* event: the pod or PodGroup that it is about as well; the API server
                             * is told of a PodGroup only; NULL: none */
    struct str scheduler_name;
    struct str node_name; /* WRITE_BINDING: where to; WRITE_POD_STATUS: the nominated node */
    bool sets_nomination; /* WRITE_POD_STATUS: node_name counts; empty clears it */
    bool sets_condition;  /* WRITE_POD_STATUS: reason and message count */
    struct str reason;    /* condition and event */
    struct str message;   /* condition: whole; event: note */
    struct str action;    /* event: "Binding", "Scheduling", "Preempting" */
    bool warning;         /* event: type Warning, else Normal */
    bool scheduled;       /* WRITE_POD_GROUP_STATUS: the condition's status */
};

/* What became of a write. */
struct write_result {
    int status;        /* HTTP status; 0: no answer came (message says why) */
    struct str reason; /* of the Status: "Conflict", "NotFound", … */
    struct str message;
};
static inline bool write_ok(const struct write_result *r)
{
    return r->status >= 200 && r->status < 300;
}

/* What a scheduling attempt came to, for logs, metrics, explanations and the simulator. */
struct decision {
    struct object *pod;
    struct str profile;
    struct str node_name; /* empty: not placed */
    struct str message;   /* why not */
    bool error;           /* not placed because something broke, not because nothing fits */
    bool bound;           /* the binding was accepted */
    size_t evaluated_nodes, feasible_nodes;
    uint32_t attempt;
    int64_t duration; /* of the attempt, ns */
};

/* Bounds memory and patience. */
#define PERMIT_MAX_WAIT ((int64_t)15 * 60 * 1000000000)

struct ports {
    void *ctx;
    int64_t (*now)(void *ctx); /* monotonic ns; virtual in a simulation */
    void (*submit)(void *ctx, const struct write *write);
    /* Asks an extender; the answer must not come before this returns. NULL: there are none. */
    void (*call_extender)(void *ctx, const struct extender_call *call);
    void (*decided)(void *ctx, const struct decision *decision); /* may be NULL */
    engine_log_fn *log; /* lines for people, see engine_set_verbosity; may be NULL */
    /* Nothing of a configuration that was replaced is in use any more (reload.h). May be NULL. */
    void (*retired)(void *ctx, void *owner);
    struct pool *pool; /* for filter and score; NULL: none */
};

#endif
