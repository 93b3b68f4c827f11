/* SPDX-License-Identifier: Apache-2.0 */
/* Extenders in the engine: requests, the effects of answers, and attempts that wait for an
 * answer. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine/rooms.h"
#include "prop.h"
#include "puppet.h"

#define A ((struct extender){.name = STR_INIT("http://a"), .filters = true})
#define B ((struct extender){.name = STR_INIT("http://b"), .filters = true})

/* An engine with puppets, these extenders and nodes n0, n1, … */
static void scene(struct fixture *f, size_t nodes, const struct extender *extenders, size_t n)
{
    fixture_init_extenders(f, puppet_registry(), extenders, n);
    for (size_t i = 0; i < nodes; i++)
        ADD_NODE(f, .name = textf("n%zu", i), .cpu = "4", .memory = "8Gi");
}

static void scene_with(struct fixture *f, size_t nodes, struct extender x)
{
    scene(f, nodes, &x, 1);
}

/* --- answers ---------------------------------------------------------------------------------- */

#define MAX_WORDS 256

/* Splits "n0 n1=text" into names and the texts after =. */
static size_t words(const char *text, struct str *names, struct str *values)
{
    struct str rest = str_of(text);
    size_t n = 0;
    while (rest.n) {
        assert_true(n < MAX_WORDS);
        struct str word = str_slice(rest, 0, str_find(rest, ' '));
        rest = str_slice(rest, MIN(word.n + 1, rest.n), rest.n);
        size_t eq = str_find(word, '=');
        names[n] = str_slice(word, 0, eq);
        values[n++] = str_slice(word, MIN(eq + 1, word.n), word.n);
    }
    return n;
}

/* kept "n0 n1", failed and unresolvable "n2=why". */
static void answer_filter(struct fixture *f, const char *kept, const char *failed,
                          const char *unresolvable)
{
    struct str names[MAX_WORDS], values[MAX_WORDS], keep[MAX_WORDS];
    struct extender_refusal refusals[2][MAX_WORDS];
    struct extender_result r = {.kept = keep, .failed = refusals[0], .unresolvable = refusals[1]};
    struct fixture_call *call = fixture_call(f);
    assert_non_null(call);
    assert_int_equal(call->verb, EXTENDER_FILTER);
    r.n_kept = words(kept, keep, values);
    r.n_failed = words(failed, names, values);
    for (size_t i = 0; i < r.n_failed; i++)
        refusals[0][i] = (struct extender_refusal){names[i], values[i]};
    r.n_unresolvable = words(unresolvable, names, values);
    for (size_t i = 0; i < r.n_unresolvable; i++)
        refusals[1][i] = (struct extender_refusal){names[i], values[i]};
    fixture_extender_done(f, call, &r);
}

static void answer_scores(struct fixture *f, struct fixture_call *call, const char *scores)
{
    struct str names[MAX_WORDS], values[MAX_WORDS];
    struct extender_host_score list[MAX_WORDS];
    struct extender_result r = {.scores = list};
    assert_non_null(call);
    assert_int_equal(call->verb, EXTENDER_PRIORITIZE);
    r.n_scores = words(scores, names, values);
    for (size_t i = 0; i < r.n_scores; i++)
        list[i] = (struct extender_host_score){names[i], strtoll(values[i].p, NULL, 10)};
    fixture_extender_done(f, call, &r);
}

static void answer_error(struct fixture *f, const char *error)
{
    fixture_extender_done(f, fixture_call(f), &(struct extender_result){.error = str_of(error)});
}

/* The oldest unanswered call; NULL if none. */
static void assert_asked(struct fixture *f, const char *nodes)
{
    const struct fixture_call *call = fixture_call(f);
    if (!nodes) {
        assert_null(call);
        return;
    }
    assert_non_null(call);
    assert_string_equal(call->nodes, nodes);
}

static void assert_explained(struct fixture *f, const char *pod, const char *part)
{
    struct buf text = BUF_INIT;
    assert_true(engine_explain(f->engine, STR("default"), str_of(pod), &text) > 0);
    if (!strstr(buf_cstr(&text), json_quotes(part)))
        fail_msg("no %s in %s", part, buf_cstr(&text));
    buf_release(&text);
}

/* --- which pods are sent ---------------------------------------------------------------------- */

