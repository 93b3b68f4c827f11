/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_metrics.h - kube-scheduler's own metrics: every family that begins with scheduler_.
 *
 * Purpose:   the same names, labels, buckets and meaning as upstream's, counted at the same places.
 *            The families are one table (scheduler_families.h). The engine counts into tallies,
 *            found by index and never by a label's text; scheduler_metrics_publish adds them to
 *            the registry, where scrapes read them.
 * Ownership: owned by the engine; the registry must outlive it. It owns its profile_metrics, one
 *            per scheduler name.
 * Threading: the engine's thread. Scrapes read the registry at any time, from any thread.
 *
 * Without a registry there is no struct scheduler_metrics: callers check for NULL first, so that
 * disabled metrics cost a branch. The functions for plugins check themselves.
 *
 * Where upstream calls a plugin once per node, berth may call it for many nodes at once. This
 * counts as that many evaluations of the average duration.
 */
#ifndef BERTH_ENGINE_METRICS_SCHEDULER_METRICS_H
#define BERTH_ENGINE_METRICS_SCHEDULER_METRICS_H

#include <stdatomic.h>

#include "base/rand.h"
#include "engine/config/features.h"
#include "engine/framework/event.h"
#include "engine/framework/framework.h"
#include "engine/metrics/metric_tally.h"
#include "engine/metrics/scheduler_families.h"

/* The extension points of durations: finer than enum point. */
enum metric_point {
    METRIC_PRE_ENQUEUE,
    METRIC_PRE_FILTER,
    METRIC_PRE_FILTER_ADD_POD,
    METRIC_PRE_FILTER_REMOVE_POD,
    METRIC_FILTER,
    METRIC_POST_FILTER,
    METRIC_PRE_SCORE,
    METRIC_SCORE,
    METRIC_NORMALIZE,
    METRIC_RESERVE,
    METRIC_UNRESERVE,
    METRIC_PERMIT,
    METRIC_PRE_BIND_PRE_FLIGHT,
    METRIC_PRE_BIND,
    METRIC_BIND,
    METRIC_POST_BIND,
    METRIC_SIGN,
    METRIC_PLACEMENT_GENERATE,
    METRIC_PLACEMENT_SCORE,
    METRIC_PLACEMENT_NORMALIZE,
    METRIC_POINT_COUNT,
};

/* The points at which evaluations are counted. */
enum metric_evaluation {
    EVALUATION_PRE_FILTER,
    EVALUATION_FILTER,
    EVALUATION_PRE_SCORE,
    EVALUATION_SCORE,
    EVALUATION_COUNT,
};

enum metric_result { RESULT_SCHEDULED, RESULT_UNSCHEDULABLE, RESULT_ERROR, RESULT_COUNT };
enum metric_queue { INCOMING_ACTIVE, INCOMING_BACKOFF, INCOMING_UNSCHEDULABLE, INCOMING_COUNT };
/* Operations of upstream's goroutines; berth counts the equivalent work. */
enum metric_work { WORK_BINDING, WORK_PRIORITIZING_EXTENDER, WORK_FILTER, WORK_SCORE, WORK_COUNT };

#define METRIC_CODES        (BERTH_PENDING + 1) /* status codes, from Success on */
#define METRIC_MAX_ATTEMPTS 15                  /* more are "15+" */

/* Metrics by profile. */
struct profile_metrics {
    struct profile_metrics *next;
    struct str name;
    struct metric_tally *attempts[RESULT_COUNT], *durations[RESULT_COUNT];
    struct metric_tally *points[METRIC_POINT_COUNT][METRIC_CODES];
    struct metric_tally *evaluations[EVALUATION_COUNT][FRAMEWORK_MAX_PLUGINS]; /* by plugin id */
    struct metric_tally *unschedulable[FRAMEWORK_MAX_PLUGINS];
};

/* Metrics by plugin, for all profiles. */
struct plugin_metrics {
    struct metric_tally *executions[METRIC_POINT_COUNT][METRIC_CODES];
    struct metric_tally *hints[EVENT_NUMBERS][BERTH_QUEUE + 1];
};

