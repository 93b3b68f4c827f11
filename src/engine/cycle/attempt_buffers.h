/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt_buffers.h - the arrays that an attempt fills.
 *
 * Purpose:   verdicts, feasible nodes and scores have one element per node, and only the attempt
 *            under way needs them: all attempts share one set of buffers. At the end of an attempt
 *            its results are packed into a record (attempt_record.h).
 * Ownership: part of struct cycles; an attempt borrows them until it ends.
 * Threading: the engine's thread; the pool's threads write verdicts and scores of different nodes.
 */
#ifndef BERTH_ENGINE_CYCLE_ATTEMPT_BUFFERS_H
#define BERTH_ENGINE_CYCLE_ATTEMPT_BUFFERS_H

#include "base/bitset.h"
#include "base/vec.h"
#include "berth/plugin.h"

/* The verdict on a node. Without padding, since verdicts are compared by their bytes. */
struct verdict {
    uint16_t code;
    uint16_t plugin; /* id of the plugin or extender that refused it; VERDICT_NONE: none did */
    berth_reason reason;
};
#define VERDICT_NONE UINT16_MAX
static_assert(sizeof(struct verdict) == 2 * sizeof(uint16_t) + sizeof(berth_reason), "no padding");

static inline bool verdict_eq(const struct verdict *a, const struct verdict *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* Consecutive refused nodes with the same verdict. Feasible nodes in between do not end a run. */
struct verdict_run {
    struct verdict verdict;
    uint32_t n; /* at least 1 */
};

/* One plugin's scores. */
struct score_row {
    int64_t *scores, *raw;
    uint8_t *normalized;
};

struct attempt_buffers {
    size_t n; /* capacity in nodes, of all but verdicts */
    /* By slot. */
    struct verdict *verdicts;    /* of refused nodes; undefined for others */
    size_t n_verdicts;           /* their capacity */
    uint8_t *codes;              /* verdicts of batch filters; all zero between two batches */
    berth_reason *reasons;       /* the same */
    uint64_t *feasible, *before; /* sets of slots */
    /* By candidate, in the order of the attempt. */
    uint64_t *passed;             /* set of the evaluated nodes that were not refused */
    VEC(struct verdict_run) runs; /* the evaluated nodes that were refused */
    /* By feasible node. */
    uint32_t *slots;
    int64_t *totals;
    VEC(struct score_row) rows; /* one per plugin that scores */
};

void attempt_buffers_release(struct attempt_buffers *s);
/* Starts an attempt on a cluster with n slots: grows all arrays, clears passed and runs. */
void attempt_buffers_begin(struct attempt_buffers *s, size_t n);
/* The cluster has grown while the attempt waited. The other arrays do not move. */
void attempt_buffers_grow_verdicts(struct attempt_buffers *s, size_t n);
/* The row of the i-th plugin that scores, with n scores of 0. */
struct score_row *attempt_buffers_row(struct attempt_buffers *s, size_t i, size_t n);
/* The next evaluated node was refused. Returns true if the verdict begins a new run. */
static inline bool attempt_buffers_add_refused(struct attempt_buffers *s, struct verdict v)
{
    struct verdict_run *last = s->runs.n ? &vec_last(&s->runs) : NULL;
    if (last && verdict_eq(&last->verdict, &v)) {
        last->n++;
        return false;
    }
    vec_push(&s->runs, (struct verdict_run){v, 1});
    return true;
}

/* Sets of small integers in borrowed words; struct bitset owns its words. */
static inline bool word_bit(const uint64_t *words, size_t i)
{
    return words[i / 64] >> (i % 64) & 1;
}
static inline void word_set(uint64_t *words, size_t i)
{
    words[i / 64] |= (uint64_t)1 << (i % 64);
}
static inline void word_unset(uint64_t *words, size_t i)
{
    words[i / 64] &= ~((uint64_t)1 << (i % 64));
}

#endif
