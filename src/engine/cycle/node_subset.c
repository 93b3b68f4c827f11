/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/node_subset.h"

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Sorts the names, and keeps each once. */
static void sort_absent(struct node_subset *l)
{
    size_t kept = 0;
    if (l->absent.n)
        qsort(l->absent.v, l->absent.n, sizeof(*l->absent.v), by_text);
    for (size_t i = 0; i < l->absent.n; i++)
        if (!kept || !str_eq(l->absent.v[kept - 1], l->absent.v[i]))
            l->absent.v[kept++] = l->absent.v[i];
    l->absent.n = kept;
}

void node_subset_release(struct node_subset *l)
{
    if (l->set)
        bitset_release(&l->nodes);
    vec_release(&l->absent);
    *l = (struct node_subset){0};
}

void node_subset_merge(struct node_subset *l, struct node_subset *other)
{
    size_t kept = 0;
    if (!other->set)
        return;
    if (!l->set) {
        *l = *other;
        *other = (struct node_subset){0};
        return;
    }
    bitset_and(&l->nodes, &other->nodes);
    for (size_t i = 0; i < l->absent.n; i++)
        if (str_sorted_has(other->absent.v, other->absent.n, l->absent.v[i]))
            l->absent.v[kept++] = l->absent.v[i];
    l->absent.n = kept;
    node_subset_release(other);
}

void node_subset_to(struct node_subset *l, const struct cache *cache, struct arena *a,
                    const struct berth_str *names, size_t n)
{
    struct node_subset only = {.set = true};
    bitset_init(&only.nodes, cache->columns.n);
    for (size_t i = 0; i < n; i++) {
        struct str name = str_abi(names[i]);
        const struct berth_node *node = cache_node(cache, name);
        if (node && node->object)
            bitset_set(&only.nodes, node->slot);
        else
            vec_push(&only.absent, arena_dup(a, name));
    }
    sort_absent(&only);
    node_subset_merge(l, &only);
}

bool node_subset_empty(const struct node_subset *l)
{
    return l->set && l->absent.n == 0 && bitset_count(&l->nodes) == 0;
}

bool node_subset_allows(const struct node_subset *l, uint32_t slot)
{
    return !l->set || bitset_get(&l->nodes, slot);
}
