/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the scheduler as a deterministic function from events to writes.
 *
 * Purpose:   objects and outcomes of writes go in by the functions below, writes and decisions come
 *            out by the ports. The same calls with the same clock and the same seed produce the
 *            same output, byte for byte.
 * Ownership: engine_new copies the ports and borrows config: it must outlive the engine, or its own
 *            retirement after a reload (reload.h). The engine takes references on objects.
 * Threading: all functions are called by one thread. There is no lock in the engine.
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
    /* The owner of config and extenders: passed to extender calls and to ports.retired. */
    void *owner;
    const struct features *features; /* copied; NULL: the defaults */
    struct metrics *metrics;         /* must outlive the engine; NULL: metrics are off */
    uint64_t seed;
    int64_t max_in_unschedulable; /* ns; 0: five minutes */
    int64_t max_pd_volumes;       /* KUBE_MAX_PD_VOLS; 0: unset */
    size_t explain_bytes;         /* limit for records of attempts; 0: EXPLAIN_MAX_BYTES */
    bool surveys;                 /* records have every plugin's verdict on every node: survey.h */
    bool no_explain;              /* no records: for measuring what they cost */
};

int engine_new(const struct engine_options *options, struct engine **ret_engine,
               struct err *reterr) MUST_CHECK;
struct engine *engine_free(struct engine *engine);

/*
 * An object of the cluster changed. before NULL: it was added; after NULL: it was deleted. Kinds
 * other than nodes and pods are kept for plugins to look up.
 */
void engine_object_changed(struct engine *engine, struct object *before, struct object *after);
/*
 * Between these two calls the objects of the initial lists arrive, and no pod is attempted: what
 * they change for waiting pods is found out at the end, once per pod.
 */
void engine_begin_listing(struct engine *engine);
void engine_end_listing(struct engine *engine);
/* The outcome of the write with this id. */
void engine_write_done(struct engine *engine, uint64_t id, const struct write_result *result);
/* The answer to the extender call with this id. Every call must be answered, if only by an error.
 */
void engine_extender_done(struct engine *engine, uint64_t id, const struct extender_result *result);
/* The answer to a plugin's request (ports.call_api). result is borrowed. */
void engine_api_done(struct engine *engine, uint64_t id, const struct berth_api_result *result);
/* The answer to a plugin's HTTP request (ports.http_get). result is borrowed. */
void engine_http_done(struct engine *engine, uint64_t id, const struct berth_http_result *result);
/* All objects of a kind that a plugin asked for (ports.watch) have been passed on. */
void engine_kind_synced(struct engine *engine, const struct kind *kind);
/* What another thread has posted (ports.post). Takes over the post. */
void engine_posted(struct engine *engine, struct engine_post *post);
/* Frees a post that is not passed on any more. */
void engine_post_free(struct engine_post *post);
/* Whether a pod's binding waits for a plugin's own thread: nothing else is under way for it. */
bool engine_waits_for_threads(const struct engine *engine);
/* Work for another thread (ports.work) has been done. Takes over the work. */
void engine_work_done(struct engine *engine, struct engine_work *work);
/* The same if the engine ends before the work has begun, or before its result was passed on. */
void engine_work_drop(struct engine_work *work);
/* Time has passed: flushes queues, Permit timeouts and the timers of plugins. Must be called at
 * engine_next_wake. */
void engine_tick(struct engine *engine);
/* The time of the next engine_tick; INT64_MAX: none is due until the next event. */
int64_t engine_next_wake(const struct engine *engine);
/*
 * Pops a pod and attempts to schedule it. Returns false if no pod is ready, or if the last attempt
 * still waits for an extender or an eviction.
 */
bool engine_schedule_one(struct engine *engine);
/* Is the pod queued, and not gated? Then it is tried now, after its backoff, or after an event. */
bool engine_pod_waits(const struct engine *engine, struct str uid);

/*
 * Appends the recorded attempts of a pod (empty name: of all pods), oldest first, as one JSON
 * object per line. Returns their number.
 */
size_t engine_explain(const struct engine *engine, struct str namespace, struct str name,
                      struct buf *out);
/* The same, one line at a time: the output of a large simulation need not fit into memory. */
void engine_explain_each(const struct engine *engine, struct str namespace, struct str name,
                         struct explain_reader reader);

/*
 * Adds what has been counted to the registry, at most ten times a second (scheduler_metrics.h).
 * Returns the time of the next publish; INT64_MAX: none is due until the next event.
 */
int64_t engine_publish_metrics(struct engine *engine);

/* Lines of at most this level go to ports.log. The default is 0. */
void engine_set_verbosity(struct engine *engine, int verbosity);
/* Logs which plugins the profiles run, as upstream does at start. */
void engine_log_plugins(const struct engine *engine);

/* Numbers for health checks, metrics and tests. */
struct engine_stats {
    size_t nodes, pods, assumed_pods;
    size_t active, backoff, unschedulable, gated, binding;
    size_t held; /* of those binding: held by Permit */
};
struct engine_stats engine_get_stats(const struct engine *engine);

#endif
