/* SPDX-License-Identifier: Apache-2.0 */
/* NodeAffinity: required and preferred terms, nodes by name, affinity added by the profile. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define PLUGIN "NodeAffinity"

#define REQUIRED(terms) \
    "'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[" terms "]}"
#define PREFERRED(terms) "'preferredDuringSchedulingIgnoredDuringExecution':[" terms "]"
#define LABEL(key, op, values)                                                         \
    "{'matchExpressions':[{'key':'" key "','operator':'" op "','values':[" values "]}" \
    "]}"
#define NAME(op, value)                                                                \
    "{'matchFields':[{'key':'metadata.name','operator':'" op "','values':[" value "]}" \
    "]}"

/* A configuration whose profile adds this affinity. */
static void begin(struct fixture *f, const char *added)
{
    const char *config = textf("apiVersion: kubescheduler.config.k8s.io/v1\n"
                               "kind: KubeSchedulerConfiguration\n"
                               "profiles:\n"
                               "- pluginConfig:\n"
                               "  - name: NodeAffinity\n"
                               "    args: {'addedAffinity':{%s}}\n",
                               added);
    fixture_init(f, config, NULL);
}

/* --- required terms --------------------------------------------------------------------------- */

static void demands(void **state)
{
    (void)state;
    /* Nodes n0 with x=1, n1 with x=2, n2 without. */
    static const struct {
        struct pod_args pod;
        const char *passing; /* passing NULL: Filter is skipped */
    } cases[] = {
        {{0}, NULL},
        {{.preferred_node_terms = "{'weight':1,'preference':" LABEL("x", "Exists", "") "}"}, NULL},
        {{.node_selector = "x=1"}, "n0"},
        {{.node_selector = "x=1,y=1"}, ""},
        {{.node_terms = LABEL("x", "In", "'1','2'")}, "n0 n1"},
        {{.node_terms = LABEL("x", "NotIn", "'1'")}, "n1 n2"},
        {{.node_terms = LABEL("x", "Exists", "")}, "n0 n1"},
        {{.node_terms = LABEL("x", "DoesNotExist", "")}, "n2"},
        {{.node_terms = LABEL("x", "Gt", "'1'")}, "n1"},
        {{.node_terms = LABEL("x", "Lt", "'2'")}, "n0"},
        {{.node_terms = LABEL("x", "In", "'1'") "," LABEL("x", "DoesNotExist", "")}, "n0 n2"},
        {{.node_selector = "x=2", .node_terms = LABEL("x", "Exists", "")}, "n1"},
        /* Neither a list without terms nor a term without requirements matches any node. */
        {{.node_terms = ""}, ""},
        {{.node_terms = "{}"}, ""},
        /* An invalid term does not affect the others. */
        {{.node_terms = LABEL("x", "Gt", "'one'") "," LABEL("x", "In", "'2'")}, "n1"},
        {{.node_terms = NAME("NotIn", "'n0'")}, "n1 n2"},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n0", .labels = "x=1");
    ADD_NODE(&f, .name = "n1", .labels = "x=2");
    ADD_NODE(&f, .name = "n2");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        trial_begin(&t, &f, PLUGIN, object_from_pod_args(&cases[i].pod));
        assert_int_equal(t.pre_filter, cases[i].passing ? BERTH_SUCCESS : BERTH_SKIP);
        assert_false(t.cycle->proposal.set);
        for (int n = 0; cases[i].passing && n < 3; n++) {
            char name[] = {'n', (char)('0' + n), '\0'};
            bool passes = strstr(cases[i].passing, name);
            assert_int_equal(trial_filter(&t, name),
                             passes ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
            assert_string_equal(t.text,
                                passes ? "" : "node(s) didn't match Pod's node affinity/selector");
        }
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
    }
    fixture_release(&f);
}

/* The nodes that PreFilter returns, "n0 n2". */
static const char *limited_to(const struct trial *t, const struct fixture *f, struct buf *out)
{
    buf_clear(out);
    for (size_t i = 0; t->cycle->proposal.set && i < f->engine->cache.order.n; i++) {
        const struct berth_node *n = f->engine->cache.order.v[i];
        if (bitset_get(&t->cycle->proposal.nodes, n->slot))
            buf_add_printf(out, "%s%s", out->n ? " " : "", n->name);
    }
    return buf_cstr(out);
}

static void nodes_by_name(void **state)
{
    (void)state;
    static const struct {
        struct pod_args pod;
        enum berth_code code;
        const char *nodes;
    } cases[] = {
        {{.node_terms = NAME("In", "'n1'")}, BERTH_SUCCESS, "n1"},
        {{.node_terms = NAME("In", "'n1'") "," NAME("In", "'n2'")}, BERTH_SUCCESS, "n1 n2"},
        {{.node_terms = NAME("In", "'n1'") "," NAME("In", "'gone'")}, BERTH_SUCCESS, "n1"},
        /* With one term that does not select by name, all nodes are candidates. */
        {{.node_terms = NAME("In", "'n1'") "," LABEL("x", "Exists", "")}, BERTH_SUCCESS, ""},
        {{.node_terms = NAME("NotIn", "'n1'")}, BERTH_SUCCESS, ""},
        {{.node_terms = "{'matchFields':[{'key':'metadata.name','operator':'In',"
                        "'values':['n0','n1']},{'key':'metadata.name','operator':"
                        "'In','values':['n1','n2']}]}"},
         BERTH_SUCCESS,
         "n1"},
        {{.node_terms = "{'matchFields':[{'key':'metadata.name','operator':'In',"
                        "'values':['n0']},{'key':'metadata.name','operator':'In',"
                        "'values':['n1']}]}"},
         BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
         ""},
    };
    struct buf nodes = BUF_INIT;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n0");
    ADD_NODE(&f, .name = "n1");
    ADD_NODE(&f, .name = "n2");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        struct object *p = object_from_pod_args(&cases[i].pod);
        trial_begin(&t, &f, PLUGIN, object_ref(p));
        assert_int_equal(t.pre_filter, cases[i].code);
        /* Outside of an attempt limits are ignored: once more, as if in one. */
        t.cycle->in_pre_filter = true;
        t.handle->plugin->pre_filter(t.handle->self, t.cycle, t.pod, &f.engine->cycles.status);
        assert_string_equal(limited_to(&t, &f, &nodes), cases[i].nodes);
        trial_end(&t);
        object_unref(p);
    }
    buf_release(&nodes);
    fixture_add(&f, object_from_pod_args(&cases[6].pod));
    fixture_schedule(&f);
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "p")->message,
                        "0/3 nodes are available: pod affinity terms conflict. not found");
    fixture_release(&f);
}

