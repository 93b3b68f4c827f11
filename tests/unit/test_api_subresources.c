/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver_kit.h"

static void start(struct kit *k)
{
    kit_init(k, &(struct registry_options){.seed = 7, .without_admission = true});
}

#define POD(name, extra)                                                                      \
    "{'metadata':{'name':'" name "','labels':{'app':'x'}},'spec':{'containers':[{'name':'c'," \
    "'image':'i'}],'terminationGracePeriodSeconds':30" extra "}}"

static void make_pod(struct kit *k, const char *body)
{
    assert_int_equal(kit_serve(k, API_CREATE, "pods", NULL, body), 201);
}

static int bind_pod(struct kit *k, const char *name, const char *node)
{
    char body[256];

    snprintf(body, sizeof(body),
             "{'metadata':{'name':'%s','annotations':{'a':'b'}},'target':{'kind':'Node',"
             "'name':'%s'}}",
             name, node);
    return kit_serve(k, API_CREATE, "pods/binding", name, body);
}

/* --- bindings --------------------------------------------------------------------------------- */

static void test_binding(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    make_pod(&k, POD("p", ""));
    assert_int_equal(bind_pod(&k, "p", "n1"), 201);
    assert_string_equal(buf_cstr(&k.text),
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":"
                        "{},\"status\":\"Success\",\"code\":201}");
    assert_int_equal(kit_serve(&k, API_GET, "pods", "p", NULL), 200);
    assert_string_equal(kit_at(&k, "spec.nodeName"), "n1");
    assert_string_equal(kit_at(&k, "metadata.annotations.a"), "b");
    assert_string_equal(kit_at(&k, "status.conditions"),
                        "[{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null,"
                        "\"lastTransitionTime\":\"2023-11-14T22:13:20Z\"}]");
    assert_int_equal(bind_pod(&k, "p", "n2"), 409);
    kit_message(&k, "Operation cannot be fulfilled on pods/binding \"p\": pod p is already "
                    "assigned to node \"n1\"");
    assert_int_equal(bind_pod(&k, "q", "n2"), 404);
    kit_message(&k, "pods \"q\" not found");
    make_pod(&k, POD("g", ",'schedulingGates':[{'name':'x'}]"));
    assert_int_equal(bind_pod(&k, "g", "n2"), 409);
    kit_message(&k, "Operation cannot be fulfilled on pods/binding \"g\": pod g has non-empty "
                    ".spec.schedulingGates");
    make_pod(&k, POD("u", ""));
    assert_int_equal(kit_serve(&k, API_CREATE, "pods/binding", "u",
                               "{'metadata':{'name':'u','uid':'x'},'target':{'name':'n'}}"),
                     409);
    assert_int_equal(kit_serve(&k, API_CREATE, "pods/binding", "u",
                               "{'metadata':{'name':'u'},'target':{'name':''}}"),
                     500);
    kit_message(&k, "target.name: Required value");
    assert_int_equal(kit_serve(&k, API_CREATE, "bindings", NULL,
                               "{'metadata':{'name':'u'},'target':{'name':'n'}}"),
                     201);
    kit_free(&k);
}

/* --- deletion of pods ------------------------------------------------------------------------- */

static void test_grace(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    make_pod(&k, POD("a", ""));
    assert_int_equal(kit_serve(&k, API_DELETE, "pods", "a", NULL), 200);
    assert_string_equal(kit_at(&k, "kind"), "Pod");
    assert_int_equal(kit_serve(&k, API_GET, "pods", "a", NULL), 404);

    make_pod(&k, POD("b", ""));
    bind_pod(&k, "b", "n");
    assert_int_equal(kit_serve(&k, API_DELETE, "pods", "b", NULL), 200);
    assert_string_equal(kit_at(&k, "metadata.deletionTimestamp"), "2023-11-14T22:13:50Z");
    assert_string_equal(kit_at(&k, "metadata.deletionGracePeriodSeconds"), "30");
    /* A longer period changes nothing, a shorter one does. */
    assert_int_equal(kit_serve(&k, API_DELETE, "pods", "b", "{'gracePeriodSeconds':60}"), 200);
    assert_int_equal(kit_serve(&k, API_GET, "pods", "b", NULL), 200);
    assert_string_equal(kit_at(&k, "metadata.deletionGracePeriodSeconds"), "30");
    assert_int_equal(kit_serve(&k, API_DELETE, "pods", "b", "{'gracePeriodSeconds':5}"), 200);
    assert_string_equal(kit_at(&k, "metadata.deletionTimestamp"), "2023-11-14T22:13:25Z");
    assert_string_equal(kit_at(&k, "metadata.deletionGracePeriodSeconds"), "5");
    assert_int_equal(kit_serve(&k, API_DELETE, "pods", "b", "{'gracePeriodSeconds':0}"), 200);
    assert_int_equal(kit_serve(&k, API_GET, "pods", "b", NULL), 404);

    /* A pod that has ended does not wait. */
    make_pod(&k, POD("c", ""));
    bind_pod(&k, "c", "n");
    assert_int_equal(
        kit_serve(&k, API_PATCH_MERGE, "pods/status", "c", "{'status':{'phase':'Succeeded'}}"),
        200);
    assert_int_equal(kit_serve(&k, API_DELETE, "pods", "c", NULL), 200);
    assert_int_equal(kit_serve(&k, API_GET, "pods", "c", NULL), 404);

    /* Finalizers outlive the grace period. */
    make_pod(&k, POD("d", ""));
    bind_pod(&k, "d", "n");
    assert_int_equal(
        kit_serve(&k, API_PATCH_MERGE, "pods", "d", "{'metadata':{'finalizers':['x.io/f']}}"), 200);
    kit_serve(&k, API_DELETE, "pods", "d", "{'gracePeriodSeconds':0}");
    assert_int_equal(kit_serve(&k, API_GET, "pods", "d", NULL), 200);
    assert_string_equal(kit_at(&k, "metadata.deletionGracePeriodSeconds"), "0");
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "pods", "d", "{'metadata':{'finalizers':[]}}"),
                     200);
    assert_int_equal(kit_serve(&k, API_GET, "pods", "d", NULL), 404);
    kit_free(&k);
}

