/* SPDX-License-Identifier: Apache-2.0 */
/* Nominated nodes: the rules by name, then random streams compared with plain arrays. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/queue/nominator.h"
#include "engine_fixture.h"
#include "prop.h"

#define PODS  12
#define NODES 4 /* n1 to n3; 0 is none */

static const char *const node_names[NODES] = {"", "n1", "n2", "n3"};
/* By pod and the node in its status; created once. */
static struct object *objects[PODS][NODES];

static int make_objects(void **state)
{
    (void)state;
    for (int i = 0; i < PODS; i++)
        for (int n = 0; n < NODES; n++)
            objects[i][n] = POD(.name = textf("p%02d", i), .nominated = node_names[n]);
    return 0;
}

static int drop_objects(void **state)
{
    (void)state;
    for (int i = 0; i < PODS; i++)
        for (int n = 0; n < NODES; n++)
            object_unref(objects[i][n]);
    return 0;
}

struct bench {
    struct nominator n;
    struct intern names;
    struct berth_pod *pods[PODS]; /* the version of the last event */
};

static void bench_init(struct bench *b)
{
    nominator_init(&b->n);
    intern_init(&b->names);
    for (int i = 0; i < PODS; i++)
        b->pods[i] = pod_info_new(objects[i][0], &b->names);
}

static void bench_release(struct bench *b)
{
    nominator_release(&b->n);
    for (int i = 0; i < PODS; i++)
        pod_info_unref(b->pods[i]);
    intern_release(&b->names);
}

#define BENCH(b)    \
    struct bench b; \
    (void)state;    \
    bench_init(&b)

static void update(struct bench *b, int pod, int status)
{
    struct berth_pod *after = pod_info_new(objects[pod][status], &b->names);
    nominator_update(&b->n, b->pods[pod], after);
    pod_info_unref(b->pods[pod]);
    b->pods[pod] = after;
}

static void set(struct bench *b, int pod, int node)
{
    nominator_set(&b->n, b->pods[pod], str_of(node_names[node]));
}

static void drop(struct bench *b, int pod)
{
    nominator_remove(&b->n, pod_info_key(b->pods[pod]));
}

/* The pods nominated to a node, "p00 p02", in order. */
static void assert_nominated(struct bench *b, const char *node, const char *expected)
{
    struct buf text = BUF_INIT;
    const struct nominated_node *n = nominator_node(&b->n, str_of(node));
    for (size_t i = 0; n && i < n->pods.n; i++)
        buf_add_printf(&text, "%s%.*s", i ? " " : "", STR_ARG(pod_info_key(n->pods.v[i])));
    assert_string_equal(buf_cstr(&text), expected);
    if (!*expected)
        assert_null(n); /* no entry is left */
    buf_release(&text);
}

/* --- rules ------------------------------------------------------------------------------------ */

static void pods_are_listed_in_order_of_nomination(void **state)
{
    BENCH(b);
    for (int i = 2; i >= 0; i--)
        set(&b, i, 1);
    assert_nominated(&b, "n1", "p02 p01 p00");
    drop(&b, 1);
    assert_nominated(&b, "n1", "p02 p00");
    set(&b, 2, 1); /* again */
    assert_nominated(&b, "n1", "p00 p02");
    bench_release(&b);
}

static void a_pod_nominates_one_node(void **state)
{
    BENCH(b);
    set(&b, 0, 1);
    set(&b, 0, 2);
    assert_nominated(&b, "n1", "");
    assert_nominated(&b, "n2", "p00");
    assert_true(str_is(nominator_node_of(&b.n, STR("p00")), "n2"));
    bench_release(&b);
}

static void an_empty_name_removes_the_nomination(void **state)
{
    BENCH(b);
    set(&b, 0, 1);
    set(&b, 0, 0);
    assert_nominated(&b, "n1", "");
    assert_true(str_empty(nominator_node_of(&b.n, STR("p00"))));
    drop(&b, 0);
    bench_release(&b);
}

