/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt_buffers.h - the arrays that an attempt fills.
 *
 * Purpose:   verdicts, feasible nodes and scores are as long as the cluster is large, and only the
 *            attempt under way needs them: the engine has one set, which every attempt uses again.
 *            What is to outlive the attempt is taken out of them at its end (record.h).
 * Ownership: owned by the engine; an attempt borrows from its beginning to its end.
 * Threading: the engine's thread; the pool's threads write verdicts and scores of different nodes.
 */
#ifndef BERTH_ENGINE_CYCLE_ATTEMPT_BUFFERS_H
#define BERTH_ENGINE_CYCLE_ATTEMPT_BUFFERS_H

#include "base/bitset.h"
#include "base/vec.h"
#include "berth/plugin.h"

/* What was said of a node in the attempt under way. No padding: verdicts are compared as a whole.
 */
struct verdict {
    uint16_t code;
    uint16_t plugin; /* id; VERDICT_NOBODY: none refused it */
    berth_reason reason;
};
#define VERDICT_NOBODY UINT16_MAX
static_assert(sizeof(struct verdict) == 2 * sizeof(uint16_t) + sizeof(berth_reason), "no padding");

static inline bool verdict_eq(const struct verdict *a, const struct verdict *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* The same verdict on so many nodes that were refused one after the other. */
struct verdict_run {
    struct verdict verdict;
    uint32_t n;
};

/* One plugin's scores. */
struct score_row {
    int64_t *scores, *raw;
    uint8_t *normalized;
};

struct attempt_buffers {
    size_t n; /* nodes there is room for, in all but verdicts */
    /* By slot. */
    struct verdict *verdicts; /* of nodes that were refused; of others they say nothing */
    size_t n_verdicts;
    uint8_t *codes; /* what batch filters say: all zero between two of them, like reasons */
    berth_reason *reasons;
    uint64_t *feasible, *before; /* sets of slots */
    /* By candidate, in the order of the attempt. */
    uint64_t *passed;             /* those that were looked at and not refused */
    VEC(struct verdict_run) runs; /* the others that were looked at */
    /* By feasible node. */
    uint32_t *slots;
    int64_t *totals;
    VEC(struct score_row) rows; /* one for each plugin that scores */
};

void attempt_buffers_release(struct attempt_buffers *s);
/* Before an attempt on a cluster with n slots: room, no runs. */
void attempt_buffers_begin(struct attempt_buffers *s, size_t n);
/* The cluster has grown while the attempt waited; all else stays where it is. */
void attempt_buffers_grow_verdicts(struct attempt_buffers *s, size_t n);
/* Room for the scores of the i-th plugin that scores, all zero up to n. */
struct score_row *attempt_buffers_row(struct attempt_buffers *s, size_t i, size_t n);
/* One more node, behind those looked at so far, was refused. True: not like the one before. */
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

/* Sets of small integers as words, where struct bitset would own them. */
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
