/* SPDX-License-Identifier: Apache-2.0 */
/* Pods as controllers create them, and the changes of admission. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/apps.h"
#include "api/node.h"
#include "api/pod_admission.h"
#include "api/pod_controller.h"
#include "codec/json.h"
#include "engine_fixture.h"

struct made {
    struct arena arena;
    struct pod_controller controller;
};

static void read_controller(struct made *m, const char *spec)
{
    const char *json = jsonf("{'metadata':{'name':'web','namespace':'team','uid':'u'},%s}", spec);
    struct err err;
    arena_init(&m->arena, 0);
    if (json_decode(str_of(json), &pod_controller_view_type, 0, &m->arena, &m->controller, &err) <
        0)
        fail_msg("%s", err.msg);
}

static struct object *make_pod(enum pod_controller_kind kind, const struct made *m,
                               struct controlled_pod which)
{
    struct object *pod = pod_controller_make_pod(kind, &m->controller, &which);
    const struct owner_reference *owner = object_meta_controller(object_meta(pod));
    assert_non_null(owner);
    assert_true(str_is(owner->name, "web") && str_is(owner->uid, "u"));
    assert_true(str_eq(owner->kind, pod_controller_kind_name(kind)));
    assert_true(str_is(object_meta(pod)->namespace, "team"));
    return pod;
}

static void assert_label(const struct object *pod, struct str key, const char *value)
{
    const struct str *got = str_map_get(&object_meta(pod)->labels, key);
    assert_non_null(got);
    assert_string_equal(got->p, value);
}

#define TEMPLATE                                               \
    "'template':{'metadata':{'labels':{'app':'web'}},'spec':{" \
    "'containers':[{'name':'c'}]}}"

static void replicas_have_different_names(void **state)
{
    (void)state;
    struct made m;
    read_controller(&m, "'spec':{'replicas':3," TEMPLATE "}");
    assert_int_equal(pod_controller_replicas(POD_CONTROLLER_REPLICA_SET, &m.controller), 3);
    struct object *a =
        make_pod(POD_CONTROLLER_REPLICA_SET, &m, (struct controlled_pod){.index = 0});
    struct object *b =
        make_pod(POD_CONTROLLER_REPLICA_SET, &m, (struct controlled_pod){.index = 1});
    struct object *c =
        make_pod(POD_CONTROLLER_REPLICA_SET, &m, (struct controlled_pod){.index = 1, .salt = 1});
    assert_true(str_starts(object_meta(a)->name, STR("web-")));
    assert_int_equal(object_meta(a)->name.n, strlen("web-12345"));
    assert_false(str_eq(object_meta(a)->name, object_meta(b)->name));
    assert_false(str_eq(object_meta(b)->name, object_meta(c)->name));
    assert_label(a, STR("app"), "web");
    object_unref(a);
    object_unref(b);
    object_unref(c);
    arena_release(&m.arena);
}

static void a_deployment_has_a_replica_set(void **state)
{
    (void)state;
    struct made m, other;
    struct pod_controller view, other_view;
    read_controller(&m, "'spec':{'selector':{'matchLabels':{'app':'web'}}," TEMPLATE "}");
    read_controller(&other, "'spec':{'template':{'spec':{'containers':[{'name':'d'}]}}}");
    assert_int_equal(pod_controller_replicas(POD_CONTROLLER_DEPLOYMENT, &m.controller), 1);
    struct object *set = pod_controller_make_replica_set(&m.controller, &view);
    struct object *set2 = pod_controller_make_replica_set(&other.controller, &other_view);
    assert_false(str_eq(object_meta(set)->name, object_meta(set2)->name));
    const str_map *selector = &object_replica_set(set)->spec.selector->match_labels;
    const struct str *hash = str_map_get(selector, STR("pod-template-hash"));
    assert_non_null(hash);
    assert_non_null(str_map_get(selector, STR("app")));
    assert_true(str_ends(object_meta(set)->name, *hash));
    assert_true(str_is(object_meta_controller(object_meta(set))->kind, "Deployment"));
    struct controlled_pod which = {0};
    struct object *pod = pod_controller_make_pod(POD_CONTROLLER_REPLICA_SET, &view, &which);
    assert_label(pod, STR("pod-template-hash"), hash->p);
    assert_true(str_eq(object_meta_controller(object_meta(pod))->name, object_meta(set)->name));
    object_unref(pod);
    object_unref(set);
    object_unref(set2);
    arena_release(&m.arena);
    arena_release(&other.arena);
}

static void a_stateful_set_has_ordinals_and_claims(void **state)
{
    (void)state;
    struct made m;
    read_controller(&m, "'spec':{'volumeClaimTemplates':[{'metadata':{'name':'data'}}],"
                        "'template':{'spec':{'volumes':[{'name':'data'},{'name':"
                        "'tmp'}]}}}");
    struct object *pod =
        make_pod(POD_CONTROLLER_STATEFUL_SET, &m, (struct controlled_pod){.index = 7});
    const struct pod *body = object_pod(pod);
    assert_string_equal(body->metadata.name.p, "web-7");
    assert_label(pod, STR("apps.kubernetes.io/pod-index"), "7");
    assert_label(pod, STR("statefulset.kubernetes.io/pod-name"), "web-7");
    assert_int_equal(body->spec.volumes.n, 2);
    assert_string_equal(body->spec.volumes.v[0].source.persistent_volume_claim->claim_name.p,
                        "data-web-7");
    object_unref(pod);
    arena_release(&m.arena);
}

static void a_daemon_runs_on_its_nodes(void **state)
{
    (void)state;
    struct made m;
    read_controller(&m, "'spec':{'template':{'spec':{'nodeSelector':{'disk':'ssd'},"
                        "'tolerations':[{'key':'ours','operator':'Exists'}]}}}");
    const struct {
        struct node_args node;
        bool runs;
    } cases[] = {
        {{.labels = "disk=ssd"}, true},
        {{.labels = ""}, false},
        {{.labels = "disk=ssd",
          .taints = TAINTS({"ours", .effect = "NoSchedule"},
                           {"node.kubernetes.io/unschedulable", .effect = "NoSchedule"},
                           {"x", .effect = "PreferNoSchedule"})},
         true},
        {{.labels = "disk=ssd", .taints = TAINTS({"x", .effect = "NoExecute"})}, false},
        {{.labels = "disk=ssd",
          .taints = TAINTS({"node.kubernetes.io/network-unavailable", .effect = "NoSchedule"})},
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct object *node = object_from_node_args(&cases[i].node);
        assert_int_equal(pod_controller_runs_on(&m.controller, node), cases[i].runs);
        object_unref(node);
    }
    struct object *pod =
        make_pod(POD_CONTROLLER_DAEMON_SET, &m, (struct controlled_pod){.node_name = STR("n")});
    const struct pod_spec *spec = &object_pod(pod)->spec;
    assert_int_equal(spec->tolerations.n, 7);
    const struct node_selector *required = spec->affinity->node_affinity->required;
    assert_string_equal(required->node_selector_terms.v[0].match_fields.v[0].values.v[0].p, "n");
    object_unref(pod);
    arena_release(&m.arena);
}

static void a_job_has_as_many_pods_as_may_run_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int64_t replicas;
    } cases[] = {
        {"'spec':{}", 1},
        {"'spec':{'parallelism':3}", 3},
        {"'spec':{'completions':5}", 1},
        {"'spec':{'completions':5,'parallelism':3}", 3},
        {"'spec':{'completions':2,'parallelism':3}", 2},
        {"'spec':{'completions':5,'parallelism':3},'status':{'succeeded':3}", 2},
        {"'spec':{'parallelism':3},'status':{'succeeded':1}", 0},
        {"'spec':{'suspend':true}", 0},
        {"'spec':{},'status':{'conditions':[{'type':'Failed','status':'True'}]}", 0},
        {"'spec':{'parallelism':-3}", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct made m;
        read_controller(&m, cases[i].json);
        assert_int_equal(pod_controller_replicas(POD_CONTROLLER_JOB, &m.controller),
                         cases[i].replicas);
        arena_release(&m.arena);
    }
    struct made m;
    read_controller(&m, "'spec':{'completionMode':'Indexed'}");
    struct object *pod = make_pod(POD_CONTROLLER_JOB, &m, (struct controlled_pod){.index = 4});
    assert_true(str_starts(object_meta(pod)->name, STR("web-4-")));
    assert_label(pod, STR("batch.kubernetes.io/job-completion-index"), "4");
    assert_label(pod, STR("job-name"), "web");
    object_unref(pod);
    arena_release(&m.arena);
}

/* --- admission -------------------------------------------------------------------------------- */