/* --- preferred terms -------------------------------------------------------------------------- */

#define PREFER(weight, term) "{'weight':" #weight ",'preference':" term "}"

static void preferences_add_up(void **state)
{
    (void)state;
    static const struct {
        struct pod_args pod;
        int64_t score[2]; /* of n0 with x=1, of n1 */
    } cases[] = {
        {{.preferred_node_terms = PREFER(3, LABEL("x", "Exists", ""))}, {3, 0}},
        {{.preferred_node_terms = PREFER(3, LABEL("x", "Exists", "")) "," PREFER(
              5, LABEL("x", "In", "'1'")) "," PREFER(7, NAME("In", "'n1'"))},
         {8, 7}},
        {{.preferred_node_terms = PREFER(3, "{}")}, {0, 0}},
        /* Terms without a weight are not even parsed. */
        {{.preferred_node_terms = PREFER(0, LABEL("x", "?", ""))}, {0, 0}},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n0", .labels = "x=1");
    ADD_NODE(&f, .name = "n1");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        trial_begin(&t, &f, PLUGIN, object_from_pod_args(&cases[i].pod));
        assert_int_equal(t.pre_score, BERTH_SUCCESS);
        assert_int_equal(trial_score(&t, "n0"), cases[i].score[0]);
        assert_int_equal(trial_score(&t, "n1"), cases[i].score[1]);
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
    }
    struct trial t;
    trial_begin(&t, &f, PLUGIN, POD(.node_selector = "x=1"));
    assert_int_equal(t.pre_score, BERTH_SKIP);
    trial_end(&t);
    fixture_release(&f);
}

