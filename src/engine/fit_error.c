/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/fit_error.h"

#include "engine/internal.h"

struct tally {
    struct str reason;
    size_t count;
    struct str line; /* "3 Insufficient cpu": sorted as text, the number included */
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

/* "node(s) didn't satisfy plugin(s) [A B]": nodes outside of what PreFilter plugins allow. */
static struct str limit_reason(const struct berth_cycle *cycle, struct arena *a)
{
    struct buf text = BUF_INIT;
    buf_add_cstr(&text, "node(s) didn't satisfy plugin(s) [");
    for (size_t i = 0; i < cycle->limiters.n; i++)
        buf_add_printf(&text, "%s%s", i ? " " : "", cycle->limiters.v[i]->plugin->name);
    buf_add_char(&text, ']');
    struct str reason = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return reason;
}

static void count_verdicts(const struct berth_cycle *cycle, struct tallies *t, struct arena *a)
{
    const struct engine *e = cycle->engine;
    size_t outside = 0;
    for (size_t i = 0; i < e->cache.order.n; i++) {
        uint32_t slot = e->cache.order.v[i]->slot;
        if (cycle->codes[slot] == BERTH_SUCCESS) {
            outside++;
            continue;
        }
        berth_reason reason = cycle->reasons[slot];
        for (size_t j = 0; j < reasons_count(&e->reasons, reason); j++)
            count_reason(t, reasons_at(&e->reasons, reason, j), 1);
    }
    if (outside && cycle->limited)
        count_reason(t, limit_reason(cycle, a), outside);
}

void fit_error_write(const struct berth_cycle *cycle, struct buf *out)
{
    struct tallies t = {0};
    struct arena a;
    arena_init(&a, 0);
    count_verdicts(cycle, &t, &a);
    for (size_t i = 0; i < t.rows.n; i++)
        t.rows.v[i].line =
            arena_printf(&a, "%zu %.*s", t.rows.v[i].count, STR_ARG(t.rows.v[i].reason));
    if (t.rows.n)
        qsort(t.rows.v, t.rows.n, sizeof(*t.rows.v), by_line);

    buf_add_printf(out, "0/%zu nodes are available:", cycle->engine->cache.order.n);
    for (size_t i = 0; i < t.rows.n; i++)
        buf_add_printf(out, "%s %.*s", i ? "," : "", STR_ARG(t.rows.v[i].line));
    if (t.rows.n)
        buf_add_char(out, '.');
    vec_release(&t.rows);
    map_release(&t.by_reason);
    arena_release(&a);
}

void fit_error_pre_filter(size_t all_nodes, const struct berth_status *status,
                          const struct reasons *reasons, struct buf *out)
{
    buf_add_printf(out, "0/%zu nodes are available:", all_nodes);
    size_t before = out->n;
    buf_add_char(out, ' ');
    status_write(status, reasons, out);
    if (out->n > before + 1)
        buf_add_char(out, '.');
    else
        out->n = before;
}
