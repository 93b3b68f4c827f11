/* SPDX-License-Identifier: Apache-2.0 */
/* The controllers of volumes and devices, on the simulated API server. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/persistent_volume.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/storage.h"
#include "apiserver/controllers/controllers.h"
#include "base/rand.h"
#include "base/time.h"
#include "base/vec.h"
#include "objects.h"
#include "prop.h"
#include "sim/sim_api.h"

/* --- a world with an API server and the controllers ------------------------------------------- */

struct pending {
    uint64_t id;
    struct sim_request request;
    struct arena arena;
};

struct world {
    struct sim_api api;
    struct controllers *controllers;
    VEC(struct pending *) writes;
    int64_t now;
    size_t n_writes;
    size_t n_conflicts;
    struct rand *faults; /* NULL: none. Else some writes fail, and answers may come early */
};

static void on_changed(void *ctx, struct object *before, struct object *after)
{
    controllers_object_changed(((struct world *)ctx)->controllers, before, after);
}

static void on_write(void *ctx, const struct controllers_write *w)
{
    static const enum sim_verb verbs[] = {SIM_CREATE, SIM_PATCH_MERGE, SIM_DELETE};
    struct pending *p = xnew(struct pending);
    arena_init(&p->arena, 0);
    p->id = w->id;
    p->request = (struct sim_request){
        .verb = verbs[w->verb],
        .kind = w->kind,
        .subresource = arena_dup(&p->arena, w->subresource),
        .namespace = arena_dup(&p->arena, w->namespace),
        .name = arena_dup(&p->arena, w->name),
        .body = arena_dup(&p->arena, w->body),
    };
    vec_push(&((struct world *)ctx)->writes, p);
}

static void setup_world(struct world *w, const struct provisioner_options *provisioner)
{
    struct controllers_options options = {.ctx = w, .write = on_write};
    if (provisioner)
        options.provisioner = *provisioner;
    *w = (struct world){.now = NSEC_PER_SEC};
    sim_api_init(&w->api, on_changed, w);
    w->controllers = controllers_new(&options);
}

static void free_pending(struct pending *p)
{
    arena_release(&p->arena);
    free(p);
}

static void end_world(struct world *w)
{
    controllers_free(w->controllers);
    sim_api_release(&w->api);
    while (w->writes.n)
        free_pending(vec_pop(&w->writes));
    vec_release(&w->writes);
}

static void serve_first(struct world *w)
{
    struct pending *p = w->writes.v[0];
    struct sim_reply reply = {.status = 500};
    vec_remove(&w->writes, 0);
    if (!w->faults || rand_below(w->faults, 5) != 0)
        sim_api_serve(&w->api, &p->request, &reply);
    /* The change may be seen before the answer arrives, and be acted upon. */
    if (w->faults && rand_below(w->faults, 2) == 0)
        controllers_run(w->controllers, w->now);
    w->n_writes++;
    w->n_conflicts += reply.status == 409;
    controllers_write_done(w->controllers, p->id, reply.status, w->now);
    object_unref(reply.object);
    free_pending(p);
}

/* Runs until nothing is left to do before `until`. */
static void run_until(struct world *w, int64_t until)
{
    for (size_t steps = 0; steps < 100000; steps++) {
        controllers_run(w->controllers, w->now);
        if (w->writes.n) {
            serve_first(w);
            continue;
        }
        int64_t next = controllers_next(w->controllers);
        if (next > until)
            return;
        w->now = MAX(w->now, next);
    }
    fail_msg("the controllers do not come to rest");
}

static void run(struct world *w)
{
    run_until(w, w->now + 1000 * NSEC_PER_SEC);
}

static void put(struct world *w, struct object *o)
{
    sim_api_put(&w->api, o);
    object_unref(o);
}