static void interest_is_in_pods_that_want_a_managed_resource(void **state)
{
    (void)state;
    static const struct str managed[] = {STR_INIT("a.b/gpu"), STR_INIT("a.b/fpga")};
    static const struct {
        const char *spec;
        bool interested;
    } cases[] = {
        {"", false},
        {"'containers':[{'name':'c'}]", false},
        {"'containers':[{'resources':{'requests':{'a.b/gpu':'1'}}}]", true},
        {"'containers':[{},{'resources':{'limits':{'a.b/fpga':'1'}}}]", true},
        {"'containers':[{'resources':{'requests':{'a.b/gpu':'0'}}}]", true},
        {"'containers':[{'resources':{'requests':{'cpu':'1'}}}]", false},
        {"'initContainers':[{'resources':{'limits':{'a.b/gpu':'1'}}}]", true},
        {"'initContainers':[{'resources':{'requests':{'a.b/fpga':'1'}}}]", true},
        {"'overhead':{'a.b/gpu':'1'}", false},
    };
    struct extender all = {.name = STR("x")}, some = all;
    some.managed_resources = managed;
    some.n_managed_resources = ARRAY_LEN(managed);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct object *o = POD(.spec = cases[i].spec);
        assert_int_equal(extender_is_interested(&some, object_pod(o)), cases[i].interested);
        assert_true(extender_is_interested(&all, object_pod(o)));
        object_unref(o);
    }
}

static void uninterested_extenders_are_not_called(void **state)
{
    (void)state;
    static const struct str managed[] = {STR_INIT("a.b/gpu")};
    struct extender x = {.name = STR("x"),
                         .filters = true,
                         .prioritizes = true,
                         .binds = true,
                         .weight = 1,
                         .managed_resources = managed,
                         .n_managed_resources = 1};
    struct fixture f;
    puppet_clear();
    scene_with(&f, 3, x);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_on(&f, "p", "n0");
    assert_int_equal(f.calls.n, 0);
    fixture_release(&f);
}

static void extenders_require_a_caller(void **state)
{
    (void)state;
    struct scheduler_config config;
    struct arena arena;
    struct err err = {0};
    struct engine *e = NULL;
    struct extender x = A;
    arena_init(&arena, 0);
    config_default(&config, &arena);
    puppet_clear();
    struct engine_options options = {
        .config = &config, .registry = puppet_registry(), .extenders = &x, .n_extenders = 1};
    assert_int_equal(engine_new(&options, &e, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "extenders are not supported here"));
    arena_release(&arena);
}

/* --- filter ----------------------------------------------------------------------------------- */

static void an_attempt_waits_and_no_other_begins(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    scene_with(&f, 3, A);
    ADD_POD(&f, .name = "p");
    ADD_POD(&f, .name = "q");
    assert_true(engine_schedule_one(f.engine));
    assert_asked(&f, "n0 n1 n2");
    assert_false(engine_schedule_one(f.engine));
    assert_int_equal(f.calls.n, 1);
    answer_filter(&f, "n1", "", "");
    fixture_settle(&f);
    assert_on(&f, "p", "n1");
    assert_string_equal(object_meta(fixture_call(&f)->pod)->name.p, "q");
    answer_filter(&f, "n2", "", "");
    fixture_settle(&f);
    assert_on(&f, "q", "n2");
    fixture_release(&f);
}

static void each_sees_what_the_one_before_left_ignorable_ones_last(void **state)
{
    (void)state;
    struct extender xs[] = {A, B, A};
    struct fixture f;
    xs[0].ignorable = true;
    xs[2].name = STR("http://c");
    puppet_clear();
    scene(&f, 4, xs, ARRAY_LEN(xs));
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    assert_int_equal(fixture_call(&f)->extender, 1);
    assert_asked(&f, "n0 n1 n2 n3");
    answer_filter(&f, "n3 n1 n2", "n0=no", "");
    assert_int_equal(fixture_call(&f)->extender, 2);
    assert_asked(&f, "n1 n2 n3");
    answer_filter(&f, "n2 n3", "", "");
    assert_int_equal(fixture_call(&f)->extender, 0);
    assert_asked(&f, "n2 n3");
    answer_filter(&f, "n3", "", "");
    fixture_settle(&f);
    assert_on(&f, "p", "n3");
    assert_int_equal(f.calls.n, 3);
    assert_explained(&f, "p",
                     "{'name':'n0','code':'Unschedulable','plugin':'http://b',"
                     "'reasons':['no']}");
    assert_explained(&f, "p",
                     "{'name':'n1','code':'UnschedulableAndUnresolvable','plugin':"
                     "'http://c'}");
    assert_explained(&f, "p", "'feasible':[{'name':'n3'");
    fixture_release(&f);
}