/* --- status ----------------------------------------------------------------------------------- */

static void test_status(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    make_pod(&k, POD("p", ",'priority':1"));
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "pods/status", "p",
                               "{'spec':{'priority':9},'status':{'phase':'Running'}}"),
                     200);
    assert_string_equal(kit_at(&k, "status.phase"), "Running");
    assert_string_equal(kit_at(&k, "spec.priority"), "1");
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "pods", "p",
                               "{'metadata':{'labels':{'l':'1'}},'status':{'phase':'Failed'}}"),
                     200);
    assert_string_equal(kit_at(&k, "status.phase"), "Running");
    assert_string_equal(kit_at(&k, "metadata.labels.l"), "1");
    assert_int_equal(kit_serve(&k, API_GET, "pods/status", "p", NULL), 200);
    assert_int_equal(kit_serve(&k, API_GET, "pods/nothing", "p", NULL), 404);
    assert_int_equal(kit_serve(&k, API_DELETE, "pods/status", "p", NULL), 405);
    kit_free(&k);
}

/* --- evictions -------------------------------------------------------------------------------- */

static void make_budget(struct kit *k, const char *name, const char *status)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{'metadata':{'name':'%s'},'spec':{'minAvailable':1,'selector':{'matchLabels':"
             "{'app':'x'}}}}",
             name);
    assert_int_equal(kit_serve(k, API_CREATE, "poddisruptionbudgets.policy", NULL, body), 201);
    snprintf(body, sizeof(body), "{'status':%s}", status);
    assert_int_equal(
        kit_serve(k, API_PATCH_MERGE, "poddisruptionbudgets.policy/status", name, body), 200);
}

static void make_running(struct kit *k, const char *body, const char *name)
{
    make_pod(k, body);
    bind_pod(k, name, "n");
    assert_int_equal(kit_serve(k, API_PATCH_MERGE, "pods/status", name,
                               "{'status':{'phase':'Running','conditions':[{'type':'Ready',"
                               "'status':'True'}]}}"),
                     200);
}

static int evict(struct kit *k, const char *name)
{
    char body[128];

    snprintf(body, sizeof(body), "{'metadata':{'name':'%s'}}", name);
    return kit_serve(k, API_CREATE, "pods/eviction", name, body);
}

static void test_eviction(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    make_budget(&k, "b",
                "{'observedGeneration':1,'disruptionsAllowed':1,'currentHealthy':2,"
                "'desiredHealthy':1,'expectedPods':2}");
    make_running(&k, POD("p", ""), "p");
    make_running(&k, POD("q", ""), "q");
    assert_int_equal(evict(&k, "p"), 201);
    assert_int_equal(kit_serve(&k, API_GET, "pods", "p", NULL), 200);
    assert_string_equal(kit_at(&k, "metadata.deletionGracePeriodSeconds"), "30");
    assert_non_null(strstr(buf_cstr(&k.text), "\"reason\":\"EvictionByEvictionAPI\""));
    kit_serve(&k, API_GET, "poddisruptionbudgets.policy", "b", NULL);
    assert_string_equal(kit_at(&k, "status.disruptionsAllowed"), "0");
    assert_string_equal(kit_at(&k, "status.disruptedPods"), "{\"p\":\"2023-11-14T22:13:20Z\"}");
    assert_int_equal(evict(&k, "q"), 429);
    kit_message(&k, "Cannot evict pod as it would violate the pod's disruption budget.");
    assert_string_equal(k.response.status.causes[0].message.p,
                        "The disruption budget b does not allow evicting pods currently");
    kit_serve(&k, API_PATCH_MERGE, "poddisruptionbudgets.policy/status", "b",
              "{'status':{'currentHealthy':1}}");
    assert_int_equal(evict(&k, "q"), 429);
    assert_string_equal(k.response.status.causes[0].message.p,
                        "The disruption budget b needs 1 healthy pods and has 1 currently");
    /* A second budget is not supported. */
    make_budget(&k, "c", "{'observedGeneration':1,'disruptionsAllowed':1}");
    assert_int_equal(evict(&k, "q"), 500);
    kit_serve(&k, API_DELETE, "poddisruptionbudgets.policy", "b", NULL);
    kit_serve(&k, API_DELETE, "poddisruptionbudgets.policy", "c", NULL);
    assert_int_equal(evict(&k, "q"), 201);
    assert_int_equal(evict(&k, "none"), 404);
    kit_free(&k);
}

/* --- scale ------------------------------------------------------------------------------------ */

static void test_scale(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    assert_int_equal(
        kit_serve(&k, API_CREATE, "deployments.apps", NULL,
                  "{'metadata':{'name':'d'},'spec':{'replicas':2,'selector':{'matchLabels':"
                  "{'app':'x'},'matchExpressions':[{'key':'a','operator':'In','values':['2','1']}]"
                  "},'template':{'metadata':{'labels':{'app':'x','a':'1'}},'spec':{'containers':"
                  "[{'name':'c','image':'i'}]}}}}"),
        201);
    assert_int_equal(kit_serve(&k, API_GET, "deployments.apps/scale", "d", NULL), 200);
    assert_string_equal(kit_at(&k, "kind"), "Scale");
    assert_string_equal(kit_at(&k, "spec.replicas"), "2");
    assert_string_equal(kit_at(&k, "status.selector"), "a in (1,2),app=x");
    assert_int_equal(
        kit_serve(&k, API_PATCH_MERGE, "deployments.apps/scale", "d", "{'spec':{'replicas':5}}"),
        200);
    assert_string_equal(kit_at(&k, "kind"), "Scale");
    assert_string_equal(kit_at(&k, "spec.replicas"), "5");
    kit_serve(&k, API_GET, "deployments.apps", "d", NULL);
    assert_string_equal(kit_at(&k, "spec.replicas"), "5");
    assert_int_equal(kit_serve(&k, API_UPDATE, "deployments.apps/scale", "d",
                               "{'metadata':{'name':'d','resourceVersion':'1'},"
                               "'spec':{'replicas':1}}"),
                     409);
    assert_int_equal(kit_serve(&k, API_UPDATE, "deployments.apps/scale", "d",
                               "{'metadata':{'name':'d'},'spec':{'replicas':-1}}"),
                     422);
    kit_message(&k, "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must "
                    "be greater than or equal to 0");
    assert_int_equal(kit_serve(&k, API_UPDATE, "deployments.apps/scale", "d",
                               "{'metadata':{'name':'d'},'spec':{'replicas':0}}"),
                     200);
    kit_serve(&k, API_GET, "deployments.apps", "d", NULL);
    assert_string_equal(kit_at(&k, "spec.replicas"), "0");
    kit_free(&k);
}

/* --- namespaces ------------------------------------------------------------------------------- */

static void test_namespace(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    assert_int_equal(kit_serve(&k, API_CREATE, "namespaces", NULL, "{'metadata':{'name':'n'}}"),
                     201);
    assert_int_equal(kit_serve(&k, API_UPDATE, "namespaces/finalize", "n",
                               "{'metadata':{'name':'n'},'spec':{'finalizers':['kubernetes']}}"),
                     200);
    assert_string_equal(kit_at(&k, "spec.finalizers"), "[\"kubernetes\"]");
    assert_int_equal(kit_serve(&k, API_DELETE, "namespaces", "n", NULL), 200);
    assert_string_equal(kit_at(&k, "status.phase"), "Terminating");
    assert_string_equal(kit_at(&k, "metadata.deletionTimestamp"), "2023-11-14T22:13:20Z");
    assert_int_equal(kit_serve(&k, API_DELETE, "namespaces", "n", NULL), 200);
    assert_int_equal(kit_serve(&k, API_GET, "namespaces", "n", NULL), 200);
    assert_int_equal(kit_serve(&k, API_UPDATE, "namespaces/finalize", "n",
                               "{'metadata':{'name':'n'},'spec':{'finalizers':[]}}"),
                     200);
    assert_int_equal(kit_serve(&k, API_GET, "namespaces", "n", NULL), 404);
    kit_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binding), cmocka_unit_test(test_grace),
        cmocka_unit_test(test_status),  cmocka_unit_test(test_eviction),
        cmocka_unit_test(test_scale),   cmocka_unit_test(test_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
