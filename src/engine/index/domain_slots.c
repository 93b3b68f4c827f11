/* SPDX-License-Identifier: Apache-2.0 */
/*
 * domain_slots.c - sets of nodes by domain.
 *
 * Rebuilt by topology.c whenever a domain has changed; calls nothing above it.
 */
#include "engine/index/domain_slots.h"

#include "base/bitset.h"

#define FEW_DOMAINS 64

void domain_slots_free(struct domain_slots *d)
{
    if (!d)
        return;
    free(d->labelled);
    free(d->sets);
    free(d->first);
    free(d->slots);
    free(d);
}

/* --- construction ----------------------------------------------------------------------------- */

static void make_sets(struct domain_slots *d, const struct topology *t)
{
    size_t words = BITSET_WORDS(d->n_slots);
    d->sets = xcalloc(t->n_domains * words, sizeof(*d->sets));
    for (uint32_t slot = 0; slot < d->n_slots; slot++)
        d->sets[topology_domain(t, slot) * words + slot / 64] |= (uint64_t)1 << (slot % 64);
}

static void make_lists(struct domain_slots *d, const struct topology *t)
{
    d->first = xcalloc(t->n_domains + 1, sizeof(*d->first));
    d->slots = xcalloc(MAX(d->n_slots, (size_t)1), sizeof(*d->slots));
    for (uint32_t slot = 0; slot < d->n_slots; slot++)
        d->first[topology_domain(t, slot) + 1]++;
    for (size_t i = 1; i <= t->n_domains; i++)
        d->first[i] += d->first[i - 1];
    /* Each domain is filled from its end; then first[d + 1] is its beginning. */
    for (uint32_t slot = (uint32_t)d->n_slots; slot-- > 0;)
        d->slots[--d->first[topology_domain(t, slot) + 1]] = slot;
    memmove(d->first, d->first + 1, t->n_domains * sizeof(*d->first));
    d->first[t->n_domains] = (uint32_t)d->n_slots;
}

struct domain_slots *domain_slots_new(const struct topology *t, size_t n)
{
    struct domain_slots *d = xnew(struct domain_slots);
    d->changes = t->changes;
    d->n_slots = n;
    d->labelled = xcalloc(BITSET_WORDS(n) + 1, sizeof(*d->labelled));
    for (uint32_t slot = 0; slot < n; slot++)
        if (topology_domain(t, slot))
            d->labelled[slot / 64] |= (uint64_t)1 << (slot % 64);
    if (t->n_domains <= FEW_DOMAINS)
        make_sets(d, t);
    else
        make_lists(d, t);
    return d;
}

bool domain_slots_are_current(const struct domain_slots *d, const struct topology *t, size_t n)
{
    return d->changes == t->changes && d->n_slots == n;
}

size_t domain_slots_bytes(const struct domain_slots *d)
{
    size_t words = BITSET_WORDS(d->n_slots);
    size_t sets = words * FEW_DOMAINS * sizeof(*d->sets);
    size_t lists = d->n_slots * (sizeof(*d->first) + sizeof(*d->slots));
    return sizeof(*d) + words * sizeof(*d->labelled) + (d->sets ? sets : lists);
}

/* --- painting --------------------------------------------------------------------------------- */

static bool paint_sets(const struct domain_slots *d, const struct topology *t,
                       const uint32_t *slots, size_t n, uint64_t *out)
{
    size_t words = BITSET_WORDS(d->n_slots);
    uint64_t domains = 0;
    for (size_t i = 0; i < n; i++)
        domains |= (uint64_t)1 << topology_domain(t, slots[i]);
    domains &= ~(uint64_t)1; /* domain 0: none */
    for (uint64_t left = domains; left; left &= left - 1) {
        const uint64_t *set = d->sets + (size_t)__builtin_ctzll(left) * words;
        for (size_t w = 0; w < words; w++)
            out[w] |= set[w];
    }
    return domains;
}

/* Each domain has one node. */
static bool paint_hosts(const struct topology *t, const uint32_t *slots, size_t n, uint64_t *out)
{
    uint32_t any = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t domain = topology_domain(t, slots[i]);
        out[slots[i] / 64] |= (uint64_t)(domain != 0) << (slots[i] % 64);
        any |= domain;
    }
    return any;
}

static bool paint_lists(const struct domain_slots *d, const struct topology *t,
                        const uint32_t *slots, size_t n, uint64_t *out)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        uint32_t domain = topology_domain(t, slots[i]);
        if (!domain)
            continue;
        any = true;
        for (uint32_t k = d->first[domain]; k < d->first[domain + 1]; k++)
            out[d->slots[k] / 64] |= (uint64_t)1 << (d->slots[k] % 64);
    }
    return any;
}

bool domain_slots_paint_few(const struct topology *t, size_t n_all, const uint32_t *slots, size_t n,
                            uint64_t *out)
{
    bool any = false;
    for (size_t i = 0; t->n_few && i < n; i++) {
        uint32_t domain = topology_domain(t, slots[i]);
        any |= domain != 0;
        for (size_t k = 0; domain && k < t->n_few; k++)
            if (t->few_domains[k] == domain && t->few_slots[k] < n_all)
                out[t->few_slots[k] / 64] |= (uint64_t)1 << (t->few_slots[k] % 64);
    }
    return any;
}

bool domain_slots_paint(const struct domain_slots *d, const struct topology *t,
                        const uint32_t *slots, size_t n, uint64_t *out)
{
    if (d->sets)
        return paint_sets(d, t, slots, n, out);
    if (t->n_nodes == t->n_used)
        return paint_hosts(t, slots, n, out);
    return paint_lists(d, t, slots, n, out);
}