static void refusals_are_reported_and_end_the_calls(void **state)
{
    (void)state;
    struct extender xs[] = {A, B};
    struct fixture f;
    puppet_clear();
    struct puppet *plugin = puppet_add("P", AT(FILTER) | AT(HINT));
    plugin->reason = "too hot";
    scene(&f, 5, xs, 2);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    /* n3 is in both maps; n4 is rejected without a reason; n9 was not in the request. */
    answer_filter(&f, "", "n0=no-gpu n1=no-gpu n3=maybe n9=what", "n2=never n3=never");
    assert_asked(&f, NULL);
    assert_told(&f, "p", "Unschedulable", "0/5 nodes are available: 2 never, 2 no-gpu.");
    assert_int_equal(engine_get_stats(f.engine).unschedulable, 1);
    assert_explained(&f, "p", "'queue':'unschedulable'");
    /* Any event requeues the pod, even one that no plugin registered for. */
    fixture_update(&f, POD(.name = "other", .cpu = "1", .memory = "1Gi", .node = "n0"),
                   POD(.name = "other", .labels = "a=b", .node = "n0"));
    assert_int_equal(engine_get_stats(f.engine).unschedulable, 0);
    fixture_release(&f);
}

static void what_plugins_refused_is_not_asked_about(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *plugin = puppet_add("P", AT(PRE_FILTER));
    plugin->limit[0] = "n1";
    plugin->limit[1] = "n2";
    scene_with(&f, 4, A);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    assert_asked(&f, "n1 n2");
    answer_filter(&f, "", "n2=no", "");
    /* n1 has no status, so upstream counts it among the others. */
    assert_told(&f, "p", "Unschedulable",
                "0/4 nodes are available: 1 no, 3 node(s) didn't satisfy plugin(s) [P].");
    fixture_release(&f);
}

static void fail_hook(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER && strcmp(call->node->name, "n0") == 0)
        call->code = BERTH_UNSCHEDULABLE;
}

static void an_error_fails_the_attempt_unless_it_is_ignorable(void **state)
{
    (void)state;
    for (int ignorable = 0; ignorable < 2; ignorable++) {
        struct extender x = A;
        struct fixture f;
        x.ignorable = ignorable;
        puppet_clear();
        puppet_add("P", AT(FILTER))->hook = fail_hook;
        scene_with(&f, 3, x);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        assert_asked(&f, "n1 n2");
        answer_error(&f, "failed filter with extender at URL http://a/filter, code 500");
        fixture_settle(&f);
        if (ignorable) {
            assert_on(&f, "p", "n1");
            assert_int_equal(f.logs.n, 1);
            assert_non_null(strstr(f.logs.v[0], "code 500"));
        } else {
            assert_told(&f, "p", "SchedulerError",
                        "failed filter with extender at URL http://a/filter, code 500");
            /* The plugin that rejected n0 is not the reason: the pod is retried after its
             * backoff. */
            assert_explained(&f, "p", "'queue':'errorBackoff'");
        }
        fixture_release(&f);
    }
}

static void a_node_that_was_not_asked_about_is_an_error(void **state)
{
    (void)state;
    for (int ignorable = 0; ignorable < 2; ignorable++) {
        struct extender x = A;
        struct fixture f;
        x.ignorable = ignorable;
        puppet_clear();
        scene_with(&f, 2, x);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        answer_filter(&f, "n1 n7", "n0=no", "");
        fixture_settle(&f);
        if (ignorable)
            assert_on(&f, "p", "n0");
        else
            assert_told(&f, "p", "SchedulerError",
                        "extender \"http://a\" claims a filtered node \"n7\" which is not found "
                        "in the input node list");
        fixture_release(&f);
    }
}

static void all_nodes_are_found_though_nothing_scores(void **state)
{
    (void)state;
    struct extender binder = {.name = STR("x"), .binds = true}, filter = A, prioritizer = binder;
    struct fixture f;
    prioritizer.binds = false;
    prioritizer.prioritizes = true;
    puppet_clear();
    puppet_add("P", AT(FILTER));
    scene_with(&f, 3, binder);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    fixture_extender_done(&f, fixture_call(&f), &(struct extender_result){0});
    assert_explained(&f, "p", "'nodes':[{'name':'n0','code':'Success'}]");
    fixture_release(&f);
    struct extender *xs[] = {&filter, &prioritizer};
    for (size_t i = 0; i < 2; i++) {
        scene(&f, 3, xs[i], 1);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        assert_asked(&f, "n0 n1 n2");
        fixture_release(&f); /* without an answer */
    }
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    struct fixture f;
    struct buf refusal = BUF_INIT;
    puppet_clear();
    scene_with(&f, 1, A);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    buf_add_cstr(&refusal, "n0=x");
    for (int i = 0; i < 40000; i++)
        buf_add_cstr(&refusal, "ä");
    answer_filter(&f, "", buf_cstr(&refusal), "");
    const char *message = fixture_last(&f, WRITE_POD_STATUS, "p")->message;
    size_t n = strlen(message);
    assert_true(n < 1100);
    assert_string_equal(message + n - 3, "ä.");
    buf_release(&refusal);
    fixture_release(&f);
}

