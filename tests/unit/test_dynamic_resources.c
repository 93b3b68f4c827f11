/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicResources from the pod's arrival to its binding: what is written, what is held. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/resource_claim.h"
#include "base/time.h"
#include "engine_fixture.h"

#define PREEMPTION \
    "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."

#define SPEC                                                                         \
    "'spec':{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'gpu'," \
    "'allocationMode':'ExactCount','count':1}}]}}"
#define ALLOCATED(device)                                                                   \
    "'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'n0','device':" \
    "'" device "'}]},'nodeSelector':{'nodeSelectorTerms':[{'matchFields':[{'key':"          \
    "'metadata.name','operator':'In','values':['n0']}]}]}}"
#define RESERVED(pod) "'reservedFor':[{'resource':'pods','name':'" pod "','uid':'" pod "'}]"
#define FINALIZER     "'finalizers':['resource.kubernetes.io/delete-protection'],"

/* A claim; meta: more members of its metadata, status: members of its status. */
static struct object *claim(const char *name, int version, const char *meta, const char *status)
{
    return object_jsonf(KIND_RESOURCE_CLAIM,
                        "{'metadata':{'namespace':'default','name':'%s','uid':'u-%s',%s"
                        "'resourceVersion':'%d'}," SPEC ",'status':{%s}}",
                        name, name, meta, version, status);
}

static void add_claim(struct fixture *f, const char *name)
{
    fixture_add(f, claim(name, 1, "", ""));
}

static void add_class(struct fixture *f)
{
    fixture_add(f, object_jsonf(KIND_DEVICE_CLASS, "{'metadata':{'name':'gpu'}}"));
}

/* A slice of the node with so many devices; more: members of each device. */
static struct object *slice(const char *node, int devices, const char *more)
{
    struct buf list = BUF_INIT;
    for (int i = 0; i < devices; i++)
        buf_add_printf(&list, "%s{'name':'dev%d'%s}", i ? "," : "", i, more);
    struct object *o = object_jsonf(
        KIND_RESOURCE_SLICE,
        "{'metadata':{'name':'s-%s'},'spec':{'driver':'d','nodeName':'%s','pool':{'name':'%s',"
        "'generation':1,'resourceSliceCount':1},'devices':[%s]}}",
        node, node, node, buf_cstr(&list));
    buf_release(&list);
    return o;
}

/* One node with so many devices, and their class. */
static void scene(struct fixture *f, int devices, const char *more)
{
    fixture_init(f, NULL, NULL);
    ADD_NODE(f, .name = "n0", .cpu = "4", .memory = "4Gi", .pods = "10");
    add_class(f);
    if (devices)
        fixture_add(f, slice("n0", devices, more));
}

#define CLAIM_OF(of)         "'resourceClaims':[{'name':'c','resourceClaimName':'" of "'}]"
#define ADD_USER(f, pod, of) ADD_POD(f, .name = (pod), .spec = CLAIM_OF(of))

static const char *message_of(struct fixture *f, const char *pod)
{
    const struct fixture_write *w = fixture_last(f, WRITE_POD_STATUS, pod);
    return w ? w->message : "";
}

/* The next request must be this one; answers it. */
static const char *expect(struct fixture *f, const char *line, int status, const char *reason,
                          struct object *answer)
{
    struct fixture_request *r = fixture_request(f);
    assert_non_null(r);
    assert_string_equal(r->line, line);
    const char *body = textf("%s", single_quotes(r->body));
    fixture_request_done(f, r, status, reason, answer);
    fixture_schedule(f);
    return body;
}

static void expect_none(struct fixture *f)
{
    const struct fixture_request *r = fixture_request(f);
    assert_string_equal(r ? r->line : "", "");
}

#define WRITE        "PATCH resourceclaims default/"
#define WRITE_STATUS "PATCH resourceclaims/status default/"

