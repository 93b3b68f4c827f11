/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/objects.h: the objects that the macros create. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "objects.h"

/* Takes ownership of the object. want: with single quotes. */
static void assert_encoded(struct object *o, const char *want)
{
    struct buf json = BUF_INIT;
    object_encode(object_kind(o), object_body(o), ENCODING_JSON, &json);
    assert_string_equal(buf_cstr(&json), json_quotes(want));
    buf_release(&json);
    object_unref(o);
}

static void quotes_are_turned(void **state)
{
    (void)state;
    assert_string_equal(json_quotes("{'a':''}"), "{\"a\":\"\"}");
    assert_string_equal(json_quotes("'`b`'"), "\"\\\"b\\\"\"");
    assert_string_equal(json_quotes("'it\\'s \\`'"), "\"it's `\"");
    assert_string_equal(json_quotes("'\\\\'"), "\"\\\\\"");
    assert_string_equal(jsonf("{'%s':%d}", "a", 1), "{\"a\":1}");
    assert_string_equal(single_quotes("{\"a\":1}"), "{'a':1}");
}

static void texts_stay_while_others_are_made(void **state)
{
    (void)state;
    const char *first = textf("p%d", 0);
    for (int i = 1; i < 1000; i++)
        textf("p%d", i);
    assert_string_equal(first, "p0");
}

static void fields_that_are_left_out_have_defaults(void **state)
{
    (void)state;
    assert_encoded(POD(), "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p',"
                          "'namespace':'default','uid':'p'},"
                          "'spec':{'schedulerName':'default-scheduler'}}");
    assert_encoded(NODE(), "{'kind':'Node','apiVersion':'v1','metadata':{'name':'n','uid':'n'},"
                           "'status':{'allocatable':{'pods':'110'}}}");
    assert_encoded(POD_GROUP(), "{'kind':'PodGroup','apiVersion':'scheduling.k8s.io/v1alpha2',"
                                "'metadata':{'name':'g','namespace':'default','uid':'g'},"
                                "'spec':{'schedulingPolicy':{'basic':{}}}}");
    assert_encoded(NAMESPACE(), "{'kind':'Namespace','apiVersion':'v1','metadata':{'name':'o'}}");
}

static void pods_have_what_they_are_given(void **state)
{
    (void)state;
    assert_encoded(POD(.name = "a", .namespace = "ns", .uid = "u",
                       .labels = "a=b,c=", .meta = "'annotations':{'x':'y'}", .deleting = true),
                   "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'a','namespace':'ns',"
                   "'uid':'u','deletionTimestamp':'2026-01-01T00:00:00Z','labels':{'a':'b',"
                   "'c':''},'annotations':{'x':'y'}},"
                   "'spec':{'schedulerName':'default-scheduler'}}");
    assert_encoded(POD(.node = "n1", .priority = -1, .gates = "a,b", .node_selector = "'a,b':'='",
                       .tolerations = TOLERATIONS({"k", "v"}, {.op = "Exists"}),
                       .spread = SPREAD({"zone", "app=web", .more = "'minDomains':3"})),
                   "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p',"
                   "'namespace':'default','uid':'p'},'spec':{'nodeSelector':{'a,b':'='},"
                   "'nodeName':'n1','schedulerName':'default-scheduler',"
                   "'tolerations':[{'key':'k','value':'v'},{'operator':'Exists'}],'priority':-1,"
                   "'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone',"
                   "'whenUnsatisfiable':'DoNotSchedule',"
                   "'labelSelector':{'matchLabels':{'app':'web'}},'minDomains':3}],"
                   "'schedulingGates':[{'name':'a'},{'name':'b'}]}}");
    assert_encoded(
        POD(.affinity = TERMS({"zone", ""}),
            .preferred_anti_affinity = TERMS({"host", .weight = 7}), .node_terms = "{}"),
        "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p',"
        "'namespace':'default','uid':'p'},"
        "'spec':{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'"
        "nodeSelectorTerms':[{}]}},"
        "'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{},"
        "'topologyKey':'zone'}]},"
        "'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':7,"
        "'podAffinityTerm':{'topologyKey':'host'}}]}},"
        "'schedulerName':'default-scheduler'}}");
    assert_encoded(POD(.cpu = "1", .requests = "x.io/gpu=2", .image = "i",
                       .ports = PORTS({80, "UDP", "10.0.0.1"}), .nominated = "n2",
                       .phase = "Running", .preempted = true),
                   "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p',"
                   "'namespace':'default','uid':'p'},'spec':{'containers':[{'name':'c',"
                   "'image':'i','ports':[{'hostPort':80,'containerPort':0,'protocol':'UDP',"
                   "'hostIP':'10.0.0.1'}],'resources':{'requests':{'cpu':'1','x.io/gpu':'2'}}}],"
                   "'schedulerName':'default-scheduler'},'status':{'phase':'Running',"
                   "'conditions':[{'type':'DisruptionTarget','status':'True',"
                   "'reason':'PreemptionByScheduler'}],'nominatedNodeName':'n2'}}");
    assert_encoded(POD(.cpu = "1", .containers = "{'name':'x'}"),
                   "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p',"
                   "'namespace':'default','uid':'p'},'spec':{'containers':[{'name':'x'}],"
                   "'schedulerName':'default-scheduler'}}");
}

