/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that break their contract and invalid objects: the pod gets a clear status, and
 * scheduling continues. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine/rooms.h"
#include "plugins/registry.h"
#include "puppet.h"

/* --- unknown codes ---------------------------------------------------------------------------- */

struct code_case {
    enum puppet_point point;
    const char *message; /* up to "status undefined (42) without a reason" */
};

static const struct code_case code_cases[] = {
    {PUPPET_PRE_FILTER, "running PreFilter plugin \"A\": "},
    {PUPPET_ADD_POD, "running AddPod on PreFilter plugin \"A\": "},
    {PUPPET_FILTER, "running \"A\" filter plugin: "},
    {PUPPET_PRE_SCORE, "running PreScore plugin \"A\": "},
    {PUPPET_SCORE, "running Score plugins: plugin \"A\" failed with: "},
    {PUPPET_NORMALIZE, "running Normalize on Score plugins: plugin \"A\" failed with: "},
    {PUPPET_RESERVE, "running Reserve plugin \"A\": "},
    {PUPPET_PERMIT, "running Permit plugin \"A\": "},
    {PUPPET_PRE_BIND, "running PreBind plugin \"A\": "},
    {PUPPET_BIND, "running Bind plugin \"A\": "},
};

#define EVERYTHING                                                                              \
    (AT(PRE_FILTER) | AT(ADD_POD) | AT(FILTER) | AT(POST_FILTER) | AT(PRE_SCORE) | AT(SCORE) |  \
     AT(NORMALIZE) | AT(RESERVE) | AT(UNRESERVE) | AT(PERMIT) | AT(PRE_FLIGHT) | AT(PRE_BIND) | \
     AT(BIND) | AT(POST_BIND) | AT(HINT))

/* Only pod "bad" fails. */
static enum puppet_point bad_point;
static enum berth_code bad_code;

static void be_bad(struct puppet_call *call)
{
    if (call->point == bad_point && call->pod &&
        str_is(str_abi(call->puppet->host->pod_name(call->pod)), "bad"))
        call->code = bad_code;
}

static void undefined_codes_are_errors_at_every_point(void **state)
{
    (void)state;
    int codes[] = {42, 7, 99, 101, 256, 300, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < ARRAY_LEN(code_cases) * ARRAY_LEN(codes); i++) {
        const struct code_case *c = &code_cases[i / ARRAY_LEN(codes)];
        struct fixture f;
        char text[160];
        bad_point = c->point;
        bad_code = (enum berth_code)codes[i % ARRAY_LEN(codes)];
        puppet_clear();
        puppet_add("A", EVERYTHING)->hook = be_bad;
        puppet_scene(&f, 2);
        ADD_POD(&f, .name = "bad", .priority = 10);
        /* A pod is nominated, so that AddPod is called. */
        struct object *promised = POD(.name = "promised", .priority = 10, .nominated = "n0");
        struct berth_pod *pod = pod_info_new(promised, &f.engine->names);
        nominator_set(&f.engine->queue.nominator, pod, STR("n0"));
        fixture_schedule(&f);
        snprintf(text, sizeof(text), "%sstatus undefined (%d) without a reason", c->message,
                 (int)bad_code);
        assert_told(&f, "bad", "SchedulerError", text);
        assert_int_equal(engine_get_stats(f.engine).binding, 0);
        /* Other pods are scheduled. */
        ADD_POD(&f, .name = "good");
        fixture_settle(&f);
        assert_non_null(fixture_node_of(&f, "good"));
        pod_info_unref(pod);
        object_unref(promised);
        fixture_release(&f);
    }
}

/* --- batches ---------------------------------------------------------------------------------- */

static uint8_t batch_code;
static berth_reason batch_reason;
static bool batch_revives;

static enum berth_code never(void *self, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node, (void)status;
    return BERTH_SUCCESS;
}

/* Rejects all nodes, or restores all. */
static enum berth_code bad_batch(void *self, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, struct berth_filter_batch *batch,
                                 struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)status;
    for (size_t i = 0; i < batch->columns->n; i++)
        if (batch_revives) {
            batch->feasible[i / 64] |= (uint64_t)1 << (i % 64);
        } else {
            batch->feasible[i / 64] &= ~((uint64_t)1 << (i % 64));
            batch->codes[i] = batch_code;
            batch->reasons[i] = batch_reason;
        }
    return BERTH_SUCCESS;
}