static void defaults_come_once(void **state)
{
    (void)state;
    struct object *o =
        POD(.name = "p", .labels = "h=1",
            .containers = "{'name':'c','ports':[{'containerPort':80}],'resources':{'limits':{'cpu':"
                          "'2','memory':'1Gi'},'requests':{'memory':'1Mi'}}}",
            .spec =
                "'hostNetwork':true,'resources':{'limits':{'cpu':'9','hugepages-2Mi':'4Mi'}},'"
                "affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'"
                "labelSelector':{},'matchLabelKeys':['h','none'],'mismatchLabelKeys':['h']}]}}");
    struct pod *pod = object_body_mut(o);
    for (int times = 0; times < 2; times++) {
        pod_set_defaults(pod, object_arena(o));
        const struct container *c = &pod->spec.containers.v[0];
        assert_int_equal(c->ports.v[0].host_port, 80);
        assert_int_equal(c->resources.requests.n, 2);
        assert_non_null(quantity_map_get(&c->resources.requests, STR("cpu")));
        assert_int_equal(pod->spec.resources->requests.n, 1); /* a container requests cpu */
        assert_int_equal(pod->spec.tolerations.n, 2);
        const struct label_selector *s =
            pod->spec.affinity->pod_anti_affinity->required.v[0].label_selector;
        assert_int_equal(s->match_expressions.n, 2);
        assert_string_equal(s->match_expressions.v[0].operator.p, "In");
        assert_string_equal(s->match_expressions.v[1].operator.p, "NotIn");
    }
    object_unref(o);
}

