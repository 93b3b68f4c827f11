/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - counters, gauges and histograms in Prometheus' text format.
 *
 * Purpose:   a metric is declared once in a table (name, help, stability, labels, buckets); series
 *            come to life when first used, a family without labels has its only one at once.
 *            Help texts carry upstream's "[STABLE] " and "[ALPHA] ".
 * Ownership: the registry owns families and series; pointers to series stay valid until it goes.
 * Threading: updates are atomic and may come from any thread; looking a series up takes the
 *            family's lock, so hot paths look up once and keep the pointer.
 */
#ifndef BERTH_BASE_METRICS_H
#define BERTH_BASE_METRICS_H

#include "base/buf.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_MAX_LABELS 8

struct metric_desc {
    const char *name;
    const char *help;      /* without the stability prefix */
    const char *stability; /* "ALPHA", "BETA", "STABLE" */
    enum metric_kind kind;
    const char *labels[METRIC_MAX_LABELS]; /* NULL-ended */
    const double *buckets;                 /* upper bounds, ascending, without +Inf */
    size_t n_buckets;
};

struct metrics;
struct metric_family;
struct metric; /* one series */

struct metrics *metrics_new(void);
struct metrics *metrics_free(struct metrics *m);
/* Series beyond this number per family are dropped into one whose labels all read "overflow". */
#define METRIC_MAX_SERIES 10000

/* desc outlives the registry. A name that is there already gives the family that has it. */
struct metric_family *metrics_add(struct metrics *m, const struct metric_desc *desc);
/*
 * values: one per label, in the order of desc. The same values give the same series. Bytes that are
 * not UTF-8 are replaced by U+FFFD: one of them would make the whole page unreadable.
 */
struct metric *metric_with(struct metric_family *family, const struct str *values);

void metric_add(struct metric *series, double delta); /* counter (delta >= 0), gauge */
void metric_set(struct metric *series, double value); /* gauge */
void metric_observe(struct metric *series, double value);
double metric_value(const struct metric *series); /* counter and gauge; histogram: its count */

/*
 * Families in order of name, labels too, series in order of their labels' values. Of a histogram
 * that is being updated, the count and the buckets agree; the sum may be one observation apart.
 */
void metrics_write(struct metrics *m, struct buf *out);

/* Series of families with labels begin again at zero; the others go on. */
void metrics_reset(struct metrics *m);

/* The usual bucket lists: start * factor^i and start + width * i. Fills out[n]. */
void metric_buckets_exponential(double start, double factor, size_t n, double *out);
void metric_buckets_linear(double start, double width, size_t n, double *out);

#endif
