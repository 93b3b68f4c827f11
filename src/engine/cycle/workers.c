/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/workers.h"

void workers_init(struct workers *w, struct pool *pool)
{
    w->pool = pool;
    w->n = pool ? pool_size(pool) : 1;
    w->v = xcalloc(w->n, sizeof(*w->v));
    for (size_t i = 0; i < w->n; i++)
        status_init(&w->v[i].status);
}

void workers_release(struct workers *w)
{
    for (size_t i = 0; i < w->n; i++) {
        status_release(&w->v[i].status);
        vec_release(&w->v[i].refused);
        vec_release(&w->v[i].kept);
    }
    free(w->v);
}

void workers_run(struct workers *w, size_t n, pool_fn *fn, void *ctx)
{
    if (w->pool && n >= WORKERS_MIN_ITEMS)
        pool_run(w->pool, n, WORKERS_PIECE, fn, ctx);
    else if (n)
        fn(ctx, 0, 0, n);
}

void worker_keep(struct worker *w, size_t item, enum berth_code code)
{
    struct kept_status kept = {.item = item, .code = code, .status = w->status};
    /* The copy owns the texts now. */
    status_init(&w->status);
    vec_push(&w->kept, kept);
}

static int by_item(const void *a, const void *b)
{
    size_t x = ((const struct kept_status *)a)->item, y = ((const struct kept_status *)b)->item;
    return (x > y) - (x < y);
}

void workers_take_kept(struct workers *w, workers_kept_fn *fn, void *ctx)
{
    VEC(struct kept_status) all = {0};
    for (size_t i = 0; i < w->n; i++) {
        for (size_t k = 0; k < w->v[i].kept.n; k++)
            vec_push(&all, w->v[i].kept.v[k]);
        vec_clear(&w->v[i].kept);
    }
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), by_item);
    for (size_t i = 0; i < all.n; i++) {
        fn(ctx, &all.v[i]);
        status_release(&all.v[i].status);
    }
    vec_release(&all);
}
