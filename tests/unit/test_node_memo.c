/* SPDX-License-Identifier: Apache-2.0 */
/* node_memo: a remembered result equals a new evaluation. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/index/node_memo.h"
#include "engine_fixture.h"
#include "prop.h"

#define NODES     150 /* more than the columns' initial capacity */
#define QUESTIONS 6
#define PODS      30

static size_t asked; /* number of evaluations */

/* Label "x" of the node times the query's number; 0 if it has no such label. */
static int64_t times(const void *ask, const struct berth_node *node)
{
    const struct str *x = str_map_get(&node->node->metadata.labels, STR("x"));
    int64_t value = 0;
    asked++;
    return x && str_to_i64(*x, &value) ? value * *(const int64_t *)ask : 0;
}

/* Whether the node has pods, and a multiple of this number. */
static int64_t divides(const void *ask, const struct berth_node *node)
{
    asked++;
    return node->pods.n && node->pods.n % (size_t)*(const int64_t *)ask == 0;
}

static void set_node(struct cache *c, size_t i, size_t x)
{
    struct object *o = NODE(.name = textf("n%zu", i), .labels = textf("x=%zu", x));
    cache_set_node(c, o);
    object_unref(o);
}

static void remove_node(struct cache *c, size_t i)
{
    const char *name = textf("n%zu", i);
    cache_remove_node(c, str_of(name));
}

static void set_pod(struct cache *c, size_t i, size_t on)
{
    const char *name = textf("p%zu", i);
    const char *at = textf("n%zu", on);
    struct object *o = POD(.name = name, .cpu = "1", .memory = "1", .node = at);
    struct berth_pod *pod = pod_info_new(o, c->names);
    cache_set_pod(c, pod);
    pod_info_unref(pod);
    object_unref(o);
}

static void remove_pod(struct cache *c, size_t i)
{
    const char *name = textf("p%zu", i);
    cache_remove_pod(c, str_of(name));
}

/* --- compared with new evaluations ------------------------------------------------------------ */

static bool bit(const uint64_t *words, size_t i)
{
    return words[i / 64] >> (i % 64) & 1;
}

static bool agrees(struct node_memos *m, const struct cache *c, int64_t number)
{
    struct str key = {(const char *)&number, sizeof(number)};
    const int64_t *column = node_memo_column(m, key, times, &number);
    const uint64_t *set = node_memo_set(m, key, times, &number);
    const uint64_t *pods = node_memo_pod_set(m, key, divides, &number);
    bool ok = true;
    for (size_t i = 0; ok && i < c->columns.n; i++) {
        const struct berth_node *n = c->columns.nodes[i];
        bool there = n && n->object;
        int64_t answer = there ? times(&number, n) : 0;
        ok = column[i] == answer && bit(set, i) == (answer != 0) &&
             bit(pods, i) == (there && divides(&number, n));
    }
    return ok;
}

static void step(struct cache *c, struct rand *r, size_t nodes)
{
    size_t i = (size_t)rand_below(r, nodes), pod = (size_t)rand_below(r, PODS);
    bool burst = rand_below(r, 200) == 0;
    switch (rand_below(r, 6)) {
    case 0:
        remove_node(c, i);
        break;
    case 1:
        set_pod(c, pod, i);
        break;
    case 2:
        remove_pod(c, pod);
        break;
    case 3: /* sometimes more than the journals hold */
        for (size_t k = 0; burst && k < JOURNAL_SIZE + 10; k++)
            set_node(c, rand_below(r, nodes), k % 3);
        break;
    default:
        set_node(c, i, rand_below(r, 3));
    }
}

static bool remembers_what_is(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct intern names;
    struct cache *c = xnew(struct cache);
    struct node_memos memos;
    bool ok = true;
    intern_init(&names);
    cache_init(c, &names);
    node_memos_init(&memos, c);
    for (size_t i = 0; ok && i < 3 * size; i++) {
        step(c, r, MIN(1 + size, (size_t)NODES));
        if (rand_below(r, 3) == 0)
            ok = agrees(&memos, c, 1 + (int64_t)rand_below(r, QUESTIONS));
    }
    node_memos_release(&memos);
    cache_release(c);
    free(c);
    intern_release(&names);
    return ok;
}

static void memos_agree_with_asking_anew(void **state)
{
    (void)state;
    assert_true(prop_run("node_memo", 400, remembers_what_is, NULL));
}

/* --- which nodes are evaluated ---------------------------------------------------------------- */

struct scene {
    struct intern names;
    struct cache cache;
    struct node_memos memos;
};

static void begin(struct scene *s, size_t nodes)
{
    intern_init(&s->names);
    cache_init(&s->cache, &s->names);
    node_memos_init(&s->memos, &s->cache);
    for (size_t i = 0; i < nodes; i++)
        set_node(&s->cache, i, 1);
}

