/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.h - why pods are where they are.
 *
 * Purpose:   every attempt leaves a record: which event brought the pod back, the verdict on every
 *            node with the plugin and reason, every plugin's scores, the choice, and where the pod
 *            went. Always on, so recording only copies a few compact arrays; texts are made when
 *            somebody reads.
 * Ownership: a ring of records, bounded in bytes (names of nodes included); the oldest go first.
 * Threading: the engine's thread. Others ask by message.
 */
#ifndef BERTH_ENGINE_EXPLAIN_H
#define BERTH_ENGINE_EXPLAIN_H

#include "engine/cache.h"
#include "engine/cycle.h"

#define EXPLAIN_MAX_BYTES ((size_t)16 << 20)

struct explain_nodes; /* names of nodes by slot, shared by records of the same node set */

enum explain_outcome { EXPLAIN_BOUND, EXPLAIN_UNSCHEDULABLE, EXPLAIN_ERROR };

struct explain_score {
    uint16_t plugin;
    int64_t weight;
    int64_t *raw;        /* NULL: the same as normalized */
    uint8_t *normalized; /* NULL: an extender's, which may say any number */
};

/* One attempt, in one piece of memory. */
struct explain_record {
    size_t size;
    uint64_t number; /* counts all attempts of this engine */
    int64_t started; /* ns, the engine's clock */
    uint32_t attempt;
    enum explain_outcome outcome;
    enum queue_place went_to; /* where the pod was put afterwards */
    struct cluster_event brought_by;
    struct str namespace, name, uid, scheduler_name;
    struct str node_name; /* where it was bound; empty: nowhere */
    struct str message;
    struct str nominated_node;
    struct str survey; /* members of its JSON object; empty: there was none */
    struct pre_filter_verdict *pre_filter;
    size_t n_pre_filter;

    struct explain_nodes *nodes;
    size_t n_all; /* nodes of the cluster */
    /* The nodes looked at: candidate start, start + 1, … as far as the runs reach. */
    uint32_t *order; /* slots of the candidates; NULL: all nodes in their order */
    size_t n_candidates, start;
    struct verdict_run *runs;
    size_t n_runs;
    struct explain_score *scores; /* of the nodes that passed, in the same order */
    size_t n_scores;
};

struct explain {
    VEC(struct explain_record *) ring; /* from `first` on, oldest first */
    size_t first;
    size_t bytes, max_bytes;
    uint64_t next_number;
    struct explain_nodes *nodes; /* of the current node set */
};

void explain_init(struct explain *x, size_t max_bytes);
void explain_release(struct explain *x);

/* What an attempt came to. */
struct explain_result {
    const struct berth_queued_pod *queued;
    const struct berth_cycle *cycle;
    const struct cycle_failure *failure; /* NULL: bound */
    struct str node_name;
    int64_t started;
};
/* The record stays valid until the next call; NULL where it alone would exceed the bound. */
struct explain_record *explain_add(struct explain *x, const struct explain_result *result);

/* The names of the current node set; one reference more. */
struct explain_nodes *explain_nodes_ref(struct explain *x, const struct cache *cache);
void explain_nodes_unref(struct explain_nodes *nodes); /* NULL is fine */
/* Who was in this slot; empty: nobody. */
struct str explain_nodes_name(const struct explain_nodes *nodes, uint32_t slot);
/* The slot of the i-th of all nodes. */
uint32_t explain_nodes_slot(const struct explain_nodes *nodes, size_t i);
/* The name of the i-th node that was looked at. */
struct str explain_node_name(const struct explain_record *record, size_t i);

/* Appends ,"reasons":[…], or nothing where there are none. */
void explain_write_reasons(const struct engine *engine, berth_reason reason, struct buf *out);
/*
 * Appends the records of a pod (empty name: of all pods), oldest first, as one JSON object a line.
 * Gives their number.
 */
size_t explain_write(const struct explain *x, const struct engine *engine, struct str namespace,
                     struct str name, struct buf *out);

#endif
