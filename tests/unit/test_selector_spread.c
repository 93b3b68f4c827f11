/* SPDX-License-Identifier: Apache-2.0 */
/* SelectorSpread, and the selector by which pods without constraints are spread. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"
#include "plugins/common/default_selector.h"
#include "prop.h"

#define PLUGIN "SelectorSpread"

static const char config[] = "apiVersion: kubescheduler.config.k8s.io/v1\n"
                             "kind: KubeSchedulerConfiguration\n"
                             "profiles:\n"
                             "- plugins:\n"
                             "    multiPoint:\n"
                             "      enabled:\n"
                             "      - name: SelectorSpread\n"
                             "        weight: 1\n";

/* --- the selector ----------------------------------------------------------------------------- */

#define BOTH "app=web,tier=front"
#define OWNER(version, kind, name)                                                \
    "'ownerReferences':[{'apiVersion':'v9','kind':'Other','name':'x','uid':'y'}," \
    "{'apiVersion':'" version "','kind':'" kind "','name':'" name                 \
    "','uid':'u','controller':true}]"

static void add_owners(struct fixture *f)
{
    fixture_add(f,
                OBJECT(KIND_REPLICATION_CONTROLLER, .name = "rc", .selector = "app=other,rc=yes"));
    fixture_add(f, REPLICA_SET(.name = "rs",
                               .spec = "'selector':{'matchLabels':{'hash':'1'},'matchExpressions':"
                                       "[{'key':'canary','operator':'DoesNotExist'}]}"));
    fixture_add(f, REPLICA_SET(.name = "none", .spec = "'selector':null"));
    fixture_add(f, REPLICA_SET(.name = "strange",
                               .spec = "'selector':{'matchExpressions':[{'key':'a','operator':"
                                       "'Near'}]}"));
    fixture_add(f, OBJECT(KIND_STATEFUL_SET, .name = "ss", .selector = "ss=1"));
}