struct scheduler_metrics_options {
    struct metrics *registry;
    const struct features *features; /* some families have a gate */
    uint64_t seed;                   /* of the sampling of cycles */
    int64_t (*now)(void *ctx);
    void *ctx; /* of now */
};

struct scheduler_metrics {
    struct metric_tally_board board;
    struct metric_family *families[FAMILY_COUNT]; /* NULL: its gate is off */
    struct rand rand;
    int64_t (*now)(void *ctx);
    void *ctx;
    int64_t published; /* time of the last publish; 0: never */

    _Atomic uint32_t stops[FRAMEWORK_MAX_PLUGINS + 1]; /* see scheduler_metrics_stop */
    atomic_bool any_stops;

    struct profile_metrics *profiles;
    struct plugin_metrics *plugins[FRAMEWORK_MAX_PLUGINS]; /* by id */
    struct metric_tally *algorithm;
    struct metric_tally *pod_attempts, *sli[METRIC_MAX_ATTEMPTS], *after_flush;
    struct metric_tally *permit_wait[METRIC_CODES];
    struct metric_tally *pending[4], *cache[3], *work[WORK_COUNT];
    struct metric_tally *incoming[INCOMING_COUNT][EVENT_NUMBERS];
    struct metric_tally *handled[EVENT_NUMBERS];
    struct metric_tally *in_flight[EVENT_NUMBERS], *popped;
};

struct scheduler_metrics *scheduler_metrics_new(const struct scheduler_metrics_options *options);
/* Publishes the rest and sets gauges to zero. NULL is allowed. Returns NULL. */
struct scheduler_metrics *scheduler_metrics_free(struct scheduler_metrics *m);
/* By the profile's name. Creates the evaluation series of its plugins with value 0. */
struct profile_metrics *scheduler_metrics_profile(struct scheduler_metrics *m,
                                                  const struct profile *profile);
/* The id will be reused for another plugin. */
void scheduler_metrics_forget_plugin(struct scheduler_metrics *metrics, size_t id);

static inline int64_t scheduler_metrics_now(const struct scheduler_metrics *m)
{
    return m->now(m->ctx);
}

/* --- attempts --------------------------------------------------------------------------------- */

/* Decides at random whether the plugins of this cycle are timed (upstream: 10 %). */
bool scheduler_metrics_sample(struct scheduler_metrics *m);
/* An attempt ended, ns after the pod was popped. */
void scheduler_metrics_attempt(struct scheduler_metrics *m, struct profile_metrics *p,
                               enum metric_result result, int64_t ns);
/* Filter, score and selection, or PostFilter, have ended. */
void scheduler_metrics_algorithm(struct scheduler_metrics *m, int64_t ns);
/* A pod is bound, ns after its first attempt; negative: unknown. */
void scheduler_metrics_bound(struct scheduler_metrics *m, uint32_t attempts, int64_t ns,
                             bool was_flushed);
/* All plugins of a point. */
void scheduler_metrics_point(struct scheduler_metrics *m, struct profile_metrics *p,
                             enum metric_point point, enum berth_code code, int64_t ns);
/* One plugin in a sampled cycle: n evaluations that took ns in total. */
void scheduler_metrics_plugin(struct scheduler_metrics *m, const struct berth_handle *h,
                              enum metric_point point, enum berth_code code, int64_t ns, size_t n);
void scheduler_metrics_permit_wait(struct scheduler_metrics *m, enum berth_code code, int64_t ns);

/* A valid status code; others are Error. */
static inline size_t metric_code(enum berth_code code)
{
    return (unsigned)code < METRIC_CODES ? (size_t)code : BERTH_ERROR;
}

/*
 * Filters of single nodes may run on any thread: each records only the index of the plugin at which
 * it stopped, or the number of plugins if all passed. Evaluations are counted from these when the
 * attempt ends.
 */
