/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - pods that wait for a node.
 *
 * Purpose:   upstream's scheduling queue. A pod is in one of these places:
 *
 *              activeQ            ready to be tried, in the order of the QueueSort plugin
 *              backoffQ           tried in vain a moment ago; waits out its backoff (two heaps, by
 *                                 expiry: rejected pods, and pods that met an error), or for the
 *                                 API server, which is told of others like it (cohort.h)
 *              unschedulablePods  waits for an event that a plugin which rejected it cares for;
 *                                 gated pods (PreEnqueue said no) wait here as well
 *              in flight          popped and being scheduled, or waiting in Permit
 *              binding            decided upon; the write is under way
 *
 *            Events that happen while a pod is in flight are kept, and asked again when it comes
 *            back: none is lost.
 * Ownership: owns its queued pods; each holds a ref on its berth_pod.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_QUEUE_QUEUE_H
#define BERTH_ENGINE_QUEUE_QUEUE_H

#include "base/heap.h"
#include "base/map.h"
#include "engine/cache/pod_info.h"
#include "engine/framework/event.h"
#include "engine/framework/framework.h"
#include "engine/framework/status.h"
#include "engine/ports/engine_log.h"
#include "engine/queue/cohort.h"
#include "engine/queue/nominator.h"

struct scheduler_metrics;

enum queue_place {
    QUEUE_NOWHERE,
    QUEUE_ACTIVE,
    QUEUE_BACKOFF,
    QUEUE_ERROR_BACKOFF,
    QUEUE_UNSCHEDULABLE,
    QUEUE_IN_FLIGHT,
    QUEUE_BINDING,
};

struct berth_queued_pod {
    struct berth_pod *pod;
    struct profile *profile;   /* while it is out, the one that its cycle keeps */
    struct profile *successor; /* what has taken that one's place meanwhile; NULL: nothing */
    enum queue_place place;
    struct heap_node node;        /* in activeQ or backoffQ */
    struct cohort *cohort;        /* of those that were turned down alike; never NULL */
    struct heap_node cohort_node; /* in one of its heaps, while in backoffQ */
    uint64_t shape;               /* 0: not looked at yet */
    int64_t shape_generation;     /* of the pod, when it was */
    size_t unschedulable_at;      /* index among unschedulablePods */
    struct berth_queued_pod *next_in_flight, *prev_in_flight; /* in order of popping */
    uint64_t events_from; /* in flight: number of the first event that came after it */

    int64_t timestamp;     /* when it was first queued or last came back: what QueueSort looks at */
    int64_t first_attempt; /* when it first became active; 0: never */
    int64_t backoff_until;
    uint32_t attempts;
    uint32_t unschedulable_count;
    uint32_t error_count; /* consecutive attempts that ended in an error */
    bool deleted;         /* gone from the API while in flight or binding */
    bool was_flushed;     /* the longest stay, and no event, brought it back */
    bool leaving;         /* its profile is no more: it does not come back from where it is */
    bool parked;          /* its backoff is over; it is in backoffQ to wait for the API server */
    bool urgent;          /* brought to activeQ without regard to its backoff: nothing holds it */

    const struct berth_handle *gate; /* the plugin whose PreEnqueue holds it; NULL: none */
    bool counted_gated;              /* in queue.n_gated */
    struct plugin_set rejectors;     /* plugins that said no in the last attempt */
    struct plugin_set pending;       /* those of them that said BERTH_PENDING */
    struct cluster_event moved_by;   /* what put it where it is; objects are not kept */
};

enum queue_strategy { QUEUE_SKIP, QUEUE_AFTER_BACKOFF, QUEUE_AT_ONCE };

/* How often a hint was asked for and what it said, since last counted; by enum berth_hint. */
struct hint_count {
    uint32_t n[BERTH_QUEUE + 1];
};

struct queue_options {
    int64_t initial_backoff, max_backoff, max_in_unschedulable; /* ns */
    bool groups; /* pods that name a PodGroup come back by backoff alone: no hint is about all */
    /* For what the queue says of its work; both NULL: nothing. */
    const struct engine_log *log;
    const struct reasons *reasons;
};

