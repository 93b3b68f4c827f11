/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_memo.h - cached answers of nodes to questions that plugins repeat.
 *
 * Purpose:   the answers to a question that depends on the node's object (does it match this
 *            selector, how many taints are not tolerated) or on its pods (is this port taken) are
 *            kept in a column by slot, or as a set of slots, under a key that identifies the
 *            question. Only nodes that changed are asked again.
 * Ownership: owns the answers, bounded in number and size; the least recently used are evicted
 *            first. The key and the question are borrowed for the call.
 * Threading: call on the engine's thread: in pre_filter, pre_score, filter_many and score_many. The
 *            pool's threads may read the results, which are valid until the engine's next event or
 *            until NODE_MEMO_KEPT other questions are asked.
 *
 * The answers are about the cache. filter and score of a single node may be a "what if": they must
 * read the node that they are given.
 */
#ifndef BERTH_ENGINE_INDEX_NODE_MEMO_H
#define BERTH_ENGINE_INDEX_NODE_MEMO_H

#include "engine/cache/cache.h"

#define NODE_MEMO_MAX       512                /* questions */
#define NODE_MEMO_MAX_BYTES ((size_t)16 << 20) /* of answers and keys */
#define NODE_MEMO_KEPT      64                 /* regardless of size; more than one pod can ask */

struct node_memo;

enum node_memo_kind { NODE_MEMO_COLUMN, NODE_MEMO_SET, NODE_MEMO_POD_SET, NODE_MEMO_KINDS };

struct node_memos {
    const struct cache *cache;
    struct map by_key[NODE_MEMO_KINDS]; /* → struct node_memo */
    struct node_memo *oldest, *newest;  /* by last use */
    size_t n, bytes;                    /* bytes: of answers and keys */
    uint64_t last_number;
};

void node_memos_init(struct node_memos *m, const struct cache *cache);
void node_memos_release(struct node_memos *m);

/* The answer of one node, which has an object. ask: the parameters of the question, borrowed. */
typedef int64_t node_question(const void *ask, const struct berth_node *node);

/*
 * Answers by slot; 0 in slots without a node. The key must identify the question completely: the
 * plugin's name and everything in `ask`, as text and not as atoms, which are reused.
 */
const int64_t *node_memo_column(struct node_memos *m, struct str key, node_question *question,
                                const void *ask);
/* The slots whose answer is not 0, as words of a bitset over the cache's columns. */
const uint64_t *node_memo_set(struct node_memos *m, struct str key, node_question *question,
                              const void *ask);
/*
 * The same, with a number that identifies the set while it is cached and is never reused: shorter
 * than the key as a part of other keys.
 */
const uint64_t *node_memo_numbered_set(struct node_memos *m, struct str key,
                                       node_question *question, const void *ask,
                                       uint64_t *ret_number);
/* The same for questions about the node's pods. */
const uint64_t *node_memo_pod_set(struct node_memos *m, struct str key, node_question *question,
                                  const void *ask);

#endif
