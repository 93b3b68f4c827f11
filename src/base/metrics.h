/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - counters, gauges and histograms in Prometheus' text format.
 *
 * Purpose:   a metric is declared once in a table (name, help, stability, labels, buckets); series
 *            come to life when first used, a family without labels has its only one at once.
 *            Help texts carry upstream's "[STABLE] " and "[ALPHA] ". Rules (metrics_govern) say
 *            which families are not shown and which values a label may take.
 * Ownership: the registry owns families, series and parts; pointers to them stay valid until it
 *            goes.
 * Threading: updates are atomic and may come from any thread; looking a series up takes the
 *            family's lock, so hot paths look up once and keep the pointer. Rules and parts are
 *            set before a second thread knows of the registry.
 */
#ifndef BERTH_BASE_METRICS_H
#define BERTH_BASE_METRICS_H

#include "base/buf.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_MAX_LABELS 9

struct metric_desc {
    const char *name;
    const char *help;      /* without the stability prefix */
    const char *stability; /* "ALPHA", "BETA", "STABLE"; NULL: no prefix, and no rule applies */
    enum metric_kind kind;
    const char *labels[METRIC_MAX_LABELS]; /* NULL-ended, or full */
    const double *buckets;                 /* upper bounds, ascending, without +Inf */
    size_t n_buckets;
    const char *deprecated; /* since which version: "1.35.0"; NULL: it is not */
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
/* The same for a table; ret_families[n]. */
void metrics_add_all(struct metrics *m, const struct metric_desc *descs, size_t n,
                     struct metric_family **ret_families);
const struct metric_desc *metric_family_desc(const struct metric_family *family);
/*
 * values: one per label, in the order of desc; NULL where there are none. The same values give the
 * same series. Bytes that are not UTF-8 are replaced by U+FFFD: one of them would make the whole
 * page unreadable.
 */
struct metric *metric_with(struct metric_family *family, const struct str *values);

void metric_add(struct metric *series, double delta); /* counter (delta >= 0), gauge */
void metric_set(struct metric *series, double value); /* gauge; a counter kept by somebody else */
void metric_observe(struct metric *series, double value);
double metric_value(const struct metric *series); /* counter and gauge; histogram: its count */

/* For those who count by themselves: the bucket that a value falls into, and many at once. */
static inline size_t metric_bucket(const struct metric_desc *desc, double value)
{
    size_t from = 0, to = desc->n_buckets;
    if (to && value <= desc->buckets[0])
        return 0; /* most do */
    /* The first bucket whose bound is not below the value; NaN goes to +Inf. */
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (value <= desc->buckets[middle])
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}
/* counts: one for each bucket, and for +Inf; sum: of what was observed. */
void metric_observe_all(struct metric *series, const uint32_t *counts, double sum);

/*
 * Families in order of name, labels too, series in order of their labels' values. Of a histogram
 * that is being updated, the count and the buckets agree; the sum may be one observation apart.
 */
void metrics_write(struct metrics *m, struct buf *out);

/*
 * For a page of more series than a registry would hold: the head of a family, and one line of it,
 * with its labels in the order of desc (which should be that of their names).
 */
void metric_write_head(const struct metric_desc *desc, struct buf *out);
void metric_write_line(const struct metric_desc *desc, const struct str *values, double value,
                       struct buf *out);

/* Series of families with labels are gone until they are next updated; the others go on. */
void metrics_reset(struct metrics *m);

/* --- parts ------------------------------------------------------------------------------------ */

/* The state that a component keeps beside its families: one per registry, whoever asks for it. */
struct metrics_part {
    size_t size;
    void (*init)(void *state, struct metrics *m); /* state is zeroed */
    void (*on_write)(void *state);                /* before each page, by its writer; NULL: none */
    void (*release)(void *state);                 /* before it is freed; NULL: nothing to do */
};

/* Makes it where it is not there yet. part is a constant. */
void *metrics_part(struct metrics *m, const struct metrics_part *part);

/* --- rules ------------------------------------------------------------------------------------ */

/* Values of a label other than these become "unexpected". */
struct metric_allow {
    struct str family, label;
    struct str values; /* separated by commas */
};

struct metrics_rules {
    unsigned minor;   /* the version 1.minor is what deprecations are measured by */
    bool show_hidden; /* what has been deprecated for long too */
    const struct str *disabled;
    size_t n_disabled;
    const struct metric_allow *allowed;
    size_t n_allowed;
};

/*
 * Holds for families that are added later, and adds those in which a registry counts its own:
 * registered_metrics_total and so on. To be called once, on an empty registry; copies the rules.
 */
void metrics_govern(struct metrics *m, const struct metrics_rules *rules);

#endif