static void request(struct world *w, enum sim_verb verb, const char *kind, const char *name,
                    const char *body)
{
    struct sim_reply reply;
    struct sim_request r = {.verb = verb,
                            .kind = kind_find(STR("v1"), str_of(kind)),
                            .subresource = STR(""),
                            .name = str_of(name),
                            .body = json_quotes_str(body)};
    if (!r.kind)
        r.kind = kind_find(STR("resource.k8s.io/v1"), str_of(kind));
    if (r.kind->namespaced)
        r.namespace = STR("default");
    sim_api_serve(&w->api, &r, &reply);
    assert_in_range(reply.status, 200, 299);
    object_unref(reply.object);
}

static const struct persistent_volume_claim *claim(struct world *w, const char *name)
{
    struct object *o =
        sim_api_get(&w->api, kind_get(KIND_PERSISTENT_VOLUME_CLAIM), STR("default"), str_of(name));
    return o ? object_persistent_volume_claim(o) : NULL;
}

static const struct persistent_volume *volume(struct world *w, const char *name)
{
    struct object *o =
        sim_api_get(&w->api, kind_get(KIND_PERSISTENT_VOLUME), STR(""), str_of(name));
    return o ? object_persistent_volume(o) : NULL;
}

static const struct pod *pod(struct world *w, const char *name)
{
    struct object *o = sim_api_get(&w->api, kind_get(KIND_POD), STR("default"), str_of(name));
    return o ? object_pod(o) : NULL;
}

static void assert_str(struct str s, const char *text)
{
    assert_string_equal(textf("%.*s", STR_ARG(s)), text);
}

static void add_claim(struct world *w, const char *name, const char *size, const char *class,
                      const char *more)
{
    put(w, object_jsonf(KIND_PERSISTENT_VOLUME_CLAIM,
                        "{'metadata':{'name':'%s','namespace':'default','uid':'uid-%s',"
                        "'resourceVersion':'1'},'spec':{'accessModes':['ReadWriteOnce'],"
                        "'resources':{'requests':{'storage':'%s'}},'storageClassName':'%s'%s}}",
                        name, name, size, class, more));
}

static void add_volume(struct world *w, const char *name, const char *size, const char *class,
                       const char *more)
{
    put(w, object_jsonf(KIND_PERSISTENT_VOLUME,
                        "{'metadata':{'name':'%s','uid':'uid-%s','resourceVersion':'1'},"
                        "'spec':{'capacity':{'storage':'%s'},'accessModes':['ReadWriteOnce'],"
                        "'storageClassName':'%s'%s}}",
                        name, name, size, class, more));
}

static void add_class(struct world *w, const char *name, const char *mode, const char *provisioner)
{
    put(w, object_jsonf(KIND_STORAGE_CLASS,
                        "{'metadata':{'name':'%s','uid':'uid-%s'},'volumeBindingMode':'%s',"
                        "'provisioner':'%s'}",
                        name, name, mode, provisioner));
}

#define WAIT      VOLUME_BINDING_WAIT_FOR_FIRST_CONSUMER
#define IMMEDIATE VOLUME_BINDING_IMMEDIATE

static bool bound_to(struct world *w, const char *name, const char *volume_name)
{
    const struct persistent_volume_claim *c = claim(w, name);
    const struct persistent_volume *v = volume(w, volume_name);
    return c && v && str_is(c->spec.volume_name, volume_name) && str_is(c->status.phase, "Bound") &&
           str_map_get(&c->metadata.annotations, STR(ANN_BIND_COMPLETED)) &&
           str_is(v->status.phase, "Bound") && v->spec.claim_ref &&
           str_eq(v->spec.claim_ref->uid, c->metadata.uid);
}

/* --- binding ---------------------------------------------------------------------------------- */