static void updates_change_the_nomination_or_keep_it(void **state)
{
    static const struct {
        const char *rule;
        int old_status, memory, new_status, promised;
    } table[] = {
        {"added", 0, 0, 1, 1},
        {"changed", 1, 1, 2, 2},
        {"removed", 1, 1, 0, 0},
        {"not heard of yet: kept", 0, 1, 0, 1},
        {"the API's word wins over memory", 0, 1, 2, 2},
        {"heard of: memory is replaced", 2, 1, 2, 2},
        {"removed, whatever is in memory", 2, 1, 0, 0},
        {"nothing at all", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        BENCH(b);
        update(&b, 0, table[i].old_status);
        set(&b, 0, table[i].memory);
        update(&b, 0, table[i].new_status);
        if (!str_is(nominator_node_of(&b.n, STR("p00")), node_names[table[i].promised]))
            fail_msg("%s", table[i].rule);
        bench_release(&b);
    }
}

static void the_newer_version_is_what_counts(void **state)
{
    BENCH(b);
    set(&b, 0, 1);
    update(&b, 0, 0);
    assert_ptr_equal(nominator_node(&b.n, STR("n1"))->pods.v[0], b.pods[0]);
    bench_release(&b);
}

static void texts_may_live_in_what_is_replaced(void **state)
{
    BENCH(b);
    set(&b, 0, 1);
    /* The name belongs to the nominator, and is freed while it is read. */
    nominator_set(&b.n, b.pods[0], nominator_node_of(&b.n, STR("p00")));
    assert_nominated(&b, "n1", "p00");
    bench_release(&b);
}

/* --- random streams --------------------------------------------------------------------------- */

struct model {
    int status[PODS], promised[PODS];
    uint64_t since[PODS]; /* order of nomination */
    uint64_t clock;
};

static void promise(struct model *m, int pod, int node)
{
    m->promised[pod] = node;
    m->since[pod] = ++m->clock;
}

/* The nth pod that was nominated to that node. */
static int nth_of(const struct model *m, int node, size_t nth)
{
    for (int i = 0; i < PODS; i++) {
        size_t before = 0;
        for (int k = 0; k < PODS; k++)
            before += m->promised[k] == node && m->since[k] < m->since[i];
        if (m->promised[i] == node && before == nth)
            return i;
    }
    return -1;
}

static bool agrees(const struct bench *b, const struct model *m)
{
    for (int i = 0; i < PODS; i++)
        if (!str_is(nominator_node_of(&b->n, pod_info_key(b->pods[i])), node_names[m->promised[i]]))
            return false;
    for (int node = 1; node < NODES; node++) {
        const struct nominated_node *n = nominator_node(&b->n, str_of(node_names[node]));
        size_t nth = 0;
        for (int pod; (pod = nth_of(m, node, nth)) >= 0; nth++)
            if (!n || nth >= n->pods.n || n->pods.v[nth] != b->pods[pod])
                return false;
        if (n ? n->pods.n != nth || nth == 0 : nth != 0)
            return false;
    }
    return true;
}

static bool stream_agrees(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct bench b;
    struct model m = {0};
    bool ok = true;
    bench_init(&b);
    for (size_t i = 0; ok && i < 10 * size; i++) {
        int pod = (int)rand_below(r, PODS), node = (int)rand_below(r, NODES);
        switch (rand_below(r, 3)) {
        case 0:
            set(&b, pod, node);
            promise(&m, pod, node);
            break;
        case 1:
            update(&b, pod, node);
            promise(&m, pod, m.status[pod] || node ? node : m.promised[pod]);
            m.status[pod] = node;
            break;
        default:
            drop(&b, pod);
            m.promised[pod] = 0;
        }
        ok = agrees(&b, &m);
    }
    bench_release(&b);
    return ok;
}

static void random_streams_agree_with_the_model(void **state)
{
    (void)state;
    assert_true(prop_run("nominator agrees with the model", 100, stream_agrees, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_are_listed_in_order_of_nomination),
        cmocka_unit_test(a_pod_nominates_one_node),
        cmocka_unit_test(an_empty_name_removes_the_nomination),
        cmocka_unit_test(updates_change_the_nomination_or_keep_it),
        cmocka_unit_test(the_newer_version_is_what_counts),
        cmocka_unit_test(texts_may_live_in_what_is_replaced),
        cmocka_unit_test(random_streams_agree_with_the_model),
    };
    return cmocka_run_group_tests_name("nominator", tests, make_objects, drop_objects);
}