/* The two writes of an allocation, answered with success. */
static const char *allocate(struct fixture *f, const char *name, const char *device,
                            const char *pod)
{
    const char *allocation = textf("'allocation':{'devices':{'results':[{'request':'r','driver':"
                                   "'d','pool':'n0','device':'%s'}]}},'reservedFor':[{'resource':"
                                   "'pods','name':'%s','uid':'%s'}]",
                                   device, pod, pod);
    expect(f, textf(WRITE "%s", name), 200, "", claim(name, 2, FINALIZER, ""));
    const char *body =
        expect(f, textf(WRITE_STATUS "%s", name), 200, "", claim(name, 3, FINALIZER, allocation));
    fixture_add(f, NODE(.name = "unrelated", .cpu = "0"));
    fixture_delete(f, NODE(.name = "unrelated", .cpu = "0"));
    return body;
}

static void bind_all(struct fixture *f)
{
    fixture_settle(f);
}

/* --- messages --------------------------------------------------------------------------------- */

static void pods_without_claims_get_upstreams_message(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 0, "");
    ADD_POD(&f, .name = "p", .cpu = "100");
    fixture_schedule(&f);
    assert_string_equal(
        message_of(&f, "p"),
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, " PREEMPTION);
    fixture_release(&f);
}

static void missing_claims_hold_the_pod_until_they_exist(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 1, "");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    expect_none(&f);
    add_claim(&f, "c");
    fixture_schedule(&f);
    const char *body = expect(&f, WRITE "c", 200, "", claim("c", 2, FINALIZER, ""));
    assert_string_equal(body, "{'metadata':{'resourceVersion':'1','uid':'u-c','finalizers':"
                              "['resource.kubernetes.io/delete-protection']}}");
    fixture_release(&f);
}

static void a_claim_without_devices_waits_for_a_slice(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 0, "");
    add_claim(&f, "c");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    assert_string_equal(message_of(&f, "p"),
                        "0/1 nodes are available: 1 cannot allocate all claims. still not "
                        "schedulable, " PREEMPTION);
    fixture_add(&f, slice("n0", 1, ""));
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    fixture_schedule(&f);
    allocate(&f, "c", "dev0", "p");
    bind_all(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n0");
    fixture_release(&f);
}

static void a_missing_class_is_named(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "4Gi", .pods = "10");
    add_claim(&f, "c");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    assert_string_equal(message_of(&f, "p"),
                        "0/1 nodes are available: request r: device class gpu does not exist. no "
                        "new claims to deallocate, " PREEMPTION);
    fixture_release(&f);
}

/* --- writes ----------------------------------------------------------------------------------- */

static void an_allocation_is_written_then_the_pod_is_bound(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 1, "");
    add_claim(&f, "c");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    assert_null(fixture_binding(&f, "p"));
    const char *body = allocate(&f, "c", "dev0", "p");
    assert_non_null(strstr(body, "'metadata':{'resourceVersion':'2','uid':'u-c'},'status':{"));
    assert_non_null(strstr(body, "'request':'r','driver':'d','pool':'n0','device':'dev0'"));
    assert_non_null(strstr(body, "'allocationTimestamp':'"));
    assert_non_null(strstr(body, RESERVED("p")));
    assert_non_null(fixture_binding(&f, "p"));
    bind_all(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n0");
    expect_none(&f);
    fixture_release(&f);
}

/* After a failed write nothing is held: another pod gets the only device. */
static void failed_writes_hold_nothing(void **state)
{
    (void)state;
    static const struct {
        bool at_status;
        int status;
        const char *reason;
    } cases[] = {{false, 500, "broken"},
                 {true, 500, "broken"},
                 {true, 0, "no answer"},
                 {true, 422, "too many"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        scene(&f, 1, "");
        add_claim(&f, "c");
        add_claim(&f, "other");
        ADD_USER(&f, "p", "c");
        fixture_schedule(&f);
        if (cases[i].at_status)
            expect(&f, WRITE "c", 200, "", claim("c", 2, FINALIZER, ""));
        expect(&f, cases[i].at_status ? WRITE_STATUS "c" : WRITE "c", cases[i].status,
               cases[i].reason, NULL);
        assert_null(fixture_binding(&f, "p"));
        expect_none(&f);
        assert_non_null(strstr(message_of(&f, "p"), cases[i].reason));
        ADD_USER(&f, "q", "other");
        fixture_schedule(&f);
        allocate(&f, "other", "dev0", "q");
        bind_all(&f);
        assert_string_equal(fixture_node_of(&f, "q"), "n0");
        fixture_release(&f);
    }
}

static void conflicts_are_retried_with_the_latest_claim(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 1, "");
    add_claim(&f, "c");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    expect(&f, WRITE "c", 409, "Conflict", NULL);
    expect_none(&f);
    fixture_pass(&f, 10 * NSEC_PER_MSEC);
    expect(&f, "GET resourceclaims default/c", 200, "",
           claim("c", 7, "'finalizers':['example.com/x'],", ""));
    const char *body = expect(&f, WRITE "c", 200, "", claim("c", 8, FINALIZER, ""));
    assert_string_equal(body, "{'metadata':{'resourceVersion':'7','uid':'u-c','finalizers':["
                              "'example.com/x','resource.kubernetes.io/delete-protection']}}");
    for (int i = 0; i < 4; i++) {
        expect(&f, WRITE_STATUS "c", 409, "Conflict", NULL);
        fixture_pass(&f, 10 * NSEC_PER_MSEC);
        if (i < 3)
            expect(&f, "GET resourceclaims default/c", 200, "", claim("c", 9 + i, FINALIZER, ""));
    }
    expect_none(&f);
    assert_non_null(
        strstr(message_of(&f, "p"), "add allocation and reservation to claim default/c: Conflict"));
    fixture_release(&f);
}

