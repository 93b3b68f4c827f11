/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - a binary heap whose elements know their position.
 *
 * Purpose:   priority queues with removal and re-ordering of any element in O(log n): timers, the
 *            scheduling queue. Every element embeds a `struct heap_node`.
 * Ownership: owns its array, not its elements.
 * Threading: one thread at a time.
 *
 * The order of elements that compare equal depends on the sift operations: it is deterministic for
 * the same sequence of calls.
 */
#ifndef BERTH_BASE_HEAP_H
#define BERTH_BASE_HEAP_H

#include "base/vec.h"

struct heap_node {
    size_t at; /* index + 1; 0: in no heap */
};

/* Whether a sorts before b. */
typedef bool heap_less_fn(const struct heap_node *a, const struct heap_node *b, void *ctx);

struct heap {
    VEC(struct heap_node *) items;
    heap_less_fn *less;
    void *ctx;
};

void heap_init(struct heap *h, heap_less_fn *less, void *ctx);
void heap_release(struct heap *h);
void heap_push(struct heap *h, struct heap_node *node);
struct heap_node *heap_peek(const struct heap *h); /* NULL if empty */
void heap_remove(struct heap *h, struct heap_node *node);
/* Call after a value that less() reads from this node has changed. */
void heap_fix(struct heap *h, struct heap_node *node);
/*
 * Call after less() itself has changed: restores the heap order. Elements already in order keep
 * their positions.
 */
void heap_reorder(struct heap *h);
static inline bool heap_contains(const struct heap_node *node)
{
    return node->at != 0;
}

#endif
