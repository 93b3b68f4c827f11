/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to extenders, byte by byte, and how their answers are decoded. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/json_value.h"
#include "engine/config/extender_config.h"
#include "live/extender_body.h"
#include "live/extender_json.h"
#include "objects.h"
#include "prop.h"

/* want: with single quotes. */
static void assert_str(struct str got, const char *want)
{
    if (!str_is(got, json_quotes(want)))
        fail_msg("got  %.*s\nwant %s", STR_ARG(got), want);
}

static void assert_sent(const struct extender_call *call, bool names_only, const char *want)
{
    struct buf out = BUF_INIT;
    extender_encode(call, names_only, &out);
    assert_str(buf_str(&out), want);
    buf_release(&out);
}

/* --- requests --------------------------------------------------------------------------------- */

#define POD_TEXT "{'metadata':{'name':'p','x':[1, 2]},'spec':{'odd': null}}"

struct scene {
    struct object *pod, *nodes[2];
    struct extender_call call;
};
static const struct str names[] = {STR_INIT("a"), STR_INIT("b\"<")};

static void scene_init(struct scene *s, enum extender_verb verb)
{
    s->pod = object_kept(KIND_POD, OBJECT_KEEP_JSON | OBJECT_DROP_MANAGED_FIELDS,
                         "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p',"
                         "'managedFields':[{'a':{}}],'x':[1, 2]},'spec':{'odd': null}}");
    s->nodes[0] = object_kept(KIND_NODE, OBJECT_KEEP_JSON,
                              "{'metadata':{'managedFields':[],'name':'a'},'new':1}");
    s->nodes[1] = object_kept(KIND_NODE, 0, "{'metadata':{'name':'b`<'},'new':1}");
    s->call = (struct extender_call){
        .verb = verb, .pod = s->pod, .node_names = names, .nodes = s->nodes, .n_nodes = 2};
}

static void scene_release(struct scene *s)
{
    object_unref(s->pod);
    object_unref(s->nodes[0]);
    object_unref(s->nodes[1]);
}

static void objects_are_sent_as_they_came(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, EXTENDER_FILTER);
    /* A node without kept text: its known fields are encoded. */
    assert_sent(&s.call, false,
                "{'Pod':" POD_TEXT ",'Nodes':{'metadata':{},'items':["
                "{'metadata':{'managedFields':[],'name':'a'},'new':1},"
                "{'metadata':{'name':'b`\\u003c'}}]},'NodeNames':null}");
    s.call.verb = EXTENDER_PRIORITIZE;
    assert_sent(&s.call, true, "{'Pod':" POD_TEXT ",'Nodes':null,'NodeNames':['a','b`\\u003c']}");
    scene_release(&s);
}

static void a_binding_is_sent_by_names(void **state)
{
    (void)state;
    struct object *pod =
        object_kept(KIND_POD, 0, "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{}}");
    struct extender_call call = {
        .verb = EXTENDER_BIND, .pod = pod, .node_names = names, .n_nodes = 1};
    assert_sent(&call, false, "{'PodName':'p','PodNamespace':'ns','PodUID':'u','Node':'a'}");
    object_unref(pod);
}