static void other_objects_have_what_they_are_given(void **state)
{
    (void)state;
    assert_encoded(NODE(.name = "a", .cpu = "4", .allocatable = "x.io/gpu=1", .pods = "0",
                        .unschedulable = true,
                        .taints = TAINTS({"k", "v", "NoSchedule"}, {"l", .effect = "NoExecute"})),
                   "{'kind':'Node','apiVersion':'v1','metadata':{'name':'a','uid':'a'},"
                   "'spec':{'unschedulable':true,'taints':[{'key':'k','value':'v',"
                   "'effect':'NoSchedule'},{'key':'l','effect':'NoExecute'}]},"
                   "'status':{'allocatable':{'cpu':'4','pods':'0','x.io/gpu':'1'}}}");
    assert_encoded(POD_GROUP(.name = "g", .min_count = 3, .priority = 5, .topology = "rack"),
                   "{'kind':'PodGroup','apiVersion':'scheduling.k8s.io/v1alpha2',"
                   "'metadata':{'name':'g','namespace':'default','uid':'g'},"
                   "'spec':{'schedulingPolicy':{'gang':{'minCount':3}},"
                   "'schedulingConstraints':{'topology':[{'key':'rack'}]},'priority':5}}");
    assert_encoded(POD_DISRUPTION_BUDGET(.selector = "app=web", .allowed = 1, .disrupted = "p"),
                   "{'kind':'PodDisruptionBudget','apiVersion':'policy/v1',"
                   "'metadata':{'name':'b','namespace':'default'},"
                   "'spec':{'selector':{'matchLabels':{'app':'web'}}},"
                   "'status':{'disruptedPods':{'p':'2026-01-01T00:00:00Z'},"
                   "'disruptionsAllowed':1}}");
    assert_encoded(SERVICE(.name = "s", .selector = "app=web"),
                   "{'kind':'Service','apiVersion':'v1','metadata':{'name':'s',"
                   "'namespace':'default'},'spec':{'selector':{'app':'web'}}}");
    assert_encoded(REPLICA_SET(.name = "rs", .selector = "app=web"),
                   "{'kind':'ReplicaSet','apiVersion':'apps/v1','metadata':{'name':'rs',"
                   "'namespace':'default'},'spec':{'selector':{'matchLabels':{'app':'web'}}}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_are_turned),
        cmocka_unit_test(texts_stay_while_others_are_made),
        cmocka_unit_test(fields_that_are_left_out_have_defaults),
        cmocka_unit_test(pods_have_what_they_are_given),
        cmocka_unit_test(other_objects_have_what_they_are_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