static void test_immediate(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    add_class(&w, "slow", IMMEDIATE, NO_PROVISIONER);
    add_volume(&w, "big", "10Gi", "slow", "");
    add_volume(&w, "small", "5Gi", "slow", "");
    add_volume(&w, "tiny", "1Gi", "slow", "");
    add_volume(&w, "other", "5Gi", "fast", "");
    add_claim(&w, "a", "4Gi", "slow", "");
    run(&w);
    assert_true(bound_to(&w, "a", "small"));
    assert_true(str_map_get(&volume(&w, "small")->metadata.annotations,
                            STR(ANN_BOUND_BY_CONTROLLER)) != NULL);
    assert_str(volume(&w, "big")->status.phase, "Available");
    add_claim(&w, "b", "4Gi", "slow", "");
    add_claim(&w, "c", "4Gi", "slow", "");
    run(&w);
    assert_true(bound_to(&w, "b", "big"));
    assert_str(claim(&w, "c")->status.phase, "Pending");
    add_volume(&w, "late", "4Gi", "slow", "");
    run(&w);
    assert_true(bound_to(&w, "c", "late"));
    assert_int_equal(w.n_conflicts, 0);
    end_world(&w);
}

static void test_mismatches(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    add_volume(&w, "block", "5Gi", "", ",'volumeMode':'Block'");
    add_volume(&w, "leaving", "5Gi", "", "");
    add_volume(&w, "reserved", "5Gi", "", ",'claimRef':{'namespace':'default','name':'z'}");
    add_volume(&w, "attributes", "5Gi", "", ",'volumeAttributesClassName':'gold'");
    request(&w, SIM_PATCH_MERGE, "PersistentVolume", "leaving",
            "{'metadata':{'deletionTimestamp':'2026-01-01T00:00:00Z','finalizers':['x']}}");
    add_claim(&w, "a", "1Gi", "", "");
    add_claim(&w, "labels", "1Gi", "", ",'selector':{'matchLabels':{'a':'b'}}");
    run(&w);
    assert_str(claim(&w, "a")->status.phase, "Pending");
    assert_str(claim(&w, "labels")->status.phase, "Pending");
    request(&w, SIM_PATCH_MERGE, "PersistentVolume", "attributes",
            "{'metadata':{'labels':{'a':'b'}},'spec':{'volumeAttributesClassName':null}}");
    request(&w, SIM_PATCH_MERGE, "PersistentVolumeClaim", "a", "{'spec':{'volumeName':'block'}}");
    run(&w);
    assert_true(bound_to(&w, "labels", "attributes") || bound_to(&w, "a", "attributes"));
    assert_str(claim(&w, "a")->status.phase, "Pending");
    end_world(&w);
}

/* A claim of a waiting class is bound when the scheduler has set the volume's claimRef. */
static void test_waiting(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    add_class(&w, "local", WAIT, NO_PROVISIONER);
    add_volume(&w, "v", "5Gi", "local", "");
    add_claim(&w, "a", "4Gi", "local", "");
    run(&w);
    assert_str(claim(&w, "a")->status.phase, "Pending");
    request(&w, SIM_PATCH_MERGE, "PersistentVolume", "v",
            "{'spec':{'claimRef':{'kind':'PersistentVolumeClaim','namespace':'default',"
            "'name':'a','uid':'uid-a'}},'metadata':{'annotations':{"
            "'pv.kubernetes.io/bound-by-controller':'yes'}}}");
    run(&w);
    assert_true(bound_to(&w, "a", "v"));
    end_world(&w);
}

static void test_requested(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    add_claim(&w, "a", "4Gi", "", ",'volumeName':'v'");
    run(&w);
    assert_str(claim(&w, "a")->status.phase, "Pending");
    add_volume(&w, "v", "5Gi", "", "");
    run(&w);
    assert_true(bound_to(&w, "a", "v"));
    assert_null(str_map_get(&claim(&w, "a")->metadata.annotations, STR(ANN_BOUND_BY_CONTROLLER)));
    end_world(&w);
}

