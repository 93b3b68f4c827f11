/* SPDX-License-Identifier: Apache-2.0 */
/* Domains of nodes: compared with the labels, while nodes are added, changed and deleted. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine_fixture.h"
#include "pod_stream.h"
#include "prop.h"

static const struct str *label_at(const struct pod_stream *s, size_t slot, struct str key)
{
    const struct berth_node *node = s->cache.columns.nodes[slot];
    return node && node->object ? str_map_get(&node->node->metadata.labels, key) : NULL;
}

/* Each node's domain has its label's value, and different values are different domains. */
static bool domains_are_right(const struct pod_stream *s, const struct topology *t)
{
    size_t n_nodes = 0;
    for (size_t i = 0; i < s->cache.columns.n; i++) {
        const struct str *value = label_at(s, i, t->key);
        uint32_t domain = topology_domain(t, (uint32_t)i);
        n_nodes += value != NULL;
        if (!value != !domain || domain >= t->n_domains ||
            (value &&
             (!str_eq(*value, topology_value(t, domain)) || topology_find(t, *value) != domain)))
            return false;
    }
    return n_nodes == t->n_nodes;
}

static bool counts_are_right(const struct pod_stream *s, const struct topology *t)
{
    size_t n_used = 0;
    for (uint32_t domain = 1; domain < t->n_domains; domain++) {
        uint32_t n = 0;
        for (size_t i = 0; i < s->cache.columns.n; i++)
            n += topology_domain(t, (uint32_t)i) == domain;
        n_used += n > 0;
        if (n != t->nodes[domain])
            return false;
    }
    return n_used == t->n_used;
}

static bool is_carried(const struct pod_stream *s, struct str key)
{
    for (size_t i = 0; i < s->cache.columns.n; i++)
        if (label_at(s, i, key))
            return true;
    return false;
}

static bool follows_the_nodes(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct pod_stream s;
    bool ok = true;
    pod_stream_init(&s, r);
    for (size_t i = 0; ok && i < size * 4; i++) {
        char key[16];
        pod_stream_step(&s);
        if (rand_below(r, 4))
            continue;
        snprintf(key, sizeof(key), "key%d", (int)rand_below(r, STREAM_KEYS + 1));
        const struct topology *t = topologies_get(&s.cluster.topologies, str_of(key));
        ok = is_carried(&s, str_of(key))
                 ? str_is(t->key, key) && domains_are_right(&s, t) && counts_are_right(&s, t)
                 : topology_is_none(t) && t->n_nodes == 0 && t->n_domains == 1;
        ok = ok && topologies_find(&s.cluster.topologies, str_of(key)) == t;
        topologies_trim(&s.cluster.topologies);
    }
    pod_stream_release(&s);
    return ok;
}

static void it_follows_the_nodes(void **state)
{
    (void)state;
    assert_true(prop_run("domains follow the nodes", 200, follows_the_nodes, NULL));
}

/* --- by a rule -------------------------------------------------------------------------------- */

/* Nodes count only if they also have another label. */
struct rule {
    const struct pod_stream *stream;
    const struct topology *base;
    struct str other;
};

static uint32_t has_other(const void *ctx, uint32_t slot)
{
    const struct rule *rule = ctx;
    return label_at(rule->stream, slot, rule->other) ? topology_domain(rule->base, slot) : 0;
}

static bool derived_is_right(const struct pod_stream *s, const struct rule *rule,
                             const struct topology *t)
{
    size_t n_nodes = 0;
    for (uint32_t i = 0; i < s->cache.columns.n; i++) {
        const struct berth_node *node = s->cache.columns.nodes[i];
        uint32_t expected = node && node->object ? has_other(rule, i) : 0;
        n_nodes += expected > 0;
        if (topology_domain(t, i) != expected)
            return false;
    }
    return n_nodes == t->n_nodes && t->n_domains >= rule->base->n_domains && counts_are_right(s, t);
}

static bool derived_follow(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct pod_stream s;
    bool ok = true;
    pod_stream_init(&s, r);
    for (size_t i = 0; ok && i < size * 4; i++) {
        char key[16], other[16], name[32];
        pod_stream_step(&s);
        if (rand_below(r, 3))
            continue;
        snprintf(key, sizeof(key), "key%d", (int)rand_below(r, 2));
        snprintf(other, sizeof(other), "key%d", (int)rand_below(r, STREAM_KEYS));
        snprintf(name, sizeof(name), "%s %s", key, other);
        /* Sometimes the base is dropped, and is rebuilt with other numbers. */
        if (rand_below(r, 8) == 0) {
            topologies_release(&s.cluster.topologies);
            uint64_t last = s.cluster.topologies.next_id;
            topologies_init(&s.cluster.topologies, &s.cache, &s.cluster.label_keys);
            s.cluster.topologies.next_id = last;
        }
        struct rule rule = {&s, topologies_get(&s.cluster.topologies, str_of(key)), str_of(other)};
        ok = derived_is_right(
            &s, &rule,
            topologies_derive(&s.cluster.topologies, rule.base, str_of(name), has_other, &rule));
    }
    pod_stream_release(&s);
    return ok;
}

static void derived_ones_follow_their_rule(void **state)
{
    (void)state;
    assert_true(prop_run("derived topologies follow their rule", 200, derived_follow, NULL));
}

