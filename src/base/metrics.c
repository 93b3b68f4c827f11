/* SPDX-License-Identifier: Apache-2.0 */
#include "base/metrics.h"

#include "base/metrics_internal.h"

/* --- lifecycle -------------------------------------------------------------------------------- */

struct metrics *metrics_new(void)
{
    struct metrics *m = xnew(struct metrics);
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

static void family_free(struct metric_family *f)
{
    vec_release(&f->series);
    arena_release(&f->arena);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

struct metrics *metrics_free(struct metrics *m)
{
    if (!m)
        return NULL;
    for (size_t i = 0; i < m->families.n; i++)
        family_free(m->families.v[i]);
    vec_release(&m->families);
    for (size_t i = 0; i < m->parts.n; i++) {
        if (m->parts.v[i].desc->release)
            m->parts.v[i].desc->release(m->parts.v[i].state);
        free(m->parts.v[i].state);
    }
    vec_release(&m->parts);
    metrics_filter_free(m->filter);
    pthread_mutex_destroy(&m->lock);
    free(m);
    return NULL;
}

static struct metric_family *family_new(const struct metric_desc *desc)
{
    struct metric_family *f = xnew(struct metric_family);
    f->desc = desc;
    pthread_mutex_init(&f->lock, NULL);
    arena_init(&f->arena, 0);
    /* Insertion into the sorted order; there are only a few labels. */
    while (f->n_labels < METRIC_MAX_LABELS && desc->labels[f->n_labels]) {
        size_t at = f->n_labels;
        for (; at > 0 && strcmp(desc->labels[f->order[at - 1]], desc->labels[f->n_labels]) > 0;
             at--)
            f->order[at] = f->order[at - 1];
        f->order[at] = f->n_labels++;
    }
    return f;
}

bool metrics_has(struct metrics *m, const char *name)
{
    bool found = false;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; !found && i < m->families.n; i++)
        found = strcmp(m->families.v[i]->desc->name, name) == 0;
    pthread_mutex_unlock(&m->lock);
    return found;
}

struct metric_family *metrics_add(struct metrics *m, const struct metric_desc *desc)
{
    pthread_mutex_lock(&m->lock);
    size_t at = 0;
    int order = 1;
    while (at < m->families.n && (order = strcmp(m->families.v[at]->desc->name, desc->name)) < 0)
        at++;
    struct metric_family *f;
    if (at < m->families.n && order == 0) {
        f = m->families.v[at];
        assert(f->desc->kind == desc->kind);
    } else {
        f = family_new(desc);
        if (m->filter && desc->stability)
            metrics_filter_admit(m->filter, f);
        vec_insert(&m->families, at, f);
    }
    pthread_mutex_unlock(&m->lock);
    if (!f->n_labels)
        metric_with(f, NULL);
    return f;
}

void metrics_add_all(struct metrics *m, const struct metric_desc *descs, size_t n,
                     struct metric_family **ret_families)
{
    for (size_t i = 0; i < n; i++)
        ret_families[i] = metrics_add(m, &descs[i]);
}

const struct metric_desc *metric_family_desc(const struct metric_family *f)
{
    return f->desc;
}

void *metrics_part(struct metrics *m, const struct metrics_part *part)
{
    for (size_t i = 0; i < m->parts.n; i++)
        if (m->parts.v[i].desc == part)
            return m->parts.v[i].state;
    void *state = xcalloc(1, part->size);
    vec_push(&m->parts, (struct part){part, state});
    part->init(state, m);
    return state;
}

static void series_reset(struct metric *series)
{
    atomic_store(&series->gone, true);
    atomic_store(&series->value, 0);
    for (size_t i = 0; series->buckets && i <= series->desc->n_buckets; i++)
        atomic_store(&series->buckets[i], 0);
}

void metrics_reset(struct metrics *m)
{
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->families.n; i++) {
        struct metric_family *f = m->families.v[i];
        pthread_mutex_lock(&f->lock);
        for (size_t k = 0; f->n_labels && k < f->series.n; k++)
            series_reset(f->series.v[k]);
        pthread_mutex_unlock(&f->lock);
    }
    pthread_mutex_unlock(&m->lock);
}

/* --- series ----------------------------------------------------------------------------------- */

/* values in the order of output, as in struct metric. */
static int values_cmp(const struct str *a, const struct str *b, size_t n)
{
    int c = 0;
    for (size_t i = 0; i < n && !c; i++)
        c = str_cmp(a[i], b[i]);
    return c;
}