static void end(struct scene *s)
{
    node_memos_release(&s->memos);
    cache_release(&s->cache);
    intern_release(&s->names);
}

static size_t asks_of(struct scene *s, struct str key)
{
    int64_t number = 2;
    asked = 0;
    node_memo_column(&s->memos, key, times, &number);
    return asked;
}

static void only_nodes_that_changed_are_asked(void **state)
{
    (void)state;
    static struct scene s;
    begin(&s, 100);
    assert_int_equal(asks_of(&s, STR("q")), 100);
    assert_int_equal(asks_of(&s, STR("q")), 0);
    set_node(&s.cache, 7, 2);
    set_node(&s.cache, 100, 2);
    remove_node(&s.cache, 8);
    set_pod(&s.cache, 1, 9); /* not relevant to the query */
    assert_int_equal(asks_of(&s, STR("q")), 2);
    assert_int_equal(asks_of(&s, STR("another")), 100);
    /* Beyond the journal all nodes are evaluated, once. */
    for (size_t i = 0; i < JOURNAL_SIZE + 1; i++)
        set_node(&s.cache, 7, 2);
    assert_int_equal(asks_of(&s, STR("q")), 100);
    end(&s);
}

/* With more nodes than the journal holds, an overrun is visible. */
static void large_clusters_fall_behind_the_journal(void **state)
{
    (void)state;
    static struct scene s;
    size_t n = JOURNAL_SIZE + 100;
    int64_t two = 2;
    begin(&s, n);
    assert_int_equal(asks_of(&s, STR("q")), n);
    for (size_t i = 0; i < JOURNAL_SIZE; i++)
        set_node(&s.cache, i, 5);
    assert_int_equal(asks_of(&s, STR("q")), JOURNAL_SIZE);
    for (size_t i = 0; i < JOURNAL_SIZE + 50; i++)
        set_node(&s.cache, i, 6);
    const int64_t *column = node_memo_column(&s.memos, STR("q"), times, &two);
    for (size_t i = 0; i < JOURNAL_SIZE + 50; i++)
        assert_int_equal(column[i], 12);
    assert_int_equal(column[n - 1], 2);
    end(&s);
}

static void the_longest_unasked_is_forgotten(void **state)
{
    (void)state;
    static struct scene s;
    begin(&s, 3);
    assert_int_equal(asks_of(&s, STR("first")), 3);
    assert_int_equal(asks_of(&s, STR("second")), 3);
    for (int64_t i = 0; i < NODE_MEMO_MAX - 2; i++)
        asks_of(&s, (struct str){(const char *)&i, sizeof(i)});
    assert_int_equal(s.memos.n, NODE_MEMO_MAX);
    assert_int_equal(asks_of(&s, STR("first")), 0);
    assert_int_equal(asks_of(&s, STR("one more")), 3);
    assert_int_equal(s.memos.n, NODE_MEMO_MAX);
    assert_int_equal(asks_of(&s, STR("first")), 0);
    assert_int_equal(asks_of(&s, STR("second")), 3);
    end(&s);
}

static void their_size_is_bounded(void **state)
{
    (void)state;
    static struct scene s;
    size_t n = NODE_MEMO_MAX_BYTES / sizeof(int64_t) / NODE_MEMO_KEPT / 2;
    begin(&s, n);
    size_t column = s.cache.columns.cap * sizeof(int64_t);
    for (int64_t i = 0; i < NODE_MEMO_MAX; i++) {
        asks_of(&s, (struct str){(const char *)&i, sizeof(i)});
        assert_true(s.memos.bytes <= NODE_MEMO_MAX_BYTES + column || s.memos.n <= NODE_MEMO_KEPT);
    }
    assert_true(s.memos.n >= NODE_MEMO_KEPT);
    assert_true(s.memos.n < NODE_MEMO_MAX);
    end(&s);
}

static void an_empty_cluster_can_be_asked(void **state)
{
    (void)state;
    static struct scene s;
    begin(&s, 0);
    assert_int_equal(asks_of(&s, STR("q")), 0);
    set_node(&s.cache, 0, 3);
    int64_t two = 2;
    assert_int_equal(node_memo_column(&s.memos, STR("q"), times, &two)[0], 6);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memos_agree_with_asking_anew),
        cmocka_unit_test(only_nodes_that_changed_are_asked),
        cmocka_unit_test(large_clusters_fall_behind_the_journal),
        cmocka_unit_test(the_longest_unasked_is_forgotten),
        cmocka_unit_test(their_size_is_bounded),
        cmocka_unit_test(an_empty_cluster_can_be_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
