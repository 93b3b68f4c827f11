/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt_record.h - the results of an attempt, packed.
 *
 * Purpose:   the nodes that were filtered, the verdicts on those refused, and the scores of those
 *            feasible. Taken out of the attempt's buffers when it ends, and kept by explain.h.
 *            Many nodes share their results, which are stored once: verdicts as runs over the
 *            refused nodes, scores as differences from the smallest, in as few bytes as the
 *            largest needs; none if all nodes have the same score.
 * Ownership: one piece of memory that may be copied; borrows the names of the nodes.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_EXPLAIN_ATTEMPT_RECORD_H
#define BERTH_ENGINE_EXPLAIN_ATTEMPT_RECORD_H

#include "engine/cycle/cycle.h"
#include "engine/cycle/node_names.h"

/* Integers: base plus a number of `width` bytes for each. */
struct packed_ints {
    int64_t base;
    uint32_t at;   /* offset in the record */
    uint8_t width; /* 0: all are equal to base */
};

/* The scores of one plugin or extender. */
struct attempt_record_score {
    struct packed_ints raw, normalized;
    int64_t weight;
    uint16_t plugin;  /* id */
    bool is_extender; /* has raw scores only, which may be any number */
    bool has_raw;     /* false: raw and normalized are the same */
};

struct attempt_record {
    size_t size;
    struct node_names *names; /* NULL: the cluster had no nodes */
    uint32_t n_all;           /* nodes of the cluster */
    uint32_t n_candidates, start;
    uint32_t n_evaluated, n_passed;
    uint32_t n_scores, n_pre_filter;
    /* Offsets of the parts; 0: there is none. */
    uint32_t candidates; /* their slots; 0: all nodes */
    uint32_t passed;     /* one bit per evaluated node; 0: all passed */
    uint32_t runs;       /* of refused nodes, see attempt_record_next */
    uint32_t verdicts;   /* struct verdict: those that runs refer to */
    uint32_t scores;     /* struct attempt_record_score */
    uint32_t pre_filter; /* see attempt_record_next_pre_filter */
};

/* Packs the results of an attempt whose buffers are still valid. Replaces what is in *out. */
void attempt_record_take(const struct berth_cycle *cycle, struct buf *out);

/* Reads the evaluated nodes in order. Starts as {.record = e}. */
struct attempt_record_reader {
    const struct attempt_record *record;
    size_t i;            /* nodes read so far */
    size_t at;           /* offset of the next run; 0: the first */
    uint64_t left;       /* nodes of the current run */
    struct verdict last; /* its verdict */
};
/* Returns false behind the last node. */
bool attempt_record_next(struct attempt_record_reader *r, struct str *ret_name,
                         struct verdict *ret_verdict);

/* k < n_scores, i < n_passed. */
const struct attempt_record_score *attempt_record_score(const struct attempt_record *e, size_t k);
int64_t attempt_record_raw(const struct attempt_record *e, const struct attempt_record_score *s,
                           size_t i);
int64_t attempt_record_normalized(const struct attempt_record *e,
                                  const struct attempt_record_score *s, size_t i);

/* Reads the verdicts of PreFilter in the order of the plugins. Starts as {.record = e}. */
struct attempt_record_pre_filter {
    const struct attempt_record *record;
    size_t i, at;
    uint16_t plugin;
    uint8_t code, n_reasons;
};
bool attempt_record_next_pre_filter(struct attempt_record_pre_filter *p);
/* Must be called n_reasons times. */
struct str attempt_record_next_reason(struct attempt_record_pre_filter *p);

#endif