static void changes_in_the_meantime_end_the_attempt(void **state)
{
    (void)state;
    static const struct {
        const char *meta, *status, *message;
    } cases[] = {
        {"'deletionTimestamp':'2026-01-01T00:00:00Z'," FINALIZER, "",
         "claim default/c got deleted in the meantime"},
        {FINALIZER, ALLOCATED("dev9"), "claim default/c got allocated elsewhere in the meantime"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        scene(&f, 1, "");
        add_claim(&f, "c");
        ADD_USER(&f, "p", "c");
        fixture_schedule(&f);
        expect(&f, WRITE "c", 409, "Conflict", NULL);
        fixture_pass(&f, 10 * NSEC_PER_MSEC);
        expect(&f, "GET resourceclaims default/c", 200, "",
               claim("c", 7, cases[i].meta, cases[i].status));
        expect_none(&f);
        assert_non_null(strstr(message_of(&f, "p"), cases[i].message));
        fixture_release(&f);
    }
}

/* The binding fails after the claim was reserved: the reservation is taken back. */
static void a_failed_binding_is_unreserved(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 1, "");
    add_claim(&f, "c");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    allocate(&f, "c", "dev0", "p");
    fixture_answer(&f, fixture_binding(&f, "p"), 500, "broken");
    const char *body = expect(&f, WRITE_STATUS "c", 200, "", NULL);
    assert_string_equal(body, "{'metadata':{'uid':'u-c'},'status':{'reservedFor':[{'$patch':"
                              "'delete','uid':'p'}]}}");
    expect_none(&f);
    fixture_release(&f);
}

static void a_deleted_pod_holds_nothing(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 1, "");
    add_claim(&f, "c");
    add_claim(&f, "other");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    fixture_delete(&f, POD(.name = "p", .spec = CLAIM_OF("c")));
    fixture_schedule(&f);
    expect(&f, WRITE "c", 500, "broken", NULL);
    ADD_USER(&f, "q", "other");
    fixture_schedule(&f);
    allocate(&f, "other", "dev0", "q");
    fixture_release(&f);
}

/* The status is written although the pod is gone: the devices stay taken until then. */
static void a_write_that_outlives_its_pod_is_undone(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 1, "");
    add_claim(&f, "c");
    add_claim(&f, "other");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    expect(&f, WRITE "c", 200, "", claim("c", 2, FINALIZER, ""));
    fixture_delete(&f, POD(.name = "p", .spec = CLAIM_OF("c")));
    ADD_USER(&f, "q", "other");
    fixture_schedule(&f);
    assert_non_null(strstr(message_of(&f, "q"), "1 cannot allocate all claims"));
    expect(&f, WRITE_STATUS "c", 200, "",
           claim("c", 3, FINALIZER, ALLOCATED("dev0") "," RESERVED("p")));
    struct fixture_write *binding = fixture_binding(&f, "p");
    if (binding)
        fixture_answer(&f, binding, 404, "gone");
    const char *body = expect(&f, WRITE_STATUS "c", 200, "", NULL);
    assert_non_null(strstr(body, "'$patch':'delete','uid':'p'"));
    expect_none(&f);
    fixture_release(&f);
}