static void test_lost_and_released(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    add_volume(&w, "v", "5Gi", "", "");
    add_claim(&w, "a", "4Gi", "", "");
    add_volume(&w, "kept", "5Gi", "x", "");
    add_claim(&w, "b", "4Gi", "x", "");
    add_volume(&w, "dropped", "5Gi", "y", ",'persistentVolumeReclaimPolicy':'Delete'");
    add_claim(&w, "c", "4Gi", "y", "");
    run(&w);
    assert_true(bound_to(&w, "a", "v") && bound_to(&w, "b", "kept") &&
                bound_to(&w, "c", "dropped"));
    request(&w, SIM_DELETE, "PersistentVolume", "v", "");
    request(&w, SIM_DELETE, "PersistentVolumeClaim", "b", "");
    request(&w, SIM_DELETE, "PersistentVolumeClaim", "c", "");
    run(&w);
    assert_str(claim(&w, "a")->status.phase, "Lost");
    assert_str(volume(&w, "kept")->status.phase, "Released");
    assert_null(volume(&w, "dropped"));
    end_world(&w);
}

/* Protection: a claim that a pod on a node uses stays until the pod is gone. */
static void test_protection(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    add_claim(&w, "a", "4Gi", "", "");
    request(&w, SIM_PATCH_MERGE, "PersistentVolumeClaim", "a",
            "{'metadata':{'finalizers':['kubernetes.io/pvc-protection','other']}}");
    put(&w, POD(.name = "p", .node = "n",
                .spec = "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'a'}}]"));
    request(&w, SIM_DELETE, "PersistentVolumeClaim", "a", "");
    run(&w);
    assert_int_equal(claim(&w, "a")->metadata.finalizers.n, 2);
    request(&w, SIM_DELETE, "Pod", "p", "");
    run(&w);
    assert_int_equal(claim(&w, "a")->metadata.finalizers.n, 1);
    request(&w, SIM_PATCH_MERGE, "PersistentVolumeClaim", "a", "{'metadata':{'finalizers':[]}}");
    assert_null(claim(&w, "a"));
    end_world(&w);
}

static void test_default_class(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    put(&w, object_jsonf(KIND_PERSISTENT_VOLUME_CLAIM,
                         "{'metadata':{'name':'a','namespace':'default','uid':'u'},'spec':{}}"));
    run(&w);
    assert_null(claim(&w, "a")->spec.storage_class_name);
    put(&w, object_jsonf(KIND_STORAGE_CLASS,
                         "{'metadata':{'name':'usual','annotations':{"
                         "'storageclass.kubernetes.io/is-default-class':'true'}},"
                         "'volumeBindingMode':'WaitForFirstConsumer','provisioner':'x'}"));
    run(&w);
    assert_str(*claim(&w, "a")->spec.storage_class_name, "usual");
    end_world(&w);
}

/* --- provisioning ----------------------------------------------------------------------------- */

static void select_node(struct world *w, const char *name, const char *node)
{
    request(w, SIM_PATCH_MERGE, "PersistentVolumeClaim", name,
            textf("{'metadata':{'annotations':{'" ANN_SELECTED_NODE "':'%s'}}}", node));
}

static const struct node_selector_requirement *affinity_of(struct world *w, const char *name)
{
    const struct volume_node_affinity *a = volume(w, name)->spec.node_affinity;
    return a ? &a->required->node_selector_terms.v[0].match_expressions.v[0] : NULL;
}

