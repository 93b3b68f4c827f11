/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - the engine's state, for the files of src/engine only.
 *
 * Purpose:   what queue, cache, cycle and binding share.
 * Ownership: owned by engine.c.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_INTERNAL_H
#define BERTH_ENGINE_INTERNAL_H

#include "base/rand.h"
#include "engine/attempt.h"
#include "engine/bind/binding.h"
#include "engine/bind/permit.h"
#include "engine/cache/cache.h"
#include "engine/cycle/attempt_buffers.h"
#include "engine/cycle/cycle.h"
#include "engine/cycle/workers.h"
#include "engine/engine.h"
#include "engine/explain/explain.h"
#include "engine/framework/setup.h"
#include "engine/framework/status.h"
#include "engine/group/group_cycle.h"
#include "engine/index/cluster.h"
#include "engine/metrics/scheduler_metrics.h"
#include "engine/queue/queue.h"

struct engine {
    struct ports ports;
    struct engine_log log;
    struct rand rand;
    struct intern names;
    struct reasons reasons;
    struct berth_status status; /* scratch for calls on the engine's thread */
    struct cache cache;
    struct cluster cluster;
    struct features features;
    struct queue queue;
    struct setup *setup;          /* profiles and extenders */
    struct setup *replaced;       /* setups that cycles under way still use */
    VEC(struct str) plugin_names; /* index: plugin id */
    VEC(struct str) state_keys;   /* index: key - 1; texts owned */
    struct attempt attempt;
    struct group_cycle group;
    bool groups;                        /* pods that name a PodGroup are scheduled together */
    VEC(struct berth_binding_op *) ops; /* bindings under way */
    struct map ops_by_write;            /* those that wait for a write or an extender, by its id */
    struct map ops_by_pod;              /* by UID */
    VEC(struct berth_binding_op *) ready_ops;  /* answered, to go on; NULL: ended meanwhile */
    struct map evictions;                      /* victims leave for a pod, by its UID: eviction.h */
    struct map eviction_writes;                /* of these, by id */
    struct heap held;                          /* by Permit, the first to run out of time on top */
    VEC(struct berth_binding_op *) newly_held; /* since ready_ops were last run; NULL: ended */
    uint64_t next_write_id;                    /* of extender calls, too */
    size_t next_start_node;                    /* where the next cycle begins to look */

    struct attempt_buffers buffers; /* of the attempt under way */
    VEC(struct berth_cycle *) spare_cycles;
    struct workers workers;
    struct explain explain;
    struct scheduler_metrics *metrics; /* NULL: nothing is counted */
    bool surveys;
};

/* The id of a write as a key of ops_by_write. */
static inline struct str write_key(const uint64_t *id)
{
    return (struct str){(const char *)id, sizeof(*id)};
}

/* The number of a plugin's name, given out on first sight; negative: too many. */
int engine_plugin_id(struct engine *engine, struct str name);
berth_state_key engine_state_key(struct engine *engine, struct str name);
/* As the current configuration has it. */
void engine_set_backoff(struct engine *engine);
struct profile *engine_profile(const struct engine *engine, struct str scheduler_name);

static inline int64_t engine_now(const struct engine *engine)
{
    return engine->ports.now(engine->ports.ctx);
}

/* A pod that was popped and needs no node after all: the queue has forgotten it then. */
bool engine_skips(struct engine *engine, struct berth_queued_pod *queued);
/* Asks an extender about these nodes, under the id given. */
void engine_call_extender(const struct setup *setup, const struct engine_extender *extender,
                          struct extender_call *call);
/* The attempt failed: tells the user and puts the pod back. Takes queued over. */
void engine_attempt_failed(struct engine *engine, struct berth_queued_pod *queued,
                           const struct cycle_failure *failure, int64_t started,
                           const struct berth_cycle *cycle);
/* Submits an event regarding the pod. */
void engine_submit_event(struct engine *engine, const struct berth_pod *pod,
                         const struct profile *profile, bool warning, const char *reason,
                         const char *action, struct str note);
/* Tells the world and records it. failure NULL: it was bound to node_name. */
void engine_tell_decision(struct engine *engine, const struct berth_queued_pod *queued,
                          const struct berth_cycle *cycle, int64_t started,
                          const struct cycle_failure *failure, struct str node_name);

#endif