struct queue {
    struct queue_options options;
    struct heap active, backoff, error_backoff;
    struct cohorts cohorts; /* of all pods */
    VEC(struct berth_queued_pod *) unschedulable;
    size_t n_gated;    /* of these */
    struct map by_key; /* UID to queued pod, wherever it is */
    struct nominator nominator;
    const struct berth_handle *sort;
    struct berth_registrar registrar;  /* what plugins of all profiles asked to be told */
    struct berth_status status;        /* of the PreEnqueue plugin that runs */
    uint64_t cycles;                   /* pods popped so far */
    struct scheduler_metrics *metrics; /* NULL: nothing is counted */
    int64_t next_unschedulable_flush;

    struct berth_queued_pod *first_in_flight, *last_in_flight;
    size_t n_in_flight;
    VEC(struct cluster_event) events; /* since the first pod in flight was popped */
    VEC(struct hint_count) hints;     /* with metrics: as registrar.events */
    bool sampled;                     /* with metrics: PreEnqueue plugins are timed, each */
    uint64_t events_base;             /* number of events.v[0] */
};

void queue_init(struct queue *q, const struct queue_options *options);
void queue_release(struct queue *q);
/* For backoffs that begin from now on. */
void queue_set_backoff(struct queue *q, int64_t initial, int64_t max);
/* Registers the events of a profile's plugins. The first profile's QueueSort orders the queue. */
void queue_add_profile(struct queue *q, struct profile *profile);
/*
 * Other profiles take the place of all that are there: forget, add the new ones, then follow. The
 * function says what has become of a pod's profile (NULL: nothing), and in *ret_same which of its
 * plugins work as they did before. It may be asked about one of the new ones, too.
 *
 * Who waits for plugins that work in another way, or for a gate, is looked at again; who has no
 * profile any more leaves, now or when whoever has it lets go of it.
 */
void queue_forget_profiles(struct queue *q);
typedef struct profile *queue_successor_fn(void *ctx, const struct profile *old,
                                           struct plugin_set *ret_same);
struct queue_followed {
    size_t moved; /* of unschedulablePods, out of there */
    size_t gone;  /* have no profile any more */
};
struct queue_followed queue_follow_profiles(struct queue *q, queue_successor_fn *fn, void *ctx,
                                            int64_t now);

/* A pod without a node appeared. */
void queue_add(struct queue *q, struct berth_pod *pod, struct profile *profile, int64_t now);
/* It changed: `actions` (bits of enum berth_action) say how. */
void queue_update(struct queue *q, struct berth_pod *pod, struct object *before, unsigned actions,
                  int64_t now);
/* It was deleted, or somebody gave it a node. */
void queue_delete(struct queue *q, struct str key);
struct berth_queued_pod *queue_get(const struct queue *q, struct str key);

/* The next pod to try, in flight from now on; NULL where none is ready. */
struct berth_queued_pod *queue_pop(struct queue *q, int64_t now);
/* That very pod, from wherever it waits; NULL where a gate holds it, or it is under way. */
struct berth_queued_pod *queue_pop_pod(struct queue *q, struct str key, int64_t now);
/* Its node is decided and it waits for nobody: events are no longer kept for it. */
void queue_begin_binding(struct queue *q, struct berth_queued_pod *qp);
/* It is bound: the queue forgets it. */
void queue_done(struct queue *q, struct berth_queued_pod *qp);
/*
 * Before it goes back: it was turned down, with `rejectors` and `pending` set, and the write
 * `report` tells of it; 0: others like it need not wait for that (cohort.h).
 */
void queue_turned_down(struct queue *q, struct berth_queued_pod *qp, uint64_t report, int64_t now);
/* The write has ended, one way or the other. False: it is no report that anybody waits for. */
bool queue_report_done(struct queue *q, uint64_t report, int64_t now);
/*
 * It found no node: back it goes, with `rejectors` and `pending` set. No rejector means that
 * something broke, so it is tried again after a backoff whatever happens.
 */
void queue_requeue(struct queue *q, struct berth_queued_pod *qp, int64_t now);
/* To activeQ at once, unless a gate holds it. */
void queue_activate(struct queue *q, struct str key, int64_t now);

/* Moves the pods for which a plugin's hint says so. */
void queue_event(struct queue *q, const struct cluster_event *event, int64_t now);

/* Time has passed: ends backoffs and over-long stays among unschedulablePods. */
void queue_flush(struct queue *q, int64_t now);
/* When queue_flush next has something to do; INT64_MAX: never. */
int64_t queue_next_flush(const struct queue *q);

/* --- what is said: queue_voice.c ------------------------------------------------------------- */