static void batches_that_lie(void **state)
{
    (void)state;
    static const struct {
        uint8_t code;
        berth_reason reason;
        bool revives;
        const char *condition, *message;
    } cases[] = {
        {BERTH_UNSCHEDULABLE, 0, false, "Unschedulable", "0/2 nodes are available:"},
        {BERTH_UNSCHEDULABLE, 4000000000u, false, "Unschedulable", "0/2 nodes are available:"},
        {BERTH_SUCCESS, 0, false, "SchedulerError",
         "running \"A\" filter plugin: status Success (0) without a reason"},
        {BERTH_ERROR, 0, false, "SchedulerError",
         "running \"A\" filter plugin: status Error (1) without a reason"},
        {77, 0, false, "SchedulerError",
         "running \"A\" filter plugin: status undefined (77) without a reason"},
        /* Nodes rejected by another plugin stay rejected. */
        {0, 0, true, "Unschedulable", "0/2 nodes are available: 2 no."},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        batch_code = cases[i].code;
        batch_reason = cases[i].reason;
        batch_revives = cases[i].revives;
        puppet_clear();
        if (cases[i].revives) {
            struct puppet *first = puppet_add("First", AT(FILTER));
            first->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
            first->reason = "no";
        }
        struct puppet *a = puppet_add("A", AT(FILTER));
        a->plugin.filter = never;
        a->plugin.filter_many = bad_batch;
        puppet_add("Last", AT(FILTER)); /* must not get rejected nodes */
        puppet_scene(&f, 2);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_told(&f, "p", cases[i].condition, cases[i].message);
        assert_int_equal(puppet_count(AT(FILTER)), cases[i].revives ? 2 : 0);
        fixture_release(&f);
    }
}

/* --- plugins with wrong or missing answers ---------------------------------------------------- */

static berth_op last_op;

static void never_answer(struct puppet_call *call)
{
    if (call->op && str_is(str_abi(call->puppet->host->pod_name(call->pod)), "bad"))
        call->code = BERTH_ASYNC;
}

static void a_silent_extender_blocks_no_other_call(void **state)
{
    (void)state;
    unsigned points[] = {AT(PRE_BIND), AT(BIND)};
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct fixture f;
        puppet_clear();
        puppet_add("A", points[i])->hook = never_answer;
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "bad");
        for (int k = 0; k < 20; k++)
            ADD_POD(&f, .name = textf("p%d", k));

        fixture_settle(&f);
        assert_int_equal(f.decisions.n, 20);
        assert_int_equal(engine_get_stats(f.engine).binding, 1);
        /* A deleted pod stays until the answer arrives; the engine may be freed without one. */
        fixture_delete(&f, POD(.name = "bad"));
        fixture_release(&f);
    }
}

/* A answers twice; B does not answer yet. */
static void answer_twice(struct puppet_call *call)
{
    if (call->point != PUPPET_PRE_BIND)
        return;
    if (*call->puppet->name == 'A') {
        call->puppet->host->op_done(call->puppet->handle, call->op, BERTH_SUCCESS, BERTH_STR(""));
        call->puppet->host->op_done(call->puppet->handle, call->op, BERTH_SUCCESS, BERTH_STR(""));
    } else {
        last_op = call->op;
        call->code = BERTH_ASYNC;
    }
}

static void an_answer_too_many_is_not_the_next_plugins(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(PRE_BIND))->hook = answer_twice;
    struct puppet *b = puppet_add("B", AT(PRE_BIND));
    b->hook = answer_twice;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    /* B has not answered. */
    assert_null(fixture_binding(&f, "p"));
    b->host->op_done(b->handle, last_op, BERTH_SUCCESS, BERTH_STR(""));
    engine_tick(f.engine);
    fixture_settle(&f);
    assert_on(&f, "p", "n0");
    fixture_release(&f);
}

/* Submits the binding twice. */
static void write_twice(struct puppet_call *call)
{
    if (call->point != PUPPET_BIND)
        return;
    call->puppet->host->write_binding(call->puppet->handle, call->op, BERTH_STR("n0"));
    call->puppet->host->write_binding(call->puppet->handle, call->op, BERTH_STR("n0"));
    call->code = BERTH_ASYNC;
}

static void the_last_of_two_writes_counts(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(BIND))->hook = write_twice;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    assert_int_equal(f.writes.n, 2);
    struct write_result failed = {.status = 500, .message = STR("x")};
    engine_write_done(f.engine, f.writes.v[0].id, &failed);
    engine_write_done(f.engine, f.writes.v[0].id, &failed);
    engine_write_done(f.engine, 12345, &failed);
    assert_int_equal(engine_get_stats(f.engine).binding, 1);
    fixture_answer(&f, &f.writes.v[1], 201, "");
    assert_on(&f, "p", "n0");
    assert_int_equal(f.engine->bindings.by_write.n, 0);
    fixture_release(&f);
}

/* Submits the binding and returns an error; or success. */
static void write_and_answer(struct puppet_call *call)
{
    if (call->point != PUPPET_BIND)
        return;
    call->puppet->host->write_binding(call->puppet->handle, call->op, BERTH_STR("n0"));
    call->code = BERTH_ERROR;
}

