/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycle.h - one attempt to schedule one pod (upstream: scheduling cycle and CycleState).
 *
 * Purpose:   PreFilter, Filter, PostFilter, PreScore, Score, the choice of a node, and the state
 *            that plugins carry from one of these to the next. The ABI's struct berth_cycle.
 * Ownership: lives from the pod's popping to the end of its binding; owns an arena and the data
 *            that plugins wrote into it.
 * Threading: the engine's thread; the pool's threads read during Filter and Score.
 */
#ifndef BERTH_ENGINE_CYCLE_CYCLE_H
#define BERTH_ENGINE_CYCLE_CYCLE_H

#include "base/arena.h"
#include "engine/cycle/attempt_buffers.h"
#include "engine/cycle/node_limit.h"
#include "engine/framework/status.h"
#include "engine/queue/queue.h"

struct berth_placement;
struct node_names;
struct preemption;
struct survey;

struct cycle_item {
    void *data;
    void *(*clone)(const void *data);
    void (*free)(void *data);
};

/* What one plugin's PreFilter said. */
struct pre_filter_verdict {
    uint16_t plugin; /* id */
    uint8_t code;
    size_t n_reasons;
    struct str *reasons; /* in the cycle's arena */
};

/* What one plugin thought of the feasible nodes, in the order of slots. */
struct plugin_scores {
    const struct berth_handle *handle;
    int64_t *scores;     /* as the plugin has them, checked or not */
    int64_t *raw;        /* before normalising; NULL where the plugin does not normalise */
    uint8_t *normalized; /* 0 … 100; NULL: all have scores[0] */
};

/* What one extender gave the feasible nodes, in the order of slots. */
struct extender_scores {
    size_t extender; /* index in setup.extenders */
    int64_t *scores; /* as it said, not weighted; NULL: it did not answer */
};

/* What PostFilter came to: post_filter.h. Texts are in the cycle's arena. */
struct post_filter {
    size_t asked;                    /* plugins so far */
    const struct berth_handle *last; /* of them; NULL: none */
    bool nominated_before;           /* by an earlier one */
    enum berth_code code;
    VEC(struct str) reasons;
    /* Of preemption, where there was any. */
    const struct str *victims; /* "namespace/name" */
    size_t n_victims, n_candidates;
    size_t offset; /* of the node with which the dry runs began, among those that could be helped */
    int64_t pdb_violations;
};

struct berth_cycle {
    struct engine *engine;
    struct profile *profile;
    struct arena arena;
    VEC(struct cycle_item) state;              /* by key - 1 */
    struct plugin_set skip_filter, skip_score; /* coupled points of plugins that said Skip */

    bool in_group; /* one of a group's members is being tried: all of it will be taken back */
    struct berth_placement *placement; /* the only nodes that count; NULL: all */

    /* The node-subset results of PreFilter, intersected. */
    struct node_limit limit;
    VEC(const struct berth_handle *) limiters;
    bool in_pre_filter;
    struct node_limit proposal;                /* of the plugin that runs; counts if it succeeds */
    VEC(struct pre_filter_verdict) pre_filter; /* in the order in which they were asked */
    /* What PreFilter thinks of every node alike; Success: they are looked at one by one. */
    enum berth_code pre_filter_code;

    /* The nodes that are candidates, counted from where this attempt begins to look. */
    const uint32_t *candidates; /* slots of n_nodes nodes, twice over */
    size_t n_nodes, start;
    size_t n_all;   /* nodes of the cluster when it began */
    bool only_some; /* PreFilter, or a promise, left only these */
    struct berth_columns columns;
    struct {
        bool refused;
        uint32_t slot;
        struct verdict verdict;
    } on_nominated; /* the node that the pod was promised, tried before all others */

    /*
     * What became of them, in the engine's scratch until the attempt ends. By slot, since nodes may
     * be gone when extenders have answered.
     */
    struct node_names *names; /* who was in which slot, and the order of all nodes */
    uint32_t *slots;          /* feasible nodes, in order */
    int64_t *scores;          /* their totals */
    size_t n_slots, n_failed; /* these two stay */
    VEC(struct plugin_scores) plugin_scores;
    VEC(struct extender_scores) extender_scores;
    uint64_t *ties;    /* decide among equal totals, the highest wins; NULL: nothing does */
    int64_t mark;      /* metrics: when the stage under way began */
    bool sampled;      /* metrics: each plugin is timed by itself */
    bool bare;         /* scores see nodes without pods and images: see extender_result */
    bool resumed;      /* extenders were asked: the cluster may have changed since it began */
    struct buf record; /* all of this, once the attempt has ended; empty: nobody wants it */

    struct post_filter post_filter;
    struct preemption *preemption; /* under way, or over; NULL: none */
    struct str nominated_node;     /* by PostFilter; in the arena */
    bool nominated;
    struct survey *survey; /* NULL: nobody asked for one, or there was nothing to ask */
    VEC(struct berth_pod *) to_activate; /* once it is reserved or bound; refs are held */
};

