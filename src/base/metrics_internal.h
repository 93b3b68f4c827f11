/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_internal.h - shared by the files of metrics; included by these only.
 *
 * Purpose:   metrics.c has families and series, metrics_rules.c decides what is shown,
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

/* One series. It never moves, and only the atomics change once it is visible to others. */
struct metric {
    const struct metric_desc *desc;
    const struct str *values;  /* of the labels, in the order of output */
    _Atomic double value;      /* histogram: the sum of all observations */
    _Atomic uint64_t *buckets; /* observations per bucket, not cumulative; the last one is +Inf */
    atomic_bool gone;          /* reset, and not updated since */
};

struct metric_family {
    const struct metric_desc *desc;
    size_t n_labels;
    size_t order[METRIC_MAX_LABELS]; /* positions in desc, sorted by label name */
    bool hidden;                     /* by a rule: all updates go to one series that is not shown */
    const struct metrics_filter *filter; /* NULL: all label values are allowed */
    pthread_mutex_t lock;                /* guards everything below */
    VEC(struct metric *) series;         /* sorted by values: for binary search and output */
    struct metric *overflow;
    struct arena arena; /* of the series */
};

struct part {
    const struct metrics_part *desc;
    void *state;
};

struct metrics {
    pthread_mutex_t lock;
    VEC(struct metric_family *) families; /* sorted by name */
    VEC(struct part) parts;
    struct metrics_filter *filter; /* NULL: no rules */
};

/* --- metrics_rules.c -------------------------------------------------------------------------- */

/* Called before a family is added: decides whether it is shown, and counts it. */
void metrics_filter_admit(struct metrics_filter *filter, struct metric_family *family);
/* The allowed value of a label: the given one, or "unexpected". */
struct str metrics_filter_value(const struct metrics_filter *filter, const struct metric_desc *desc,
                                size_t label, struct str value);
void metrics_filter_free(struct metrics_filter *filter); /* NULL is allowed */

#endif
