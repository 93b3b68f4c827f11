/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - a binary heap of pointers whose elements know their place.
 *
 * Purpose:   priority queues with removal and re-ordering of any element in O(log n): timers, the
 *            scheduling queue. Every element embeds a `struct heap_node`.
 * Ownership: owns its array, never its elements.
 * Threading: one thread at a time.
 *
 * Order among elements that compare equal is that of the sift operations: deterministic for the
 * same sequence of calls.
 */
#ifndef BERTH_BASE_HEAP_H
#define BERTH_BASE_HEAP_H

#include "base/vec.h"

struct heap_node {
    size_t at; /* index + 1; 0: in no heap */
};

/* True where a goes before b. */
typedef bool heap_less_fn(const struct heap_node *a, const struct heap_node *b, void *ctx);

struct heap {
    VEC(struct heap_node *) items;
    heap_less_fn *less;
    void *ctx;
};

void heap_init(struct heap *h, heap_less_fn *less, void *ctx);
void heap_release(struct heap *h);
void heap_push(struct heap *h, struct heap_node *node);
struct heap_node *heap_peek(const struct heap *h); /* NULL when empty */
void heap_remove(struct heap *h, struct heap_node *node);
/* To be called after what less() reads of this node has changed. */
void heap_fix(struct heap *h, struct heap_node *node);
/* To be called after less() has become another: all are put in order. Who is, stays in place. */
void heap_reorder(struct heap *h);
static inline bool heap_contains(const struct heap_node *node)
{
    return node->at != 0;
}

#endif