/* What came of an attempt that did not place the pod. */
struct cycle_failure {
    bool error;      /* something broke */
    struct buf text; /* for the event and the condition */
    struct plugin_set rejectors, pending;
    bool of_group;        /* it is its group that could not be placed */
    bool keep_nomination; /* what the pod was promised stands */
    struct str
        nominated_node; /* else this is its promise now; may be empty. In the cycle's arena */
};

/* Cycles are used again: cycle_free keeps a few for cycle_new. */
struct berth_cycle *cycle_new(struct engine *engine, struct profile *profile);
struct berth_cycle *cycle_free(struct berth_cycle *cycle);
/* Ends those that were kept. */
void cycle_free_spare(struct engine *engine);

/*
 * The stages, in their order; attempt.c strings them together. Where one gives false the attempt is
 * over and *failure says why.
 */
/* PreFilter, and which nodes it leaves to look at. PostFilter may help where it rejects the pod. */
bool cycle_begin(struct berth_cycle *cycle, const struct berth_pod *pod,
                 struct cycle_failure *failure);
/* The node that the pod was promised: if it fits, no other is looked at. */
bool cycle_try_nominated(struct berth_cycle *cycle, const struct berth_pod *pod,
                         struct cycle_failure *failure);
/* Fills slots and runs. */
bool cycle_filter(struct berth_cycle *cycle, const struct berth_pod *pod,
                  struct cycle_failure *failure);
/* No node is left: says so in *failure. PostFilter may help. */
void cycle_unfit(struct berth_cycle *cycle, struct cycle_failure *failure);
/*
 * PreFilter once more, for who asks filters after the cluster has changed. False: a plugin does not
 * want the pod any more, or broke.
 */
bool cycle_prepare_again(struct berth_cycle *cycle, const struct berth_pod *pod);
/* Scores the feasible nodes. */
bool cycle_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                 struct cycle_failure *failure);
/* The best of them. */
struct berth_node *cycle_choose(struct berth_cycle *cycle);
/* The attempt is over: what it found is kept as record, and the scratch is free for the next. */
void cycle_end_attempt(struct berth_cycle *cycle);

/* Between stages others may have had their say; the columns are taken anew. */
void cycle_resume(struct berth_cycle *cycle);

void cycle_failure_release(struct cycle_failure *failure);
/* As if nothing had failed. */
void cycle_failure_clear(struct cycle_failure *failure);
/* What `from` says counts; it says nothing afterwards. */
void cycle_failure_move(struct cycle_failure *failure, struct cycle_failure *from);
/* Fills failure with an error in printf's manner. */
void cycle_failure_error(struct cycle_failure *failure, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same, ending in what the plugin said. */
void cycle_failure_status(struct cycle_failure *failure, const struct berth_cycle *cycle,
                          const struct berth_status *status, enum berth_code code, const char *fmt,
                          ...) PRINTF_LIKE(5, 6);
void cycle_failure_blame(struct cycle_failure *failure, const struct berth_handle *h,
                         enum berth_code code);

/* --- the feasible nodes once the filters are done: feasible.c --------------------------------- */

struct str cycle_feasible_name(const struct berth_cycle *cycle, size_t i);
/* Whether the i-th feasible node is still where it was. */
bool cycle_still_there(const struct berth_cycle *cycle, size_t i);
/* A verdict for each feasible node: those that are refused no longer are. */
void cycle_narrow(struct berth_cycle *cycle, const struct verdict *verdicts);
/* For PostFilter after extenders had their say: what was said of every node, by slot. */
void cycle_restore_verdicts(struct berth_cycle *cycle);

/* --- filters on one node: filter.c ------------------------------------------------------------ */

/* All filters on one node, until one refuses: *ret_plugin. */
enum berth_code cycle_run_filters(const struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const struct berth_node *node, struct berth_status *status,
                                  const struct berth_handle **ret_plugin);
/*
 * All filters on one node, with nominated pods counted as upstream does: with them, and if there
 * were any once more without. *ret_plugin: who refused.
 */
enum berth_code cycle_filter_node(struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_node *node, struct berth_status *status,
                                  const struct berth_handle **ret_plugin);
/* Metrics: the stage is over; ok: nothing broke. */
void cycle_filter_timed(struct berth_cycle *cycle, bool ok);
/* Metrics: counts what cycle_run_filters has asked of plugins on behalf of this cycle. */
void cycle_count_filters(const struct berth_cycle *cycle);

/* The slot of the i-th candidate, and who is in it. */
static inline uint32_t cycle_slot(const struct berth_cycle *cycle, size_t i)
{
    return cycle->candidates[cycle->start + i];
}
static inline const struct berth_node *cycle_node(const struct berth_cycle *cycle, size_t i)
{
    return cycle->columns.nodes[cycle_slot(cycle, i)];
}

#endif