/* --- groups ----------------------------------------------------------------------------------- */

#define FOR_GROUP                                                                       \
    "'reservedFor':[{'apiGroup':'scheduling.k8s.io','resource':'podgroups','name':'g'," \
    "'uid':'g-uid'}]"

static void members_share_the_claim_of_their_group(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(
        &f, NULL, "GenericWorkload=true,GangScheduling=true,DRAWorkloadResourceClaims=true");
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "4Gi", .pods = "10");
    add_class(&f);
    fixture_add(&f, slice("n0", 1, ""));
    add_claim(&f, "c");
    fixture_add(&f, object_jsonf(KIND_POD_GROUP,
                                 "{'metadata':{'namespace':'default','name':'g','uid':'g-uid'},"
                                 "'spec':{'schedulingPolicy':{'gang':{'minCount':2}},"
                                 "'resourceClaims':[{'name':'c','resourceClaimName':'c'}]}}"));
    ADD_POD(&f, .name = "a", .group = "g", .spec = CLAIM_OF("c"));
    ADD_POD(&f, .name = "b", .group = "g", .spec = CLAIM_OF("c"));
    fixture_schedule(&f);
    expect(&f, WRITE "c", 200, "", claim("c", 2, FINALIZER, ""));
    expect(&f, WRITE "c", 409, "Conflict", NULL); /* of the other member */
    const char *body = expect(&f, WRITE_STATUS "c", 200, "",
                              claim("c", 3, FINALIZER, ALLOCATED("dev0") "," FOR_GROUP));
    assert_non_null(strstr(body, FOR_GROUP));
    fixture_pass(&f, 10 * NSEC_PER_MSEC);
    expect(&f, "GET resourceclaims default/c", 200, "",
           claim("c", 3, FINALIZER, ALLOCATED("dev0") "," FOR_GROUP));
    expect_none(&f);
    bind_all(&f);
    assert_string_equal(fixture_node_of(&f, "a"), "n0");
    assert_string_equal(fixture_node_of(&f, "b"), "n0");
    fixture_release(&f);
}

/* --- shared claims ---------------------------------------------------------------------------- */

static void a_claim_in_flight_holds_other_pods(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 2, "");
    add_claim(&f, "c");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    ADD_USER(&f, "q", "c");
    fixture_schedule(&f);
    assert_string_equal(message_of(&f, "q"),
                        "0/1 nodes are available: resource claim default/c is in the process of "
                        "being allocated. no new claims to deallocate, " PREEMPTION);
    allocate(&f, "c", "dev0", "p");
    bind_all(&f);
    /* The watch shows the allocation: the other pod reserves the claim, too. */
    fixture_update(&f, claim("c", 1, "", ""),
                   claim("c", 3, FINALIZER, ALLOCATED("dev0") "," RESERVED("p")));
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    fixture_schedule(&f);
    const char *body = expect(&f, WRITE_STATUS "c", 200, "",
                              claim("c", 4, FINALIZER, ALLOCATED("dev0") "," RESERVED("p")));
    assert_non_null(strstr(body, "'reservedFor':[{'resource':'pods','name':'p','uid':'p'},"
                                 "{'resource':'pods','name':'q','uid':'q'}]"));
    assert_null(strstr(body, "'devices'"));
    bind_all(&f);
    assert_string_equal(fixture_node_of(&f, "q"), "n0");
    fixture_release(&f);
}

/* Written, but not yet shown by the watch: the device stays taken. */
static void an_assumed_claim_keeps_its_device(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 1, "");
    add_claim(&f, "c");
    add_claim(&f, "other");
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    allocate(&f, "c", "dev0", "p");
    bind_all(&f);
    ADD_USER(&f, "q", "other");
    fixture_schedule(&f);
    assert_non_null(strstr(message_of(&f, "q"), "1 cannot allocate all claims"));
    /* An older version does not free it; a newer one without allocation does. */
    fixture_update(&f, claim("c", 1, "", ""), claim("c", 2, FINALIZER, ""));
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    fixture_schedule(&f);
    expect_none(&f);
    fixture_update(&f, claim("c", 2, FINALIZER, ALLOCATED("dev0")), claim("c", 9, FINALIZER, ""));
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    fixture_schedule(&f);
    allocate(&f, "other", "dev0", "q");
    fixture_release(&f);
}