static void test_provision(void **state)
{
    (void)state;
    struct world w;
    struct provisioner_options options = {.enabled = true, .delay = 3 * NSEC_PER_SEC};
    setup_world(&w, &options);
    add_class(&w, "csi", WAIT, "csi.example");
    put(&w, NODE(.name = "n1", .labels = "zone=a"));
    put(&w, object_jsonf(KIND_CSI_NODE, "{'metadata':{'name':'n1'},'spec':{'drivers':["
                                        "{'name':'csi.example','topologyKeys':['zone']}]}}"));
    add_claim(&w, "a", "4Gi", "csi", "");
    run(&w);
    assert_str(claim(&w, "a")->status.phase, "Pending");
    select_node(&w, "a", "n1");
    int64_t began = w.now;
    run_until(&w, w.now + 2 * NSEC_PER_SEC);
    assert_null(volume(&w, "pvc-uid-a"));
    run(&w);
    assert_true(bound_to(&w, "a", "pvc-uid-a"));
    assert_in_range(w.now - began, 3 * NSEC_PER_SEC, 4 * NSEC_PER_SEC);
    assert_str(affinity_of(&w, "pvc-uid-a")->key, "zone");
    assert_str(affinity_of(&w, "pvc-uid-a")->values.v[0], "a");
    assert_str(volume(&w, "pvc-uid-a")->spec.source.csi->driver, "csi.example");
    end_world(&w);
}

static void test_provision_immediate(void **state)
{
    (void)state;
    struct world w;
    struct provisioner_options options = {.enabled = true};
    setup_world(&w, &options);
    put(&w, object_jsonf(KIND_STORAGE_CLASS,
                         "{'metadata':{'name':'csi'},'provisioner':'x','allowedTopologies':["
                         "{'matchLabelExpressions':[{'key':'zone','values':['b','c']}]}]}"));
    add_claim(&w, "a", "4Gi", "csi", "");
    run(&w);
    assert_true(bound_to(&w, "a", "pvc-uid-a"));
    assert_int_equal(affinity_of(&w, "pvc-uid-a")->values.n, 2);
    end_world(&w);
}

static void test_provision_fails(void **state)
{
    (void)state;
    struct world w;
    const struct str failing[] = {STR("n1")};
    struct provisioner_options options = {.enabled = true,
                                          .failing_nodes = failing,
                                          .n_failing_nodes = 1,
                                          .topology_key = STR("kubernetes.io/hostname")};
    setup_world(&w, &options);
    add_class(&w, "csi", WAIT, "csi.example");
    put(&w, NODE(.name = "n2", .labels = "kubernetes.io/hostname=n2"));
    add_claim(&w, "a", "4Gi", "csi", "");
    select_node(&w, "a", "n1");
    run(&w);
    assert_null(volume(&w, "pvc-uid-a"));
    assert_null(str_map_get(&claim(&w, "a")->metadata.annotations, STR(ANN_SELECTED_NODE)));
    select_node(&w, "a", "n2");
    run(&w);
    assert_true(bound_to(&w, "a", "pvc-uid-a"));
    assert_str(affinity_of(&w, "pvc-uid-a")->values.v[0], "n2");
    end_world(&w);
}

static void test_provision_silent(void **state)
{
    (void)state;
    struct world w;
    struct provisioner_options options = {.enabled = true, .silent = true};
    setup_world(&w, &options);
    add_class(&w, "csi", WAIT, "csi.example");
    add_claim(&w, "a", "4Gi", "csi", "");
    select_node(&w, "a", "n1");
    run(&w);
    assert_str(*str_map_get(&claim(&w, "a")->metadata.annotations, STR(ANN_STORAGE_PROVISIONER)),
               "csi.example");
    assert_str(claim(&w, "a")->status.phase, "Pending");
    end_world(&w);
}

/* --- ephemeral volumes ------------------------------------------------------------------------ */

static void test_ephemeral(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    put(&w, POD(.name = "p", .meta = "'uid':'pod-1'",
                .spec = "'volumes':[{'name':'data','ephemeral':{'volumeClaimTemplate':{"
                        "'metadata':{'labels':{'a':'b'}},'spec':{'storageClassName':'fast',"
                        "'resources':{'requests':{'storage':'1Gi'}}}}}}]"));
    run(&w);
    const struct persistent_volume_claim *c = claim(&w, "p-data");
    assert_non_null(c);
    assert_str(object_meta_controller(&c->metadata)->uid, "pod-1");
    assert_str(*str_map_get(&c->metadata.labels, STR("a")), "b");
    assert_str(*c->spec.storage_class_name, "fast");
    request(&w, SIM_DELETE, "Pod", "p", "");
    run(&w);
    assert_null(claim(&w, "p-data"));
    end_world(&w);
}

