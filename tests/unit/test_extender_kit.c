/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extender kit: what a verb function reads and what is answered; that berth's own client and
 * the kit understand each other on random calls; and a server with clients of all kinds.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

#include "codec/json_value.h"
#include "extender/extender_call.h"
#include "live/extender_json.h"
#include "objects.h"
#include "prop.h"

static bool is(struct berth_str s, const char *want)
{
    return str_is((struct str){s.p, s.n}, want);
}

/* text: with single quotes. Returns the code; the error is kept for read_error. */
static struct err read_error;
static int read_call(struct berth_extender_call *call, enum extender_call_verb verb,
                     const char *text)
{
    read_error = (struct err){0};
    return extender_call_read(call, verb, str_of(json_quotes(text)), &read_error);
}

static void assert_answer(const struct berth_extender_call *call, int status, const char *want)
{
    struct buf out = BUF_INIT;
    assert_int_equal(extender_call_write(call, &out), status);
    if (!str_is(buf_str(&out), json_quotes(want)))
        fail_msg("got  %s\nwant %s", buf_cstr(&out), want);
    buf_release(&out);
}

/* --- single calls ----------------------------------------------------------------------------- */

#define THE_POD "'Pod':{'metadata':{'name':'p','namespace':'ns','uid':'u'}}"

static void test_filter_with_nodes(void **state)
{
    (void)state;
    struct berth_extender_call call;
    const char *text = json_quotes(
        "{" THE_POD ",'Nodes':{'items':[{'metadata':{'name':'a','labels':{'zone':'z1'}},"
        "'x':[1, 2]},{'metadata':{'name':'b'}},{'metadata':{'name':'c'}}]},'NodeNames':null}");
    assert_int_equal(extender_call_read(&call, EXTENDER_CALL_FILTER, str_of(text), &read_error), 0);
    struct berth_str value;
    assert_true(is(berth_extender_name(berth_extender_pod(&call)), "p"));
    assert_true(is(berth_extender_namespace(berth_extender_pod(&call)), "ns"));
    assert_true(is(berth_extender_uid(berth_extender_pod(&call)), "u"));
    assert_int_equal(berth_extender_n_nodes(&call), 3);
    assert_true(is(berth_extender_node_name(&call, 1), "b"));
    assert_true(is(berth_extender_node_name(&call, 3), ""));
    assert_null(berth_extender_node(&call, 3));
    assert_true(berth_extender_label(berth_extender_node(&call, 0), "zone", &value));
    assert_true(is(value, "z1"));
    assert_false(berth_extender_label(berth_extender_node(&call, 1), "zone", &value));
    berth_extender_reject(&call, 1, BERTH_UNSCHEDULABLE, "no \"room\"");
    berth_extender_reject(&call, 2, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, "never");
    berth_extender_reject(&call, 3, BERTH_UNSCHEDULABLE, "no such node");
    assert_answer(&call, 200,
                  "{'Nodes':{'metadata':{},'items':[{'metadata':{'name':'a','labels':{'zone':'z1'}}"
                  ",'x':[1, 2]}]},'NodeNames':null,'FailedNodes':{'b':'no `room`'},"
                  "'FailedAndUnresolvableNodes':{'c':'never'},'Error':''}");
    extender_call_release(&call);
}

static void test_filter_with_names(void **state)
{
    (void)state;
    struct berth_extender_call call;
    assert_int_equal(
        read_call(&call, EXTENDER_CALL_FILTER, "{'pod':{},'nodes':null,'nodenames':['a','b<']}"),
        0);
    assert_null(berth_extender_node(&call, 0));
    berth_extender_reject(&call, 0, BERTH_SUCCESS, "an odd code"); /* is an ordinary rejection */
    assert_answer(&call, 200,
                  "{'Nodes':null,'NodeNames':['b\\u003c'],'FailedNodes':{'a':'an odd code'},"
                  "'FailedAndUnresolvableNodes':{},'Error':''}");
    berth_extender_fail(&call, "broken");
    berth_extender_fail(&call, "again");
    assert_answer(&call, 200, "{'Error':'broken'}");
    extender_call_release(&call);
    assert_int_equal(read_call(&call, EXTENDER_CALL_FILTER, "{" THE_POD "}"), 0);
    assert_answer(&call, 200,
                  "{'Nodes':null,'NodeNames':null,'FailedNodes':{},"
                  "'FailedAndUnresolvableNodes':{},'Error':''}");
    extender_call_release(&call);
}

