/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_memo.c - columns and sets by question, kept in the order of their last use.
 *
 * An answer is valid for the journal positions seen_nodes and seen_pods; entries written since then
 * name the slots to ask again.
 */
#include "engine/index/node_memo.h"

struct node_memo {
    enum node_memo_kind kind;
    struct str key;                  /* owned */
    uint64_t number;                 /* never reused */
    struct node_memo *older, *newer; /* by last use */
    uint64_t seen_nodes, seen_pods;  /* positions in the cache's journals; never decrease */
    size_t room;                     /* slots allocated; 0: none yet */
    union {
        int64_t *column;
        uint64_t *words;
    };
};

/* A question and the memo for its answers. */
struct asking {
    const struct cache *cache;
    struct node_memo *memo;
    node_question *question;
    const void *ask;
};

void node_memos_init(struct node_memos *m, const struct cache *cache)
{
    *m = (struct node_memos){.cache = cache};
}

/* --- least recently used ---------------------------------------------------------------------- */

static size_t answer_bytes(enum node_memo_kind kind, size_t slots)
{
    return kind == NODE_MEMO_COLUMN ? slots * sizeof(int64_t)
                                    : BITSET_WORDS(slots) * sizeof(uint64_t);
}

static void unlink_memo(struct node_memos *m, struct node_memo *memo)
{
    *(memo->older ? &memo->older->newer : &m->oldest) = memo->newer;
    *(memo->newer ? &memo->newer->older : &m->newest) = memo->older;
}

static void append(struct node_memos *m, struct node_memo *memo)
{
    memo->older = m->newest;
    memo->newer = NULL;
    *(m->newest ? &m->newest->newer : &m->oldest) = memo;
    m->newest = memo;
}

static void forget(struct node_memos *m, struct node_memo *memo)
{
    unlink_memo(m, memo);
    map_del(&m->by_key[memo->kind], memo->key);
    m->n--;
    m->bytes -= answer_bytes(memo->kind, memo->room) + memo->key.n;
    free((char *)memo->key.p);
    free(memo->column);
    free(memo);
}

void node_memos_release(struct node_memos *m)
{
    while (m->oldest)
        forget(m, m->oldest);
    for (size_t i = 0; i < NODE_MEMO_KINDS; i++)
        map_release(&m->by_key[i]);
}

static struct node_memo *remember(struct node_memos *m, enum node_memo_kind kind, struct str key)
{
    struct node_memo *memo = xnew(struct node_memo);
    memo->kind = kind;
    memo->key = (struct str){str_dup(key), key.n};
    memo->number = ++m->last_number;
    map_put(&m->by_key[kind], memo->key, memo);
    append(m, memo);
    m->n++;
    m->bytes += key.n;
    return memo;
}

static void evict(struct node_memos *m)
{
    while (m->n > NODE_MEMO_MAX || (m->bytes > NODE_MEMO_MAX_BYTES && m->n > NODE_MEMO_KEPT))
        forget(m, m->oldest);
}

/* --- answers ---------------------------------------------------------------------------------- */

static inline void ask_slot(const struct asking *a, size_t slot)
{
    const struct berth_node *node = a->cache->columns.nodes[slot];
    int64_t answer = node && node->object ? a->question(a->ask, node) : 0;
    if (a->memo->kind == NODE_MEMO_COLUMN) {
        a->memo->column[slot] = answer;
        return;
    }
    uint64_t bit = (uint64_t)1 << (slot % 64);
    uint64_t *word = &a->memo->words[slot / 64];
    *word = answer ? *word | bit : *word & ~bit;
}

/* New slots are 0. */
static void make_room(struct node_memos *m, struct node_memo *memo)
{
    size_t room = m->cache->columns.cap;
    if (room == memo->room)
        return;
    size_t had = answer_bytes(memo->kind, memo->room), has = answer_bytes(memo->kind, room);
    memo->column = xreallocarray(memo->column, has, 1);
    memset((char *)memo->column + had, 0, has - had);
    m->bytes += has - had;
    memo->room = room;
}

/* With more entries than slots, asking all nodes is less work. */
static bool worth_following(const struct cache *c, const struct journal *j, uint64_t seen)
{
    return journal_reaches(j, seen) && j->n - seen <= c->columns.n;
}

static void follow(const struct asking *a, const struct journal *j, uint64_t seen)
{
    for (; seen < j->n; seen++)
        ask_slot(a, journal_at(j, seen));
}

static void catch_up(const struct asking *a, bool is_new)
{
    const struct journal *nodes = &a->cache->node_changes, *pods = &a->cache->pod_changes;
    struct node_memo *memo = a->memo;
    bool of_pods = memo->kind == NODE_MEMO_POD_SET;
    if (!is_new && worth_following(a->cache, nodes, memo->seen_nodes) &&
        (!of_pods || worth_following(a->cache, pods, memo->seen_pods))) {
        follow(a, nodes, memo->seen_nodes);
        if (of_pods)
            follow(a, pods, memo->seen_pods);
    } else {
        for (size_t slot = 0; slot < a->cache->columns.n; slot++)
            ask_slot(a, slot);
    }
    memo->seen_nodes = nodes->n;
    memo->seen_pods = pods->n;
}

static const struct node_memo *get(struct node_memos *m, enum node_memo_kind kind, struct str key,
                                   node_question *question, const void *ask)
{
    struct node_memo *memo = map_get(&m->by_key[kind], key);
    bool is_new = !memo;
    if (is_new) {
        memo = remember(m, kind, key);
    } else if (memo != m->newest) {
        unlink_memo(m, memo);
        append(m, memo);
    }
    make_room(m, memo);
    evict(m);
    catch_up(&(struct asking){m->cache, memo, question, ask}, is_new);
    return memo;
}

const int64_t *node_memo_column(struct node_memos *m, struct str key, node_question *question,
                                const void *ask)
{
    return get(m, NODE_MEMO_COLUMN, key, question, ask)->column;
}

const uint64_t *node_memo_set(struct node_memos *m, struct str key, node_question *question,
                              const void *ask)
{
    return get(m, NODE_MEMO_SET, key, question, ask)->words;
}

const uint64_t *node_memo_numbered_set(struct node_memos *m, struct str key,
                                       node_question *question, const void *ask,
                                       uint64_t *ret_number)
{
    const struct node_memo *memo = get(m, NODE_MEMO_SET, key, question, ask);
    *ret_number = memo->number;
    return memo->words;
}

const uint64_t *node_memo_pod_set(struct node_memos *m, struct str key, node_question *question,
                                  const void *ask)
{
    return get(m, NODE_MEMO_POD_SET, key, question, ask)->words;
}
