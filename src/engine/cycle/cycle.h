/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycle.h - one attempt to schedule one pod (upstream: scheduling cycle and CycleState).
 *
 * Purpose:   PreFilter, Filter, PreScore, Score, the choice of a node, and the state that plugins
 *            carry from one extension point to the next. The ABI's struct berth_cycle. The stages
 *            are strung together in attempt.c; a stage returns its result and calls no other.
 * Ownership: lives from the pod's popping to the end of its binding; owns an arena and the data
 *            that plugins wrote into it. struct cycles is part of the engine.
 * Threading: the engine's thread; the pool's threads read during Filter and Score.
 */
#ifndef BERTH_ENGINE_CYCLE_CYCLE_H
#define BERTH_ENGINE_CYCLE_CYCLE_H

#include "base/arena.h"
#include "engine/cycle/attempt_buffers.h"
#include "engine/cycle/cycle_failure.h"
#include "engine/cycle/node_names.h"
#include "engine/cycle/node_subset.h"
#include "engine/cycle/placement.h"
#include "engine/cycle/workers.h"
#include "engine/queue/queue.h"

/* An extender call without an answer. */
struct extender_wait {
    uint64_t id;
    size_t extender; /* index in setup.extenders */
    enum extender_verb verb;
};

/* What all cycles share. */
struct cycles {
    struct framework *framework;
    const struct queue *queue;      /* for nominated pods */
    struct attempt_buffers buffers; /* of the attempt under way: there is one at a time */
    struct workers workers;
    struct berth_status status; /* of one plugin call; not read after the function that made it */
    struct node_names *names;   /* of the current set of nodes */
    size_t next_start_node;     /* where the next cycle starts to look; upstream rotates too */
    VEC(struct extender_wait) waits; /* extender calls of the attempt under way: extender_calls.h */
    VEC(struct berth_cycle *) spare; /* finished cycles, kept for cycle_new */
};

void cycles_init(struct cycles *cycles, struct framework *fw, const struct queue *queue);
void cycles_release(struct cycles *cycles);

struct cycle_item {
    void *data;
    void *(*clone)(const void *data);
    void (*free)(void *data);
};

/* What rooms above keep with a cycle; freed with it. */
enum cycle_attachment { CYCLE_PREEMPTION, CYCLE_SURVEY, CYCLE_ATTACHMENTS };

/* One plugin's verdict at PreFilter. */
struct pre_filter_verdict {
    uint16_t plugin; /* id */
    uint8_t code;
    size_t n_reasons;
    struct str *reasons; /* in the cycle's arena */
};

/* One plugin's scores of the feasible nodes, in the order of slots. */
struct plugin_scores {
    const struct berth_handle *handle;
    int64_t *scores;     /* as the plugin returned them, checked or not */
    int64_t *raw;        /* before normalizing; NULL if the plugin does not normalize */
    uint8_t *normalized; /* 0 … 100; NULL: all nodes have scores[0] */
};

/* One extender's scores of the feasible nodes, in the order of slots. */
struct extender_scores {
    size_t extender; /* index in setup.extenders */
    int64_t *scores; /* not weighted; NULL: it did not answer */
};

/* The result of PostFilter: post_filter.h. Texts are in the cycle's arena. */
struct post_filter {
    size_t asked;                    /* plugins run so far */
    const struct berth_handle *last; /* of them; NULL if none */
    bool nominated_before;           /* by an earlier one */
    enum berth_code code;
    VEC(struct str) reasons;
    /* Of preemption, if it ran. */
    const struct str *victims; /* "namespace/name" */
    size_t n_victims, n_candidates;
    size_t offset; /* of the node with which the dry runs began, among those that could be helped */
    int64_t pdb_violations;
};

struct berth_cycle {
    struct framework *framework;
    struct cycles *cycles;
    struct profile *profile;
    struct berth_queued_pod *queued; /* NULL: a group's cycle, or a dry run */
    struct arena arena;
    VEC(struct cycle_item) state;              /* by key - 1 */
    struct plugin_set skip_filter, skip_score; /* plugins whose PreFilter or PreScore said Skip */

    /*
     * Sets what claims of the pod take of the node it is assumed on (pod_info_claim); NULL:
     * nothing. Of DynamicResources (upstream: ExtractPodNodeAllocatableResourceClaimStatus).
     */
    void (*claim)(struct berth_cycle *cycle, void *ctx, struct berth_pod *assumed);
    void *claim_ctx;

    bool in_group; /* a member of a group is being tried; the result is undone afterwards */
    struct berth_placement *placement; /* the only nodes that count; NULL: all */

    /* The node subsets of PreFilter, intersected. */
    struct node_subset limit;
    VEC(const struct berth_handle *) limiters;
    bool in_pre_filter;
    struct node_subset proposal;               /* of the plugin that runs; counts if it succeeds */
    VEC(struct pre_filter_verdict) pre_filter; /* in the order of the plugins */
    /* PreFilter's verdict on all nodes alike; Success: they are filtered one by one. */
    enum berth_code pre_filter_code;

    /* The nodes that are candidates, counted from where this attempt starts to look. */
    const uint32_t *candidates; /* slots of n_nodes nodes, twice over */
    size_t n_nodes, start;
    size_t n_all;   /* nodes of the cluster when it began */
    bool only_some; /* PreFilter, a placement or the nominated node left only these */
    struct berth_columns columns;
    /* The pod's nominated node, which is tried before all others. */
    struct {
        bool refused;
        uint32_t slot;
        struct verdict verdict;
    } on_nominated;

