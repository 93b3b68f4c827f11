/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts that are known from an earlier search. A word has the clock of the devices at that time:
 * it holds until the node's clock, or that of the wide pools, has passed it. What a search depends
 * on besides is part of the key (the claims' specs) or forgets all memos (classes).
 *
 * When a whole device is taken, the search has fewer branches than before, in the same order. Thus
 * it ends as before unless its solution has that device: if there was none, there is none now.
 */
#include "codec/proto.h"
#include "plugins/dynamic_resources/devices_internal.h"

/* Unused memos are kept up to this number. */
#define MEMOS_KEPT 64

void memo_keep(const struct devices *d, struct verdict_memo *m, const struct device_node *node,
               const struct known_verdict *known)
{
    if (known->score >> MEMO_SCORE_BITS)
        return;
    uint64_t word = (uint64_t)known->verdict + 1;
    word |= (uint64_t)known->fragile << MEMO_VERDICT_BITS;
    word |= (uint64_t)known->score << MEMO_SCORE_SHIFT;
    word |= d->clock << MEMO_CLOCK_SHIFT;
    atomic_store_explicit(&m->words[node->number], word, memory_order_relaxed);
}

static void free_memo(struct verdict_memo *m)
{
    free(m->words);
    free(m);
}

void memo_put(struct verdict_memo *m)
{
    if (m)
        m->refs--;
}

static void grow(struct verdict_memo *m, size_t n)
{
    if (n <= m->n)
        return;
    n = MAX(n, m->n * 2);
    m->words = xreallocarray(m->words, n, sizeof(*m->words));
    for (size_t i = m->n; i < n; i++)
        atomic_init(&m->words[i], 0);
    m->n = n;
}

/* Drops the one that was not used for longest. */
static void make_room(struct devices *d)
{
    struct verdict_memo *oldest = NULL;
    map_each (e, &d->memos) {
        struct verdict_memo *m = e->value;
        if (m->refs == 0 && (!oldest || m->used < oldest->used))
            oldest = m;
    }
    if (!oldest)
        return;
    map_del(&d->memos, oldest->key);
    free_memo(oldest);
}

struct verdict_memo *memo_get(struct devices *d, const struct resource_claim *const *claims,
                              size_t n)
{
    buf_clear(&d->key);
    for (size_t i = 0; i < n; i++) {
        size_t before = d->key.n;
        proto_encode(&resource_claim_spec_type, &claims[i]->spec, &d->key);
        buf_add_printf(&d->key, "/%zu/", d->key.n - before);
    }
    struct verdict_memo *m = map_get(&d->memos, buf_str(&d->key));
    if (!m) {
        if (d->memos.n >= MEMOS_KEPT)
            make_room(d);
        m = xcalloc(1, sizeof(*m) + d->key.n);
        memcpy(m->text, d->key.p, d->key.n);
        m->key = (struct str){m->text, d->key.n};
        map_put(&d->memos, m->key, m);
        grow(m, d->n_node_numbers);
    }
    m->used = ++d->uses;
    m->refs++;
    return m;
}

void memos_add_number(struct devices *d, uint32_t number)
{
    map_each (e, &d->memos) {
        struct verdict_memo *m = e->value;
        grow(m, d->n_node_numbers);
        atomic_store_explicit(&m->words[number], 0, memory_order_relaxed);
    }
}

void memos_forget(struct devices *d)
{
    map_each (e, &d->memos) {
        struct verdict_memo *m = e->value;
        for (size_t i = 0; i < m->n; i++)
            atomic_store_explicit(&m->words[i], 0, memory_order_relaxed);
    }
}

void memos_release(struct devices *d)
{
    map_each (e, &d->memos)
        free_memo(e->value);
    map_release(&d->memos);
}