/* --- devices ---------------------------------------------------------------------------------- */

#define GPU_POD "'resourceClaims':[{'name':'gpu','resourceClaimTemplateName':'t'}]"

static const struct resource_claim *device_claim(struct world *w, struct str name)
{
    struct object *o = sim_api_get(&w->api, kind_get(KIND_RESOURCE_CLAIM), STR("default"), name);
    return o ? object_resource_claim(o) : NULL;
}

static void add_template(struct world *w)
{
    put(w, object_jsonf(KIND_RESOURCE_CLAIM_TEMPLATE,
                        "{'metadata':{'name':'t','namespace':'default'},'spec':{'metadata':"
                        "{'labels':{'a':'b'},'annotations':{'z':'1'}},'spec':{'devices':"
                        "{'requests':[{'name':'r','exactly':{'deviceClassName':'gpu'}}]}}}}"));
}

static void allocate(struct world *w, struct str name, const char *pod_name)
{
    request(w, SIM_PATCH_MERGE, "ResourceClaim", textf("%.*s", STR_ARG(name)),
            "{'metadata':{'finalizers':['" RESOURCE_CLAIM_FINALIZER "']}}");
    struct sim_reply reply;
    struct sim_request r = {
        .verb = SIM_PATCH_MERGE,
        .kind = kind_get(KIND_RESOURCE_CLAIM),
        .subresource = STR("status"),
        .namespace = STR("default"),
        .name = name,
        .body = json_quotes_str(textf("{'status':{'allocation':{'devices':{}},'reservedFor':[{"
                                      "'resource':'pods','name':'%s','uid':'uid-%s'}]}}",
                                      pod_name, pod_name))};
    sim_api_serve(&w->api, &r, &reply);
    assert_int_equal(reply.status, 200);
    object_unref(reply.object);
}

static void test_templates(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    put(&w, POD(.name = "p", .meta = "'uid':'uid-p'", .spec = GPU_POD));
    run(&w);
    assert_int_equal(pod(&w, "p")->status.resource_claim_statuses.n, 0);
    add_template(&w);
    run(&w);
    assert_int_equal(pod(&w, "p")->status.resource_claim_statuses.n, 1);
    struct str name = pod(&w, "p")->status.resource_claim_statuses.v[0].resource_claim_name;
    const struct resource_claim *c = device_claim(&w, name);
    assert_non_null(c);
    assert_true(str_starts(name, STR("p-gpu-")));
    assert_str(*str_map_get(&c->metadata.annotations, STR(ANN_POD_CLAIM_NAME)), "gpu");
    assert_str(*str_map_get(&c->metadata.annotations, STR("z")), "1");
    assert_str(c->spec.devices.requests.v[0].exactly->device_class_name, "gpu");
    /* One that is deleted is made again. */
    char copy[64];
    snprintf(copy, sizeof(copy), "%.*s", STR_ARG(name));
    request(&w, SIM_DELETE, "ResourceClaim", copy, "");
    run(&w);
    assert_non_null(device_claim(&w, str_of(copy)));
    allocate(&w, str_of(copy), "p");
    run(&w);
    assert_non_null(device_claim(&w, str_of(copy))->status.allocation);
    /* The pod has ended: it is released and deleted. */
    request(&w, SIM_DELETE, "Pod", "p", "");
    run(&w);
    assert_null(device_claim(&w, str_of(copy)));
    end_world(&w);
}

