/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the scheduler as a function from what happened to what should be done.
 *
 * Purpose:   objects and outcomes of writes go in by the functions below, writes and decisions come
 *            out by the ports. Same calls, same clock, same seed: same output, byte for byte.
 * Ownership: engine_new copies the ports and keeps config's texts by reference: config must outlive
 *            the engine, or what comes after it (reload.h). Objects passed in are ref'd as needed.
 * Threading: all functions by one thread. There is no lock in the engine.
 */
#ifndef BERTH_ENGINE_ENGINE_H
#define BERTH_ENGINE_ENGINE_H

#include "base/metrics.h"
#include "engine/config/config.h"
#include "engine/config/features.h"
#include "engine/config/registry.h"
#include "engine/explain/explanation.h"
#include "engine/ports/ports.h"

struct engine;

struct engine_options {
    const struct scheduler_config *config;
    const struct registry *registry;
    struct ports ports;
    const struct extender *extenders; /* copied; their texts are not */
    size_t n_extenders;
    /* Whose config and extenders are: told to extender calls, and to the port retired. */
    void *owner;
    const struct features *features; /* copied; NULL: the defaults */
    struct metrics *metrics;         /* outlives the engine; NULL: nothing is counted */
    uint64_t seed;
    int64_t max_in_unschedulable; /* ns; 0: five minutes */
    size_t explain_bytes;         /* for records of attempts; 0: EXPLAIN_MAX_BYTES */
    bool surveys;                 /* records tell what all plugins think of all nodes: survey.h */
    bool no_explain;              /* keep none: for measuring what they cost */
};

int engine_new(const struct engine_options *options, struct engine **ret_engine,
               struct err *reterr) MUST_CHECK;
struct engine *engine_free(struct engine *engine);

/*
 * An object of the cluster changed: before NULL is an addition, after NULL a deletion. Kinds other
 * than nodes and pods are kept for plugins to look up.
 */
void engine_object_changed(struct engine *engine, struct object *before, struct object *after);
/* The outcome of the write with this id. */
void engine_write_done(struct engine *engine, uint64_t id, const struct write_result *result);
/* The answer to the extender call with this id. Every call wants one, be it an error. */
void engine_extender_done(struct engine *engine, uint64_t id, const struct extender_result *result);
/* Time has passed: flushes queues. To be called at engine_next_wake, harmless at any time. */
void engine_tick(struct engine *engine);
/* When the engine next wants to be ticked; INT64_MAX: only when something happens. */
int64_t engine_next_wake(const struct engine *engine);
/*
 * Takes one pod off the queue and tries to place it. False where no pod is ready, or the one tried
 * last still waits for extenders.
 */
bool engine_schedule_one(struct engine *engine);

/*
 * Why: the attempts of a pod that are still remembered (empty name: of all pods), oldest first, one
 * JSON object a line. Gives their number.
 */
size_t engine_explain(const struct engine *engine, struct str namespace, struct str name,
                      struct buf *out);
/* The same, one line at a time: what all attempts of a large simulation take is not in memory at
 * once. */
void engine_explain_each(const struct engine *engine, struct str namespace, struct str name,
                         struct explain_reader reader);

/*
 * Adds to the registry what has been counted, unless it did so a moment ago (scheduler_metrics.h).
 * Gives the time at which to come again; INT64_MAX: when something has happened.
 */
int64_t engine_publish_metrics(struct engine *engine);

/* Lines of at most this level go to ports.log; 0 at first. */
void engine_set_verbosity(struct engine *engine, int verbosity);
/* Says which plugins the profiles work with. */
void engine_log_plugins(const struct engine *engine);

/* Numbers for health checks, metrics and tests. */
struct engine_stats {
    size_t nodes, pods, assumed_pods;
    size_t active, backoff, unschedulable, gated, binding;
    size_t held; /* of those that are binding: by Permit */
};
struct engine_stats engine_get_stats(const struct engine *engine);

#endif
