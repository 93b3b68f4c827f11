/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeBinding: the reasons for which it rejects pods and nodes, its writes, and what it waits
 * for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine/bind/permit.h"
#include "plugin_trial.h"
#include "plugins/volume_binding/volumes.h"

#define SECOND INT64_C(1000000000)

/* --- objects ---------------------------------------------------------------------------------- */

#define BOUND_META "'annotations':{'pv.kubernetes.io/bind-completed':'yes'}"
#define AFFINITY(k, v)                                                                 \
    "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'" k \
    "','operator':'In','values':['" v "']}]}]}}"
#define USES(claim) "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'" claim "'}}]"

static struct object *class_of(const char *name, const char *provisioner, const char *mode)
{
    return object_jsonf(KIND_STORAGE_CLASS,
                        "{'metadata':{'name':'%s'},'provisioner':'%s','volumeBindingMode':'%s'}",
                        name, provisioner, mode);
}

static struct object *claim(const char *name, const char *meta, const char *spec)
{
    return object_jsonf(KIND_PERSISTENT_VOLUME_CLAIM,
                        "{'metadata':{'name':'%s','namespace':'default','uid':'uid-%s'%s%s},"
                        "'spec':{%s}}",
                        name, name, *meta ? "," : "", meta, spec);
}

/* A claim of 5Gi that waits for its first consumer. */
static struct object *waiting(const char *name, const char *class, const char *meta)
{
    return claim(name, meta,
                 textf("'storageClassName':'%s','accessModes':['ReadWriteOnce'],"
                       "'resources':{'requests':{'storage':'5Gi'}}",
                       class));
}

static struct object *volume(const char *name, const char *class, const char *size,
                             const char *meta, const char *spec)
{
    return object_jsonf(KIND_PERSISTENT_VOLUME,
                        "{'metadata':{'name':'%s'%s%s},'spec':{'storageClassName':'%s',"
                        "'accessModes':['ReadWriteOnce'],'capacity':{'storage':'%s'}%s%s},"
                        "'status':{'phase':'Available'}}",
                        name, *meta ? "," : "", meta, class, size, *spec ? "," : "", spec);
}

/* A volume on one node. */
static struct object *local(const char *name, const char *node)
{
    return volume(name, "local", "10Gi", "'resourceVersion':'5'",
                  textf("'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{"
                        "'key':'host','operator':'In','values':['%s']}]}]}}",
                        node));
}

static void add_nodes(struct fixture *f)
{
    ADD_NODE(f, .name = "n1", .labels = "host=n1,zone=a");
    ADD_NODE(f, .name = "n2", .labels = "host=n2,zone=b");
}

static struct volumes *volumes_of(const struct fixture *f)
{
    const struct berth_handle *h = trial_instance(f, "VolumeBinding");
    return engine_host.shared((struct berth_handle *)h, &volumes_type);
}

/* --- PreFilter -------------------------------------------------------------------------------- */

static void unusable_claims_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *meta, *spec, *status, *message;
    } cases[] = {
        {NULL, NULL, NULL, "persistentvolumeclaim \"c\" not found"},
        {"", "'volumeName':'gone'", "'phase':'Lost'",
         "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"gone\""},
        {"'deletionTimestamp':'2026-01-01T00:00:00Z'", "", "",
         "persistentvolumeclaim \"c\" is being deleted"},
        {"", "'storageClassName':'now'", "", "pod has unbound immediate PersistentVolumeClaims"},
        {"", "'storageClassName':'none'", "", "pod has unbound immediate PersistentVolumeClaims"},
        {"", "", "", "pod has unbound immediate PersistentVolumeClaims"},
        {"", "'storageClassName':'later','volumeName':'v'", "",
         "pod has unbound immediate PersistentVolumeClaims"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        fixture_init(&f, NULL, NULL);
        add_nodes(&f);
        fixture_add(&f, class_of("now", "x.io", "Immediate"));
        fixture_add(&f, class_of("later", "x.io", "WaitForFirstConsumer"));
        if (cases[i].spec)
            fixture_add(&f, object_jsonf(KIND_PERSISTENT_VOLUME_CLAIM,
                                         "{'metadata':{'name':'c','namespace':'default'%s%s},"
                                         "'spec':{%s},'status':{%s}}",
                                         *cases[i].meta ? "," : "", cases[i].meta, cases[i].spec,
                                         cases[i].status));
        ADD_POD(&f, .spec = USES("c"));
        fixture_settle(&f);
        assert_string_equal(fixture_last(&f, WRITE_EVENT, "p")->message,
                            textf("0/2 nodes are available: %s. not found", cases[i].message));
        fixture_release(&f);
    }
}

