/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_internal.h - what the files of metrics share; nobody else includes it.
 *
 * Purpose:   metrics.c keeps families and series, metrics_rules.c decides what is shown,
 *            metrics_text.c writes the page.
 * Ownership: as in metrics.h.
 * Threading: as in metrics.h.
 */
#ifndef BERTH_BASE_METRICS_INTERNAL_H
#define BERTH_BASE_METRICS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/metrics.h"
#include "base/vec.h"

/* One series. It never moves, and nothing but the atomics changes once others can see it. */
struct metric {
    const struct metric_desc *desc;
    const struct str *values;  /* of the labels, in the order in which they are written */
    _Atomic double value;      /* of a histogram: the sum of what was observed */
    _Atomic uint64_t *buckets; /* what fell into each, not cumulative; the last one is +Inf */
    atomic_bool gone;          /* reset, and not updated since */
};

struct metric_family {
    const struct metric_desc *desc;
    size_t n_labels;
    size_t order[METRIC_MAX_LABELS]; /* positions in desc, in order of the labels' names */
    bool hidden;                     /* by a rule: all updates go to one series, which none sees */
    const struct metrics_law *law;   /* NULL: every value of every label goes */
    pthread_mutex_t lock;            /* guards all below */
    VEC(struct metric *) series;     /* in order of their values: found by halving, written as is */
    struct metric *overflow;
    struct arena arena; /* of the series */
};

struct part {
    const struct metrics_part *desc;
    void *state;
};

struct metrics {
    pthread_mutex_t lock;
    VEC(struct metric_family *) families; /* in order of name */
    VEC(struct part) parts;
    struct metrics_law *law; /* NULL: no rules */
};

/* --- metrics_rules.c -------------------------------------------------------------------------- */

/* A family is about to be added: decides whether it is shown, and counts it. */
void metrics_law_admit(struct metrics_law *law, struct metric_family *family);
/* The value that a label of the family may have: the given one, or "unexpected". */
struct str metrics_law_value(const struct metrics_law *law, const struct metric_desc *desc,
                             size_t label, struct str value);
void metrics_law_free(struct metrics_law *law); /* NULL is fine */

#endif
