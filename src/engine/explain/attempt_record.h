/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt_record.h - what an attempt found out about nodes, packed.
 *
 * Purpose:   which nodes were looked at, who refused which and why, and what every plugin gave
 * those that passed: taken out of the scratch when the attempt ends, kept with its explanation.
 *            Most of it says the same of many nodes, and is kept once: verdicts as runs over the
 *            refused nodes, scores as the differences from the smallest, in as few bytes as hold
 *            the largest; none where all nodes have the same.
 * Ownership: one piece of memory that may be copied; borrows the names of the nodes.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_EXPLAIN_ATTEMPT_RECORD_H
#define BERTH_ENGINE_EXPLAIN_ATTEMPT_RECORD_H

#include "engine/cycle/cycle.h"
#include "engine/cycle/node_names.h"

/* Integers: base plus what stands for each in `width` bytes. */
struct packed_ints {
    int64_t base;
    uint32_t at;   /* in the record */
    uint8_t width; /* 0: base alone, for all */
};

/* What one plugin, or one extender, gave the nodes that passed. */
struct attempt_record_score {
    struct packed_ints raw, normalized;
    int64_t weight;
    uint16_t plugin;  /* id */
    bool is_extender; /* has raw scores, and they may be any number */
    bool has_raw;     /* else raw and normalized are the same */
};

struct attempt_record {
    size_t size;
    struct node_names *names; /* NULL: there was no node at all */
    uint32_t n_all;           /* nodes of the cluster */
    uint32_t n_candidates, start;
    uint32_t n_looked_at, n_passed;
    uint32_t n_scores, n_pre_filter;
    /* Where things begin; 0: they are not there. */
    uint32_t candidates; /* their slots; 0: all nodes */
    uint32_t passed;     /* one bit for each node looked at; 0: all passed */
    uint32_t runs;       /* of the refused, see attempt_record_next */
    uint32_t verdicts;   /* struct verdict: those that runs name */
    uint32_t scores;     /* struct attempt_record_score */
    uint32_t pre_filter; /* see attempt_record_next_pre_filter */
};

/* Of the attempt that has just ended, in place of what is in the buffer. */
void attempt_record_take(const struct berth_cycle *cycle, struct buf *out);

/* The nodes looked at, one after the other. Starts as {.record = e}. */
struct attempt_record_reader {
    const struct attempt_record *record;
    size_t i;            /* how many have been read */
    size_t at;           /* in runs */
    uint64_t left;       /* of the run under way */
    struct verdict last; /* its verdict */
};
/* False: there are no more. */
bool attempt_record_next(struct attempt_record_reader *r, struct str *ret_name,
                         struct verdict *ret_verdict);

/* k < n_scores, i < n_passed. */
const struct attempt_record_score *attempt_record_score(const struct attempt_record *e, size_t k);
int64_t attempt_record_raw(const struct attempt_record *e, const struct attempt_record_score *s,
                           size_t i);
int64_t attempt_record_normalized(const struct attempt_record *e,
                                  const struct attempt_record_score *s, size_t i);

/* What PreFilter plugins said, in their order. Starts as {.record = e}. */
struct attempt_record_pre_filter {
    const struct attempt_record *record;
    size_t i, at;
    uint16_t plugin;
    uint8_t code, n_reasons;
};
bool attempt_record_next_pre_filter(struct attempt_record_pre_filter *p);
/* To be called n_reasons times. */
struct str attempt_record_next_reason(struct attempt_record_pre_filter *p);

#endif