/* --- PostFilter ------------------------------------------------------------------------------- */

static char seen[64];

static void look_hook(struct puppet_call *call)
{
    if (call->point != PUPPET_POST_FILTER)
        return;
    seen[0] = '\0';
    for (int i = 0; i < 5; i++) {
        const char *name = textf("n%d", i);
        const struct berth_node *n = call->puppet->host->node_by_name(
            call->puppet->handle, (struct berth_str){name, strlen(name)});
        enum berth_code code =
            n ? call->puppet->host->node_verdict(call->cycle, n) : (enum berth_code)99;
        snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s ",
                 !n                            ? "-"
                 : code == BERTH_UNSCHEDULABLE ? "U"
                 : code == BERTH_SUCCESS       ? "S"
                                               : "UU");
    }
}

static void preemption_sees_the_verdicts_of_extenders(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("P", AT(POST_FILTER))->hook = look_hook;
    scene_with(&f, 4, A);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    fixture_delete(&f, NODE(.name = "n3", .cpu = "4", .memory = "8Gi"));
    ADD_NODE(&f, .name = "n4", .cpu = "4", .memory = "8Gi"); /* in n3's slot */
    answer_filter(&f, "n3", "n0=no", "n1=never");
    assert_string_equal(seen, "U UU UU - UU ");
    assert_told(&f, "p", "Unschedulable",
                "0/4 nodes are available: 1 never, 1 no, 1 node(s) went away while extenders were "
                "asked.");
    fixture_release(&f);
}

/* --- the nominated node ----------------------------------------------------------------------- */

static void extenders_are_asked_about_the_nominated_node_alone(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    scene_with(&f, 3, A);
    ADD_POD(&f, .name = "p", .nominated = "n2");
    fixture_schedule(&f);
    assert_asked(&f, "n2");
    answer_filter(&f, "n2", "", "");
    fixture_settle(&f);
    assert_on(&f, "p", "n2");
    assert_int_equal(f.calls.n, 1);
    fixture_release(&f);
}

static void if_it_will_not_do_all_are(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct fixture f;
        puppet_clear();
        puppet_add("P", AT(PRE_FILTER));
        scene_with(&f, 3, A);
        ADD_POD(&f, .name = "p", .nominated = "n2");
        fixture_schedule(&f);
        assert_asked(&f, "n2");
        if (i == 0) {
            answer_filter(&f, "", "n2=no", "");
        } else if (i == 1) {
            answer_error(&f, "down"); /* although not ignorable: upstream only logs it here */
        } else {
            fixture_delete(&f, NODE(.name = "n2", .cpu = "4", .memory = "8Gi"));
            answer_filter(&f, "n2", "", "");
        }
        assert_asked(&f, i == 2 ? "n0 n1" : "n0 n1 n2");
        answer_filter(&f, "n1", "", "");
        fixture_settle(&f);
        assert_on(&f, "p", "n1");
        fixture_release(&f);
    }
}

/* --- prioritize ------------------------------------------------------------------------------- */

static struct extender prioritizer(const char *name, int64_t weight)
{
    return (struct extender){.name = str_of(name), .prioritizes = true, .weight = weight};
}

static int64_t base_score(const char *node)
{
    return strcmp(node, "n0") == 0 ? 50 : strcmp(node, "n2") == 0 ? 30 : 20;
}

static void score_hook(struct puppet_call *call)
{
    if (call->point == PUPPET_SCORE)
        call->score = base_score(call->node->name);
}

static void scores_are_asked_for_at_once_and_added(void **state)
{
    (void)state;
    struct extender xs[] = {prioritizer("x", 1), prioritizer("y", 2), prioritizer("z", 9)};
    for (int reverse = 0; reverse < 2; reverse++) {
        struct fixture f;
        puppet_clear();
        puppet_add("P", AT(SCORE))->hook = score_hook;
        scene(&f, 3, xs, 3);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        assert_int_equal(f.calls.n, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(f.calls.v[i].extender, i);
            assert_string_equal(f.calls.v[i].nodes, "n0 n1 n2");
        }
        /* n0 50 + 10, n1 20 + 10 + 20, n2 30 + 0 + 60; the last one fails. */
        for (size_t i = 0; i < 3; i++) {
            struct fixture_call *call = &f.calls.v[reverse ? 2 - i : i];
            assert_on(&f, "p", NULL);
            if (call->extender == 2)
                fixture_extender_done(&f, call, &(struct extender_result){.error = STR("down")});
            else
                answer_scores(&f, call, call->extender ? "n1=1 n2=3 n9=10" : "n0=1 n1=1");
        }
        fixture_settle(&f);
        assert_on(&f, "p", "n2");
        assert_explained(&f, "p",
                         "{'name':'n2','plugins':[{'name':'P','raw':30,"
                         "'normalized':30,'weight':1,'weighted':30},"
                         "{'name':'x','raw':0,'normalized':0,'weight':1,'weighted':0},"
                         "{'name':'y','raw':3,'normalized':30,'weight':2,"
                         "'weighted':60}],'total':90}");
        fixture_release(&f);
    }
}