static void test_prioritize(void **state)
{
    (void)state;
    struct berth_extender_call call;
    assert_int_equal(
        read_call(&call, EXTENDER_CALL_PRIORITIZE, "{" THE_POD ",'NodeNames':['a','b','c']}"), 0);
    berth_extender_score(&call, 0, 7);
    berth_extender_score(&call, 2, INT64_MIN);
    berth_extender_score(&call, 9, 1);
    assert_answer(&call, 200,
                  "[{'Host':'a','Score':7},{'Host':'b','Score':0},{'Host':'c','Score':-"
                  "9223372036854775808}]");
    berth_extender_fail(&call, "");
    assert_answer(&call, 500, "{'Error':'unknown error'}");
    extender_call_release(&call);
}

static void test_preempt(void **state)
{
    (void)state;
    struct berth_extender_call call;
    assert_int_equal(read_call(&call, EXTENDER_CALL_PREEMPT,
                               "{" THE_POD
                               ",'NodeNameToVictims':{'a':{'Pods':[{'metadata':{'uid':'1'}}"
                               ",{'metadata':{'uid':'2','name':'two'}}],'NumPDBViolations':1},"
                               "'b':{'Pods':null},'c':{'Pods':[{'metadata':{'uid':'3'}}]}},"
                               "'NodeNameToMetaVictims':null}"),
                     0);
    assert_int_equal(berth_extender_n_nodes(&call), 3);
    assert_int_equal(berth_extender_n_victims(&call, 0), 2);
    assert_int_equal(berth_extender_n_victims(&call, 1), 0);
    assert_true(is(berth_extender_name(berth_extender_victim(&call, 0, 1)), "two"));
    assert_true(is(berth_extender_victim_uid(&call, 2, 0), "3"));
    assert_true(is(berth_extender_victim_uid(&call, 2, 1), ""));
    assert_int_equal(berth_extender_pdb_violations(&call, 0), 1);
    berth_extender_spare(&call, 0, 0);
    berth_extender_set_pdb_violations(&call, 0, 0);
    berth_extender_reject(&call, 1, BERTH_UNSCHEDULABLE, NULL);
    assert_answer(&call, 200,
                  "{'NodeNameToMetaVictims':{'a':{'Pods':[{'UID':'2'}],'NumPDBViolations':0},"
                  "'c':{'Pods':[{'UID':'3'}],'NumPDBViolations':0}}}");
    extender_call_release(&call);
}

static void test_bind(void **state)
{
    (void)state;
    struct berth_extender_call call;
    assert_int_equal(read_call(&call, EXTENDER_CALL_BIND,
                               "{'PodName':'p','podnamespace':'ns','PodUID':'u','Node':'n'}"),
                     0);
    struct berth_extender_binding b = berth_extender_binding(&call);
    assert_true(is(b.pod_name, "p") && is(b.pod_namespace, "ns") && is(b.pod_uid, "u") &&
                is(b.node, "n"));
    assert_null(berth_extender_pod(&call));
    assert_answer(&call, 200, "{'Error':''}");
    extender_call_release(&call);
    assert_int_equal(read_call(&call, EXTENDER_CALL_FILTER, "{" THE_POD "}"), 0);
    berth_extender_create_binding(&call);
    assert_answer(&call, 200, "{'Error':'berth_extender_create_binding is for bind only'}");
    extender_call_release(&call);
}