static inline bool queue_says(const struct queue *q, int level)
{
    return q->options.log && engine_log_on(q->options.log, level);
}
/* Appends the plugins of either set as {"A":{},"B":{}}. */
void queue_write_plugins(const struct profile *profile, const struct plugin_set *a,
                         const struct plugin_set *b, struct buf *out);
/* It is where it is now because of the event. */
void queue_log_moved(const struct queue *q, const struct berth_queued_pod *qp,
                     const struct cluster_event *event, bool was_unschedulable, bool to_active);
void queue_log_updated(const struct queue *q, const struct berth_queued_pod *qp,
                       const struct cluster_event *event);
void queue_log_requeued(const struct queue *q, const struct berth_queued_pod *qp,
                        enum queue_strategy strategy);
void queue_log_in_flight(const struct queue *q, const struct berth_queued_pod *qp,
                         const struct cluster_event *event);
/* The plugin's reasons are in queue.status. */
void queue_log_gated(const struct queue *q, const struct berth_queued_pod *qp,
                     const struct berth_handle *by);
/* The event, and the pod it did not help; NULL: it was kept for pods in flight. */
void queue_log_event(const struct queue *q, const struct cluster_event *event,
                     const struct berth_queued_pod *qp);
/* Why the event makes the pod worth another try, or not. */
void queue_log_unwanted(const struct queue *q, const struct cluster_event *event);
void queue_log_worth(const struct queue *q, const struct berth_queued_pod *qp,
                     const struct cluster_event *event, enum queue_strategy strategy);

/* --- for the files of the queue (queue*.c, cohort.c) and eviction.c --------------------------- */

/* The orders of activeQ and backoffQ. */
bool queue_active_less(const struct queue *q, const struct berth_queued_pod *a,
                       const struct berth_queued_pod *b);
bool queue_backoff_less(const struct queue *q, const struct berth_queued_pod *a,
                        const struct berth_queued_pod *b);

/* The attempt came to no verdict, or there was none: no plugin is known to have been against it. */
static inline bool queue_broke(const struct berth_queued_pod *qp)
{
    return plugin_set_empty(&qp->rejectors) && plugin_set_empty(&qp->pending);
}

/* Puts a pod where the strategy says; a gate may hold it all the same. */
void queue_place(struct queue *q, struct berth_queued_pod *qp, enum queue_strategy strategy,
                 const struct cluster_event *event, int64_t now);
/* Among the pods that are ready: is it still let in? Where not, it waits at its gate. */
void queue_check_gates(struct queue *q, struct berth_queued_pod *qp,
                       const struct cluster_event *event, int64_t now);
/* What the event means for a pod that its plugins turned down. */
enum queue_strategy queue_strategy_for(const struct queue *q, const struct berth_queued_pod *qp,
                                       const struct cluster_event *event);
/* What all that happened while the pod was in flight means for it. */
enum queue_strategy queue_strategy_in_flight(struct queue *q, const struct berth_queued_pod *qp);
/* Is any plugin to be told of it at all? */
bool queue_cares(const struct queue *q, const struct cluster_event *event);
/* PreEnqueue: is the pod let in? Where not, qp->gate says who holds it. */
bool queue_admits(struct queue *q, struct berth_queued_pod *qp);
/* Would the gate that holds the pod be told? */
bool queue_gate_cares(const struct queue *q, const struct berth_queued_pod *qp,
                      const struct cluster_event *event);
/* Keeps the event for pods in flight; enter and leave bound what is kept. */
void queue_keep_event(struct queue *q, const struct cluster_event *event);
void queue_enter_flight(struct queue *q, struct berth_queued_pod *qp);
void queue_leave_flight(struct queue *q, struct berth_queued_pod *qp);

/* --- metrics: queue_metrics.c, where q->metrics is not NULL ---------------------------------- */

/* It came to the place where it is. */
void queue_count_incoming(const struct queue *q, const struct berth_queued_pod *qp);
/* It begins (1), or ceases (-1), to wait for those who turned it down. */
void queue_count_rejectors(const struct queue *q, const struct berth_queued_pod *qp, int delta);
/* Around all questions about one event. */
int64_t queue_begin_hints(struct queue *q);
void queue_end_hints(struct queue *q, const struct cluster_event *event, int64_t began);
int64_t queue_begin_pre_enqueue(struct queue *q);
void queue_end_pre_enqueue(const struct queue *q, const struct berth_queued_pod *qp, int64_t began);

#endif