/* --- one by one ------------------------------------------------------------------------------- */

/* More changes than the journal holds. */
static void it_starts_over_where_the_journal_is_too_short(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    (void)topologies_get(&s.cluster.topologies, STR("key0"));
    for (size_t i = 0; i < 8 * JOURNAL_SIZE; i++)
        pod_stream_step(&s);
    assert_true(s.cache.node_changes.n > JOURNAL_SIZE);
    const struct topology *t = topologies_get(&s.cluster.topologies, STR("key0"));
    assert_true(domains_are_right(&s, t));
    assert_true(counts_are_right(&s, t));
    pod_stream_release(&s);
}

/* Hosts are added and deleted for years. */
static void numbers_are_given_out_again(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    for (int i = 0; i < 1000; i++) {
        const char *name = textf("n%d", i);
        struct object *o = NODE(.name = name, .labels = textf("host=%s", name));
        cache_set_node(&s.cache, o);
        const struct topology *t = topologies_get(&s.cluster.topologies, STR("host"));
        assert_int_equal(t->n_used, 1);
        assert_true(t->n_domains <= 3);
        cache_remove_node(&s.cache, str_of(name));
        object_unref(o);
    }
    pod_stream_release(&s);
}

/* --- many keys -------------------------------------------------------------------------------- */

static void set_node(struct pod_stream *s, const char *name, const char *labels)
{
    struct object *o = NODE(.name = name, .labels = labels);
    cache_set_node(&s->cache, o);
    object_unref(o);
}

static void keys_that_no_node_has_cost_nothing(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    set_node(&s, "here", "rack=a");
    const struct topology *none = topologies_get(&s.cluster.topologies, STR("nobody/has-it"));
    assert_null(none->domain);
    assert_int_equal(topology_domain(none, 0), 0);
    assert_int_equal(none->n_domains, 1);
    for (int i = 0; i < 10000; i++) {
        const char *key = textf("nobody/has-%d", i);
        assert_ptr_equal(topologies_get(&s.cluster.topologies, str_of(key)), none);
    }
    assert_int_equal(s.cluster.topologies.by_key.n, 0);
    /* Once a node has the key it is a topology, until no node has it any more. */
    set_node(&s, "here", "nobody/has-1=a");
    const struct topology *t = topologies_get(&s.cluster.topologies, STR("nobody/has-1"));
    assert_false(topology_is_none(t));
    assert_int_equal(t->n_nodes, 1);
    assert_ptr_equal(topologies_get(&s.cluster.topologies, STR("rack")), none);
    cache_remove_node(&s.cache, STR("here"));
    assert_ptr_equal(topologies_get(&s.cluster.topologies, STR("nobody/has-1")), none);
    assert_int_equal(s.cluster.label_keys.by_key.n, 0);
    pod_stream_release(&s);
}

/* Keys of few nodes have no column, however many nodes there are. */
static void keys_that_few_nodes_have_have_no_column(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    char name[32], labels[64];
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(labels, sizeof(labels), "host=%d,own-%d=%d", i, i, i);
        set_node(&s, name, labels);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "own-%d", i);
        const struct topology *t = topologies_get(&s.cluster.topologies, str_of(name));
        assert_null(t->domain);
        assert_int_equal(t->n_nodes, 1);
        assert_true(domains_are_right(&s, t));
    }
    assert_true(s.cluster.topologies.bytes < 500 * 1024);
    const struct topology *hosts = topologies_get(&s.cluster.topologies, STR("host"));
    assert_non_null(hosts->domain);
    assert_true(domains_are_right(&s, hosts));
    pod_stream_release(&s);
}

/* More than are kept: the least recently used are dropped. */
static void what_is_too_much_goes(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    struct buf labels = BUF_INIT;
    char key[32];
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    /* Long values: 100 keys of 300 nodes are more than TOPOLOGIES_MAX_BYTES. */
    for (int i = 0; i < 300; i++) {
        buf_clear(&labels);
        for (int k = 0; k < 100; k++)
            buf_add_printf(&labels, "%s'k%d':'%d%0600d'", k ? "," : "", k, i, 0);
        snprintf(key, sizeof(key), "n%d", i);
        set_node(&s, key, buf_cstr(&labels));
    }
    for (int k = 0; k < 100; k++) {
        snprintf(key, sizeof(key), "k%d", k);
        assert_true(domains_are_right(&s, topologies_get(&s.cluster.topologies, str_of(key))));
    }
    assert_true(s.cluster.topologies.bytes > TOPOLOGIES_MAX_BYTES);
    topologies_trim(&s.cluster.topologies);
    assert_true(s.cluster.topologies.bytes <= TOPOLOGIES_MAX_BYTES);
    assert_null(topologies_find(&s.cluster.topologies, STR("k0")));
    assert_non_null(topologies_find(&s.cluster.topologies, STR("k99")));
    buf_release(&labels);
    pod_stream_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_follows_the_nodes),
        cmocka_unit_test(derived_ones_follow_their_rule),
        cmocka_unit_test(it_starts_over_where_the_journal_is_too_short),
        cmocka_unit_test(numbers_are_given_out_again),
        cmocka_unit_test(keys_that_no_node_has_cost_nothing),
        cmocka_unit_test(keys_that_few_nodes_have_have_no_column),
        cmocka_unit_test(what_is_too_much_goes),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
