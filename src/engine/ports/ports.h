/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ports.h - the engine's interface to everything outside of it.
 *
 * Purpose:   the engine has no sockets, clock or threads. Its creator passes it this struct of
 *            functions: the live scheduler (src/kube), the simulator (src/sim), a test.
 * Ownership: arguments are borrowed for the call; a port that keeps an object takes a reference,
 *            and copies texts.
 * Threading: called on the engine's thread only; must not block.
 */
#ifndef BERTH_ENGINE_PORTS_PORTS_H
#define BERTH_ENGINE_PORTS_PORTS_H

#include "api/object.h"
#include "base/pool.h"
#include "base/str.h"
#include "engine/ports/abi.h"
#include "engine/ports/engine_log.h"
#include "engine/ports/extender.h"

/* A write that should be made. */
enum write_kind {
    WRITE_BINDING,    /* pods/binding: pod to node_name */
    WRITE_POD_STATUS, /* pods/status: the PodScheduled condition, the nominated node, or both */
    WRITE_EVENT,      /* events.k8s.io, regarding the pod */
    /*
     * pods/status: the DisruptionTarget condition; once that is written, DELETE of the pod. The
     * outcome is that of the first request that fails.
     */
    WRITE_EVICTION,
    WRITE_POD_GROUP_STATUS, /* podgroups/status: the PodGroupScheduled condition */
};

struct write {
    enum write_kind kind;
    uint64_t id;           /* for engine_write_done; 0: the outcome is ignored */
    struct object *object; /* a pod; WRITE_POD_GROUP_STATUS: a PodGroup */
    /* Event: its related pod or PodGroup; only a PodGroup is written. NULL: none. */
    struct object *related;
    struct str scheduler_name;
    struct str node_name; /* WRITE_BINDING: the target; WRITE_POD_STATUS: the nominated node */
    bool sets_nomination; /* WRITE_POD_STATUS: writes node_name; empty clears the nomination */
    bool sets_condition;  /* WRITE_POD_STATUS: writes reason and message */
    struct str reason;    /* condition and event */
    struct str message;   /* condition: its message; event: its note */
    struct str action;    /* event: "Binding", "Scheduling", "Preempting" */
    bool warning;         /* event: type Warning, else Normal */
    bool scheduled;       /* WRITE_POD_GROUP_STATUS: the condition's status */
};

/* The outcome of a write. */
struct write_result {
    int status;        /* HTTP status; 0: no response, message says why */
    struct str reason; /* of the Status: "Conflict", "NotFound", … */
    struct str message;
};
static inline bool write_ok(const struct write_result *r)
{
    return r->status >= 200 && r->status < 300;
}

/* The result of an attempt, for logs, metrics, explanations and the simulator. */
struct decision {
    struct object *pod;
    struct str profile;
    struct str node_name; /* empty: not placed */
    struct str message;   /* why not */
    bool error;           /* a plugin, extender or write failed; false: the pod does not fit */
    bool bound;           /* the binding was accepted */
    size_t evaluated_nodes, feasible_nodes;
    uint32_t attempt;
    int64_t duration; /* of the attempt, ns */
};

struct engine_post;

/* Work of the engine for another thread. */
struct engine_work {
    void (*run)(struct engine_work *work); /* on any thread */
    /* Called by engine_work_done; frees it. dropped: its result does not count any more. */
    void (*done)(struct engine_work *work, bool dropped);
};

/* The longest time for which Permit can hold a pod (upstream: maxTimeout). */
#define PERMIT_MAX_WAIT ((int64_t)15 * 60 * 1000000000)

struct ports {
    void *ctx;
    int64_t (*now)(void *ctx); /* monotonic ns; virtual in a simulation */
    /* ns since 1970, for times that are written to the API; NULL: `now` counts from 1970. */
    int64_t (*wall)(void *ctx);
    void (*submit)(void *ctx, const struct write *write);
    /* Calls an extender; must return before the answer comes. NULL: extenders are not supported. */
    void (*call_extender)(void *ctx, const struct extender_call *call);
    /*
     * Sends a plugin's request; must return before the answer comes (engine_api_done). NULL: every
     * request fails.
     */
    void (*call_api)(void *ctx, uint64_t id, const struct berth_api_call *call);
    /*
     * Sends a plugin's HTTP GET; must return before the answer comes (engine_http_done). NULL:
     * every request fails.
     */
    void (*http_get)(void *ctx, uint64_t id, const struct berth_http_get *get);
    /*
     * A plugin wants the objects of this kind: the world reports them from now on, if it does not
     * already, and calls engine_kind_synced. NULL: it reports what it has.
     */
    void (*watch)(void *ctx, const struct kind *kind);
    /*
     * Pods that have ended are reported as well from now on, those that exist included. NULL: the
     * world reports what it has.
     */
    void (*watch_finished_pods)(void *ctx);
    /*
     * Whether plugins that are controllers may write: this instance leads. NULL: it never does.
     */
    bool (*leads)(void *ctx);
    /*
     * Another thread has something for the engine's: engine_posted is called there, in the order of
     * the posts. Called on any thread. NULL: plugins may call from the engine's thread only.
     */
    void (*post)(void *ctx, struct engine_post *post);
    /* Whether the caller is on the engine's thread; any thread. NULL: always. */
    bool (*is_engine_thread)(void *ctx);
    /*
     * Work that may block: calls work->run on a thread of its own, then engine_work_done on the
     * engine's, or drops it when the engine is about to end. NULL: it is done at once, by the
     * engine.
     */
    void (*work)(void *ctx, struct engine_work *work);
    void (*decided)(void *ctx, const struct decision *decision); /* NULL is allowed */
    engine_log_fn *log; /* see engine_set_verbosity; NULL: no log */
    /* A configuration that was replaced is no longer in use (reload.h). NULL is allowed. */
    void (*retired)(void *ctx, void *owner);
    struct pool *pool; /* for Filter and Score; NULL: the engine's thread only */
};

#endif