static void the_answer_of_an_abandoned_write_is_ignored(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(BIND));
    a->hook = write_and_answer;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    assert_int_equal(engine_get_stats(f.engine).binding, 0);
    assert_int_equal(f.engine->bindings.by_write.n, 0);
    struct write_result ok = {.status = 201};
    engine_write_done(f.engine, f.writes.v[0].id, &ok);
    assert_told(&f, "p", "SchedulerError",
                "running Bind plugin \"A\": status Error (1) without a reason");
    fixture_release(&f);
}

/* --- excessive sizes -------------------------------------------------------------------------- */

static void log_too_much(struct puppet_call *call)
{
    static char text[100000];
    if (call->point != PUPPET_FILTER)
        return;
    memset(text, 'x', sizeof(text));
    call->code = BERTH_UNSCHEDULABLE;
    for (int i = 0; i < 1000; i++) {
        struct berth_str part = {text, i == 7 ? sizeof(text) : (size_t)(i % 50)};
        call->puppet->host->status_text(call->status, part);
        call->puppet->host->status_reason(call->status, (berth_reason)(i + 100000));
    }
}

static void reasons_without_end_are_cut(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER))->hook = log_too_much;
    puppet_scene(&f, 300);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    const struct fixture_write *w = fixture_last(&f, WRITE_POD_STATUS, "p");
    assert_non_null(w);
    assert_true(strncmp(w->message, "0/300 nodes are available: ", 27) == 0);
    assert_true(strlen(w->message) < 70000);
    assert_true(strlen(fixture_last(&f, WRITE_EVENT, "p")->message) <= 1024);
    fixture_release(&f);
}

/* --- invalid objects -------------------------------------------------------------------------- */

/* With in-tree plugins; the pod must get a node or a status, and the next pod a node. */
static void assert_survives(struct fixture *f, const char *pod)
{
    fixture_settle(f);
    if (!fixture_node_of(f, pod))
        assert_non_null(fixture_last(f, WRITE_POD_STATUS, pod));
    ADD_NODE(f, .name = "sane", .cpu = "4", .memory = "8Gi");
    ADD_POD(f, .name = "sane-pod", .cpu = "100m", .memory = "64Mi");
    fixture_settle(f);
    if (!fixture_node_of(f, "sane-pod"))
        fail_msg("the sane pod has no node: %s", vec_last(&f->decisions));
}

static void odd_amounts(void **state)
{
    (void)state;
    static const char *const amounts[] = {
        "0",
        "-1",
        "-9223372036854775808",
        "9223372036854775807",
        "9223372036854775808",
        "1e30",
        "-1e30",
        "1n",
        "123456789012345678901234567890",
        "8Ei",
        "16Ei",
        "-8Ei",
        "0.0000000001",
        "9223372036854775807m",
    };
    for (size_t i = 0; i < ARRAY_LEN(amounts) * ARRAY_LEN(amounts); i++) {
        const char *has = amounts[i % ARRAY_LEN(amounts)], *wants = amounts[i / ARRAY_LEN(amounts)];
        struct fixture f;
        /* Upstream's scores overflow here, and no pod is placed any more; the gate fixes that. */
        fixture_init_features(&f, NULL, "BerthSaneScores=true");
        for (int n = 0; n < 2; n++) {
            ADD_NODE(&f, .name = textf("n%d", n), .cpu = has, .memory = has,
                     .pods = n ? "110" : has,
                     .allocatable = textf("ephemeral-storage=%s,x.io/y=%s", has, has));
            ADD_POD(&f, .name = n ? "on1" : "on0", .cpu = wants, .memory = wants,
                    .node = n ? "n1" : "n0");
        }
        for (int n = 0; n < 3; n++)
            ADD_POD(&f, .name = textf("p%d", n), .cpu = wants, .memory = wants,
                    .requests = textf("ephemeral-storage=%s,x.io/y=%s", wants, wants),
                    .spec = textf("'overhead':{'cpu':'%s'}", wants));
        assert_survives(&f, "p2");
        fixture_release(&f);
    }
}