static void test_shared_claim(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, NULL);
    put(&w, object_jsonf(KIND_RESOURCE_CLAIM,
                         "{'metadata':{'name':'c','namespace':'default','uid':'u'}}"));
    for (int i = 0; i < 2; i++)
        put(&w, POD(.name = textf("p%d", i), .meta = textf("'uid':'uid-p%d'", i),
                    .spec = "'resourceClaims':[{'name':'gpu','resourceClaimName':'c'}]"));
    allocate(&w, STR("c"), "p0");
    struct sim_reply reply;
    struct sim_request r = {.verb = SIM_PATCH_STRATEGIC,
                            .kind = kind_get(KIND_RESOURCE_CLAIM),
                            .subresource = STR("status"),
                            .namespace = STR("default"),
                            .name = STR("c"),
                            .body = json_quotes_str("{'status':{'reservedFor':[{'resource':'pods',"
                                                    "'name':'p1','uid':'uid-p1'}]}}")};
    sim_api_serve(&w.api, &r, &reply);
    object_unref(reply.object);
    run(&w);
    assert_int_equal(device_claim(&w, STR("c"))->status.reserved_for.n, 2);
    request(&w, SIM_DELETE, "Pod", "p0", "");
    run(&w);
    assert_int_equal(device_claim(&w, STR("c"))->status.reserved_for.n, 1);
    assert_str(device_claim(&w, STR("c"))->status.reserved_for.v[0].name, "p1");
    assert_non_null(device_claim(&w, STR("c"))->status.allocation);
    request(&w, SIM_DELETE, "Pod", "p1", "");
    run(&w);
    assert_null(device_claim(&w, STR("c"))->status.allocation);
    assert_int_equal(device_claim(&w, STR("c"))->status.reserved_for.n, 0);
    end_world(&w);
}

/* --- any order, with failures ----------------------------------------------------------------- */

/*
 * Claims and volumes in random order, with writes that fail: in the end every claim that can be
 * bound is, each volume has at most one claim, and both sides agree.
 */
static bool binds_all(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct world w;
    struct provisioner_options options = {.enabled = true};
    size_t n = 1 + size % 20, n_claims = 0, n_volumes = 0;
    bool ok = true;
    setup_world(&w, &options);
    w.faults = r;
    add_class(&w, "static", IMMEDIATE, NO_PROVISIONER);
    add_class(&w, "csi", IMMEDIATE, "x");
    while (n_claims < n || n_volumes < n) {
        if (n_claims < n && (rand_below(r, 2) == 0)) {
            add_claim(&w, textf("c%zu", n_claims), "1Gi", "static", "");
            add_claim(&w, textf("d%zu", n_claims), "1Gi", "csi", "");
            n_claims++;
        } else if (n_volumes < n) {
            add_volume(&w, textf("v%zu", n_volumes), (rand_below(r, 2) == 0) ? "1Gi" : "2Gi",
                       "static", "");
            n_volumes++;
        }
        if (rand_below(r, 3) == 0)
            run_until(&w, w.now + NSEC_PER_MSEC);
    }
    run(&w);
    w.faults = NULL;
    run(&w);
    for (size_t i = 0; i < n && ok; i++) {
        const struct persistent_volume_claim *c = claim(&w, textf("c%zu", i));
        ok = bound_to(&w, textf("c%zu", i), textf("%.*s", STR_ARG(c->spec.volume_name))) &&
             bound_to(&w, textf("d%zu", i), textf("pvc-uid-d%zu", i));
    }
    end_world(&w);
    return ok;
}

static void test_properties(void **state)
{
    (void)state;
    assert_true(prop_run("claims are bound", 200, binds_all, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_immediate),
        cmocka_unit_test(test_mismatches),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_requested),
        cmocka_unit_test(test_lost_and_released),
        cmocka_unit_test(test_protection),
        cmocka_unit_test(test_default_class),
        cmocka_unit_test(test_provision),
        cmocka_unit_test(test_provision_immediate),
        cmocka_unit_test(test_provision_fails),
        cmocka_unit_test(test_provision_silent),
        cmocka_unit_test(test_ephemeral),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_shared_claim),
        cmocka_unit_test(test_properties),
    };
    return cmocka_run_group_tests_name("controllers", tests, NULL, NULL);
}