static int64_t seen_requested, seen_allocatable;
static size_t seen_pods;

static void look_at_node(struct puppet_call *call)
{
    if (call->point != PUPPET_SCORE)
        return;
    seen_requested += call->node->requested.milli_cpu + call->node->nonzero_milli_cpu;
    seen_allocatable += call->node->allocatable.milli_cpu;
    seen_pods += call->node->pods.n;
}

/* Upstream scores the nodes that an extender sends back, which have no pods. */
static void nodes_that_come_back_are_scored_without_what_runs_on_them(void **state)
{
    (void)state;
    for (int objects = 0; objects < 2; objects++) {
        struct fixture f;
        struct str kept[] = {STR("n0"), STR("n1")};
        struct extender_result r = {.kept = kept, .n_kept = 2, .kept_objects = objects};
        puppet_clear();
        puppet_add("S", AT(SCORE))->hook = look_at_node;
        scene_with(&f, 3, A);
        ADD_POD(&f, .name = "there", .node = "n0", .cpu = "1");
        seen_requested = seen_allocatable = 0;
        seen_pods = 0;
        ADD_POD(&f, .name = "p");
        assert_true(engine_schedule_one(f.engine));
        fixture_extender_done(&f, fixture_call(&f), &r);
        fixture_settle(&f);
        assert_int_equal(seen_allocatable, 8000);
        assert_int_equal(seen_requested, objects ? 0 : 2000);
        assert_int_equal(seen_pods, objects ? 0 : 1);
        fixture_release(&f);
    }
}

static void scores_may_be_any_number(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    scene_with(&f, 3, prioritizer("x", INT64_MAX));
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    answer_scores(&f, fixture_call(&f),
                  "n0=9223372036854775807 n1=-9223372036854775808 n1=-1 n2=7 n2=7");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "p"));
    fixture_release(&f);
}

static void a_single_node_needs_no_score(void **state)
{
    (void)state;
    struct extender x = A;
    struct fixture f;
    x.prioritizes = true;
    puppet_clear();
    scene_with(&f, 2, x);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    answer_filter(&f, "n1", "", "");
    fixture_settle(&f);
    assert_on(&f, "p", "n1");
    assert_int_equal(f.calls.n, 1);
    fixture_release(&f);
}

/* How many of 64 pods go to the first of the nodes; answer NULL: an error. */
static int on_first(const struct extender *x, const char *answer)
{
    struct fixture f;
    int n = 0;
    puppet_clear();
    puppet_add("P", AT(SCORE));
    scene(&f, 4, x, 1);
    for (int i = 0; i < 64; i++) {
        const char *name = textf("p%d", i);
        /* Every cycle starts with n0 again. */
        f.engine->cycles.next_start_node = 0;
        ADD_POD(&f, .name = name);
        fixture_schedule(&f);
        if (fixture_call(&f) && answer)
            answer_scores(&f, fixture_call(&f), answer);
        else if (fixture_call(&f))
            answer_error(&f, "down");
        fixture_settle(&f);
        n += strcmp(fixture_node_of(&f, name), "n0") == 0;
    }
    fixture_release(&f);
    return n;
}

static void ties_are_broken_at_random_where_extenders_scored(void **state)
{
    (void)state;
    struct extender x = prioritizer("x", 1), asks_nothing = {.name = STR("y")};
    int all = on_first(&x, "n0=3 n1=3 n2=3 n3=3");
    assert_in_range(all, 5, 30);
    assert_int_equal(on_first(&x, "n0=3 n1=3 n2=3 n3=3"), all);
    assert_int_equal(on_first(&x, NULL), 64);
    assert_int_equal(on_first(&x, ""), 64);
    /* n1, scored 0, takes part in tie-breaking; the others do not. */
    assert_int_equal(on_first(&x, "n1=0"), 0);
    assert_in_range(on_first(&asks_nothing, NULL), 5, 30);
}

/* --- bind ------------------------------------------------------------------------------------- */

