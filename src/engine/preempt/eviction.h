/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eviction.h - evicts the victims of a preemption (upstream: preemption.Executor).
 *
 * Purpose:   clears the nominations of lower priority pods to the node, then evicts each victim: a
 *            pod that waits in Permit or is being bound goes back to the queue, all others get the
 *            DisruptionTarget condition and are deleted. The preemptor is kept out of the queue
 *            until the last victim is being deleted: that one is evicted after all others, so that
 *            its deletion event reaches a preemptor that can be queued. If SchedulerAsyncPreemption
 *            is off, the attempt waits instead.
 * Ownership: struct evictions owns the evictions under way; each is freed at its end.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_PREEMPT_EVICTION_H
#define BERTH_ENGINE_PREEMPT_EVICTION_H

#include "engine/bind/binding_cycle.h"
#include "engine/preempt/candidate.h"

struct evictions {
    struct framework *framework;
    struct queue *queue;
    struct bindings *bindings;
    struct map by_preemptor; /* the newest of each preemptor, by its UID */
    struct map writes;       /* without an outcome, by id */
};

void evictions_init(struct evictions *evictions, struct framework *fw, struct queue *queue,
                    struct bindings *bindings);
void evictions_release(struct evictions *evictions);

/* Whether the attempt waits for the evictions. */
enum eviction_mode {
    EVICTION_BY_GATE, /* unless SchedulerAsyncPreemption is on */
    EVICTION_IN_BACKGROUND,
    EVICTION_AWAITED,
};

/* What the room is for. Borrowed for the call. */
struct preemptor {
    struct str uid;
    struct object *object; /* for events */
    bool is_group;         /* a PodGroup; otherwise a pod */
    enum eviction_mode mode;
    int32_t priority;
    struct str scheduler_name;
    struct berth_pod *const *pods; /* activated if an eviction fails */
    size_t n_pods;
};

/*
 * Starts an eviction on behalf of a plugin. BERTH_SUCCESS: it continues in the background.
 * BERTH_ASYNC: the attempt under way waits until eviction_write_done reports its end.
 */
enum berth_code eviction_start(struct evictions *evictions, const struct preemptor *preemptor,
                               const struct candidate *candidate,
                               const struct berth_handle *plugin);

/* The end of an eviction. */
struct eviction_end {
    bool awaited;     /* the attempt under way, or the group's cycle, waits for it */
    bool for_group;   /* it was for a PodGroup */
    struct buf error; /* why it failed; empty: it did not */
};
void eviction_end_release(struct eviction_end *ended);

/*
 * The outcome of a write. Returns false if it is not one of these. *ret: of an eviction that has
 * ended with it; otherwise not awaited.
 */
bool eviction_write_done(struct evictions *evictions, uint64_t id,
                         const struct write_result *result, struct eviction_end *ret);
/* Whether the preemptor must stay out of the queue, since its victims are still being evicted. */
bool eviction_blocks(const struct evictions *evictions, struct str uid);
/* The attempt under way has ended: no eviction is awaited any longer. */
void evictions_forget_attempt(struct evictions *evictions);

#endif