static void preferences_that_make_no_sense_are_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *preferred, *message;
    } cases[] = {
        {PREFER(1, LABEL("x", "Gt", "'one'")),
         "[0].matchExpressions[0].values[0]: Invalid value: \"one\": for 'Gt', 'Lt' operators, the "
         "value must be an integer"},
        {PREFER(1, "{'matchExpressions':[{'key':'x','operator':'NotIn'}]}"),
         "[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values "
         "set can't be empty"},
        {PREFER(1, LABEL("x", "In", "")),
         "[0].matchExpressions[0].values: Invalid value: []: for 'in', 'notin' operators, values "
         "set can't be empty"},
        {PREFER(1, LABEL("x", "Exists", "'a','b'")),
         "[0].matchExpressions[0].values: Invalid value: [\"a\",\"b\"]: values set must be empty "
         "for exists and does not exist"},
        {PREFER(1, "{}") "," PREFER(2, LABEL("x", "Is", "'a'")),
         "[1].matchExpressions[0].operator: Unsupported value: \"Is\": supported values: \"In\", "
         "\"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\""},
        {PREFER(1, NAME("Gt", "'n'")) "," PREFER(1, NAME("In", "'n','m'")),
         "[[0].matchFields[0].operator: Unsupported value: \"Gt\": supported values: \"In\", "
         "\"NotIn\", [1].matchFields[0].values: Invalid value: [\"n\",\"m\"]: must have one "
         "element]"},
        {PREFER(1, LABEL("x", "In", "'a b'")),
         "[0].matchExpressions[0].values[0][x]: Invalid value: \"a b\": a valid label must be an "
         "empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
         "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex "
         "used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n0", .cpu = "1", .memory = "1Gi");
    ADD_NODE(&f, .name = "n1", .cpu = "1", .memory = "1Gi");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct object *p = POD(.name = "p", .preferred_node_terms = cases[i].preferred);
        char *want = xasprintf("running PreScore plugin \"NodeAffinity\": %s", cases[i].message);
        fixture_add(&f, object_ref(p));
        fixture_schedule(&f);
        assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "p")->message, want);
        fixture_delete(&f, p);
        free(want);
    }
    fixture_release(&f);
}

/* --- affinity added by the profile ------------------------------------------------------------ */

static void the_profile_demands_too(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    begin(&f, REQUIRED(LABEL("zone", "In", "'a'")));
    ADD_NODE(&f, .name = "n0", .labels = "zone=a,x=1");
    ADD_NODE(&f, .name = "n1", .labels = "zone=a");
    ADD_NODE(&f, .name = "n2", .labels = "x=1");
    trial_begin(&t, &f, PLUGIN, POD(.node_selector = "x=1"));
    assert_int_equal(trial_filter(&t, "n0"), BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "n1"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_string_equal(t.text, "node(s) didn't match Pod's node affinity/selector");
    assert_int_equal(trial_filter(&t, "n2"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_string_equal(t.text, "node(s) didn't match scheduler-enforced node affinity");
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    /* Also for pods without required terms. */
    trial_begin(&t, &f, PLUGIN, POD(.name = "p"));
    assert_int_equal(t.pre_filter, BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "n1"), BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "n2"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    fixture_release(&f);
}

static void the_profile_prefers_too(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, PREFERRED(PREFER(10, LABEL("zone", "Exists", ""))));
    ADD_NODE(&f, .name = "n0", .labels = "zone=a,x=1");
    ADD_NODE(&f, .name = "n1", .labels = "x=1");
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.name = "p"), "n0"), 10);
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.name = "p"), "n1"), 0);
    static const char both[] = PREFER(3, LABEL("x", "Exists", ""));
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.preferred_node_terms = both), "n0"), 13);
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.preferred_node_terms = both), "n1"), 3);
    fixture_release(&f);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *args, *message;
    } cases[] = {
        {"", ""},
        {"{}", ""},
        {"{'addedAffinity':{" REQUIRED(LABEL("a", "In", "'b'")) "}}", ""},
        {"{'addedAffinity':{" REQUIRED(LABEL("a", "In", "'b'") "," LABEL("a", "Gt", "'b'")) "}}",
         "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]."
         "matchExpressions[0].values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value "
         "must be an integer"},
        {"{'addedAffinity':{" PREFERRED(PREFER(1, LABEL("a", "Lt", "'1','2'"))) "}}",
         "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].matchExpressions[0]."
         "values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is "
         "required"},
    };
    struct fixture f;
    struct berth_error error;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(trial_args_error(&f, PLUGIN, cases[i].args, &error), cases[i].message);
    assert_non_null(strstr(trial_args_error(&f, PLUGIN, "{'added':{}}", &error), "added"));
    fixture_release(&f);
}

