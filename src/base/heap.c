/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

void heap_init(struct heap *h, heap_less_fn *less, void *ctx)
{
    *h = (struct heap){.less = less, .ctx = ctx};
}

void heap_release(struct heap *h)
{
    for (size_t i = 0; i < h->items.n; i++)
        h->items.v[i]->at = 0;
    vec_release(&h->items);
}

static void place(struct heap *h, size_t i, struct heap_node *node)
{
    h->items.v[i] = node;
    node->at = i + 1;
}

/* Moves the node from i up to its position and returns that. */
static size_t sift_up(struct heap *h, size_t i, struct heap_node *node)
{
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (!h->less(node, h->items.v[parent], h->ctx))
            break;
        place(h, i, h->items.v[parent]);
        i = parent;
    }
    place(h, i, node);
    return i;
}

static void sift_down(struct heap *h, size_t i, struct heap_node *node)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->items.n)
            break;
        if (child + 1 < h->items.n && h->less(h->items.v[child + 1], h->items.v[child], h->ctx))
            child++;
        if (!h->less(h->items.v[child], node, h->ctx))
            break;
        place(h, i, h->items.v[child]);
        i = child;
    }
    place(h, i, node);
}

void heap_push(struct heap *h, struct heap_node *node)
{
    assert(!heap_contains(node));
    vec_push(&h->items, node);
    sift_up(h, h->items.n - 1, node);
}

struct heap_node *heap_peek(const struct heap *h)
{
    return h->items.n ? h->items.v[0] : NULL;
}

void heap_remove(struct heap *h, struct heap_node *node)
{
    assert(heap_contains(node) && h->items.v[node->at - 1] == node);
    size_t i = node->at - 1;
    struct heap_node *last = vec_pop(&h->items);
    node->at = 0;
    if (last == node)
        return;
    place(h, i, last);
    heap_fix(h, last);
}

void heap_fix(struct heap *h, struct heap_node *node)
{
    assert(heap_contains(node) && h->items.v[node->at - 1] == node);
    size_t i = node->at - 1;
    if (sift_up(h, i, node) == i)
        sift_down(h, i, node);
}

void heap_reorder(struct heap *h)
{
    for (size_t i = h->items.n / 2; i-- > 0;)
        sift_down(h, i, h->items.v[i]);
}