static void ephemeral_volumes_belong_to_their_pod(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    add_nodes(&f);
    const char *spec = "'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{}}}]";
    ADD_POD(&f, .spec = spec);
    fixture_settle(&f);
    assert_non_null(strstr(fixture_last(&f, WRITE_EVENT, "p")->message,
                           "waiting for ephemeral volume controller to create the "
                           "persistentvolumeclaim \"p-v\""));
    struct object *other = claim("p-v", BOUND_META, "'volumeName':'pv'");
    fixture_add(&f, volume("pv", "", "1Gi", "", ""));
    fixture_add(&f, object_ref(other));
    fixture_pass(&f, 10 * SECOND);
    fixture_settle(&f);
    assert_non_null(strstr(fixture_last(&f, WRITE_EVENT, "p")->message,
                           "PVC default/p-v was not created for pod default/p (pod is not "
                           "owner)"));
    fixture_update(&f, other,
                   claim("p-v",
                         BOUND_META ",'ownerReferences':[{'uid':'p','name':'p','controller':true,"
                                    "'kind':'Pod','apiVersion':'v1'}]",
                         "'volumeName':'pv'"));
    fixture_pass(&f, 20 * SECOND);
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "p"));
    fixture_release(&f);
}

/* --- Filter ----------------------------------------------------------------------------------- */

