/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/attempt_buffers.h"

static void free_rows(struct attempt_buffers *s)
{
    for (size_t i = 0; i < s->rows.n; i++) {
        free(s->rows.v[i].scores);
        free(s->rows.v[i].raw);
        free(s->rows.v[i].normalized);
    }
    vec_release(&s->rows);
}

static void free_arrays(struct attempt_buffers *s)
{
    free(s->codes);
    free(s->reasons);
    free(s->feasible);
    free(s->before);
    free(s->passed);
    free(s->slots);
    free(s->totals);
    free_rows(s);
}

void attempt_buffers_release(struct attempt_buffers *s)
{
    free_arrays(s);
    free(s->verdicts);
    vec_release(&s->runs);
}

/* Attempts share no contents, so the arrays are allocated anew instead of being copied. */
static void make_arrays(struct attempt_buffers *s, size_t n)
{
    free_arrays(s);
    s->codes = xcalloc(n, sizeof(*s->codes));
    s->reasons = xcalloc(n, sizeof(*s->reasons));
    s->feasible = xcalloc(BITSET_WORDS(n), sizeof(uint64_t));
    s->before = xcalloc(BITSET_WORDS(n), sizeof(uint64_t));
    s->passed = xcalloc(BITSET_WORDS(n), sizeof(uint64_t));
    s->slots = xcalloc(n, sizeof(*s->slots));
    s->totals = xcalloc(n, sizeof(*s->totals));
    s->n = n;
}

void attempt_buffers_begin(struct attempt_buffers *s, size_t n)
{
    /* A nominated node can be a candidate before the cache has an order of nodes. */
    n = MAX(n, (size_t)1);
    if (n > s->n)
        make_arrays(s, MAX(n, s->n + s->n / 2));
    attempt_buffers_grow_verdicts(s, s->n);
    vec_clear(&s->runs);
    memset(s->passed, 0, BITSET_WORDS(n) * sizeof(uint64_t));
}

void attempt_buffers_grow_verdicts(struct attempt_buffers *s, size_t n)
{
    if (n <= s->n_verdicts)
        return;
    s->verdicts = xreallocarray(s->verdicts, n, sizeof(*s->verdicts));
    memset(s->verdicts + s->n_verdicts, 0, (n - s->n_verdicts) * sizeof(*s->verdicts));
    s->n_verdicts = n;
}

struct score_row *attempt_buffers_row(struct attempt_buffers *s, size_t i, size_t n)
{
    while (s->rows.n <= i)
        vec_push(&s->rows, (struct score_row){xcalloc(s->n, sizeof(int64_t)),
                                              xcalloc(s->n, sizeof(int64_t)), xcalloc(s->n, 1)});
    struct score_row *row = &s->rows.v[i];
    memset(row->scores, 0, n * sizeof(*row->scores));
    return row;
}