static void test_objects(void **state)
{
    (void)state;
    struct berth_extender_call call;
    struct berth_str value = {0};
    const char *text = json_quotes(
        "{'Pod':{'metadata':{'name':'p','annotations':{'a/b':'\\u00e9'}},'spec':{'containers':["
        "{'resources':{'requests':{'cpu':'250m','memory':'1Gi','example.com/gpu':2}}},"
        "{'resources':{'requests':{'cpu':1}}}],'priority':7}},"
        "'Nodes':{'items':[{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'3900m',"
        "'pods':'110'},'nodeInfo':{'kernelVersion':'6.1 `x`'}}}]}}");
    assert_int_equal(extender_call_read(&call, EXTENDER_CALL_FILTER, str_of(text), &read_error), 0);
    const struct berth_extender_object *pod = berth_extender_pod(&call);
    const struct berth_extender_object *node = berth_extender_node(&call, 0);
    assert_true(berth_extender_annotation(pod, "a/b", &value));
    assert_true(is(value, "\xc3\xa9"));
    assert_int_equal(berth_extender_pod_request(pod, "cpu"), 1250);
    assert_int_equal(berth_extender_pod_request(pod, "memory"), 1 << 30);
    assert_int_equal(berth_extender_pod_request(pod, "example.com/gpu"), 2);
    assert_int_equal(berth_extender_pod_request(pod, "example.com/none"), 0);
    assert_int_equal(berth_extender_node_allocatable(node, "cpu"), 3900);
    assert_int_equal(berth_extender_node_allocatable(node, "pods"), 110);
    assert_true(berth_extender_field(pod, &value, "spec", "priority", NULL));
    assert_true(is(value, "7"));
    assert_true(berth_extender_field(node, &value, "status", "nodeInfo", "kernelVersion", NULL));
    assert_true(is(value, "6.1 \"x\""));
    assert_false(berth_extender_field(pod, &value, "spec", "priority", "x", NULL));
    assert_false(berth_extender_field(pod, &value, "spec", "none", NULL));
    assert_false(berth_extender_field(NULL, &value, "spec", NULL));
    assert_int_equal(berth_extender_pod_request(NULL, "cpu"), 0);
    assert_true(is(berth_extender_name(NULL), ""));
    assert_true(is(berth_extender_json(NULL), ""));
    extender_call_release(&call);
}