/* The index of the series with these values, or where it would be inserted. */
static size_t position(const struct metric_family *f, const struct str *values)
{
    size_t from = 0, to = f->series.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (values_cmp(f->series.v[middle]->values, values, f->n_labels) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool is_utf8(struct str s)
{
    while (s.n)
        if (str_next_rune(&s) == STR_BAD_RUNE)
            return false;
    return true;
}

/* Returns the value, or a copy with invalid UTF-8 replaced. */
static struct str mend(struct arena *a, struct str value)
{
    static const struct str replacement = STR_INIT("\xef\xbf\xbd");
    if (is_utf8(value))
        return value;
    char *out = arena_alloc(a, value.n * replacement.n, 1);
    size_t n = 0;
    while (value.n) {
        struct str piece = value;
        assert(piece.p);
        bool bad = str_next_rune(&value) == STR_BAD_RUNE;
        piece = bad ? replacement : str_slice(piece, 0, piece.n - value.n);
        memcpy(out + n, piece.p, piece.n);
        n += piece.n;
    }
    return (struct str){out, n};
}

static struct metric *series_new(struct metric_family *f, const struct str *values)
{
    struct metric *s = arena_new(&f->arena, struct metric);
    struct str *kept = arena_array(&f->arena, struct str, f->n_labels);
    for (size_t i = 0; i < f->n_labels; i++)
        kept[i] = arena_dup(&f->arena, values[i]);
    s->desc = f->desc;
    s->values = kept;
    if (f->desc->kind == METRIC_HISTOGRAM)
        s->buckets = arena_array(&f->arena, _Atomic uint64_t, f->desc->n_buckets + 1);
    return s;
}

/* The last slot is reserved for the overflow series. */
static struct metric *overflow_series(struct metric_family *f)
{
    if (!f->overflow) {
        struct str values[METRIC_MAX_LABELS] = {0};
        for (size_t i = 0; i < f->n_labels; i++)
            values[i] = STR("overflow");
        size_t at = position(f, values);
        if (at < f->series.n && !values_cmp(f->series.v[at]->values, values, f->n_labels))
            return f->overflow = f->series.v[at];
        f->overflow = series_new(f, values);
        vec_insert(&f->series, at, f->overflow);
    }
    return f->overflow;
}

struct metric *metric_with(struct metric_family *f, const struct str *values)
{
    struct arena scratch;
    arena_init(&scratch, 0);
    struct str ordered[METRIC_MAX_LABELS] = {0};
    for (size_t i = 0; i < f->n_labels && !f->hidden; i++) {
        struct str value = values[f->order[i]];
        if (f->filter)
            value = metrics_filter_value(f->filter, f->desc, f->order[i], value);
        ordered[i] = mend(&scratch, value);
    }

    pthread_mutex_lock(&f->lock);
    size_t at = position(f, ordered);
    struct metric *s;
    if (at < f->series.n && !values_cmp(f->series.v[at]->values, ordered, f->n_labels)) {
        s = f->series.v[at];
    } else if (f->series.n >= METRIC_MAX_SERIES) {
        s = overflow_series(f);
    } else {
        s = series_new(f, ordered);
        vec_insert(&f->series, at, s);
    }
    pthread_mutex_unlock(&f->lock);
    arena_release(&scratch);
    return s;
}

/* --- updating --------------------------------------------------------------------------------- */

/* Read first: the cache line stays shared between the cores that update. */
static void touch(struct metric *s)
{
    if (atomic_load_explicit(&s->gone, memory_order_relaxed))
        atomic_store_explicit(&s->gone, false, memory_order_relaxed);
}

static void add_to(_Atomic double *target, double delta)
{
    double old = atomic_load_explicit(target, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(target, &old, old + delta, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

void metric_add(struct metric *s, double delta)
{
    assert(s->desc->kind == METRIC_GAUGE || (s->desc->kind == METRIC_COUNTER && delta >= 0));
    touch(s);
    add_to(&s->value, delta);
}

void metric_set(struct metric *s, double value)
{
    assert(s->desc->kind != METRIC_HISTOGRAM);
    touch(s);
    atomic_store_explicit(&s->value, value, memory_order_relaxed);
}

void metric_observe(struct metric *s, double value)
{
    assert(s->desc->kind == METRIC_HISTOGRAM);
    touch(s);
    atomic_fetch_add_explicit(&s->buckets[metric_bucket(s->desc, value)], 1, memory_order_relaxed);
    add_to(&s->value, value);
}

void metric_observe_all(struct metric *s, const uint32_t *counts, double sum)
{
    assert(s->desc->kind == METRIC_HISTOGRAM);
    touch(s);
    for (size_t i = 0; i <= s->desc->n_buckets; i++)
        if (counts[i])
            atomic_fetch_add_explicit(&s->buckets[i], counts[i], memory_order_relaxed);
    add_to(&s->value, sum);
}

double metric_value(const struct metric *s)
{
    if (s->desc->kind != METRIC_HISTOGRAM)
        return atomic_load_explicit(&s->value, memory_order_relaxed);
    uint64_t count = 0;
    for (size_t i = 0; i <= s->desc->n_buckets; i++)
        count += atomic_load_explicit(&s->buckets[i], memory_order_relaxed);
    return (double)count;
}