static void a_binder_binds_instead_of_the_plugins(void **state)
{
    (void)state;
    struct extender xs[] = {{.name = STR_INIT("x"), .binds = true}, A};
    struct fixture f;
    xs[1].binds = true;
    xs[1].filters = false;
    puppet_clear();
    puppet_add("P", AT(BIND) | AT(PRE_BIND) | AT(POST_BIND));
    scene(&f, 1, xs, 2);
    ADD_POD(&f, .name = "p");
    ADD_POD(&f, .name = "q");
    /* Unlike an attempt, a binding does not block other pods. */
    fixture_schedule(&f);
    assert_int_equal(f.calls.n, 2);
    assert_int_equal(f.calls.v[0].verb, EXTENDER_BIND);
    assert_int_equal(f.calls.v[0].extender, 0);
    assert_asked(&f, "n0");
    fixture_extender_done(&f, fixture_call(&f), &(struct extender_result){0});
    assert_on(&f, "p", "n0");
    assert_null(fixture_binding(&f, "p"));
    assert_string_equal(puppet_calls(AT(BIND) | AT(PRE_BIND) | AT(POST_BIND)),
                        "P.PreBind P.PreBind P.PostBind");
    /* Repeated answers and answers to unknown calls are ignored. */
    engine_extender_done(f.engine, f.calls.v[0].id, &(struct extender_result){0});
    engine_extender_done(f.engine, 123456, &(struct extender_result){0});
    assert_int_equal(f.decisions.n, 1);
    fixture_release(&f); /* q is never answered */
}

static void a_binder_that_fails(void **state)
{
    (void)state;
    for (int ignorable = 0; ignorable < 2; ignorable++) {
        struct extender xs[] = {{.name = STR_INIT("x"), .binds = true},
                                {.name = STR_INIT("y"), .binds = true}};
        struct fixture f;
        xs[0].ignorable = xs[1].ignorable = ignorable;
        puppet_clear();
        scene(&f, 1, xs, 2);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        answer_error(&f, "no way");
        if (!ignorable) {
            assert_told(&f, "p", "SchedulerError", "no way");
            assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
            assert_int_equal(engine_get_stats(f.engine).backoff, 1);
        } else {
            assert_int_equal(fixture_call(&f)->extender, 1);
            answer_error(&f, "no way either");
            assert_asked(&f, NULL);
            fixture_settle(&f);
            assert_on(&f, "p", "n0");
            assert_int_equal(f.logs.n, 2);
        }
        fixture_release(&f);
    }
}

/* --- changes during a call -------------------------------------------------------------------- */

static void events_of_meanwhile_are_not_lost(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    scene_with(&f, 1, A);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    ADD_NODE(&f, .name = "n1", .cpu = "4", .memory = "8Gi");
    answer_filter(&f, "", "n0=no", "");
    assert_told(&f, "p", "Unschedulable", "0/1 nodes are available: 1 no.");
    assert_int_equal(engine_get_stats(f.engine).unschedulable, 0);
    assert_int_equal(engine_get_stats(f.engine).backoff, 1);
    fixture_pass(&f, 5 * NSEC_PER_SEC);
    fixture_schedule(&f);
    assert_non_null(strstr(fixture_call(&f)->nodes, "n1"));
    fixture_release(&f);
}

static void nodes_come_and_go_while_it_waits_for_filters(void **state)
{
    (void)state;
    struct extender xs[] = {A, B};
    struct fixture f;
    puppet_clear();
    puppet_add("P", AT(SCORE))->hook = score_hook;
    scene(&f, 4, xs, 2);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    fixture_delete(&f, NODE(.name = "n0", .cpu = "4", .memory = "8Gi"));
    /* Reuses n0's slot; then enough nodes to reallocate the columns. */
    for (int i = 0; i < 200; i++)
        ADD_NODE(&f, .name = textf("m%d", i), .cpu = "4", .memory = "8Gi");

    answer_filter(&f, "n0 n1 n2 n3", "", "");
    assert_asked(&f, "n1 n2 n3");
    fixture_delete(&f, NODE(.name = "n1", .cpu = "4", .memory = "8Gi"));
    ADD_NODE(&f, .name = "n1", .cpu = "4", .memory = "8Gi"); /* the same object again, unchanged */
    fixture_delete(&f, NODE(.name = "n3", .cpu = "4", .memory = "8Gi"));
    answer_filter(&f, "n1 n3", "n2=no", "");
    fixture_settle(&f);
    assert_on(&f, "p", "n1");
    assert_explained(&f, "p",
                     "{'name':'n0','code':'UnschedulableAndUnresolvable','plugin':"
                     "'Extender','reasons':['node(s) went away while extenders were "
                     "asked']}");
    assert_explained(&f, "p", "'allNodes':4,");
    fixture_release(&f);
}