static void test_garbage(void **state)
{
    (void)state;
    static const struct {
        enum extender_call_verb verb;
        const char *text, *error;
    } rows[] = {
        {EXTENDER_CALL_FILTER, "", "line 1, column 1: unexpected end of input"},
        {EXTENDER_CALL_FILTER, "[]", "line 1, column 1: expected an object"},
        {EXTENDER_CALL_FILTER, "{}", "Pod is required"},
        {EXTENDER_CALL_FILTER, "{'Pod':null}", "Pod is required"},
        {EXTENDER_CALL_FILTER, "{'Pod':3}", "Pod: line 1, column 1: expected an object"},
        {EXTENDER_CALL_FILTER, "{'Pod':{'metadata':{'name':1}}}",
         "Pod: line 1, column 21: metadata.name: expected a string"},
        {EXTENDER_CALL_FILTER, "{" THE_POD ",'Nodes':{'items':[{}]}}",
         "Nodes.items[0]: metadata.name is required"},
        {EXTENDER_CALL_FILTER,
         "{" THE_POD ",'Nodes':{'items':[{'metadata':{'name':'a'}},{'x':tru}]}}",
         "Nodes.items[1]: line 1, column 6: x: expected a value"},
        {EXTENDER_CALL_FILTER, "{" THE_POD ",'Nodes':{'items':3}}",
         "line 1, column 10: items: expected an array"},
        {EXTENDER_CALL_PRIORITIZE, "{" THE_POD ",'NodeNames':{}}",
         "NodeNames: line 1, column 10: items: expected an array"},
        {EXTENDER_CALL_PREEMPT, "{" THE_POD "}",
         "NodeNameToVictims or NodeNameToMetaVictims is required"},
        {EXTENDER_CALL_PREEMPT, "{" THE_POD ",'NodeNameToVictims':{'a':{'Pods':[{}]}}}",
         "NodeNameToVictims: Pods: a pod without UID"},
        {EXTENDER_CALL_PREEMPT, "{" THE_POD ",'NodeNameToMetaVictims':{'a':{'Pods':[{'UID':1}]}}}",
         "NodeNameToMetaVictims: Pods: line 1, column 8: UID: expected a string"},
        {EXTENDER_CALL_PREEMPT,
         "{" THE_POD ",'NodeNameToMetaVictims':{'a':{'NumPDBViolations':'x'}}}",
         "NodeNameToMetaVictims: NumPDBViolations: line 1, column 6: n: expected a whole number"},
        {EXTENDER_CALL_BIND, "{'PodName':'p'}", "PodName and Node are required"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct berth_extender_call call;
        assert_int_equal(read_call(&call, rows[i].verb, rows[i].text), -EBADMSG);
        if (strcmp(read_error.msg, rows[i].error) != 0)
            fail_msg("%s\ngot  %s\nwant %s", rows[i].text, read_error.msg, rows[i].error);
        extender_call_release(&call);
    }
}

/* --- berth's client and the kit --------------------------------------------------------------- */

#define MAX_NODES 6

struct scene {
    struct object *pod, *nodes[MAX_NODES], *victims[MAX_NODES][3];
    struct str names[MAX_NODES];
    struct extender_victims node_victims[MAX_NODES];
    struct extender_call call;
};

static struct object *random_object(struct rand *r, enum kind_id kind, const char *name)
{
    char text[256];
    snprintf(text, sizeof(text),
             "{'metadata':{'name':'%s','uid':'u-%s-%llu'},'spec':{'a':[%llu,'\\u00fc\\\\']}}", name,
             name, (unsigned long long)rand_below(r, 1000),
             (unsigned long long)rand_below(r, 1000));
    return object_kept(kind, OBJECT_KEEP_JSON, text);
}

static void scene_init(struct scene *s, struct rand *r, enum extender_verb verb)
{
    static const char *const names[] = {"a", "b", "c.d", "e", "f-1", "g"};
    *s = (struct scene){.pod = random_object(r, KIND_POD, "pod")};
    s->call = (struct extender_call){.verb = verb, .pod = s->pod, .node_names = s->names};
    s->call.n_nodes = verb == EXTENDER_BIND ? 1 : rand_below(r, MAX_NODES + 1);
    for (size_t i = 0; i < s->call.n_nodes; i++) {
        s->nodes[i] = random_object(r, KIND_NODE, names[i]);
        s->names[i] = str_of(names[i]);
        size_t n = 1 + rand_below(r, 3);
        for (size_t k = 0; k < n; k++)
            s->victims[i][k] = random_object(r, KIND_POD, (const char *[]){"x", "y", "z"}[k]);
        s->node_victims[i] = (struct extender_victims){.node_name = s->names[i],
                                                       .pods = s->victims[i],
                                                       .n_pods = n,
                                                       .pdb_violations = (int64_t)rand_below(r, 3)};
    }
    s->call.nodes = s->nodes;
    s->call.victims = s->node_victims;
    s->call.n_victims = s->call.n_nodes;
}

static void scene_release(struct scene *s)
{
    object_unref(s->pod);
    for (size_t i = 0; i < s->call.n_nodes; i++) {
        object_unref(s->nodes[i]);
        for (size_t k = 0; k < s->node_victims[i].n_pods; k++)
            object_unref(s->victims[i][k]);
    }
}

static void assert_filtered(struct rand *r, struct berth_extender_call *call, const struct scene *s,
                            bool names_only, struct arena *a)
{
    enum berth_code codes[MAX_NODES] = {0};
    struct buf out = BUF_INIT;
    struct extender_result result;
    size_t kept = 0, failed = 0, never = 0;
    for (size_t i = 0; i < s->call.n_nodes; i++) {
        codes[i] = (enum berth_code[]){BERTH_SUCCESS, BERTH_UNSCHEDULABLE,
                                       BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE}[rand_below(r, 3)];
        if (codes[i])
            berth_extender_reject(call, i, codes[i], "because");
    }
    assert_int_equal(extender_call_write(call, &out), 200);
    assert_int_equal(
        extender_decode(EXTENDER_FILTER, names_only, buf_str(&out), a, &result, &read_error), 0);
    for (size_t i = 0; i < s->call.n_nodes; i++) {
        if (codes[i] == BERTH_SUCCESS)
            assert_true(str_eq(result.kept[kept++], s->names[i]));
        else if (codes[i] == BERTH_UNSCHEDULABLE)
            assert_true(str_eq(result.failed[failed++].node_name, s->names[i]));
        else
            assert_true(str_eq(result.unresolvable[never++].node_name, s->names[i]));
    }
    assert_int_equal(result.n_kept, kept);
    assert_int_equal(result.n_failed, failed);
    assert_int_equal(result.n_unresolvable, never);
    buf_release(&out);
}

static void assert_scored(struct rand *r, struct berth_extender_call *call, const struct scene *s,
                          struct arena *a)
{
    int64_t scores[MAX_NODES];
    struct buf out = BUF_INIT;
    struct extender_result result;
    for (size_t i = 0; i < s->call.n_nodes; i++) {
        scores[i] = (int64_t)rand_below(r, 20) - 5;
        berth_extender_score(call, i, scores[i]);
    }
    assert_int_equal(extender_call_write(call, &out), 200);
    assert_int_equal(
        extender_decode(EXTENDER_PRIORITIZE, false, buf_str(&out), a, &result, &read_error), 0);
    assert_int_equal(result.n_scores, s->call.n_nodes);
    for (size_t i = 0; i < s->call.n_nodes; i++) {
        assert_true(str_eq(result.scores[i].node_name, s->names[i]));
        assert_int_equal(result.scores[i].score, scores[i]);
    }
    buf_release(&out);
}

/* Every victim is spared or not, and the UIDs that come back are those of the others. */
static void assert_preempted(struct rand *r, struct berth_extender_call *call,
                             const struct scene *s, struct arena *a)
{
    struct buf out = BUF_INIT;
    struct extender_result result;
    bool spared[MAX_NODES][3] = {0};
    for (size_t i = 0; i < s->call.n_nodes; i++)
        for (size_t k = 0; k < s->node_victims[i].n_pods; k++) {
            assert_true(is(berth_extender_victim_uid(call, i, k),
                           arena_dup(a, object_meta(s->victims[i][k])->uid).p));
            spared[i][k] = rand_below(r, 2);
            if (spared[i][k])
                berth_extender_spare(call, i, k);
        }
    assert_int_equal(extender_call_write(call, &out), 200);
    assert_int_equal(
        extender_decode(EXTENDER_PREEMPT, false, buf_str(&out), a, &result, &read_error), 0);
    assert_int_equal(result.n_victims, s->call.n_nodes);
    for (size_t i = 0; i < s->call.n_nodes; i++) {
        size_t at = 0;
        assert_int_equal(result.victims[i].pdb_violations, s->node_victims[i].pdb_violations);
        for (size_t k = 0; k < s->node_victims[i].n_pods; k++)
            if (!spared[i][k])
                assert_true(
                    str_eq(result.victims[i].uids[at++], object_meta(s->victims[i][k])->uid));
        assert_int_equal(result.victims[i].n_uids, at);
    }
    buf_release(&out);
}

static bool one_exchange(struct rand *r, size_t size, void *ctx)
{
    (void)size, (void)ctx;
    enum extender_verb verb = (enum extender_verb)rand_below(r, 4);
    static const enum extender_call_verb verbs[] = {
        [EXTENDER_FILTER] = EXTENDER_CALL_FILTER,
        [EXTENDER_PRIORITIZE] = EXTENDER_CALL_PRIORITIZE,
        [EXTENDER_PREEMPT] = EXTENDER_CALL_PREEMPT,
        [EXTENDER_BIND] = EXTENDER_CALL_BIND,
    };
    bool names_only = rand_below(r, 2);
    struct scene s;
    struct buf text = BUF_INIT;
    struct arena a;
    struct berth_extender_call call;
    arena_init(&a, 0);
    scene_init(&s, r, verb);
    extender_encode(&s.call, names_only, &text);
    assert_int_equal(extender_call_read(&call, verbs[verb], buf_str(&text), &read_error), 0);
    if (verb == EXTENDER_BIND) {
        assert_true(is(berth_extender_binding(&call).node, "a"));
        assert_answer(&call, 200, "{'Error':''}");
    } else {
        assert_int_equal(berth_extender_n_nodes(&call), s.call.n_nodes);
    }
    if (verb == EXTENDER_FILTER)
        assert_filtered(r, &call, &s, names_only, &a);
    if (verb == EXTENDER_PRIORITIZE)
        assert_scored(r, &call, &s, &a);
    if (verb == EXTENDER_PREEMPT)
        assert_preempted(r, &call, &s, &a);
    extender_call_release(&call);
    buf_release(&text);
    scene_release(&s);
    arena_release(&a);
    return true; /* the assertions above have held */
}

static void test_berth_as_client(void **state)
{
    (void)state;
    assert_true(prop_run("berth and the kit agree", 2000, one_exchange, NULL));
}

/* --- the server ------------------------------------------------------------------------------- */

struct serving_kit {
    sem_t entered, leave; /* of slow filters */
    struct berth_extender extender;
    struct berth_extender_server *server;
};

static void slow_filter(void *user, struct berth_extender_call *call)
{
    struct serving_kit *s = user;
    if (!is(berth_extender_name(berth_extender_pod(call)), "slow"))
        return;
    sem_post(&s->entered);
    sem_wait(&s->leave);
}

static void service_start(struct serving_kit *s, const struct berth_extender_options *options)
{
    char error[256] = "";
    *s = (struct serving_kit){
        .extender = {
            .struct_size = sizeof(s->extender), .name = "test", .user = s, .filter = slow_filter}};
    sem_init(&s->entered, 0, 0);
    sem_init(&s->leave, 0, 0);
    int r = berth_extender_start(&s->extender, options, &s->server, error, sizeof(error));
    if (r < 0)
        fail_msg("%s", error);
}

static void service_stop(struct serving_kit *s)
{
    berth_extender_stop(s->server);
    sem_destroy(&s->entered);
    sem_destroy(&s->leave);
}

static int dial(const struct serving_kit *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(berth_extender_port(s->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        abort();
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static int post(const struct serving_kit *s, const char *path, const char *body)
{
    int fd = dial(s);
    char *text = xasprintf("POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                           "Content-Length: %zu\r\n\r\n%s",
                           path, strlen(body), body);
    say(fd, text);
    free(text);
    return fd;
}

/* Everything until the server closes; the caller frees it. */
static char *hear(int fd)
{
    struct buf out = BUF_INIT;
    char piece[4096];
    ssize_t n;
    while ((n = recv(fd, piece, sizeof(piece), 0)) > 0)
        buf_add(&out, piece, (size_t)n);
    close(fd);
    return buf_take(&out);
}

static void assert_heard(int fd, const char *status, const char *part)
{
    char *text = hear(fd);
    if (!text || !strstr(text, status) || !strstr(text, part))
        fail_msg("got %s\nwant %s and %s", text ? text : "nothing", status, part);
    free(text);
}

#define FAST "{\"Pod\":{\"metadata\":{\"name\":\"fast\"}},\"NodeNames\":[\"a\"]}"
#define SLOW "{\"Pod\":{\"metadata\":{\"name\":\"slow\"}},\"NodeNames\":[\"a\"]}"

static void test_server(void **state)
{
    (void)state;
    struct serving_kit s;
    service_start(
        &s, &(struct berth_extender_options){.struct_size = sizeof(struct berth_extender_options),
                                             .plain = true,
                                             .max_body = 4096});
    assert_heard(post(&s, "/filter", FAST), "200 OK", "\"NodeNames\":[\"a\"]");
    assert_heard(post(&s, "/some/prefix/filter", FAST), "200 OK", "\"NodeNames\":[\"a\"]");
    assert_heard(post(&s, "/filter", "nonsense"), "400 ", "expected an object");
    assert_heard(post(&s, "/prioritize", FAST), "404 ", "no such verb");
    assert_heard(post(&s, "/xfilter", FAST), "404 ", "no such verb");
    int fd = dial(&s);
    say(fd, "GET /filter HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_heard(fd, "405 ", "use POST");
    fd = dial(&s);
    say(fd, "POST /filter HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            "Content-Length: 99999999999\r\n\r\n{");
    assert_heard(fd, "413 ", "longer than 4096 bytes");
    fd = dial(&s);
    say(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_heard(fd, "200 OK", "berth_extender_requests_total{code=\"200\",verb=\"filter\"} 2");
    /* A client that disconnects in the middle of its body. */
    fd = dial(&s);
    say(fd, "POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    close(fd);
    fd = dial(&s);
    say(fd, "POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    service_stop(&s); /* with a body that is not complete */
    close(fd);
}

/* Full: refused at once. Health is answered while all workers are busy. Stopping waits. */
static void test_busy_server(void **state)
{
    (void)state;
    struct serving_kit s;
    service_start(
        &s, &(struct berth_extender_options){.struct_size = sizeof(struct berth_extender_options),
                                             .plain = true,
                                             .threads = 1,
                                             .max_calls = 2});
    int running = post(&s, "/filter", SLOW);
    sem_wait(&s.entered);
    int gone = post(&s, "/filter", SLOW);
    /* The second call waits for the worker. It has arrived when two calls are counted. */
    for (bool counted = false; !counted;) {
        int fd = dial(&s);
        say(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        char *page = hear(fd);
        counted = page && strstr(page, "\nberth_extender_requests_in_flight 2\n");
        free(page);
    }
    assert_heard(post(&s, "/filter", FAST), "503 ", "too many calls");
    int fd = dial(&s);
    say(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_heard(fd, "200 OK", "ok");
    close(gone); /* its call still runs, and its answer is dropped */
    sem_post(&s.leave);
    sem_post(&s.leave);
    assert_heard(running, "200 OK", "\"NodeNames\":[\"a\"]");
    service_stop(&s);
}

static void test_refused_options(void **state)
{
    (void)state;
    static const struct {
        struct berth_extender_options options;
        const char *error;
    } rows[] = {
        {{.plain = true, .client_ca_file = "x"}, "certificates have no effect without TLS"},
        {{.cert_file = "x"}, "a certificate and its key are needed, only one is given"},
        {{.address = "nowhere.invalid."}, "nowhere.invalid."},
        {{.plain = true, .kubeconfig = "/nonexistent"}, "/nonexistent"},
    };
    struct berth_extender extender = {.struct_size = sizeof(extender), .name = "test"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct berth_extender_options options = rows[i].options;
        struct berth_extender_server *server = NULL;
        char error[256] = "";
        options.struct_size = sizeof(options);
        assert_true(berth_extender_start(&extender, &options, &server, error, sizeof(error)) < 0);
        if (!strstr(error, rows[i].error))
            fail_msg("got %s, want %s", error, rows[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_with_nodes),
        cmocka_unit_test(test_filter_with_names),
        cmocka_unit_test(test_prioritize),
        cmocka_unit_test(test_preempt),
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_berth_as_client),
        cmocka_unit_test(test_server),
        cmocka_unit_test(test_busy_server),
        cmocka_unit_test(test_refused_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