/* --- PostFilter ------------------------------------------------------------------------------- */

static void unused_claims_elsewhere_are_deallocated(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n1", .cpu = "4", .memory = "4Gi", .pods = "10");
    add_class(&f);
    fixture_add(&f, claim("c", 5, FINALIZER, ALLOCATED("dev0")));
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    assert_string_equal(message_of(&f, "p"),
                        "0/1 nodes are available: 1 resourceclaim not available on the node. "
                        "deallocation of ResourceClaim completed, " PREEMPTION);
    const char *body = expect(&f, WRITE_STATUS "c", 200, "", NULL);
    assert_string_equal(body, "{'metadata':{'resourceVersion':'5','uid':'u-c'},'status':{"
                              "'allocation':null,'reservedFor':null,'devices':null}}");
    fixture_release(&f);

    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n1", .cpu = "4", .memory = "4Gi", .pods = "10");
    fixture_add(&f, claim("c", 5, FINALIZER, ALLOCATED("dev0") "," RESERVED("other")));
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    assert_non_null(strstr(message_of(&f, "p"), " still not schedulable, "));
    expect_none(&f);
    fixture_release(&f);
}

/* --- binding conditions ----------------------------------------------------------------------- */

#define CONDITIONS ",'bindingConditions':['Ready'],'bindingFailureConditions':['Broken']"
#define CONDITIONAL                                                                \
    "'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'n0'," \
    "'device':'dev0'" CONDITIONS                                                   \
    "}]},'allocationTimestamp':'1970-01-01T00:16:40Z'}," RESERVED("p")
#define DEVICE_STATUS(type)                                                              \
    ",'devices':[{'driver':'d','pool':'n0','device':'dev0','conditions':[{'type':'" type \
    "','status':'True','reason':'R','message':'M'}]}]"

/* A pod that waits for its device. */
static void wait_for_device(struct fixture *f)
{
    scene(f, 1, CONDITIONS);
    add_claim(f, "c");
    ADD_USER(f, "p", "c");
    fixture_schedule(f);
    expect(f, WRITE "c", 200, "", claim("c", 2, FINALIZER, ""));
    const char *body = expect(f, WRITE_STATUS "c", 200, "", claim("c", 3, FINALIZER, CONDITIONAL));
    assert_non_null(strstr(body, "'bindingConditions':['Ready']"));
    const struct fixture_write *event = fixture_last(f, WRITE_EVENT, "p");
    assert_string_equal(event->reason, "BindingConditionsPending");
    assert_string_equal(event->action, "Scheduling");
    assert_string_equal(event->message, "waiting for binding conditions for device on node n0");
    assert_false(event->warning);
    assert_null(fixture_binding(f, "p"));
}