static void nodes_come_and_go_while_it_waits_for_scores(void **state)
{
    (void)state;
    struct extender xs[] = {prioritizer("x", 1), prioritizer("y", 1)};
    for (int all = 0; all < 2; all++) {
        struct fixture f;
        puppet_clear();
        puppet_add("P", AT(SCORE))->hook = score_hook;
        scene(&f, 3, xs, 2);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        answer_scores(&f, &f.calls.v[0], "n0=10 n1=1 n2=2");
        fixture_delete(&f, NODE(.name = "n0", .cpu = "4", .memory = "8Gi"));
        ADD_NODE(&f, .name = "m", .cpu = "4", .memory = "8Gi");
        if (all) {
            fixture_delete(&f, NODE(.name = "n1", .cpu = "4", .memory = "8Gi"));
            fixture_delete(&f, NODE(.name = "n2", .cpu = "4", .memory = "8Gi"));
        }
        answer_scores(&f, &f.calls.v[1], "n0=10 n2=1");
        if (all) {
            assert_told(&f, "p", "Unschedulable",
                        "0/3 nodes are available: 3 node(s) went away while extenders were "
                        "asked.");
            assert_int_equal(engine_get_stats(f.engine).backoff, 1);
        } else {
            fixture_settle(&f);
            assert_on(&f, "p", "n2");
            assert_explained(&f, "p", "'total':60}]");
        }
        fixture_release(&f);
    }
}

static void a_pod_that_goes_is_dropped(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct extender x = A;
        struct fixture f;
        x.filters = i % 2 == 0;
        x.prioritizes = true;
        puppet_clear();
        scene_with(&f, 2, x);
        ADD_POD(&f, .name = "p");
        ADD_POD(&f, .name = "q");
        fixture_schedule(&f);
        if (i / 2 == 0)
            fixture_delete(&f, POD(.name = "p"));
        else if (i / 2 == 1)
            fixture_update(&f, POD(.name = "p"),
                           POD(.name = "p", .cpu = "1", .memory = "1Gi", .node = "n0"));
        else
            fixture_delete(&f, POD(.name = "p"));
        if (i / 2 == 2) {
            /* A pod is waiting already: do not wait for an answer that is no longer needed. */
            fixture_schedule(&f);
            assert_int_equal(f.calls.n, 2);
            fixture_extender_done(&f, fixture_call(&f), &(struct extender_result){0});
        } else {
            fixture_extender_done(&f, fixture_call(&f), &(struct extender_result){0});
            fixture_schedule(&f);
        }
        assert_string_equal(object_meta(fixture_call(&f)->pod)->name.p, "q");
        assert_int_equal(f.decisions.n, 0);
        assert_int_equal(f.writes.n, 0);
        assert_int_equal(engine_get_stats(f.engine).pods, i / 2 == 1);
        fixture_release(&f);
    }
}

static void a_pod_that_changes_goes_on(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    scene_with(&f, 2, A);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    fixture_update(&f, POD(.name = "p"), POD(.name = "p", .priority = 5));
    answer_filter(&f, "n1", "", "");
    fixture_settle(&f);
    assert_on(&f, "p", "n1");
    fixture_release(&f);
}

/* --- random runs ------------------------------------------------------------------------------ */

struct life {
    struct fixture f;
    struct rand *r;
    bool nodes[6], pods[40];
};

/* A random subset of the nodes in the request, each with a value of 0 … 9. */
static void pick(struct life *l, const struct fixture_call *call, struct buf *out)
{
    struct str names[MAX_WORDS], values[MAX_WORDS];
    size_t n = words(call->nodes, names, values);
    for (size_t i = 0; i < n; i++)
        if (rand_below(l->r, 3))
            buf_add_printf(out, "%s%.*s=%u", out->n ? " " : "", STR_ARG(names[i]),
                           (unsigned)rand_below(l->r, 10));
}

static void answer_any(struct life *l)
{
    struct fixture_call *call = fixture_call(&l->f);
    struct buf text = BUF_INIT, refused = BUF_INIT;
    if (!call)
        return;
    pick(l, call, &text);
    pick(l, call, &refused);
    if (rand_below(l->r, 8) == 0)
        answer_error(&l->f, "down");
    else if (call->verb == EXTENDER_FILTER)
        answer_filter(&l->f, buf_cstr(&text), buf_cstr(&refused), "");
    else if (call->verb == EXTENDER_PRIORITIZE)
        answer_scores(&l->f, call, buf_cstr(&text));
    else
        fixture_extender_done(&l->f, call, &(struct extender_result){0});
    buf_release(&text);
    buf_release(&refused);
}