static void odd_objects(void **state)
{
    (void)state;
    static const char *const pods[] = {
        /* Values outside of the enums. */
        "{'metadata':{'name':'p','uid':'p'},'spec':{'schedulerName':"
        "'default-scheduler','restartPolicy':'Perhaps','preemptionPolicy':'Sometimes',"
        "'dnsPolicy':'?','tolerations':[{'operator':'Almost','effect':'Funny'}],"
        "'topologySpreadConstraints':[{'maxSkew':-1,'whenUnsatisfiable':'Shrug'}],"
        "'containers':[{'name':'c','imagePullPolicy':'Tomorrow','ports':[{'hostPort':"
        "-7,'protocol':'CARRIER-PIGEON'}]}]},'status':{'phase':'Dreaming',"
        "'conditions':[{'type':'X','status':'Y'}]}}",
        /* Empty names. */
        "{'metadata':{},'spec':{'schedulerName':'default-scheduler'}}",
        /* Empty objects, and absurd numbers. */
        "{'metadata':{'name':'p','uid':'p'},'spec':{'schedulerName':"
        "'default-scheduler','priority':-2147483648,'containers':[{},{}],"
        "'initContainers':[{}],'nodeSelector':{'':''},'affinity':{'nodeAffinity':{"
        "'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{},{"
        "'matchExpressions':[{'key':'','operator':'Nearby','values':[]}]}]}}}}}",
    };
    static const char *const nodes[] = {
        "{'metadata':{'name':'n'},'spec':{'taints':[{'key':'','effect':'Bad'}]},"
        "'status':{'phase':'Limbo','conditions':[{'type':'Ready','status':'Maybe'}]"
        "}}",
        "{'metadata':{},'status':{'allocatable':{'cpu':'4','memory':'8Gi','pods':"
        "'110'}}}",
        "{'metadata':{'name':'n','labels':{'topology.kubernetes.io/"
        "zone':'','':''}},"
        "'status':{'images':[{'names':['','','a'],'sizeBytes':-5},{}]}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(pods) * ARRAY_LEN(nodes); i++) {
        struct fixture f;
        fixture_init(&f, NULL, NULL);
        const char *node = nodes[i % ARRAY_LEN(nodes)], *pod = pods[i / ARRAY_LEN(nodes)];
        fixture_add(&f, object_jsonf(KIND_NODE, "%s", node));
        fixture_add(&f, object_jsonf(KIND_POD, "%s", pod));
        assert_survives(&f, i / ARRAY_LEN(nodes) == 1 ? "" : "p");
        /* Deleted again. */
        fixture_delete(&f, object_jsonf(KIND_POD, "%s", pod));
        fixture_delete(&f, object_jsonf(KIND_NODE, "%s", node));
        fixture_delete(&f, object_jsonf(KIND_NODE, "%s", node));
        fixture_release(&f);
    }
}

/* {"k0":"v",…} */
static void add_many(struct buf *out, const char *prefix, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_add_printf(out, "%s'%s%zu':'v'", i ? "," : "", prefix, i);
}

#define MANY 100000

static struct object *big_node(const char *name)
{
    struct buf text = BUF_INIT;
    buf_add_printf(&text, "{'metadata':{'name':'%s','labels':{", name);
    add_many(&text, "l", MANY);
    buf_add_cstr(&text, "}},'status':{'allocatable':{'cpu':'4','memory':'8Gi','pods':"
                        "'110'},'images':[");
    for (size_t i = 0; i < MANY; i++)
        buf_add_printf(&text, "%s{'names':['i%zu'],'sizeBytes':%zu}", i ? "," : "", i, i);
    buf_add_cstr(&text, "]}}");
    struct object *o = object_jsonf(KIND_NODE, "%s", buf_cstr(&text));
    buf_release(&text);
    return o;
}

static struct object *big_pod(const char *name)
{
    struct buf text = BUF_INIT;
    buf_add_printf(&text, "{'metadata':{'name':'%s','uid':'%s','labels':{", name, name);
    add_many(&text, "l", MANY);
    buf_add_cstr(&text, "}},'spec':{'schedulerName':'default-scheduler','nodeSelector':{");
    add_many(&text, "l", 1000);
    buf_add_cstr(&text, "}}}");
    struct object *o = object_jsonf(KIND_POD, "%s", buf_cstr(&text));
    buf_release(&text);
    return o;
}

static void labels_and_images_by_the_hundred_thousand(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    fixture_add(&f, big_node("a"));
    fixture_add(&f, big_node("b"));
    fixture_add(&f, big_pod("p"));
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "p"));
    fixture_update(&f, big_node("a"), big_node("a"));
    fixture_delete(&f, big_node("b"));
    assert_int_equal(engine_get_stats(f.engine).nodes, 1);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undefined_codes_are_errors_at_every_point),
        cmocka_unit_test(batches_that_lie),
        cmocka_unit_test(a_silent_extender_blocks_no_other_call),
        cmocka_unit_test(an_answer_too_many_is_not_the_next_plugins),
        cmocka_unit_test(the_last_of_two_writes_counts),
        cmocka_unit_test(the_answer_of_an_abandoned_write_is_ignored),
        cmocka_unit_test(reasons_without_end_are_cut),
        cmocka_unit_test(odd_amounts),
        cmocka_unit_test(odd_objects),
        cmocka_unit_test(labels_and_images_by_the_hundred_thousand),
    };
    return cmocka_run_group_tests_name("bad_input", tests, NULL, NULL);
}
