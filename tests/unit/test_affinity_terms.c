/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of running pods: stored once, counted by node, found by the pods they select. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/rooms.h"
#include "engine_fixture.h"
#include "prop.h"

#define WEB TERMS({"zone", "app=web"})

/* Whether some node has the topology key. */
static void add_zone(struct fixture *f)
{
    ADD_NODE(f, .name = "zoned", .labels = "zone=a");
}

static size_t found(struct fixture *f, const char *namespace, const char *labels,
                    const char *namespace_labels, running_terms *terms)
{
    struct object *pod = POD(.name = "p", .namespace = namespace, .labels = labels);
    struct object *ns = NAMESPACE(.labels = namespace_labels);
    vec_clear(terms);
    affinity_terms_find(&f->engine->cluster.affinity_terms, AFFINITY_MUST, object_meta(pod),
                        &object_meta(ns)->labels, terms);
    object_unref(ns);
    object_unref(pod);
    return terms->n;
}

static void equal_terms_are_one(void **state)
{
    (void)state;
    struct fixture f;
    running_terms terms = {0};
    fixture_init(&f, NULL, NULL);
    add_zone(&f);
    const struct affinity_terms *index = &f.engine->cluster.affinity_terms;
    for (int i = 0; i < 10; i++) {
        const char *name = textf("p%d", i), *node = textf("n%d", i % 3);
        ADD_POD(&f, .name = name, .labels = "app=web", .node = node, .anti_affinity = WEB);
    }
    assert_int_equal(index->n[AFFINITY_MUST], 1);
    assert_int_equal(index->n[AFFINITY_MAY], 0);
    assert_int_equal(found(&f, "default", "app=web", "", &terms), 1);
    assert_int_equal(terms.v[0]->n, 10);
    assert_int_equal(terms.v[0]->pods.n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const char *node = textf("n%u", i);
        uint32_t slot = cache_node(&f.engine->cache, str_of(node))->slot;
        assert_int_equal(slot_counts_at(&terms.v[0]->pods, slot), i == 0 ? 4 : 3);
    }
    for (int i = 0; i < 10; i++) {
        const char *name = textf("p%d", i), *node = textf("n%d", i % 3);
        fixture_delete(&f,
                       POD(.name = name, .labels = "app=web", .node = node, .anti_affinity = WEB));
    }
    assert_int_equal(index->n[AFFINITY_MUST], 0);
    assert_int_equal(index->by_text.n, 0);
    assert_int_equal(index->buckets.n, 0);
    vec_release(&terms);
    fixture_release(&f);
}