static void the_pod_is_bound_when_its_device_is_ready(void **state)
{
    (void)state;
    struct fixture f;
    wait_for_device(&f);
    fixture_pass(&f, 60 * NSEC_PER_SEC);
    assert_null(fixture_binding(&f, "p"));
    fixture_update(&f, claim("c", 1, "", ""),
                   claim("c", 4, FINALIZER, CONDITIONAL DEVICE_STATUS("Ready")));
    fixture_schedule(&f);
    assert_non_null(fixture_binding(&f, "p"));
    bind_all(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n0");
    assert_true(fixture_metric(&f, "scheduler_dra_bindingconditions_allocations_total{driver='d',"
                                   "profile='default-scheduler',status='success'}") == 1);
    fixture_release(&f);
}

static void a_broken_device_ends_the_attempt(void **state)
{
    (void)state;
    struct fixture f;
    wait_for_device(&f);
    fixture_update(&f, claim("c", 1, "", ""),
                   claim("c", 4, FINALIZER, CONDITIONAL DEVICE_STATUS("Broken")));
    fixture_schedule(&f);
    assert_null(fixture_binding(&f, "p"));
    assert_non_null(
        strstr(message_of(&f, "p"), "device binding failed: claim=c, reason=R, message=\"M\""));
    expect(&f, WRITE_STATUS "c", 200, "", NULL); /* unreserved */
    /* The next attempt deallocates the claim. */
    fixture_update(&f, claim("c", 4, FINALIZER, CONDITIONAL DEVICE_STATUS("Broken")),
                   claim("c", 5, FINALIZER, ALLOCATED("x")));
    fixture_release(&f);
}

static void a_device_that_is_never_ready_times_out(void **state)
{
    (void)state;
    struct fixture f;
    wait_for_device(&f);
    for (int i = 0; i < 130 && !strstr(message_of(&f, "p"), "timeout"); i++)
        fixture_pass(&f, 5 * NSEC_PER_SEC);
    fixture_schedule(&f);
    assert_non_null(strstr(message_of(&f, "p"), "device binding timeout: claim=c"));
    assert_null(fixture_binding(&f, "p"));
    expect(&f, WRITE_STATUS "c", 200, "", NULL);
    fixture_release(&f);
}

/* --- extended resources ----------------------------------------------------------------------- */

#define GPU_POD                                                                           \
    "'containers':[{'name':'a','resources':{'requests':{'example.com/gpu':'2'}}},"        \
    "{'name':'b','resources':{'requests':{'cpu':'1','deviceclass.resource.kubernetes.io/" \
    "gpu':'1'}}}]"

static struct object *extended_claim(int version, const char *meta, const char *status)
{
    return object_jsonf(
        KIND_RESOURCE_CLAIM,
        "{'metadata':{'namespace':'default','name':'p-extended-resources-x','uid':'u-x',%s"
        "'annotations':{'resource.kubernetes.io/extended-resource-claim':'true'},"
        "'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p','uid':'p','controller':"
        "true}],'resourceVersion':'%d'},'spec':{'devices':{'requests':[{'name':'r','exactly':{"
        "'deviceClassName':'gpu'}}]}},'status':{%s}}",
        meta, version, status);
}

static void extended_scene(struct fixture *f, int devices)
{
    fixture_init(f, NULL, NULL);
    ADD_NODE(f, .name = "n0", .cpu = "4", .memory = "4Gi", .pods = "10");
    fixture_add(f, object_jsonf(KIND_DEVICE_CLASS, "{'metadata':{'name':'gpu'},'spec':{"
                                                   "'extendedResourceName':'example.com/gpu'}}"));
    fixture_add(f, slice("n0", devices, ""));
}

#define EXTENDED "p-extended-resources-x"

static void extended_resources_get_a_claim(void **state)
{
    (void)state;
    struct fixture f;
    extended_scene(&f, 3);
    ADD_POD(&f, .name = "p", .spec = GPU_POD);
    fixture_schedule(&f);
    const char *body =
        expect(&f, "CREATE resourceclaims default/", 201, "", extended_claim(5, "", ""));
    assert_string_equal(
        body, "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaim','metadata':{'generateName'"
              ":'p-extended-resources-','namespace':'default','annotations':{'resource.kubernetes."
              "io/extended-resource-claim':'true'},'ownerReferences':[{'apiVersion':'v1','kind':"
              "'Pod','name':'p','uid':'p','controller':true}]},'spec':{'devices':{'requests':["
              "{'name':'container-0-request-0','exactly':{'deviceClassName':'gpu','allocationMode':"
              "'ExactCount','count':2}},{'name':'container-1-request-1','exactly':{"
              "'deviceClassName':'gpu','allocationMode':'ExactCount','count':1}}]}}}");
    expect(&f, WRITE EXTENDED, 200, "", extended_claim(6, FINALIZER, ""));
    body = expect(&f, WRITE_STATUS EXTENDED, 200, "",
                  extended_claim(7, FINALIZER, ALLOCATED("dev0") "," RESERVED("p")));
    assert_non_null(strstr(body, "'device':'dev2'"));
    body = expect(&f, "PATCH pods/status default/p", 200, "", NULL);
    assert_string_equal(
        body, "{'status':{'extendedResourceClaimStatus':{'requestMappings':[{'containerName':'b',"
              "'resourceName':'deviceclass.resource.kubernetes.io/gpu','requestName':"
              "'container-1-request-1'},{'containerName':'a','resourceName':'example.com/gpu',"
              "'requestName':'container-0-request-0'}],'resourceClaimName':'" EXTENDED "'}}}");
    /* The pod waits until the watch shows the claim. */
    assert_null(fixture_binding(&f, "p"));
    fixture_add(&f, extended_claim(5, "", ""));
    fixture_schedule(&f);
    assert_non_null(fixture_binding(&f, "p"));
    assert_true(fixture_metric(&f, "scheduler_resourceclaim_creates_total{status='success'}") == 1);
    /* The binding fails: the claim is removed. */
    fixture_answer(&f, fixture_binding(&f, "p"), 500, "broken");
    expect(&f, WRITE EXTENDED, 200, "", extended_claim(8, "", ""));
    expect(&f, "DELETE resourceclaims default/" EXTENDED, 200, "", NULL);
    expect_none(&f);
    fixture_release(&f);
}

static void nodes_with_a_device_plugin_need_no_claim(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    fixture_add(&f, object_jsonf(KIND_DEVICE_CLASS, "{'metadata':{'name':'gpu'},'spec':{"
                                                    "'extendedResourceName':'example.com/gpu'}}"));
    fixture_add(&f, object_jsonf(KIND_NODE, "{'metadata':{'name':'n0'},'status':{'allocatable':{"
                                            "'cpu':'4','pods':'10','example.com/gpu':'2'}}}"));
    ADD_POD(&f, .name = "p", .requests = "example.com/gpu=2");
    fixture_schedule(&f);
    expect_none(&f);
    bind_all(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n0");
    ADD_POD(&f, .name = "q", .requests = "example.com/gpu=2");
    fixture_schedule(&f);
    assert_non_null(strstr(message_of(&f, "q"), "1 Insufficient example.com/gpu"));
    fixture_release(&f);
}

/* A claim of an attempt that died is deleted before the pod is tried again. */
static void a_stale_extended_claim_is_deleted(void **state)
{
    (void)state;
    struct fixture f;
    extended_scene(&f, 3);
    fixture_add(&f, extended_claim(5, FINALIZER, ""));
    ADD_POD(&f, .name = "p", .spec = GPU_POD);
    fixture_schedule(&f);
    assert_non_null(strstr(message_of(&f, "p"), "1 cannot schedule extended resource claim. "
                                                "deletion of ResourceClaim completed, "));
    expect(&f, WRITE EXTENDED, 409, "Conflict", NULL);
    fixture_pass(&f, 10 * NSEC_PER_MSEC);
    expect(&f, "GET resourceclaims default/" EXTENDED, 200, "", extended_claim(6, FINALIZER, ""));
    expect(&f, WRITE EXTENDED, 200, "", extended_claim(7, "", ""));
    expect(&f, "DELETE resourceclaims default/" EXTENDED, 200, "", NULL);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_without_claims_get_upstreams_message),
        cmocka_unit_test(missing_claims_hold_the_pod_until_they_exist),
        cmocka_unit_test(a_claim_without_devices_waits_for_a_slice),
        cmocka_unit_test(a_missing_class_is_named),
        cmocka_unit_test(an_allocation_is_written_then_the_pod_is_bound),
        cmocka_unit_test(failed_writes_hold_nothing),
        cmocka_unit_test(conflicts_are_retried_with_the_latest_claim),
        cmocka_unit_test(changes_in_the_meantime_end_the_attempt),
        cmocka_unit_test(a_failed_binding_is_unreserved),
        cmocka_unit_test(a_deleted_pod_holds_nothing),
        cmocka_unit_test(a_write_that_outlives_its_pod_is_undone),
        cmocka_unit_test(members_share_the_claim_of_their_group),
        cmocka_unit_test(a_claim_in_flight_holds_other_pods),
        cmocka_unit_test(an_assumed_claim_keeps_its_device),
        cmocka_unit_test(unused_claims_elsewhere_are_deallocated),
        cmocka_unit_test(the_pod_is_bound_when_its_device_is_ready),
        cmocka_unit_test(a_broken_device_ends_the_attempt),
        cmocka_unit_test(a_device_that_is_never_ready_times_out),
        cmocka_unit_test(extended_resources_get_a_claim),
        cmocka_unit_test(nodes_with_a_device_plugin_need_no_claim),
        cmocka_unit_test(a_stale_extended_claim_is_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
