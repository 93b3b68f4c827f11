/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/fit_error.h"

#include "engine/framework/setup.h"

struct tally {
    struct str reason;
    size_t count;
    struct str line; /* "3 Insufficient cpu": upstream sorts these as texts */
};

struct tallies {
    VEC(struct tally) rows;
    struct map by_reason; /* to row index + 1 */
};

static void count_reason(struct tallies *t, struct str reason, size_t times)
{
    uintptr_t at = (uintptr_t)map_get(&t->by_reason, reason);
    if (!at) {
        vec_push(&t->rows, (struct tally){.reason = reason});
        at = t->rows.n;
        map_put(&t->by_reason, reason, (void *)at);
    }
    t->rows.v[at - 1].count += times;
}

static int by_line(const void *a, const void *b)
{
    return str_cmp(((const struct tally *)a)->line, ((const struct tally *)b)->line);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct berth_handle *const *)a)->plugin->name,
                  (*(const struct berth_handle *const *)b)->plugin->name);
}

/* "[A B]", sorted and each once. also: one more plugin; NULL: none. */
static void write_limiters(const struct berth_cycle *cycle, const struct berth_handle *also,
                           struct buf *out)
{
    size_t n = cycle->limiters.n;
    const struct berth_handle **sorted = xcalloc(n + 1, sizeof(*sorted));
    memcpy(sorted, cycle->limiters.v, n * sizeof(*sorted));
    if (also)
        sorted[n++] = also;
    qsort(sorted, n, sizeof(*sorted), by_name);
    buf_add_char(out, '[');
    for (size_t i = 0; i < n; i++)
        if (!i || strcmp(sorted[i]->plugin->name, sorted[i - 1]->plugin->name) != 0)
            buf_add_printf(out, "%s%s", i ? " " : "", sorted[i]->plugin->name);
    buf_add_char(out, ']');
    free(sorted);
}

/*
 * The reason of nodes that PreFilter plugins do not allow. Upstream keeps the plugin that refused
 * the nominated node in the same set, so that it is named here as well.
 */
static struct str limit_reason(const struct berth_cycle *cycle, struct arena *a)
{
    struct buf text = BUF_INIT;
    const struct verdict *v = &cycle->on_nominated.verdict;
    bool also = cycle->on_nominated.refused && v->code != BERTH_PENDING;
    buf_add_cstr(&text, "node(s) didn't satisfy plugin(s) ");
    write_limiters(cycle, also ? cycle->profile->setup->handles[v->plugin] : NULL, &text);
    struct str reason = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return reason;
}

/* An extender left the node out without a reason: upstream has no status of such a node. */
static bool has_no_status(const struct berth_cycle *cycle, const struct verdict_run *run)
{
    const struct verdict *v = &run->verdict;
    return !v->reason && v->plugin != VERDICT_NONE && !cycle->profile->setup->handles[v->plugin];
}

static void count_run(const struct reasons *reasons, struct tallies *t,
                      const struct verdict_run *run)
{
    berth_reason reason = run->verdict.reason;
    for (size_t k = 0; k < reasons_count(reasons, reason); k++)
        count_reason(t, reasons_at(reasons, reason, k), run->n);
}

static void count_verdicts(const struct berth_cycle *cycle, struct tallies *t, struct arena *a)
{
    const struct reasons *reasons = &cycle->framework->reasons;
    const struct attempt_buffers *s = &cycle->cycles->buffers;
    size_t outside = cycle->n_all - cycle->n_slots;
    for (size_t i = 0; i < s->runs.n; i++) {
        outside -= has_no_status(cycle, &s->runs.v[i]) ? 0 : s->runs.v[i].n;
        count_run(reasons, t, &s->runs.v[i]);
    }
    if (cycle->on_nominated.refused &&
        !node_subset_allows(&cycle->limit, cycle->on_nominated.slot)) {
        outside--;
        count_run(reasons, t, &(struct verdict_run){cycle->on_nominated.verdict, 1});
    }
    if (outside && cycle->limit.set)
        count_reason(t, limit_reason(cycle, a), outside);
}

static void write_head(const struct berth_cycle *cycle, struct buf *out)
{
    buf_add_printf(out, "0/%zu nodes are available:", cycle->n_all);
}

/* Appends " 3 Insufficient cpu, 1 x." and frees the tallies. */
static void write_tallies(struct tallies *t, struct arena *a, struct buf *out)
{
    for (size_t i = 0; i < t->rows.n; i++)
        t->rows.v[i].line =
            arena_printf(a, "%zu %.*s", t->rows.v[i].count, STR_ARG(t->rows.v[i].reason));
    if (t->rows.n)
        qsort(t->rows.v, t->rows.n, sizeof(*t->rows.v), by_line);
    for (size_t i = 0; i < t->rows.n; i++)
        buf_add_printf(out, "%s %.*s", i ? "," : "", STR_ARG(t->rows.v[i].line));
    if (t->rows.n)
        buf_add_char(out, '.');
    vec_release(&t->rows);
    map_release(&t->by_reason);
}

void fit_error_write(const struct berth_cycle *cycle, struct buf *out)
{
    struct tallies t = {0};
    struct arena a;
    arena_init(&a, 0);
    count_verdicts(cycle, &t, &a);
    write_head(cycle, out);
    write_tallies(&t, &a, out);
    arena_release(&a);
}

void fit_error_preemption(const struct berth_cycle *cycle, size_t n_refused,
                          const struct str *reasons, size_t n, struct buf *out)
{
    struct tallies t = {0};
    struct arena a;
    size_t all = cycle->framework->cache->order.n;
    arena_init(&a, 0);
    for (size_t i = 0; i < n; i++)
        count_reason(&t, reasons[i], 1);
    if (n_refused < all)
        count_reason(&t, STR("Preemption is not helpful for scheduling"), all - n_refused);
    buf_add_printf(out, "0/%zu nodes are available:", all);
    write_tallies(&t, &a, out);
    arena_release(&a);
}

void fit_error_one_node(const struct berth_status *status, struct reasons *reasons, struct buf *out)
{
    struct tallies t = {0};
    struct arena a;
    berth_reason reason = status_reason(status, reasons);
    arena_init(&a, 0);
    for (size_t i = 0; i < reasons_count(reasons, reason); i++)
        count_reason(&t, reasons_at(reasons, reason, i), 1);
    buf_add_cstr(out, "0/1 nodes are available:");
    write_tallies(&t, &a, out);
    arena_release(&a);
}

void fit_error_pre_filter(const struct berth_cycle *cycle, const struct berth_status *status,
                          struct buf *out)
{
    write_head(cycle, out);
    size_t before = out->n;
    buf_add_char(out, ' ');
    status_write(status, &cycle->framework->reasons, out);
    if (out->n > before + 1)
        buf_add_char(out, '.');
    else
        out->n = before;
}

void fit_error_limits(const struct berth_cycle *cycle, struct buf *out)
{
    write_head(cycle, out);
    if (cycle->limiters.n == 1) {
        buf_add_printf(out, " node(s) didn't satisfy plugin %s.",
                       cycle->limiters.v[0]->plugin->name);
        return;
    }
    buf_add_cstr(out, " node(s) didn't satisfy plugin(s) ");
    write_limiters(cycle, NULL, out);
    buf_add_cstr(out, " simultaneously.");
}