static void found_by_the_pods_they_match(void **state)
{
    (void)state;
    const struct {
        const struct term_args *term;
        const char *namespace, *labels, *namespace_labels;
        size_t n;
    } cases[] = {
        {WEB, "default", "app=web,x=y", "", 1},
        {WEB, "default", "app=db", "", 0},
        {WEB, "other", "app=web", "", 0},
        {TERMS({"zone", ""}), "default", "", "", 1},
        {TERMS({"zone"}), "default", "", "", 0},
        {TERMS({"zone", "", .more = "'namespaces':['a','b','a']"}), "b", "k=v", "", 1},
        {TERMS({"zone", "", .more = "'namespaceSelector':{'matchLabels':{'team':'x'}}"}), "other",
         "", "team=x", 1},
        {TERMS({"zone", "", .more = "'namespaceSelector':{'matchLabels':{'team':'x'}}"}), "default",
         "", "", 0},
        /* A running pod's selector with a negative requirement is evaluated on real labels. */
        {TERMS({"zone", "",
                .more = "'namespaceSelector':{'matchExpressions':[{'key':'team','operator':"
                        "'DoesNotExist'}]}"}),
         "other", "", "team=x", 0},
        /* Duplicate values do not make a term count twice. */
        {TERMS({"zone", .more = "'labelSelector':{'matchExpressions':[{'key':'app','operator':'In',"
                                "'values':['web','db','web']}]}"}),
         "default", "app=web", "", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        running_terms terms = {0};
        fixture_init(&f, NULL, NULL);
        add_zone(&f);
        ADD_POD(&f, .name = "q", .labels = "app=web", .node = "n", .anti_affinity = cases[i].term);
        assert_int_equal(
            found(&f, cases[i].namespace, cases[i].labels, cases[i].namespace_labels, &terms),
            cases[i].n);
        vec_release(&terms);
        fixture_release(&f);
    }
}

/* An invalid selector disables all terms of its kind in the pod, but not those of other kinds. */
static void a_wrong_term_spoils_its_kind(void **state)
{
    (void)state;
    struct object *o = POD(.anti_affinity = TERMS({"zone", ""}, {"zone", "a b=c"}),
                           .preferred_anti_affinity = TERMS({"zone", "", .weight = 3}));
    struct affinity_set *set = affinity_set_new(object_pod(o));
    assert_int_equal(set->of[AFFINITY_REQUIRED_ANTI].n, 0);
    assert_true(set->is_wrong[AFFINITY_REQUIRED_ANTI]);
    assert_int_equal(set->of[AFFINITY_PREFERRED_ANTI].n, 1);
    assert_int_equal(set->of[AFFINITY_PREFERRED_ANTI].v[0].weight, 3);
    assert_false(set->is_wrong[AFFINITY_PREFERRED_ANTI]);
    assert_true(str_starts(set->error, STR("requiredAntiAffinityTerms: key: Invalid value: \"a "
                                           "b\": ")));
    affinity_set_free(set);
    object_unref(o);
}

static void no_affinity_to_pods_is_none(void **state)
{
    (void)state;
    struct object *o = POD(.spec = "'affinity':{'nodeAffinity':{}}");
    assert_null(affinity_set_new(object_pod(o)));
    object_unref(o);
}

/* Which terms are found by their topology key changes with the nodes, not with the pods. */
static void found_while_a_node_carries_the_key(void **state)
{
    (void)state;
    struct fixture f;
    running_terms terms = {0};
    fixture_init(&f, NULL, NULL);
    const struct affinity_terms *index = &f.engine->cluster.affinity_terms;
    ADD_POD(&f, .name = "p", .labels = "app=web", .node = "n", .anti_affinity = WEB);
    ADD_POD(&f, .name = "q", .labels = "app=web", .node = "n",
            .anti_affinity = TERMS({"zone", "app=web"}, {"zone", ""}));
    assert_int_equal(index->n[AFFINITY_MUST], 0);
    assert_int_equal(index->buckets.n, 0);
    assert_int_equal(found(&f, "default", "app=web", "", &terms), 0);
    add_zone(&f);
    assert_int_equal(index->n[AFFINITY_MUST], 2);
    assert_int_equal(found(&f, "default", "app=web", "", &terms), 2);
    fixture_delete(&f, NODE(.name = "zoned"));
    assert_int_equal(index->n[AFFINITY_MUST], 0);
    assert_int_equal(index->buckets.n, 0);
    assert_int_equal(found(&f, "default", "app=web", "", &terms), 0);
    fixture_delete(&f, POD(.name = "q", .labels = "app=web", .node = "n",
                           .anti_affinity = TERMS({"zone", "app=web"}, {"zone", ""})));
    add_zone(&f);
    assert_int_equal(found(&f, "default", "app=web", "", &terms), 1);
    fixture_delete(&f, POD(.name = "p", .labels = "app=web", .node = "n", .anti_affinity = WEB));
    assert_int_equal(index->keys.n, 0);
    assert_int_equal(index->buckets.n, 0);
    vec_release(&terms);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_terms_are_one),
        cmocka_unit_test(found_by_the_pods_they_match),
        cmocka_unit_test(found_while_a_node_carries_the_key),
        cmocka_unit_test(a_wrong_term_spoils_its_kind),
        cmocka_unit_test(no_affinity_to_pods_is_none),
    };
    return cmocka_run_group_tests_name("affinity_terms", tests, NULL, NULL);
}
