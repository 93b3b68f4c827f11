/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h - what an attempt found out about nodes, packed.
 *
 * Purpose:   which nodes were looked at, who refused which and why, and what every plugin gave
 * those that passed: taken out of the scratch when the attempt ends, kept with its explanation.
 *            Most of it says the same of many nodes, and is kept once: verdicts as runs over the
 *            refused nodes, scores as the differences from the smallest, in as few bytes as hold
 *            the largest; none where all nodes have the same.
 * Ownership: one piece of memory that may be copied; borrows the names of the nodes.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_EVIDENCE_H
#define BERTH_ENGINE_EVIDENCE_H

#include "engine/cycle.h"
#include "engine/explain_nodes.h"

/* Integers: base plus what stands for each in `width` bytes. */
struct packed_ints {
    int64_t base;
    uint32_t at;   /* in the evidence */
    uint8_t width; /* 0: base alone, for all */
};

/* What one plugin, or one extender, gave the nodes that passed. */
struct evidence_score {
    struct packed_ints raw, normalized;
    int64_t weight;
    uint16_t plugin;  /* id */
    bool is_extender; /* has raw scores, and they may be any number */
    bool has_raw;     /* else raw and normalized are the same */
};

struct evidence {
    size_t size;
    struct explain_nodes *names; /* NULL: there was no node at all */
    uint32_t n_all;              /* nodes of the cluster */
    uint32_t n_candidates, start;
    uint32_t n_looked_at, n_passed;
    uint32_t n_scores, n_pre_filter;
    /* Where things begin; 0: they are not there. */
    uint32_t candidates; /* their slots; 0: all nodes */
    uint32_t passed;     /* one bit for each node looked at; 0: all passed */
    uint32_t runs;       /* of the refused, see evidence_next */
    uint32_t verdicts;   /* struct verdict: those that runs name */
    uint32_t scores;     /* struct evidence_score */
    uint32_t pre_filter; /* see evidence_next_pre_filter */
};

/* Of the attempt that has just ended, in place of what is in the buffer. */
void evidence_take(const struct berth_cycle *cycle, struct buf *out);

/* The nodes looked at, one after the other. Starts as {.evidence = e}. */
struct evidence_reader {
    const struct evidence *evidence;
    size_t i;            /* how many have been read */
    size_t at;           /* in runs */
    uint64_t left;       /* of the run under way */
    struct verdict last; /* its verdict */
};
/* False: there are no more. */
bool evidence_next(struct evidence_reader *r, struct str *ret_name, struct verdict *ret_verdict);

/* k < n_scores, i < n_passed. */
const struct evidence_score *evidence_score(const struct evidence *e, size_t k);
int64_t evidence_raw(const struct evidence *e, const struct evidence_score *s, size_t i);
int64_t evidence_normalized(const struct evidence *e, const struct evidence_score *s, size_t i);

/* What PreFilter plugins said, in their order. Starts as {.evidence = e}. */
struct evidence_pre_filter {
    const struct evidence *evidence;
    size_t i, at;
    uint16_t plugin;
    uint8_t code, n_reasons;
};
bool evidence_next_pre_filter(struct evidence_pre_filter *p);
/* To be called n_reasons times. */
struct str evidence_next_reason(struct evidence_pre_filter *p);

#endif
