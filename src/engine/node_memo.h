/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_memo.h - what is asked of every node again and again.
 *
 * Purpose:   a question that depends on the node's object alone (does it match this selector, how
 *            many taints are not tolerated) has its answers kept in a column by slot, or as a set
 *            of slots, under a text that stands for the question. Nodes that changed since are
 *            asked again, the others are not.
 * Ownership: owns the columns, bounded in number: the one not asked for longest goes first.
 * Threading: asked on the engine's thread, in pre_filter and pre_score; what it gives stays valid
 *            until the engine is told of anything else, and may be read by the pool's threads.
 */
#ifndef BERTH_ENGINE_NODE_MEMO_H
#define BERTH_ENGINE_NODE_MEMO_H

#include "engine/cache.h"

#define NODE_MEMO_MAX 512 /* questions kept; more than any one pod can ask */

struct node_memos {
    const struct cache *cache;
    struct map by_key;           /* → struct node_memo */
    VEC(struct node_memo *) all; /* least recently asked first, or however the owner likes */
    uint64_t clock;
};

void node_memos_init(struct node_memos *m, const struct cache *cache);
void node_memos_release(struct node_memos *m);

/* The answer of one node; only asked of nodes with an object. ask: the question, borrowed. */
typedef int64_t node_question(const void *ask, const struct berth_node *node);

/*
 * Answers by slot; 0 in slots without a node. key must name the question wholly: whose it is (the
 * plugin's name) and everything that `ask` says.
 */
const int64_t *node_memo_column(struct node_memos *m, struct str key, node_question *question,
                                const void *ask);
/* The slots whose answer is not 0, as words of a bitset over the cache's columns. */
const uint64_t *node_memo_set(struct node_memos *m, struct str key, node_question *question,
                              const void *ask);

#endif