static void live_one_step(struct life *l)
{
    size_t n = (size_t)rand_below(l->r, ARRAY_LEN(l->nodes));
    size_t p = (size_t)rand_below(l->r, ARRAY_LEN(l->pods));
    const char *name;
    switch (rand_below(l->r, 8)) {
    case 0:
        name = textf("n%zu", n);
        if (l->nodes[n])
            fixture_delete(&l->f, NODE(.name = name, .cpu = "4", .memory = "8Gi"));
        else
            ADD_NODE(&l->f, .name = name, .cpu = "4", .memory = "8Gi");
        l->nodes[n] = !l->nodes[n];
        break;
    case 1:
        name = textf("p%zu", p);
        if (l->pods[p])
            fixture_delete(&l->f, POD(.name = name, .cpu = "100m", .memory = "1Mi"));
        else
            ADD_POD(&l->f, .name = name, .cpu = "100m", .memory = "1Mi");
        l->pods[p] = !l->pods[p];
        break;
    case 2:
        fixture_pass(&l->f, (int64_t)rand_below(l->r, 10) * NSEC_PER_SEC);
        break;
    case 3:
    case 4:
    case 5:
        answer_any(l);
        break;
    default:
        engine_schedule_one(l->f.engine);
        l->f.now++;
    }
}

static void run_life(uint64_t seed, size_t steps, struct buf *log)
{
    static const struct str managed[] = {STR_INIT("cpu")};
    struct extender xs[] = {
        {.name = STR_INIT("x"), .filters = true, .ignorable = true},
        {.name = STR_INIT("y"),
         .filters = true,
         .prioritizes = true,
         .weight = 3,
         .managed_resources = managed,
         .n_managed_resources = 1},
        {.name = STR_INIT("z"), .prioritizes = true, .binds = true, .weight = 1}};
    struct rand r;
    struct life *l = xnew(struct life);
    rand_seed(&r, seed);
    fixture_init_extenders(&l->f, NULL, xs, ARRAY_LEN(xs));
    l->r = &r;
    for (size_t i = 0; i < steps; i++)
        live_one_step(l);
    for (size_t i = 0; i < l->f.decisions.n; i++)
        buf_add_printf(log, "%s\n", l->f.decisions.v[i]);
    engine_explain(l->f.engine, STR(""), STR(""), log);
    fixture_release(&l->f);
    free(l);
}

static bool lives_repeat(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct buf first = BUF_INIT, second = BUF_INIT;
    uint64_t seed = rand_u64(r);
    run_life(seed, size * 40, &first);
    run_life(seed, size * 40, &second);
    bool ok = str_eq(buf_str(&first), buf_str(&second));
    buf_release(&first);
    buf_release(&second);
    return ok;
}

static void random_lives_repeat(void **state)
{
    (void)state;
    assert_true(prop_run("same seed, same decisions and explanations", 60, lives_repeat, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interest_is_in_pods_that_want_a_managed_resource),
        cmocka_unit_test(uninterested_extenders_are_not_called),
        cmocka_unit_test(extenders_require_a_caller),
        cmocka_unit_test(an_attempt_waits_and_no_other_begins),
        cmocka_unit_test(each_sees_what_the_one_before_left_ignorable_ones_last),
        cmocka_unit_test(refusals_are_reported_and_end_the_calls),
        cmocka_unit_test(what_plugins_refused_is_not_asked_about),
        cmocka_unit_test(an_error_fails_the_attempt_unless_it_is_ignorable),
        cmocka_unit_test(a_node_that_was_not_asked_about_is_an_error),
        cmocka_unit_test(all_nodes_are_found_though_nothing_scores),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(preemption_sees_the_verdicts_of_extenders),
        cmocka_unit_test(extenders_are_asked_about_the_nominated_node_alone),
        cmocka_unit_test(if_it_will_not_do_all_are),
        cmocka_unit_test(scores_are_asked_for_at_once_and_added),
        cmocka_unit_test(nodes_that_come_back_are_scored_without_what_runs_on_them),
        cmocka_unit_test(scores_may_be_any_number),
        cmocka_unit_test(a_single_node_needs_no_score),
        cmocka_unit_test(ties_are_broken_at_random_where_extenders_scored),
        cmocka_unit_test(a_binder_binds_instead_of_the_plugins),
        cmocka_unit_test(a_binder_that_fails),
        cmocka_unit_test(events_of_meanwhile_are_not_lost),
        cmocka_unit_test(nodes_come_and_go_while_it_waits_for_filters),
        cmocka_unit_test(nodes_come_and_go_while_it_waits_for_scores),
        cmocka_unit_test(a_pod_that_goes_is_dropped),
        cmocka_unit_test(a_pod_that_changes_goes_on),
        cmocka_unit_test(random_lives_repeat),
    };
    return cmocka_run_group_tests_name("extender", tests, NULL, NULL);
}