static void reasons_are_those_of_upstream(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, NULL, NULL);
    add_nodes(&f);
    fixture_add(&f, class_of("local", NO_PROVISIONER, "WaitForFirstConsumer"));
    fixture_add(&f, class_of("csi", "x.io", "WaitForFirstConsumer"));
    fixture_add(&f, object_jsonf(KIND_CSI_DRIVER,
                                 "{'metadata':{'name':'x.io'},'spec':{'storageCapacity':true}}"));
    fixture_add(&f, volume("v1", "", "1Gi", "", AFFINITY("host", "n1")));
    fixture_add(&f, claim("there", BOUND_META, "'volumeName':'v1'"));
    fixture_add(&f, claim("lost", BOUND_META, "'volumeName':'v2'"));
    fixture_add(&f, waiting("static", "local", ""));
    fixture_add(&f, waiting("dynamic", "csi", ""));
    const struct {
        const char *claim, *other, *on_n1, *on_n2;
    } cases[] = {
        {"there", NULL, "", "node(s) didn't match PersistentVolume's node affinity"},
        {"lost", NULL, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
         "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"},
        {"there", "lost",
         "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
         "node(s) didn't match PersistentVolume's node affinity"},
        {"static", NULL, "node(s) didn't find available persistent volumes to bind",
         "node(s) didn't find available persistent volumes to bind"},
        {"dynamic", NULL, "node(s) did not have enough free storage",
         "node(s) did not have enough free storage"},
        {"there", "static", "node(s) didn't find available persistent volumes to bind",
         "node(s) didn't match PersistentVolume's node affinity, node(s) didn't find available "
         "persistent volumes to bind"},
        {"lost", "dynamic",
         "node(s) did not have enough free storage, node(s) unavailable due to one or more pvc(s) "
         "bound to non-existent pv(s)",
         "node(s) did not have enough free storage, node(s) unavailable due to one or more pvc(s) "
         "bound to non-existent pv(s)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *more = cases[i].other ? textf(",{'name':'w','persistentVolumeClaim':{"
                                                  "'claimName':'%s'}}",
                                                  cases[i].other)
                                          : "";
        trial_begin(&t, &f, "VolumeBinding",
                    POD(.spec = textf("'volumes':[{'name':'v','persistentVolumeClaim':{"
                                      "'claimName':'%s'}}%s]",
                                      cases[i].claim, more)));
        assert_int_equal(t.pre_filter, BERTH_SUCCESS);
        trial_filter(&t, "n1");
        assert_string_equal(t.text, cases[i].on_n1);
        trial_filter(&t, "n2");
        assert_string_equal(t.text, cases[i].on_n2);
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
    }
    fixture_release(&f);
}

static enum berth_code verdict(const struct fixture *f, const char *pod_spec, const char *node)
{
    struct trial t;
    trial_begin(&t, f, "VolumeBinding", POD(.spec = pod_spec));
    enum berth_code code = trial_filter(&t, node);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    return code;
}

static void provisioning_follows_topology_and_capacity(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    add_nodes(&f);
    fixture_add(&f, object_jsonf(KIND_STORAGE_CLASS,
                                 "{'metadata':{'name':'csi'},'provisioner':'x.io',"
                                 "'volumeBindingMode':'WaitForFirstConsumer','allowedTopologies':[{"
                                 "'matchLabelExpressions':[{'key':'zone','values':['a','c']}]}]}"));
    fixture_add(&f, waiting("c", "csi", ""));
    assert_int_equal(verdict(&f, USES("c"), "n1"), BERTH_SUCCESS);
    assert_int_equal(verdict(&f, USES("c"), "n2"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    fixture_add(&f, object_jsonf(KIND_CSI_DRIVER,
                                 "{'metadata':{'name':'x.io'},'spec':{'storageCapacity':true}}"));
    assert_int_equal(verdict(&f, USES("c"), "n1"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    struct object *small = object_jsonf(KIND_CSI_STORAGE_CAPACITY,
                                        "{'metadata':{'name':'cap','namespace':'default'},"
                                        "'storageClassName':'csi','capacity':'100Gi',"
                                        "'maximumVolumeSize':'4Gi','nodeTopology':{'matchLabels':"
                                        "{'zone':'a'}}}");
    fixture_add(&f, object_ref(small));
    assert_int_equal(verdict(&f, USES("c"), "n1"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    fixture_update(&f, small,
                   object_jsonf(KIND_CSI_STORAGE_CAPACITY,
                                "{'metadata':{'name':'cap','namespace':'default'},"
                                "'storageClassName':'csi','capacity':'100Gi','nodeTopology':{"
                                "'matchLabels':{'zone':'a'}}}"));
    assert_int_equal(verdict(&f, USES("c"), "n1"), BERTH_SUCCESS);
    fixture_release(&f);
}

/* --- PreBind ---------------------------------------------------------------------------------- */

static void init_local(struct fixture *f)
{
    fixture_init(f, NULL, NULL);
    add_nodes(f);
    fixture_add(f, class_of("local", NO_PROVISIONER, "WaitForFirstConsumer"));
    fixture_add(f, class_of("csi", "x.io", "WaitForFirstConsumer"));
}

static size_t assumed(const struct fixture *f)
{
    const struct volumes *v = volumes_of(f);
    return v->n_assumed_pvs + v->assumed_claims.n;
}

static void a_free_volume_is_bound(void **state)
{
    (void)state;
    struct fixture f;
    init_local(&f);
    struct object *pv = local("pv", "n2"), *pvc = waiting("c", "local", "'resourceVersion':'7'");
    fixture_add(&f, object_ref(pv));
    fixture_add(&f, object_ref(pvc));
    ADD_POD(&f, .spec = USES("c"));
    fixture_schedule(&f);
    struct fixture_request *r = fixture_request(&f);
    assert_non_null(r);
    assert_string_equal(r->line, "PATCH persistentvolumes pv");
    assert_string_equal(
        single_quotes(r->body),
        "{'metadata':{'resourceVersion':'5','annotations':{'pv.kubernetes.io/"
        "bound-by-controller':'yes'}},'spec':{'claimRef':{'kind':'PersistentVolumeClaim',"
        "'namespace':'default','name':'c','uid':'uid-c','apiVersion':'v1','resourceVersion':'7'"
        "}}}");
    assert_int_equal(assumed(&f), 1);
    /* The watch may be faster than the answer. */
    struct object *bound = volume("pv", "local", "10Gi", "'resourceVersion':'8'",
                                  AFFINITY("host", "n2") ",'claimRef':{'name':'c','namespace':"
                                                         "'default','uid':'uid-c'}");
    fixture_update(&f, pv, object_ref(bound));
    assert_int_equal(assumed(&f), 0);
    fixture_request_done(&f, r, 200, "", bound);
    assert_null(fixture_binding(&f, "p"));
    fixture_update(&f, pvc,
                   claim("c", "'resourceVersion':'9'," BOUND_META,
                         "'storageClassName':'local','volumeName':'pv'"));
    assert_non_null(fixture_binding(&f, "p"));
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n2");
    assert_int_equal(assumed(&f), 0);
    fixture_release(&f);
}

/* A pod whose claim is being provisioned on n1 or n2. */
static struct object *begin_provisioning(struct fixture *f, const char **ret_node)
{
    struct object *pvc = waiting("c", "csi", "'resourceVersion':'7'");
    init_local(f);
    fixture_add(f, object_ref(pvc));
    ADD_POD(f, .spec = USES("c"));
    fixture_schedule(f);
    struct fixture_request *r = fixture_request(f);
    assert_non_null(r);
    assert_string_equal(r->line, "PATCH persistentvolumeclaims default/c");
    *ret_node = strstr(r->body, "\"n1\"") ? "n1" : "n2";
    assert_string_equal(single_quotes(r->body),
                        textf("{'metadata':{'resourceVersion':'7','annotations':{"
                              "'volume.kubernetes.io/selected-node':'%s'}}}",
                              *ret_node));
    assert_int_equal(assumed(f), 1);
    struct object *selected =
        waiting("c", "csi",
                textf("'resourceVersion':'8','annotations':{'volume.kubernetes.io/"
                      "selected-node':'%s'}",
                      *ret_node));
    fixture_request_done(f, r, 200, "", object_ref(selected));
    assert_int_equal(assumed(f), 1); /* until the watch shows it */
    fixture_update(f, pvc, object_ref(selected));
    assert_int_equal(assumed(f), 0);
    assert_null(fixture_binding(f, "p"));
    return selected;
}

static const char *failure(struct fixture *f)
{
    const struct fixture_write *w = fixture_last(f, WRITE_EVENT, "p");
    return w ? w->message : "";
}

static void a_provisioned_claim_lets_the_pod_go(void **state)
{
    (void)state;
    struct fixture f;
    const char *node;
    struct object *before = begin_provisioning(&f, &node);
    fixture_update(&f, before,
                   claim("c",
                         textf("'resourceVersion':'9','annotations':{'volume.kubernetes.io/"
                               "selected-node':'%s','pv.kubernetes.io/bind-completed':'yes'}",
                               node),
                         "'storageClassName':'csi','volumeName':'new'"));
    assert_null(fixture_binding(&f, "p")); /* the volume is not known yet */
    fixture_add(&f, volume("new", "csi", "5Gi", "", ""));
    assert_non_null(fixture_binding(&f, "p"));
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "p"), node);
    fixture_release(&f);
}

/* A preemptor ends the wait: nothing stays assumed, and no timer or change comes back to it. */
static void a_preemptor_ends_the_wait(void **state)
{
    (void)state;
    struct fixture f;
    const char *node;
    struct object *before = begin_provisioning(&f, &node);
    assert_true(permit_preempt(f.engine->bindings.cycles.v[0], STR("X")));
    engine_tick(f.engine);
    assert_string_equal(failure(&f), "preempted by X");
    assert_int_equal(engine_get_stats(f.engine).binding, 0);
    assert_int_equal(assumed(&f), 0);
    fixture_delete(&f, before);
    fixture_pass(&f, 3600 * NSEC_PER_SEC);
    assert_null(fixture_binding(&f, "p"));
    fixture_release(&f);
}

enum trouble {
    GIVES_UP,
    CLEARED,
    OTHER_NODE,
    CLAIM_GONE,
    POD_GONE,
    NODE_GONE,
    TIMEOUT,
    WRONG_PLACE,
    N_TROUBLES,
};

static void make_trouble(struct fixture *f, enum trouble trouble, struct object *before,
                         const char *node)
{
    const char *other = strcmp(node, "n1") == 0 ? "n2" : "n1";
    if (trouble == GIVES_UP)
        fixture_update(f, object_ref(before),
                       waiting("c", "csi", "'resourceVersion':'9','annotations':{'a':'b'}"));
    else if (trouble == CLEARED)
        fixture_update(f, object_ref(before), waiting("c", "csi", "'resourceVersion':'9'"));
    else if (trouble == OTHER_NODE)
        fixture_update(f, object_ref(before),
                       waiting("c", "csi",
                               textf("'resourceVersion':'9','annotations':{"
                                     "'volume.kubernetes.io/selected-node':'%s'}",
                                     other)));
    else if (trouble == CLAIM_GONE)
        fixture_delete(f, object_ref(before));
    else if (trouble == POD_GONE)
        fixture_delete(f, POD(.spec = USES("c")));
    else if (trouble == NODE_GONE)
        fixture_delete(f, NODE(.name = node));
    else if (trouble == TIMEOUT)
        fixture_pass(f, 600 * SECOND);
    else {
        fixture_add(f, volume("new", "csi", "5Gi", "", AFFINITY("host", "n3")));
        fixture_update(f, object_ref(before),
                       claim("c",
                             textf("'resourceVersion':'9','annotations':{'volume.kubernetes.io/"
                                   "selected-node':'%s'}",
                                   node),
                             "'storageClassName':'csi','volumeName':'new'"));
    }
}

static void failures_end_the_wait(void **state)
{
    (void)state;
    static const char *const messages[N_TROUBLES] = {
        [GIVES_UP] = "provisioning failed for PVC \"c\"",
        [CLEARED] = "selectedNode annotation reset for PVC \"c\"",
        [OTHER_NODE] = "provisioning failed for PVC \"c\"",
        [CLAIM_GONE] =
            "failed to check provisioning pvc: persistentvolumeclaims \"default/c\" not found",
        [NODE_GONE] = "failed to get node \"@\": node \"@\" not found",
        [TIMEOUT] = "context deadline exceeded",
        [WRONG_PLACE] =
            "pv \"new\" node affinity doesn't match node \"@\": no matching NodeSelectorTerms",
    };
    for (enum trouble t = 0; t < N_TROUBLES; t++) {
        struct fixture f;
        const char *node;
        struct object *before = begin_provisioning(&f, &node);
        fixture_pass(&f, 599 * SECOND);
        assert_string_equal(failure(&f), "");
        make_trouble(&f, t, before, node);
        if (messages[t]) {
            struct buf wanted = BUF_INIT;
            buf_add_cstr(&wanted, "running PreBind plugin \"VolumeBinding\": binding volumes: ");
            for (const char *at = messages[t]; *at; at++)
                if (*at == '@')
                    buf_add_cstr(&wanted, node);
                else
                    buf_add_char(&wanted, *at);
            assert_string_equal(failure(&f), buf_cstr(&wanted));
            buf_release(&wanted);
        }
        assert_null(fixture_binding(&f, "p"));
        assert_int_equal(volumes_of(&f)->waits.n, 0);
        assert_int_equal(assumed(&f), 0);
        object_unref(before);
        fixture_release(&f);
    }
}

static void a_conflict_reverts_what_is_not_written(void **state)
{
    (void)state;
    struct fixture f;
    init_local(&f);
    fixture_add(&f, local("pv", "n2"));
    fixture_add(&f, waiting("c", "local", "'resourceVersion':'7'"));
    fixture_add(&f, waiting("d", "csi", "'resourceVersion':'7'"));
    ADD_POD(&f, .spec = "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c'}},{"
                        "'name':'w','persistentVolumeClaim':{'claimName':'d'}}]");
    fixture_schedule(&f);
    assert_int_equal(assumed(&f), 2);
    fixture_request_done(&f, fixture_request(&f), 409, "the object has been modified", NULL);
    assert_string_equal(failure(&f), "running PreBind plugin \"VolumeBinding\": the object has "
                                     "been modified");
    assert_int_equal(assumed(&f), 0);
    assert_null(fixture_request(&f));
    fixture_release(&f);
}

/* --- objects of hints ------------------------------------------------------------------------- */

static struct object *in_zone(const char *zone)
{
    return object_jsonf(KIND_STORAGE_CLASS,
                        "{'metadata':{'name':'s'},'allowedTopologies':[{"
                        "'matchLabelExpressions':[{'key':'zone','values':['%s']}]}]}",
                        zone);
}

static struct object *capacity(const char *size)
{
    return object_jsonf(KIND_CSI_STORAGE_CAPACITY,
                        "{'metadata':{'name':'s','namespace':'a'},'capacity':'%s'}", size);
}

static struct object *driver(const char *name, const char *tracks)
{
    return object_jsonf(KIND_CSI_DRIVER, "{'metadata':{'name':'%s'},'spec':{'storageCapacity':%s}}",
                        name, tracks);
}

static struct object *csi_node(const char *plugins)
{
    return object_jsonf(KIND_CSI_NODE,
                        "{'metadata':{'name':'n','annotations':{'storage.alpha.kubernetes.io/"
                        "migrated-plugins':'%s'}}}",
                        plugins);
}

/* --- queueing hints --------------------------------------------------------------------------- */

static enum berth_hint hint(const struct fixture *f, enum berth_resource resource,
                            struct object *before, struct object *after)
{
    return trial_hint(f, "VolumeBinding",
                      POD(.spec = "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':"
                                  "'c'}},{'name':'e','ephemeral':{'volumeClaimTemplate':{}}},{"
                                  "'name':'i','csi':{'driver':'x.io'}}]"),
                      (struct trial_change){resource,
                                            before ? BERTH_ACTION_UPDATE_OTHER : BERTH_ACTION_ADD,
                                            before, after});
}

static void hints_are_those_of_upstream(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    enum berth_resource c = BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM;
    assert_int_equal(hint(&f, c, NULL, claim("c", "", "")), BERTH_QUEUE);
    assert_int_equal(hint(&f, c, claim("c", "", ""), claim("c", "", "")), BERTH_QUEUE);
    assert_int_equal(hint(&f, c, NULL, claim("p-e", "", "")), BERTH_QUEUE);
    assert_int_equal(hint(&f, c, NULL, claim("d", "", "")), BERTH_QUEUE_SKIP);
    assert_int_equal(hint(&f, c, NULL,
                          object_jsonf(KIND_PERSISTENT_VOLUME_CLAIM,
                                       "{'metadata':{'name':'c','namespace':'other'}}")),
                     BERTH_QUEUE_SKIP);
    enum berth_resource s = BERTH_RESOURCE_STORAGE_CLASS;
    assert_int_equal(hint(&f, s, NULL, class_of("s", "x", "Immediate")), BERTH_QUEUE);
    assert_int_equal(hint(&f, s, class_of("s", "x", "Immediate"), class_of("s", "y", "Immediate")),
                     BERTH_QUEUE_SKIP);
    assert_int_equal(hint(&f, s, in_zone("a"), in_zone("b")), BERTH_QUEUE);
    enum berth_resource cap = BERTH_RESOURCE_CSI_STORAGE_CAPACITY;
    struct object *small = capacity("1Gi"), *large = capacity("2Gi");
    assert_int_equal(hint(&f, cap, NULL, object_ref(small)), BERTH_QUEUE);
    assert_int_equal(hint(&f, cap, object_ref(small), object_ref(large)), BERTH_QUEUE);
    assert_int_equal(hint(&f, cap, large, small), BERTH_QUEUE_SKIP);
    enum berth_resource d = BERTH_RESOURCE_CSI_DRIVER;
    assert_int_equal(hint(&f, d, driver("x.io", "true"), driver("x.io", "false")), BERTH_QUEUE);
    assert_int_equal(hint(&f, d, driver("y.io", "true"), driver("y.io", "false")),
                     BERTH_QUEUE_SKIP);
    enum berth_resource n = BERTH_RESOURCE_CSI_NODE;
    assert_int_equal(hint(&f, n, NULL, csi_node("")), BERTH_QUEUE);
    assert_int_equal(hint(&f, n, csi_node(""), csi_node("")), BERTH_QUEUE_SKIP);
    assert_int_equal(hint(&f, n, csi_node(""), csi_node("kubernetes.io/aws-ebs")), BERTH_QUEUE);
    assert_int_equal(hint(&f, BERTH_RESOURCE_PERSISTENT_VOLUME, NULL, local("v", "n1")),
                     BERTH_QUEUE);
    assert_false(trial_is_told(&f, "VolumeBinding", BERTH_RESOURCE_POD, BERTH_ACTION_ALL));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unusable_claims_are_told),
        cmocka_unit_test(ephemeral_volumes_belong_to_their_pod),
        cmocka_unit_test(reasons_are_those_of_upstream),
        cmocka_unit_test(provisioning_follows_topology_and_capacity),
        cmocka_unit_test(a_free_volume_is_bound),
        cmocka_unit_test(a_provisioned_claim_lets_the_pod_go),
        cmocka_unit_test(a_preemptor_ends_the_wait),
        cmocka_unit_test(failures_end_the_wait),
        cmocka_unit_test(a_conflict_reverts_what_is_not_written),
        cmocka_unit_test(hints_are_those_of_upstream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
