/* SPDX-License-Identifier: Apache-2.0 */
/* Domains of nodes: against the labels themselves, while nodes come, change and go. */
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
        /* Now and then so many keys that some have to go. */
        size_t n = rand_below(r, 20) ? 1 : TOPOLOGIES_MAX + 20;
        for (size_t k = 0; ok && k < n; k++) {
            snprintf(key, sizeof(key), "key%d",
                     (int)rand_below(r, n == 1 ? STREAM_KEYS + 1 : TOPOLOGIES_MAX * 2));
            const struct topology *t = topologies_get(&s.cluster.topologies, str_of(key));
            ok = str_is(t->key, key) && domains_are_right(&s, t) && counts_are_right(&s, t);
        }
        topologies_trim(&s.cluster.topologies);
        ok = ok && s.cluster.topologies.by_key.n <= TOPOLOGIES_MAX;
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

/* Nodes count if they have another label, too. */
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
        /* Now and then the base is forgotten, and comes back with other numbers. */
        if (rand_below(r, 8) == 0)
            for (size_t k = 0; k <= TOPOLOGIES_MAX; k++) {
                char nobody[16];
                snprintf(nobody, sizeof(nobody), "no%zu", k);
                (void)topologies_get(&s.cluster.topologies, str_of(nobody));
            }
        topologies_trim(&s.cluster.topologies);
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

/* Hosts come and go for years. */
static void numbers_are_given_out_again(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        struct object *o = fixture_object(
            KIND_NODE, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"host\":\"%s\"}}}", name, name);
        cache_set_node(&s.cache, o);
        const struct topology *t = topologies_get(&s.cluster.topologies, STR("host"));
        assert_int_equal(t->n_used, 1);
        assert_true(t->n_domains <= 3);
        cache_remove_node(&s.cache, str_of(name));
        object_unref(o);
    }
    pod_stream_release(&s);
}

static void a_key_that_no_node_has_costs_no_column(void **state)
{
    (void)state;
    struct rand r;
    struct pod_stream s;
    rand_seed(&r, 1);
    pod_stream_init(&s, &r);
    for (size_t i = 0; i < 200; i++)
        pod_stream_step(&s);
    const struct topology *t = topologies_get(&s.cluster.topologies, STR("nobody/has-it"));
    assert_null(t->domain);
    assert_int_equal(topology_domain(t, 0), 0);
    assert_int_equal(t->n_domains, 1);
    pod_stream_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_follows_the_nodes),
        cmocka_unit_test(derived_ones_follow_their_rule),
        cmocka_unit_test(it_starts_over_where_the_journal_is_too_short),
        cmocka_unit_test(numbers_are_given_out_again),
        cmocka_unit_test(a_key_that_no_node_has_costs_no_column),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
