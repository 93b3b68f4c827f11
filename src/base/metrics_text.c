/* SPDX-License-Identifier: Apache-2.0 */
/* The text page of a registry. */
#include <math.h>

#include "base/metrics_internal.h"
#include "base/num.h"

static bool is_special(char c, bool quotes)
{
    return c == '\n' || c == '\\' || (quotes && c == '"');
}

/* Most strings need no escaping: copy the parts between as a whole. */
static void add_escaped(struct buf *out, struct str s, bool quotes)
{
    size_t from = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_special(s.p[i], quotes))
            continue;
        buf_add_str(out, str_slice(s, from, i));
        buf_add_char(out, '\\');
        buf_add_char(out, s.p[i] == '\n' ? 'n' : s.p[i]);
        from = i + 1;
    }
    buf_add_str(out, str_slice(s, from, s.n));
}

/* Writes one label with its value. The brace is open after the first. */
static void write_label(const char *name, struct str value, bool first, struct buf *out)
{
    buf_add_char(out, first ? '{' : ',');
    buf_add_cstr(out, name);
    buf_add_cstr(out, "=\"");
    add_escaped(out, value, true);
    buf_add_char(out, '"');
}

/* name_suffix{label="value",…,le="bound"} without the number; le NULL: none. */
static void write_name(const struct metric_family *f, const struct metric *s, const char *suffix,
                       const double *le, struct buf *out)
{
    buf_add_cstr(out, f->desc->name);
    buf_add_cstr(out, suffix);
    for (size_t i = 0; i < f->n_labels; i++)
        write_label(f->desc->labels[f->order[i]], s->values[i], i == 0, out);
    if (le) {
        buf_add_cstr(out, f->n_labels ? ",le=\"" : "{le=\"");
        num_format(*le, NUM_STYLE_G, out);
        buf_add_char(out, '"');
    }
    buf_add_cstr(out, le || f->n_labels ? "} " : " ");
}

static void write_number(double value, struct buf *out)
{
    /* client_golang writes a negative zero as zero. */
    num_format(value == 0 ? 0 : value, NUM_STYLE_G, out);
    buf_add_char(out, '\n');
}

static void write_histogram(const struct metric_family *f, const struct metric *s, struct buf *out)
{
    static const double infinity = INFINITY;
    double sum = atomic_load_explicit(&s->value, memory_order_relaxed);
    uint64_t count = 0;
    for (size_t i = 0; i <= f->desc->n_buckets; i++) {
        count += atomic_load_explicit(&s->buckets[i], memory_order_relaxed);
        write_name(f, s, "_bucket", i < f->desc->n_buckets ? &f->desc->buckets[i] : &infinity, out);
        write_number((double)count, out);
    }
    write_name(f, s, "_sum", NULL, out);
    write_number(sum, out);
    write_name(f, s, "_count", NULL, out);
    write_number((double)count, out);
}

void metric_write_head(const struct metric_desc *desc, struct buf *out)
{
    static const char *const kinds[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
    };
    buf_add_printf(out, "# HELP %s ", desc->name);
    if (desc->stability)
        buf_add_printf(out, "[%s] ", desc->stability);
    if (desc->deprecated)
        buf_add_printf(out, "(Deprecated since %s) ", desc->deprecated);
    add_escaped(out, str_of(desc->help), false);
    buf_add_printf(out, "\n# TYPE %s %s\n", desc->name, kinds[desc->kind]);
}

void metric_write_line(const struct metric_desc *desc, const struct str *values, double value,
                       struct buf *out)
{
    size_t n = 0;
    buf_add_cstr(out, desc->name);
    for (; n < METRIC_MAX_LABELS && desc->labels[n]; n++)
        write_label(desc->labels[n], values[n], n == 0, out);
    buf_add_cstr(out, n ? "} " : " ");
    write_number(value, out);
}

static void write_family(struct metric_family *f, struct buf *out)
{
    bool begun = false;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->series.n && !f->hidden; i++) {
        const struct metric *s = f->series.v[i];
        if (atomic_load_explicit(&s->gone, memory_order_relaxed))
            continue;
        if (!begun)
            metric_write_head(f->desc, out);
        begun = true;
        if (f->desc->kind == METRIC_HISTOGRAM) {
            write_histogram(f, s, out);
        } else {
            write_name(f, s, "", NULL, out);
            write_number(metric_value(s), out);
        }
    }
    pthread_mutex_unlock(&f->lock);
}

void metrics_write(struct metrics *m, struct buf *out)
{
    for (size_t i = 0; i < m->parts.n; i++)
        if (m->parts.v[i].desc->on_write)
            m->parts.v[i].desc->on_write(m->parts.v[i].state);
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->families.n; i++)
        write_family(m->families.v[i], out);
    pthread_mutex_unlock(&m->lock);
}