static inline void scheduler_metrics_stop(struct scheduler_metrics *m, size_t place)
{
    atomic_fetch_add_explicit(&m->stops[place], 1, memory_order_relaxed);
    if (!atomic_load_explicit(&m->any_stops, memory_order_relaxed))
        atomic_store_explicit(&m->any_stops, true, memory_order_relaxed);
}
/* Has any been recorded? Resets the flag. */
static inline bool scheduler_metrics_stopped(struct scheduler_metrics *m)
{
    bool any = atomic_load_explicit(&m->any_stops, memory_order_relaxed);
    if (any)
        atomic_store_explicit(&m->any_stops, false, memory_order_relaxed);
    return any;
}
static inline uint32_t scheduler_metrics_take_stop(struct scheduler_metrics *m, size_t place)
{
    return atomic_exchange_explicit(&m->stops[place], 0, memory_order_relaxed);
}

static inline void scheduler_metrics_evaluated(struct scheduler_metrics *m,
                                               struct profile_metrics *p, enum metric_evaluation at,
                                               uint16_t plugin, size_t n)
{
    metric_tally_add(&m->board, p->evaluations[at][plugin], (double)n);
}

/* --- queue and cache -------------------------------------------------------------------------- */

void scheduler_metrics_incoming(struct scheduler_metrics *m, enum metric_queue queue,
                                const struct cluster_event *event);
/* Events kept for pods in flight; event NULL: the pods themselves. */
void scheduler_metrics_in_flight(struct scheduler_metrics *m, const struct cluster_event *event,
                                 int delta);
/* A pod begins (1) or ceases (-1) to wait for the plugins of either set. */
void scheduler_metrics_rejected(struct scheduler_metrics *m, const struct profile *profile,
                                const struct plugin_set *a, const struct plugin_set *b, int delta);
/* A plugin's PreEnqueue gates a pod; not counted if it is in one of the sets already. */
void scheduler_metrics_gated(struct scheduler_metrics *m, const struct profile *profile,
                             const struct berth_handle *gate, const struct plugin_set *a,
                             const struct plugin_set *b);
void scheduler_metrics_handled(struct scheduler_metrics *m, const struct cluster_event *event,
                               int64_t ns);
/* A plugin's hint was called n times, which took ns in total. */
void scheduler_metrics_hint(struct scheduler_metrics *m, const struct berth_handle *handle,
                            const struct cluster_event *event, enum berth_hint hint, int64_t ns,
                            size_t n);

/* --- publishing ------------------------------------------------------------------------------- */

/* Gauges that are read at publish; everything else is counted as it happens. */
struct scheduler_gauges {
    size_t active, backoff, unschedulable, gated;
    size_t nodes, pods, assumed_pods;
    size_t work[WORK_COUNT];
};
/* Is there anything to publish? Gauges never change without other metrics. */
static inline bool scheduler_metrics_pending(const struct scheduler_metrics *m)
{
    return m->board.dirty != NULL;
}
void scheduler_metrics_publish(struct scheduler_metrics *m, const struct scheduler_gauges *gauges,
                               int64_t now);

/* --- pod groups ------------------------------------------------------------------------------- */

enum metric_group_result {
    METRIC_GROUP_SCHEDULED,
    METRIC_GROUP_UNSCHEDULABLE,
    METRIC_GROUP_WAITING_ON_PREEMPTION,
    METRIC_GROUP_ERROR,
};
/* All members have been tried. NULL is allowed in both functions. */
void scheduler_metrics_group_algorithm(struct scheduler_metrics *m, int64_t ns);
/* The result, preemption included. */
void scheduler_metrics_group_attempt(struct scheduler_metrics *m, struct str profile,
                                     enum metric_group_result result, int64_t ns);

/* --- for plugins ------------------------------------------------------------------------------ */

/* handle_metrics() may return NULL: metrics are off. The functions below allow that. */

/* DefaultPreemption's PostFilter ran. */
void scheduler_metrics_preemption_attempt(struct scheduler_metrics *m);
/* A candidate with so many victims was selected. */
void scheduler_metrics_preemption_victims(struct scheduler_metrics *m, size_t victims);
/* With SchedulerAsyncPreemption: the eviction of the victims has ended. */
void scheduler_metrics_preemption_done(struct scheduler_metrics *m, bool ok, int64_t ns);

/* For rare events. values: as for metric_with. */
void scheduler_metrics_add(struct scheduler_metrics *m, enum scheduler_family family,
                           const struct str *values, double delta);
void scheduler_metrics_observe(struct scheduler_metrics *m, enum scheduler_family family,
                               const struct str *values, double value);

#endif