/* --- hints ------------------------------------------------------------------------------------ */

static void hints(void **state)
{
    (void)state;
    static const struct pod_args wants = {.node_selector = "x=1"};
    static const struct pod_args broken = {.node_terms = LABEL("x", "Gt", "'one'")};
    static const struct {
        const struct pod_args *pod;
        const char *before, *after; /* labels; NULL: no such node */
        enum berth_hint hint;
    } cases[] = {
        {&wants, NULL, "zone=a,x=1", BERTH_QUEUE},
        {&wants, NULL, "zone=a", BERTH_QUEUE_SKIP},
        {&wants, NULL, "x=1", BERTH_QUEUE_SKIP}, /* the profile does not match it */
        {&wants, "zone=a", "zone=a,x=1", BERTH_QUEUE},
        {&wants, "zone=a,x=1", "zone=a,x=1,y=1", BERTH_QUEUE_SKIP},
        {&wants, "zone=a,x=1", "zone=a", BERTH_QUEUE_SKIP},
        /* Upstream returns an error, which queues. */
        {&broken, NULL, "zone=a", BERTH_QUEUE},
        {&broken, "zone=a", "zone=a,x=1", BERTH_QUEUE},
        {&broken, NULL, "", BERTH_QUEUE_SKIP},
    };
    struct fixture f;
    begin(&f, REQUIRED(LABEL("zone", "Exists", "")));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {BERTH_RESOURCE_NODE,
                                      cases[i].before ? BERTH_ACTION_UPDATE_NODE_LABEL
                                                      : BERTH_ACTION_ADD,
                                      cases[i].before ? NODE(.labels = cases[i].before) : NULL,
                                      NODE(.labels = cases[i].after)};
        assert_int_equal(trial_hint(&f, PLUGIN, object_from_pod_args(cases[i].pod), change),
                         cases[i].hint);
    }
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_TAINT));
    fixture_release(&f);
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {PLUGIN, NULL};
    assert_true(prop_run(PLUGIN ": batch and single form", 300, node_random_agree, &plugin));
}

static void so_it_does_with_an_affinity_of_the_profile(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {
        PLUGIN, "apiVersion: kubescheduler.config.k8s.io/v1\n"
                "kind: KubeSchedulerConfiguration\n"
                "profiles:\n"
                "- pluginConfig:\n"
                "  - name: NodeAffinity\n"
                "    args:\n"
                "      addedAffinity:\n"
                "        requiredDuringSchedulingIgnoredDuringExecution:\n"
                "          nodeSelectorTerms:\n"
                "          - matchExpressions: [{key: k, operator: Exists}]\n"
                "          - matchExpressions: [{key: l, operator: NotIn, values: [a]}]\n"
                "        preferredDuringSchedulingIgnoredDuringExecution:\n"
                "        - weight: 7\n"
                "          preference:\n"
                "            matchExpressions: [{key: m, operator: Gt, values: ['1']}]\n"};
    assert_true(prop_run("added affinity", 200, node_random_agree, &plugin));
}

static void so_it_does_without_prefilter_and_prescore(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {PLUGIN,
                                        "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                        "kind: KubeSchedulerConfiguration\n"
                                        "profiles:\n"
                                        "- plugins:\n"
                                        "    preFilter: {disabled: [{name: NodeAffinity}]}\n"
                                        "    preScore: {disabled: [{name: NodeAffinity}]}\n"};
    assert_true(prop_run("no preparation", 100, node_random_agree, &plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demands),
        cmocka_unit_test(nodes_by_name),
        cmocka_unit_test(preferences_add_up),
        cmocka_unit_test(preferences_that_make_no_sense_are_an_error),
        cmocka_unit_test(the_profile_demands_too),
        cmocka_unit_test(the_profile_prefers_too),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(hints),
        cmocka_unit_test(batch_and_single_forms_agree),
        cmocka_unit_test(so_it_does_with_an_affinity_of_the_profile),
        cmocka_unit_test(so_it_does_without_prefilter_and_prescore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
