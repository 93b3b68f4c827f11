/* SPDX-License-Identifier: Apache-2.0 */
/* DRANodeAllocatableResources: devices that take cpu and memory of their node. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine_fixture.h"

#define GATES "DRANodeAllocatableResources=true"

static struct object *claim(const char *name, int version, const char *status)
{
    return object_jsonf(
        KIND_RESOURCE_CLAIM,
        "{'metadata':{'namespace':'default','name':'%s','uid':'u-%s','resourceVersion':'%d',"
        "'finalizers':['resource.kubernetes.io/delete-protection']},'spec':{'devices':{'requests':"
        "[{'name':'r','exactly':{'deviceClassName':'x','allocationMode':'ExactCount','count':1}}]}}"
        ",'status':{%s}}",
        name, name, version, status);
}

/* A node of 4 cpus with two devices, each with these mappings. */
static void scene(struct fixture *f, const char *gates, const char *mappings)
{
    fixture_init_features(f, NULL, gates);
    ADD_NODE(f, .name = "n0", .cpu = "4", .memory = "4Gi", .pods = "10");
    fixture_add(f, object_jsonf(KIND_DEVICE_CLASS, "{'metadata':{'name':'x'}}"));
    fixture_add(f,
                object_jsonf(KIND_RESOURCE_SLICE,
                             "{'metadata':{'name':'s'},'spec':{'driver':'d','nodeName':'n0','pool':"
                             "{'name':'n0','generation':1,'resourceSliceCount':1},'devices':["
                             "{'name':'dev0','nodeAllocatableResourceMappings':{%s}},"
                             "{'name':'dev1','nodeAllocatableResourceMappings':{%s}}]}}",
                             mappings, mappings));
}

#define USES(of)   "'resourceClaims':[{'name':'e','resourceClaimName':'" of "'}]"
#define CONTAINERS "{'name':'a','resources':{'requests':{'cpu':'1'},'claims':[{'name':'e'}]}}"

/* A pod that requests one cpu, besides what its claim takes. */
#define ADD_USER(f, pod, of) ADD_POD(f, .name = (pod), .spec = USES(of), .containers = CONTAINERS)

static const char *message_of(struct fixture *f, const char *pod)
{
    const struct fixture_write *w = fixture_last(f, WRITE_POD_STATUS, pod);
    return w ? w->message : "";
}

static const char *expect(struct fixture *f, const char *line, int status, struct object *answer)
{
    struct fixture_request *r = fixture_request(f);
    assert_non_null(r);
    assert_string_equal(r->line, line);
    const char *body = textf("%s", single_quotes(r->body));
    fixture_request_done(f, r, status, status == 200 ? "" : "broken", answer);
    fixture_schedule(f);
    return body;
}

static void expect_none(struct fixture *f)
{
    const struct fixture_request *r = fixture_request(f);
    assert_string_equal(r ? r->line : "", "");
}

#define ALLOCATION(pod)                                                                     \
    "'allocation':{'devices':{'results':[{'request':'r','driver':'d','pool':'n0','device':" \
    "'dev0'}]}},'reservedFor':[{'resource':'pods','name':'" pod "','uid':'" pod "'}]"
#define WRITE_CLAIM "PATCH resourceclaims/status default/c"
#define WRITE_POD   "PATCH pods/status default/p"
#define CPU(n)      "'cpu':{'allocationMultiplier':'" n "'}"
#define STATUS(cpus)                                                                             \
    "{'status':{'nodeAllocatableResourceClaimStatuses':[{'resourceClaimName':'c','containers':[" \
    "'a'],'resources':{'cpu':'" cpus "'}}]}}"

static void what_claims_take_is_written_and_counts_on_the_node(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, GATES, CPU("1500m"));
    fixture_add(&f, claim("c", 1, ""));
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    expect(&f, WRITE_CLAIM, 200, claim("c", 2, ALLOCATION("p")));
    assert_string_equal(expect(&f, WRITE_POD, 200, NULL), STATUS("1500m"));
    /* 1 + 1.5 of 4 cpus are taken while it is assumed. */
    assert_non_null(fixture_binding(&f, "p"));
    ADD_POD(&f, .name = "large", .cpu = "2");
    fixture_schedule(&f);
    assert_non_null(strstr(message_of(&f, "large"), "1 Insufficient cpu."));
    ADD_POD(&f, .name = "small", .cpu = "1500m");
    fixture_schedule(&f);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n0");
    assert_string_equal(fixture_node_of(&f, "small"), "n0");
    expect_none(&f);
    fixture_release(&f);
}

static void the_status_of_a_pod_counts_with_the_gate_only(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct fixture f;
        scene(&f, on ? GATES : "", CPU("1"));
        ADD_POD(&f, .name = "p", .node = "n0", .spec = USES("c"), .containers = CONTAINERS,
                .status = "'nodeAllocatableResourceClaimStatuses':[{'resourceClaimName':'c',"
                          "'resources':{'cpu':'2'}}]");
        ADD_POD(&f, .name = "q", .cpu = "2");
        fixture_schedule(&f);
        assert_int_equal(fixture_binding(&f, "q") == NULL, on);
        fixture_release(&f);
    }
}