static void priorities_come_from_classes(void **state)
{
    (void)state;
    const struct priority_class high = {
        .metadata.name = STR_INIT("high"), .value = 7, .preemption_policy = STR_INIT("Never")};
    const struct priority_class usual = {
        .metadata.name = STR_INIT("usual"), .value = 3, .global_default = true};
    const struct priority_class lower = {
        .metadata.name = STR_INIT("lower"), .value = 2, .global_default = true};
    const struct priority_class *const classes[] = {&high, &usual, &lower};
    assert_ptr_equal(priority_class_find(classes, 3, STR("high")), &high);
    assert_ptr_equal(priority_class_find(classes, 3, STR("")), &lower);
    assert_null(priority_class_find(classes, 1, STR("")));
    assert_null(priority_class_find(classes, 3, STR("none")));
    assert_int_equal(priority_class_find(NULL, 0, STR("system-node-critical"))->value, 2000001000);
    struct object *o = POD(.name = "p");
    struct pod *pod = object_body_mut(o);
    pod_set_priority(pod, &high, object_arena(o));
    assert_int_equal(*pod->spec.priority, 7);
    assert_true(str_is(pod->spec.preemption_policy, "Never"));
    pod_set_priority(pod, &usual, object_arena(o));
    assert_int_equal(*pod->spec.priority, 7);
    object_unref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_have_different_names),
        cmocka_unit_test(a_deployment_has_a_replica_set),
        cmocka_unit_test(a_stateful_set_has_ordinals_and_claims),
        cmocka_unit_test(a_daemon_runs_on_its_nodes),
        cmocka_unit_test(a_job_has_as_many_pods_as_may_run_at_once),
        cmocka_unit_test(defaults_come_once),
        cmocka_unit_test(priorities_come_from_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