static void what_the_selector_is_made_of(void **state)
{
    (void)state;
    static const struct {
        const char *labels, *owner, *selector;
    } cases[] = {
        {"", "", ""},
        {BOTH, "", "app=web,tier=front"},
        {"app=web", "", "app=web"},
        {BOTH, OWNER("apps/v1", "ReplicaSet", "rs"), "app=web,!canary,hash=1,tier=front"},
        {"", OWNER("apps/v1", "ReplicaSet", "rs"), "!canary,hash=1"},
        {BOTH, OWNER("apps/v1", "StatefulSet", "ss"), "app=web,ss=1,tier=front"},
        /* If two have a value for one key, the controller's wins. */
        {BOTH, OWNER("v1", "ReplicationController", "rc"), "app=other,rc=yes,tier=front"},
        {BOTH, OWNER("/v1", "ReplicationController", "rc"), "app=other,rc=yes,tier=front"},
        /* Owners without a selector, with an invalid one, or of other kinds. */
        {BOTH, OWNER("apps/v1", "ReplicaSet", "none"), "app=web,tier=front"},
        {BOTH, OWNER("apps/v1", "ReplicaSet", "strange"), "app=web,tier=front"},
        {BOTH, OWNER("apps/v1", "ReplicaSet", "gone"), "app=web,tier=front"},
        {BOTH, OWNER("apps/v1beta1", "ReplicaSet", "rs"), "app=web,tier=front"},
        {BOTH, OWNER("v1", "ReplicaSet", "rs"), "app=web,tier=front"},
        {BOTH, OWNER("apps/v1", "ReplicationController", "rc"), "app=web,tier=front"},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    fixture_add(&f, SERVICE(.name = "one", .selector = "app=web"));
    fixture_add(&f, SERVICE(.name = "two", .selector = "app=web,tier=front"));
    fixture_add(&f, SERVICE(.name = "other", .selector = "app=db"));
    fixture_add(&f, SERVICE(.name = "empty", .selector = ""));
    fixture_add(&f, SERVICE(.name = "null"));
    add_owners(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct object *o = POD(.labels = cases[i].labels, .meta = cases[i].owner);
        struct arena a;
        struct selector selector;
        struct buf text = BUF_INIT;
        arena_init(&a, 0);
        default_selector(&f.engine->cluster.objects, object_pod(o), &a, &selector);
        selector_write(&selector, &text);
        buf_add_char(&text, '\0');
        assert_string_equal(text.p, cases[i].selector);
        assert_false(selector.nothing);
        buf_release(&text);
        arena_release(&a);
        object_unref(o);
    }
    fixture_release(&f);
}

/* --- scores ----------------------------------------------------------------------------------- */

#define ZONE "topology.kubernetes.io/zone="
#define OLD  "failure-domain.beta.kubernetes.io/zone="

static void normalized(struct trial *t, const char *const *names, size_t n, int64_t *scores)
{
    uint32_t slots[8];
    for (size_t i = 0; i < n; i++) {
        slots[i] = cache_node(&t->engine->cache, str_of(names[i]))->slot;
        scores[i] = trial_score(t, names[i]);
    }
    assert_int_equal(t->handle->plugin->normalize(t->handle->self, t->cycle, t->pod, slots, scores,
                                                  n, &t->engine->cycles.status),
                     BERTH_SUCCESS);
}

static void nodes_and_zones(void **state)
{
    (void)state;
    static const char *const names[] = {"n0", "n1", "n2", "n3", "n4"};
    /* On nodes 2, 1, 1, 0, 0; in zones a 3, b 1; n4 is in none. */
    static const int64_t raw[] = {2, 1, 1, 0, 0};
    static const int64_t expected[] = {0, 16, 61, 77, 100};
    struct fixture f;
    struct trial t;
    int64_t scores[5];
    fixture_init(&f, config, NULL);
    ADD_NODE(&f, .name = "n0", .labels = ZONE "a");
    ADD_NODE(&f, .name = "n1", .labels = OLD "a," ZONE "b");
    ADD_NODE(&f, .name = "n2", .labels = ZONE "b");
    ADD_NODE(&f, .name = "n3", .labels = OLD "b");
    ADD_NODE(&f, .name = "n4");
    fixture_add(&f, SERVICE(.name = "s", .selector = "app=web"));
    ADD_POD(&f, .name = "r0", .labels = "app=web", .node = "n0");
    ADD_POD(&f, .name = "r1", .labels = "app=web", .node = "n0");
    ADD_POD(&f, .name = "r2", .labels = "app=web", .node = "n1");
    ADD_POD(&f, .name = "r3", .labels = "app=web", .node = "n2");
    ADD_POD(&f, .name = "r4", .labels = "app=db", .node = "n3");
    ADD_POD(&f, .name = "r5", .labels = "app=web", .node = "n3", .deleting = true);
    trial_begin(&t, &f, PLUGIN, POD(.labels = "app=web"));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_int_equal(trial_score(&t, names[i]), raw[i]);
    normalized(&t, names, ARRAY_LEN(names), scores);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_int_equal(scores[i], expected[i]);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    fixture_release(&f);
}

static void pods_without_owner_and_pods_with_constraints(void **state)
{
    (void)state;
    static const char *const names[] = {"n0"};
    struct fixture f;
    struct trial t;
    int64_t scores[1];
    fixture_init(&f, config, NULL);
    ADD_NODE(&f, .name = "n0", .labels = ZONE "a");
    ADD_POD(&f, .name = "r0", .labels = "app=web", .node = "n0");
    /* No selector: all nodes get the maximum. */
    trial_begin(&t, &f, PLUGIN, POD(.labels = "app=web"));
    assert_int_equal(trial_score(&t, "n0"), 0);
    normalized(&t, names, 1, scores);
    assert_int_equal(scores[0], 100);
    trial_end(&t);
    trial_begin(&t, &f, PLUGIN, POD(.spread = SPREAD({"k"})));
    assert_int_equal(t.pre_score, BERTH_SKIP);
    trial_end(&t);
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_selector_is_made_of),
        cmocka_unit_test(nodes_and_zones),
        cmocka_unit_test(pods_without_owner_and_pods_with_constraints),
    };
    return cmocka_run_group_tests_name("selector_spread", tests, NULL, NULL);
}