static void victims_are_sent_whole_or_by_uid(void **state)
{
    (void)state;
    struct scene s;
    struct object *victim =
        object_kept(KIND_POD, OBJECT_KEEP_JSON, "{'metadata':{'uid':'u1'},'z':0}");
    struct object *const both[] = {victim, victim};
    struct extender_victims victims[] = {
        {.node_name = STR("a"), .pods = both, .n_pods = 2, .pdb_violations = 1},
        {.node_name = STR("b")},
    };
    scene_init(&s, EXTENDER_PREEMPT);
    s.call.victims = victims;
    s.call.n_victims = 2;
    assert_sent(&s.call, false,
                "{'Pod':" POD_TEXT ",'NodeNameToVictims':{'a':{'Pods':["
                "{'metadata':{'uid':'u1'},'z':0},{'metadata':{'uid':'u1'},'z':0}],"
                "'NumPDBViolations':1},'b':{'Pods':[],'NumPDBViolations':0}},"
                "'NodeNameToMetaVictims':null}");
    assert_sent(&s.call, true,
                "{'Pod':" POD_TEXT ",'NodeNameToVictims':null,'NodeNameToMetaVictims':{"
                "'a':{'Pods':[{'UID':'u1'},{'UID':'u1'}],'NumPDBViolations':1},"
                "'b':{'Pods':[],'NumPDBViolations':0}}}");
    object_unref(victim);
    scene_release(&s);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* An answer in one line: "keeps a b fails c=why never d=why scores a=1 evicts a(u1 u2)2". */
static void tell(const struct extender_result *r, struct buf *out)
{
    if (r->error.n)
        buf_add_printf(out, "error %.*s ", STR_ARG(r->error));
    for (size_t i = 0; i < r->n_kept; i++)
        buf_add_printf(out, "%s%.*s ", r->kept_objects ? "+" : "", STR_ARG(r->kept[i]));
    for (size_t i = 0; i < r->n_failed; i++)
        buf_add_printf(out, "-%.*s=%.*s ", STR_ARG(r->failed[i].node_name),
                       STR_ARG(r->failed[i].message));
    for (size_t i = 0; i < r->n_unresolvable; i++)
        buf_add_printf(out, "!%.*s=%.*s ", STR_ARG(r->unresolvable[i].node_name),
                       STR_ARG(r->unresolvable[i].message));
    for (size_t i = 0; i < r->n_scores; i++)
        buf_add_printf(out, "%.*s:%lld ", STR_ARG(r->scores[i].node_name),
                       (long long)r->scores[i].score);
    for (size_t i = 0; i < r->n_victims; i++) {
        buf_add_printf(out, "%.*s(", STR_ARG(r->victims[i].node_name));
        for (size_t k = 0; k < r->victims[i].n_uids; k++)
            buf_add_printf(out, "%.*s ", STR_ARG(r->victims[i].uids[k]));
        buf_add_printf(out, ")%lld ", (long long)r->victims[i].pdb_violations);
    }
}

struct answer_case {
    enum extender_verb verb;
    bool names_only;
    const char *text;
    const char *want; /* NULL: rejected */
};

static void check_answer(const struct answer_case *c)
{
    struct arena arena;
    struct extender_result r = {0};
    struct err err = {0};
    struct buf told = BUF_INIT;
    arena_init(&arena, 0);
    int code = extender_decode(c->verb, c->names_only, json_quotes_str(c->text), &arena, &r, &err);
    if (c->want) {
        if (code < 0)
            fail_msg("%s: %s", c->text, err.msg);
        tell(&r, &told);
        assert_str(buf_str(&told), c->want);
    } else if (code == 0 || !err.msg[0])
        fail_msg("taken: %s", c->text);
    buf_release(&told);
    arena_release(&arena);
}

static void answers_are_read_as_go_reads_them(void **state)
{
    (void)state;
    static const struct answer_case cases[] = {
        {EXTENDER_FILTER, true, "{'NodeNames':['a','b']}", "a b "},
        {EXTENDER_FILTER, true, " {'nodenames' : ['a'], 'ERROR': ''} \n", "a "},
        {EXTENDER_FILTER, false, "{'NodeNames':['a']}", ""},
        {EXTENDER_FILTER, false,
         "{'nodes':{'ITEMS':[{'spec':{'a':[{}]},'Metadata':{'x':{},'name':'a'}},"
         "{'metadata':{'name':'b'}}]}}",
         "+a +b "},
        /* Names are used if there are any, otherwise nodes. */
        {EXTENDER_FILTER, true, "{'NodeNames':['b'],'Nodes':{'items':[{'metadata':{'name':'a'}}]}}",
         "b "},
        {EXTENDER_FILTER, true, "{'NodeNames':null,'Nodes':{'items':[{'metadata':{'name':'a'}}]}}",
         "+a "},
        {EXTENDER_FILTER, false,
         "{'Nodes':null,'FailedNodes':{'b':'no','a':'<'},"
         "'FailedAndUnresolvableNodes':{'c':'never'},'Error':''}",
         "-a=< -b=no !c=never "},
        {EXTENDER_FILTER, false, "{'Error':'tired'}", "error tired "},
        {EXTENDER_FILTER, false, "null", ""},
        {EXTENDER_FILTER, false, "{}trailing", ""},
        {EXTENDER_FILTER, false, "{} {}", ""},
        {EXTENDER_FILTER, false, "", NULL},
        {EXTENDER_FILTER, false, " \n", NULL},
        {EXTENDER_FILTER, false, "[]", NULL},
        {EXTENDER_FILTER, false, "no", NULL},
        {EXTENDER_FILTER, false, "{'Nodes':3}", NULL},
        {EXTENDER_FILTER, true, "{'NodeNames':[1]}", NULL},
        {EXTENDER_FILTER, true, "{'NodeNames':[", NULL},
        {EXTENDER_PRIORITIZE, true, "[{'Host':'a','Score':3},{'host':'b','score':-1}]",
         "a:3 b:-1 "},
        {EXTENDER_PRIORITIZE, true, "[{'Host':'a','Score':9223372036854775807}]",
         "a:9223372036854775807 "},
        {EXTENDER_PRIORITIZE, true, "[]", ""},
        {EXTENDER_PRIORITIZE, true, "null", ""},
        {EXTENDER_PRIORITIZE, true, "[] and more", ""},
        {EXTENDER_PRIORITIZE, true, "[{'Host':'a','Score':1.5}]", NULL},
        {EXTENDER_PRIORITIZE, true, "[],'items':[]", ""},
        {EXTENDER_PRIORITIZE, true, "{}", NULL},
        {EXTENDER_BIND, true, "{'error':'full'}", "error full "},
        {EXTENDER_BIND, true, "{}", ""},
        {EXTENDER_BIND, true, "3", NULL},
        {EXTENDER_PREEMPT, true,
         "{'NodeNameToMetaVictims':{'b':{'Pods':[{'UID':'u2'},{'uid':'u1'}],"
         "'NumPDBViolations':2},'a':{'pods':null}}}",
         "a()0 b(u2 u1 )2 "},
        {EXTENDER_PREEMPT, true, "{}", ""},
        {EXTENDER_PREEMPT, true, "{'NodeNameToMetaVictims':[]}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_answer(&cases[i]);
}

/* Any bytes are accepted or rejected with a reason, without reading past the end. */
static bool survives(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    static const char *const parts[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"Nodes\"",
                                        "\"items\"",
                                        "\"a\"",
                                        "null",
                                        "1",
                                        "\"",
                                        "\"Host\"",
                                        "\"Score\"",
                                        "\\",
                                        "\"NodeNames\"",
                                        "\"UID\"",
                                        "1e9",
                                        "true",
                                        "\"FailedNodes\"",
                                        "\"metadata\"",
                                        "\"name\"",
                                        "\"Error\"",
                                        " "};
    struct buf text = BUF_INIT;
    struct arena arena;
    for (size_t i = 0; i < size; i++)
        buf_add_cstr(&text, parts[rand_below(r, ARRAY_LEN(parts))]);
    bool ok = true;
    for (int verb = EXTENDER_FILTER; verb <= EXTENDER_PREEMPT; verb++) {
        struct extender_result result = {0};
        struct err err = {0};
        arena_init(&arena, 0);
        char *exact = str_dup(buf_str(&text));
        int code = extender_decode((enum extender_verb)verb, size % 2, (struct str){exact, text.n},
                                   &arena, &result, &err);
        ok &= code == 0 || err.msg[0];
        free(exact);
        arena_release(&arena);
    }
    buf_release(&text);
    return ok;
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    assert_true(prop_run("any answer is taken or refused", 2000, survives, NULL));
}

/* A request decodes to the nodes that it is about. */
static bool comes_back(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena arena;
    struct buf sent = BUF_INIT, answer = BUF_INIT;
    struct object *pod = object_kept(KIND_POD, OBJECT_KEEP_JSON, "{'spec':{}}");
    arena_init(&arena, 0);
    struct str *all = arena_array(&arena, struct str, size);
    struct object **nodes = arena_array(&arena, struct object *, size);
    for (size_t i = 0; i < size; i++) {
        all[i] = arena_printf(&arena, "n%zu-%llx", i, (unsigned long long)rand_u64(r));
        nodes[i] = object_kept(
            KIND_NODE, rand_below(r, 2) ? OBJECT_KEEP_JSON : 0,
            arena_jsonf(&arena, "{'spec':{'x':'}]'},'metadata':{'name':'%.*s'}}", STR_ARG(all[i]))
                .p);
    }
    struct extender_call call = {
        .verb = EXTENDER_FILTER, .pod = pod, .node_names = all, .nodes = nodes, .n_nodes = size};
    bool names_only = rand_below(r, 2);
    extender_encode(&call, names_only, &sent);
    /* The request's fields are those of the answer. */
    struct extender_result result;
    bool ok =
        extender_decode(EXTENDER_FILTER, names_only, buf_str(&sent), &arena, &result, NULL) == 0 &&
        result.n_kept == size && result.kept_objects == !names_only;
    for (size_t i = 0; ok && i < size; i++)
        ok = str_eq(result.kept[i], all[i]);
    for (size_t i = 0; i < size; i++)
        object_unref(nodes[i]);
    object_unref(pod);
    buf_release(&sent);
    buf_release(&answer);
    arena_release(&arena);
    return ok;
}

static void all_nodes_come_back(void **state)
{
    (void)state;
    assert_true(prop_run("what is sent can be read", 200, comes_back, NULL));
}

/* --- bodies ----------------------------------------------------------------------------------- */

#define POOL 6

/* A body equals a newly encoded one, whatever was requested before and still has readers. */
static bool bodies_are_right(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct object *pods[POOL], *pool[POOL], *asked[POOL];
    struct str pool_names[POOL], asked_names[POOL];
    struct extender_body *last = NULL, *held = NULL;
    struct buf want = BUF_INIT, held_text = BUF_INIT, json = BUF_INIT;
    bool ok = true;
    for (size_t i = 0; i < POOL; i++) {
        buf_clear(&json);
        buf_add_printf(&json, "{'metadata':{'name':'%zu'},'x':'%*s'}", i, (int)(i * i * 800), "");
        pods[i] = object_kept(KIND_POD, OBJECT_KEEP_JSON, buf_cstr(&json));
        pool[i] = object_kept(KIND_NODE, OBJECT_KEEP_JSON, buf_cstr(&json));
        pool_names[i] = object_meta(pool[i])->name;
    }
    for (size_t step = 0; ok && step < size; step++) {
        struct extender_call call = {.verb =
                                         rand_below(r, 2) ? EXTENDER_FILTER : EXTENDER_PRIORITIZE,
                                     .pod = pods[rand_below(r, POOL)],
                                     .nodes = asked,
                                     .node_names = asked_names,
                                     .n_nodes = rand_below(r, 3) ? POOL : rand_below(r, POOL + 1)};
        size_t first = rand_below(r, 3) ? 0 : rand_below(r, POOL);
        for (size_t i = 0; i < call.n_nodes; i++) {
            asked[i] = pool[(first + i) % POOL];
            asked_names[i] = pool_names[(first + i) % POOL];
        }
        bool names_only = rand_below(r, 4) == 0;
        struct extender_body *b = extender_body_for(&last, &call, names_only);
        buf_clear(&want);
        extender_encode(&call, names_only, &want);
        ok = str_eq(extender_body_text(b), buf_str(&want));
        /* A body that still has readers does not change. */
        if (held)
            ok &= str_eq(extender_body_text(held), buf_str(&held_text));
        if (rand_below(r, 2)) {
            extender_body_unref(held);
            held = b;
            buf_clear(&held_text);
            buf_add_str(&held_text, buf_str(&want));
        } else
            extender_body_unref(b);
    }
    extender_body_unref(held);
    extender_body_unref(last);
    for (size_t i = 0; i < POOL; i++) {
        object_unref(pods[i]);
        object_unref(pool[i]);
    }
    buf_release(&want);
    buf_release(&held_text);
    buf_release(&json);
    return ok;
}

static void bodies_match_the_request(void **state)
{
    (void)state;
    assert_true(prop_run("a body is what encoding anew gives", 200, bodies_are_right, NULL));
}

/* --- managed resources ------------------------------------------------------------------------ */

static void ignored_resources_replace_those_of_the_plugin(void **state)
{
    (void)state;
    struct extender_resource gpu[] = {{STR("a/gpu"), true}, {STR("a/npu"), false}};
    struct extender_resource fpga[] = {{STR("a/fpga"), true}};
    struct extender_config x[] = {
        {.managed_resources = {gpu, 2}}, {.weight = 1}, {.managed_resources = {fpga, 1}}};
    static const struct {
        const char *plugin, *args, *want;
        size_t n;
    } cases[] = {
        {"NodeResourcesFit", "", "{'ignoredResources':['a/gpu','a/fpga']}", 3},
        {"NodeResourcesFit", "{'ignoredResources':['b/c'],'kind':'X'}",
         "{'kind':'X','ignoredResources':['a/gpu']}", 1},
        {"NodeResourcesFit", "[]", "[]", 3},
        {"NodeResourcesFit", "{", "{", 3},
        {"NodeResourcesFit", "{'a':1}", "{'a':1}", 0},
        {"NodeAffinity", "{}", "{}", 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena arena;
        arena_init(&arena, 0);
        assert_str(extender_adjust_args(x, cases[i].n, str_of(cases[i].plugin),
                                        json_quotes_str(cases[i].args), &arena),
                   cases[i].want);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_sent_as_they_came),
        cmocka_unit_test(a_binding_is_sent_by_names),
        cmocka_unit_test(victims_are_sent_whole_or_by_uid),
        cmocka_unit_test(answers_are_read_as_go_reads_them),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(all_nodes_come_back),
        cmocka_unit_test(bodies_match_the_request),
        cmocka_unit_test(ignored_resources_replace_those_of_the_plugin),
    };
    return cmocka_run_group_tests_name("extender_json", tests, NULL, NULL);
}