    /*
     * Results, in the buffers of struct cycles until the attempt ends. By slot, since nodes may
     * disappear while extenders are asked.
     */
    struct node_names *names; /* which node was in which slot, and the order of all nodes */
    uint32_t *slots;          /* feasible nodes, in order */
    int64_t *scores;          /* their totals */
    size_t n_slots, n_failed; /* these two stay valid after the attempt */
    VEC(struct plugin_scores) plugin_scores;
    VEC(struct extender_scores) extender_scores;
    uint64_t *ties;    /* decide among equal totals, the highest wins; NULL: first in heap order */
    int64_t mark;      /* metrics: when the stage under way began */
    bool sampled;      /* metrics: each plugin call is timed */
    bool bare;         /* scores see nodes without pods and images: see extender_result */
    bool resumed;      /* extenders were asked: the cluster may have changed since it began */
    struct buf record; /* attempt_record.h, once the attempt has ended; empty: explain is off */

    struct post_filter post_filter;
    struct str nominated_node; /* by PostFilter; in the arena */
    bool nominated;
    struct cycle_item attached[CYCLE_ATTACHMENTS];
    VEC(struct berth_pod *) to_activate; /* once it is reserved or bound; references are held */
};

/* Cycles are reused: cycle_free keeps a few for cycle_new. */
struct berth_cycle *cycle_new(struct cycles *cycles, struct profile *profile);
struct berth_cycle *cycle_free(struct berth_cycle *cycle);
/* Replaces what is attached there; the old data is freed. */
void cycle_attach(struct berth_cycle *cycle, enum cycle_attachment which, void *data,
                  void (*free_fn)(void *data));
/* Frees what plugins have written with state_write. */
void cycle_drop_state(struct berth_cycle *cycle);
/* Extenders have answered: the cache may have changed; refreshes the columns. */
void cycle_resume(struct berth_cycle *cycle);
/* The attempt is over: the buffers are free for the next one. */
void cycle_end(struct berth_cycle *cycle);

/* --- the stages: where one returns false the attempt is over and *failure says why ------------ */

/*
 * PreFilter, and which nodes it leaves (pre_filter.c). If it returns false with pre_filter_code
 * set, PostFilter may help.
 */
bool cycle_pre_filter(struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct cycle_failure *failure);
/*
 * Filters the pod's nominated node. Returns true if it fits: no other node is considered then
 * (upstream: evaluateNominatedNode).
 */
bool cycle_try_nominated(struct berth_cycle *cycle, const struct berth_pod *pod,
                         struct cycle_failure *failure);
/* Filters the candidates until enough are feasible: fills slots and runs (filter.c). */
bool cycle_filter(struct berth_cycle *cycle, const struct berth_pod *pod,
                  struct cycle_failure *failure);
/* No node is feasible: writes the FitError to *failure. PostFilter may help. */
void cycle_unfit(struct berth_cycle *cycle, struct cycle_failure *failure);
/* PreScore and Score of the feasible nodes (score.c). */
bool cycle_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                 struct cycle_failure *failure);
/* The feasible node with the highest total. */
struct berth_node *cycle_choose(struct berth_cycle *cycle);
/*
 * All stages in a row, without extenders and PostFilter: for dry runs of groups. NULL: the pod does
 * not fit, *failure says why.
 */
struct berth_node *cycle_try(struct berth_cycle *cycle, const struct berth_pod *pod,
                             struct cycle_failure *failure);
/*
 * Runs PreFilter once more, for filters that run after the cluster has changed. Returns false if a
 * plugin rejects the pod or fails.
 */
bool cycle_prepare_again(struct berth_cycle *cycle, const struct berth_pod *pod);
/* Adds the plugins that limited the nodes in PreFilter to the rejectors. */
void cycle_blame_limiters(const struct berth_cycle *cycle, struct cycle_failure *failure);

/* --- the feasible nodes after Filter: feasible.c ---------------------------------------------- */

struct str cycle_feasible_name(const struct berth_cycle *cycle, size_t i);
/* Whether the i-th feasible node still exists. */
bool cycle_still_there(const struct berth_cycle *cycle, size_t i);
/* Takes a verdict for each feasible node and drops those that are refused. */
void cycle_narrow(struct berth_cycle *cycle, const struct verdict *verdicts);
/* For PostFilter after extenders: restores the verdicts on all nodes, by slot. */
void cycle_restore_verdicts(struct berth_cycle *cycle);

/* --- filters on one node: node_filters.c ------------------------------------------------------ */

/* Runs the filters until one refuses the node: *ret_plugin. Any thread. */
enum berth_code cycle_run_filters(const struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const struct berth_node *node, struct berth_status *status,
                                  const struct berth_handle **ret_plugin);
/*
 * The same with nominated pods, as upstream does: once with those of at least the pod's priority
 * added to the node, and if there were any once more without (filter.c).
 */
enum berth_code cycle_filter_node(struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const struct berth_node *node, struct berth_status *status,
                                  const struct berth_handle **ret_plugin);
/* Metrics: Filter is over; ok: no plugin failed. */
void cycle_filter_timed(struct berth_cycle *cycle, bool ok);
/* Metrics: counts the plugin calls that cycle_run_filters made for this cycle. */
void cycle_count_filters(const struct berth_cycle *cycle);

/* The slot of the i-th candidate, and the node in it. */
/* Before the pod is assumed. */
static inline void cycle_claim(struct berth_cycle *cycle, struct berth_pod *assumed)
{
    if (cycle->claim)
        cycle->claim(cycle, cycle->claim_ctx, assumed);
}
static inline uint32_t cycle_slot(const struct berth_cycle *cycle, size_t i)
{
    return cycle->candidates[cycle->start + i];
}
static inline const struct berth_node *cycle_node(const struct berth_cycle *cycle, size_t i)
{
    return cycle->columns.nodes[cycle_slot(cycle, i)];
}

#endif