static void without_the_gate_devices_take_nothing(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, "", CPU("100"));
    fixture_add(&f, claim("c", 1, ""));
    ADD_USER(&f, "p", "c");
    fixture_schedule(&f);
    expect(&f, WRITE_CLAIM, 200, claim("c", 2, ALLOCATION("p")));
    expect_none(&f);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n0");
    fixture_release(&f);
}

static void pods_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *mappings, *containers, *message;
    } cases[] = {
        {CPU("3500m"), CONTAINERS, "1 Insufficient cpu."},
        {CPU("1") ",'memory':{'allocationMultiplier':'5Gi'}", CONTAINERS, "1 Insufficient memory."},
        {CPU("1"), "{'name':'a'}",
         "1 claim c: node-allocatable resource claim not referenced by any container within the "
         "pod."},
        {"'cpu':{'capacityKey':'cores'}", CONTAINERS,
         "claim default/c, device dev0: ConsumedCapacity is nil, but Capacity key 'cores' is set "
         "in NodeAllocatableResourceMappings for resource cpu"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        scene(&f, GATES, cases[i].mappings);
        fixture_add(&f, claim("c", 1, ""));
        ADD_POD(&f, .name = "p", .spec = USES("c"), .containers = cases[i].containers);
        fixture_schedule(&f);
        assert_non_null(strstr(message_of(&f, "p"), cases[i].message));
        expect_none(&f);
        fixture_release(&f);
    }
}

static void pod_level_requests_must_include_what_claims_take(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, GATES, CPU("1500m"));
    fixture_add(&f, claim("c", 1, ""));
    ADD_POD(&f, .name = "p", .spec = USES("c") ",'resources':{'requests':{'cpu':'2'}}",
            .containers = CONTAINERS);
    fixture_schedule(&f);
    assert_non_null(strstr(message_of(&f, "p"),
                           "pod level request for cpu is insufficient to cover the aggregated "
                           "container and node-allocatable DRA requests"));
    ADD_POD(&f, .name = "q", .spec = USES("c") ",'resources':{'requests':{'cpu':'2500m'}}",
            .containers = CONTAINERS);
    fixture_schedule(&f);
    expect(&f, WRITE_CLAIM, 200, claim("c", 2, ALLOCATION("q")));
    assert_string_equal(expect(&f, "PATCH pods/status default/q", 200, NULL), STATUS("1500m"));
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "q"), "n0");
    fixture_release(&f);
}

static void a_claim_that_takes_of_the_node_has_one_user_there(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, GATES, CPU("1"));
    fixture_add(&f, claim("c", 2, ALLOCATION("p")));
    ADD_POD(&f, .name = "p", .node = "n0", .spec = USES("c"), .containers = CONTAINERS,
            .status = "'nodeAllocatableResourceClaimStatuses':[{'resourceClaimName':'c',"
                      "'resources':{'cpu':'1'}}]");
    ADD_USER(&f, "q", "c");
    fixture_schedule(&f);
    assert_non_null(strstr(message_of(&f, "q"),
                           "1 node allocatable resource claim c is already used by another pod."));
    fixture_release(&f);
}

/* A failed write or binding takes the status back, and the room is free again. */
static void failures_take_the_status_back(void **state)
{
    (void)state;
    for (int written = 0; written < 2; written++) {
        struct fixture f;
        scene(&f, GATES, CPU("3"));
        fixture_add(&f, claim("c", 1, ""));
        ADD_USER(&f, "p", "c");
        fixture_schedule(&f);
        expect(&f, WRITE_CLAIM, 200, claim("c", 2, ALLOCATION("p")));
        expect(&f, WRITE_POD, written ? 200 : 500, NULL);
        if (written)
            fixture_answer(&f, fixture_binding(&f, "p"), 500, "broken");
        else
            assert_non_null(strstr(message_of(&f, "p"),
                                   "updating pod default/p NodeAllocatableResourceClaimStatuses: "
                                   "broken"));
        expect(&f, WRITE_CLAIM, 200, NULL); /* the reservation */
        assert_string_equal(expect(&f, WRITE_POD, 200, NULL),
                            "{'status':{'nodeAllocatableResourceClaimStatuses':null}}");
        ADD_POD(&f, .name = "large", .cpu = "4");
        fixture_schedule(&f);
        fixture_settle(&f);
        assert_string_equal(fixture_node_of(&f, "large"), "n0");
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_claims_take_is_written_and_counts_on_the_node),
        cmocka_unit_test(the_status_of_a_pod_counts_with_the_gate_only),
        cmocka_unit_test(without_the_gate_devices_take_nothing),
        cmocka_unit_test(pods_are_refused),
        cmocka_unit_test(pod_level_requests_must_include_what_claims_take),
        cmocka_unit_test(a_claim_that_takes_of_the_node_has_one_user_there),
        cmocka_unit_test(failures_take_the_status_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
