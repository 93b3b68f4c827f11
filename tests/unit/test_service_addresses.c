/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and node ports that services get. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver_kit.h"

#define SERVICE(name, spec) \
    "{'metadata':{'name':'" name "'},'spec':{'ports':[{'port':80}]" spec "}}"

static void test_addresses(void **state)
{
    struct kit k;
    (void)state;

    kit_init(&k, &(struct registry_options){.seed = 7, .without_admission = true});
    assert_int_equal(kit_serve(&k, API_CREATE, "services", NULL, SERVICE("a", "")), 201);
    assert_string_equal(kit_at(&k, "spec.clusterIP"), "10.0.0.17");
    assert_string_equal(kit_at(&k, "spec.clusterIPs"), "[\"10.0.0.17\"]");
    assert_string_equal(kit_at(&k, "spec.ipFamilyPolicy"), "SingleStack");
    assert_string_equal(kit_at(&k, "spec.type"), "ClusterIP");
    assert_int_equal(kit_serve(&k, API_CREATE, "services", NULL, SERVICE("b", "")), 201);
    assert_string_equal(kit_at(&k, "spec.clusterIP"), "10.0.0.18");
    assert_int_equal(
        kit_serve(&k, API_CREATE, "services", NULL, SERVICE("c", ",'clusterIP':'10.0.0.17'")), 422);
    kit_message(&k, "Service \"c\" is invalid: spec.clusterIPs: Invalid value: [\"10.0.0.17\"]: "
                    "failed to allocate IP 10.0.0.17: provided IP is already allocated");
    assert_int_equal(
        kit_serve(&k, API_CREATE, "services", NULL, SERVICE("c", ",'clusterIP':'None'")), 201);
    assert_string_equal(kit_at(&k, "spec.clusterIP"), "None");

    /* An update that names none keeps the address. */
    assert_int_equal(
        kit_serve(&k, API_UPDATE, "services", "a", SERVICE("a", ",'selector':{'x':'y'}")), 200);
    assert_string_equal(kit_at(&k, "spec.clusterIP"), "10.0.0.17");
    assert_int_equal(
        kit_serve(&k, API_UPDATE, "services", "a", SERVICE("a", ",'clusterIP':'10.0.0.40'")), 422);
    /* A client that changes clusterIP alone means clusterIPs too. */
    assert_int_equal(kit_serve(&k, API_UPDATE, "services", "a",
                               SERVICE("a", ",'clusterIP':'None','clusterIPs':['10.0.0.17']")),
                     422);
    kit_message(&k, "Service \"a\" is invalid: spec.clusterIPs[0]: Invalid value: [\"None\"]: "
                    "may not change once set");
    assert_int_equal(kit_serve(&k, API_UPDATE, "services", "c",
                               SERVICE("c", ",'clusterIP':'10.0.0.40','clusterIPs':['None']")),
                     422);
    kit_message(&k, "Service \"c\" is invalid: spec.clusterIPs[0]: Invalid value: "
                    "[\"10.0.0.40\"]: may not change once set");
    kit_free(&k);
}

static void test_node_ports(void **state)
{
    struct kit k;
    (void)state;

    kit_init(&k, &(struct registry_options){.seed = 7, .without_admission = true});
    assert_int_equal(
        kit_serve(&k, API_CREATE, "services", NULL, SERVICE("a", ",'type':'NodePort'")), 201);
    assert_non_null(strstr(kit_at(&k, "spec.ports"), "\"nodePort\":30000"));
    assert_int_equal(
        kit_serve(&k, API_CREATE, "services", NULL, SERVICE("b", ",'type':'LoadBalancer'")), 201);
    assert_non_null(strstr(kit_at(&k, "spec.ports"), "\"nodePort\":30001"));
    assert_int_equal(kit_serve(&k, API_CREATE, "services", NULL,
                               "{'metadata':{'name':'c'},'spec':{'type':'NodePort','ports':"
                               "[{'port':80,'nodePort':30001}]}}"),
                     422);
    kit_message(&k, "Service \"c\" is invalid: spec.ports[0].nodePort: Invalid value: 30001: "
                    "provided port is already allocated");
    assert_int_equal(kit_serve(&k, API_UPDATE, "services", "a", SERVICE("a", ",'type':'NodePort'")),
                     200);
    assert_non_null(strstr(kit_at(&k, "spec.ports"), "\"nodePort\":30000"));
    /* The port goes with the type. */
    assert_int_equal(
        kit_serve(&k, API_UPDATE, "services", "a", SERVICE("a", ",'type':'ClusterIP'")), 200);
    assert_null(strstr(kit_at(&k, "spec.ports"), "nodePort"));
    kit_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_node_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
