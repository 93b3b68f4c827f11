/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - counters, gauges and histograms in Prometheus' text format.
 *
 * Purpose:   a metric is declared once in a table (name, help, stability, labels, buckets). Series
 *            are created on first use; a family without labels has its only one at once. Help texts
 *            get upstream's "[STABLE] " and "[ALPHA] " prefixes. Rules (metrics_govern) define
 *            which families are hidden and which values a label may have.
 * Ownership: the registry owns families, series and parts; pointers to them are valid until it is
 *            freed.
 * Threading: updates are atomic and allowed on any thread. Looking up a series takes the family's
 *            lock, so hot paths keep the pointer. Rules and parts are set before a second thread
 *            uses the registry.
 */
#ifndef BERTH_BASE_METRICS_H
#define BERTH_BASE_METRICS_H

#include "base/buf.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_MAX_LABELS 9

struct metric_desc {
    const char *name;
    const char *help;      /* without the stability prefix */
    const char *stability; /* "ALPHA", "BETA", "STABLE"; NULL: no prefix, not subject to rules */
    enum metric_kind kind;
    const char *labels[METRIC_MAX_LABELS]; /* NULL-terminated, or full */
    const double *buckets;                 /* upper bounds, ascending, without +Inf */
    size_t n_buckets;
    const char *deprecated; /* since this version: "1.35.0"; NULL: not deprecated */
};

struct metrics;
struct metric_family;
struct metric; /* one series */

struct metrics *metrics_new(void);
struct metrics *metrics_free(struct metrics *m);
/* Series beyond this number per family are counted in one whose labels are all "overflow". */
#define METRIC_MAX_SERIES 10000

/* Whether there is a family of this name. */
bool metrics_has(struct metrics *m, const char *name);
/* desc must outlive the registry. If the name exists, returns that family. */
struct metric_family *metrics_add(struct metrics *m, const struct metric_desc *desc);
/* The same for a table; ret_families[n]. */
void metrics_add_all(struct metrics *m, const struct metric_desc *descs, size_t n,
                     struct metric_family **ret_families);
const struct metric_desc *metric_family_desc(const struct metric_family *family);
/*
 * values: one per label, in the order of desc; NULL if there are none. Equal values give the same
 * series. Bytes that are not UTF-8 are replaced by U+FFFD: one of them would make the whole page
 * unreadable.
 */
struct metric *metric_with(struct metric_family *family, const struct str *values);

void metric_add(struct metric *series, double delta); /* counter (delta >= 0), gauge */
void metric_set(struct metric *series,
                double value); /* gauge, or a counter that is maintained elsewhere */
void metric_observe(struct metric *series, double value);
double metric_value(const struct metric *series); /* counter and gauge; histogram: its count */

/* For callers with their own counts: the bucket of a value, and many observations at once. */
static inline size_t metric_bucket(const struct metric_desc *desc, double value)
{
    size_t from = 0, to = desc->n_buckets;
    if (to && value <= desc->buckets[0])
        return 0; /* the usual case */
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
/* counts: one per bucket, then +Inf; sum: of all observed values. */
void metric_observe_all(struct metric *series, const uint32_t *counts, double sum);

/*
 * Families are sorted by name, labels by name, series by label values. Of a histogram that is being
 * updated, count and buckets agree; the sum may differ by one observation.
 */
void metrics_write(struct metrics *m, struct buf *out);

/*
 * For a page of more series than a registry would hold: the header of a family, and one of its
 * lines, with the labels in the order of desc (which should be sorted by name).
 */
void metric_write_head(const struct metric_desc *desc, struct buf *out);
void metric_write_line(const struct metric_desc *desc, const struct str *values, double value,
                       struct buf *out);

/* Removes series of families with labels until they are next updated; others keep their values. */
void metrics_reset(struct metrics *m);

/* --- parts ------------------------------------------------------------------------------------ */

/* State that a component keeps with its families: one per registry. */
struct metrics_part {
    size_t size;
    void (*init)(void *state, struct metrics *m); /* state is zeroed */
    void (*on_write)(
        void *state); /* called before each page by the thread that writes it; NULL: none */
    void (*release)(void *state); /* called before it is freed; NULL: nothing to do */
};

/* Creates the part if it does not exist. part is a constant. */
void *metrics_part(struct metrics *m, const struct metrics_part *part);

/* --- rules ------------------------------------------------------------------------------------ */

/* Other values of a label become "unexpected". */
struct metric_allow {
    struct str family, label;
    struct str values; /* separated by commas */
};

struct metrics_rules {
    unsigned minor;   /* deprecations are evaluated for version 1.minor */
    bool show_hidden; /* also show families whose deprecation period has ended */
    const struct str *disabled;
    size_t n_disabled;
    const struct metric_allow *allowed;
    size_t n_allowed;
};

/*
 * Applies to families added later. Also adds the registry's own families: registered_metrics_total
 * and so on. Call once, on an empty registry; copies the rules.
 */
void metrics_govern(struct metrics *m, const struct metrics_rules *rules);

#endif
