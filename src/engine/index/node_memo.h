/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_memo.h - what is asked of every node again and again.
 *
 * Purpose:   a question that depends on the node's object (does it match this selector, how many
 *            taints are not tolerated) or on its pods (is this port taken) has its answers kept in
 *            a column by slot, or as a set of slots, under a text that stands for the question.
 *            Nodes that changed since are asked again, the others are not.
 * Ownership: owns the answers, bounded in number and size: the one not asked for longest goes
 *            first. The text and the question are borrowed for the call.
 * Threading: asked on the engine's thread: in pre_filter, pre_score, filter_many and score_many.
 *            What it gives may be read by the pool's threads, and stays valid until the engine is
 *            told of anything else; NODE_MEMO_KEPT other questions may be asked meanwhile.
 *
 * The answers are about the cluster as it is. What filter and score are asked about a single node
 * may be a "what if": they look at the node that they are given.
 */
#ifndef BERTH_ENGINE_INDEX_NODE_MEMO_H
#define BERTH_ENGINE_INDEX_NODE_MEMO_H

#include "engine/cache/cache.h"

#define NODE_MEMO_MAX       512                /* questions remembered */
#define NODE_MEMO_MAX_BYTES ((size_t)16 << 20) /* of answers and keys */
#define NODE_MEMO_KEPT      64                 /* however large; more than any one pod can ask */

struct node_memo;

enum node_memo_kind { NODE_MEMO_COLUMN, NODE_MEMO_SET, NODE_MEMO_POD_SET, NODE_MEMO_KINDS };

struct node_memos {
    const struct cache *cache;
    struct map by_key[NODE_MEMO_KINDS]; /* → struct node_memo */
    struct node_memo *oldest, *newest;  /* by when they were last asked */
    size_t n, bytes;                    /* bytes: of answers and keys */
    uint64_t last_number;
};

void node_memos_init(struct node_memos *m, const struct cache *cache);
void node_memos_release(struct node_memos *m);

/* The answer of one node; only asked of nodes with an object. ask: the question, borrowed. */
typedef int64_t node_question(const void *ask, const struct berth_node *node);

/*
 * Answers by slot; 0 in slots without a node. key must name the question wholly: whose it is (the
 * plugin's name) and everything that `ask` says. Texts, not atoms: those are given out again.
 */
const int64_t *node_memo_column(struct node_memos *m, struct str key, node_question *question,
                                const void *ask);
/* The slots whose answer is not 0, as words of a bitset over the cache's columns. */
const uint64_t *node_memo_set(struct node_memos *m, struct str key, node_question *question,
                              const void *ask);
/*
 * The same, with a number that stands for the set for as long as it is remembered, and for no other
 * ever: it is shorter than the key, where that is to be part of other keys.
 */
const uint64_t *node_memo_numbered_set(struct node_memos *m, struct str key,
                                       node_question *question, const void *ask,
                                       uint64_t *ret_number);
/* The same for questions about the node's pods. */
const uint64_t *node_memo_pod_set(struct node_memos *m, struct str key, node_question *question,
                                  const void *ask);

#endif
