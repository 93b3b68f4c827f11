/* SPDX-License-Identifier: Apache-2.0 */
/* engine_explain's output about attempts. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "codec/json_value.h"
#include "engine/rooms.h"
#include "prop.h"
#include "puppet.h"

/* --- parsing explanations --------------------------------------------------------------------- */

struct reading {
    struct buf text;
    struct arena arena;
    struct json_value *records;
    size_t n;
};

/* Every line is a JSON object of its own. */
static void explain(struct reading *r, const struct fixture *f, const char *pod)
{
    *r = (struct reading){0};
    arena_init(&r->arena, 0);
    r->n = engine_explain(f->engine, STR("default"), str_of(pod), &r->text);
    r->records = arena_array(&r->arena, struct json_value, r->n + 1);
    struct str rest = buf_str(&r->text);
    for (size_t i = 0; i < r->n; i++) {
        struct err err = {0};
        size_t end = str_find(rest, '\n');
        assert_true(end < rest.n);
        if (json_parse(str_slice(rest, 0, end), JSON_STRICT, &r->arena, &r->records[i], &err) < 0)
            fail_msg("%s in %.*s", err.msg, (int)end, rest.p);
        rest = str_slice(rest, end + 1, SIZE_MAX);
    }
    assert_int_equal(rest.n, 0);
}

static void done(struct reading *r)
{
    buf_release(&r->text);
    arena_release(&r->arena);
}

static const struct json_value *member(const struct json_value *v, const char *key)
{
    const struct json_value *m = json_get(v, str_of(key));
    if (!m)
        fail_msg("no member %s", key);
    return m;
}

static void assert_text(const struct json_value *v, const char *key, const char *expected)
{
    const struct json_value *m = json_get(v, str_of(key));
    if (!expected) {
        assert_null(m);
        return;
    }
    if (!m || m->kind != JSON_STRING || !str_is(m->text, expected))
        fail_msg("%s is %.*s, expected %s", key, m ? (int)m->text.n : 0, m ? m->text.p : "",
                 expected);
}

static int64_t number(const struct json_value *v, const char *key)
{
    int64_t n = 0;
    const struct json_value *m = member(v, key);
    assert_int_equal(m->kind, JSON_NUMBER);
    assert_true(str_to_i64(m->text, &n));
    return n;
}

/* "name code plugin reason+reason; …" of all nodes that were evaluated. */
static void assert_nodes(const struct json_value *record, const char *expected)
{
    struct buf out = BUF_INIT;
    const struct json_value *nodes = member(record, "nodes");
    for (size_t i = 0; i < nodes->n; i++) {
        const struct json_value *n = &nodes->items[i];
        const struct json_value *plugin = json_get(n, STR("plugin"));
        const struct json_value *reasons = json_get(n, STR("reasons"));
        buf_add_printf(&out, "%s%.*s %.*s", i ? "; " : "", STR_ARG(member(n, "name")->text),
                       STR_ARG(member(n, "code")->text));
        if (plugin)
            buf_add_printf(&out, " %.*s", STR_ARG(plugin->text));
        for (size_t k = 0; reasons && k < reasons->n; k++)
            buf_add_printf(&out, "%s%.*s", k ? "+" : " ", STR_ARG(reasons->items[k].text));
    }
    assert_string_equal(buf_cstr(&out), expected);
    buf_release(&out);
}

/* "name total; …" of all nodes that passed; each total must be the sum of its parts. */
static void assert_feasible(const struct json_value *record, const char *expected)
{
    struct buf out = BUF_INIT;
    const struct json_value *nodes = member(record, "feasible");
    for (size_t i = 0; i < nodes->n; i++) {
        const struct json_value *n = &nodes->items[i], *plugins = member(n, "plugins");
        int64_t total = 0;
        for (size_t k = 0; k < plugins->n; k++) {
            const struct json_value *p = &plugins->items[k];
            assert_int_equal(number(p, "weighted"), number(p, "normalized") * number(p, "weight"));
            total += number(p, "weighted");
        }
        assert_int_equal(number(n, "total"), total);
        buf_add_printf(&out, "%s%.*s %lld", i ? "; " : "", STR_ARG(member(n, "name")->text),
                       (long long)total);
    }
    assert_string_equal(buf_cstr(&out), expected);
    buf_release(&out);
}

/* --- attempts --------------------------------------------------------------------------------- */

static int64_t number_of(const struct berth_node *node)
{
    int64_t n = 0;
    assert_true(str_to_i64(str_of(node->name + 1), &n));
    return n;
}

/* n0 is rejected; the others score by their number, reversed by normalizing. */
static void judge(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER && number_of(call->node) == 0) {
        call->code = BERTH_UNSCHEDULABLE;
        call->puppet->host->status_text(call->status, BERTH_STR("a \"zero\""));
        call->puppet->host->status_text(call->status, BERTH_STR("round"));
    }
    if (call->point == PUPPET_SCORE)
        call->score = number_of(call->node) * 1000;
    for (size_t i = 0; call->point == PUPPET_NORMALIZE && i < call->n; i++)
        call->scores[i] = 50 - call->scores[i] / 1000;
}

static void a_placed_pod_is_explained(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    puppet_add("A", AT(FILTER) | AT(SCORE) | AT(NORMALIZE))->hook = judge;
    puppet_add("B", AT(SCORE))->score = 7;
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- plugins: {score: {enabled: [{name: B, weight: 3}]}}\n",
                 puppet_registry());
    for (int i = 0; i < 4; i++)
        ADD_NODE(&f, .name = textf("n%d", i), .cpu = "4", .memory = "8Gi");

    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    explain(&r, &f, "p");
    assert_int_equal(r.n, 0); /* written when the attempt is over */
    done(&r);
    fixture_settle(&f);
    explain(&r, &f, "p");
    assert_int_equal(r.n, 1);
    const struct json_value *v = &r.records[0];
    assert_text(v, "namespace", "default");
    assert_text(v, "pod", "p");
    assert_text(v, "uid", "p");
    assert_text(v, "profile", "default-scheduler");
    assert_text(v, "outcome", "scheduled");
    assert_text(v, "node", "n1");
    assert_text(v, "message", NULL);
    assert_text(v, "event", "UnschedulablePodAdd");
    assert_text(v, "queue", NULL);
    assert_int_equal(number(v, "attempt"), 1);
    assert_int_equal(number(v, "allNodes"), 4);
    assert_nodes(v, "n0 Unschedulable A a \"zero\"+round; n1 Success; n2 Success; n3 Success");
    assert_feasible(v, "n1 70; n2 69; n3 68");
    const struct json_value *plugins = member(&member(v, "feasible")->items[2], "plugins");
    const struct json_value *a =
        &plugins->items[str_is(member(&plugins->items[0], "name")->text, "A") ? 0 : 1];
    assert_int_equal(number(a, "raw"), 3000);
    assert_int_equal(number(a, "normalized"), 47);
    done(&r);
    fixture_release(&f);
}

static void a_single_node_has_no_scores(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    puppet_add("A", AT(SCORE))->score = 9;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    explain(&r, &f, "p");
    assert_feasible(&r.records[0], "n0 0");
    done(&r);
    fixture_release(&f);
}

static void only_the_nominated_node_was_evaluated(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    puppet_add("A", AT(FILTER));
    puppet_scene(&f, 3);
    ADD_POD(&f, .name = "p", .nominated = "n2");
    fixture_settle(&f);
    explain(&r, &f, "p");
    assert_nodes(&r.records[0], "n2 Success");
    assert_text(&r.records[0], "node", "n2");
    done(&r);
    fixture_release(&f);
}

static void a_rejected_pod_is_explained_attempt_by_attempt(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PRE_FILTER) | AT(FILTER) | AT(HINT));
    struct puppet *b = puppet_add("B", AT(FILTER) | AT(HINT));
    a->limit[0] = "n1", a->limit[1] = "n2";
    b->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    b->reason = "never";
    puppet_scene(&f, 3);
    ADD_POD(&f, .name = "p");
    ADD_POD(&f, .name = "other");
    fixture_schedule(&f);
    b->code[PUPPET_FILTER] = BERTH_ERROR;
    b->reason = "broken";
    ADD_NODE(&f, .name = "n9", .cpu = "4", .memory = "8Gi");
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    fixture_schedule(&f);
    explain(&r, &f, "p");
    assert_int_equal(r.n, 2);
    const struct json_value *v = &r.records[0];
    assert_text(v, "outcome", "unschedulable");
    assert_text(v, "message",
                "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [A], 2 never.");
    assert_text(v, "node", NULL);
    assert_text(v, "queue", "unschedulable");
    assert_nodes(v, "n1 UnschedulableAndUnresolvable B never; "
                    "n2 UnschedulableAndUnresolvable B never");
    assert_feasible(v, "");
    v = &r.records[1];
    assert_text(v, "outcome", "error");
    assert_text(v, "message", "running \"B\" filter plugin: broken");
    assert_text(v, "queue", "errorBackoff");
    assert_int_equal(number(v, "attempt"), 2);
    assert_int_equal(number(v, "allNodes"), 4);
    done(&r);
    /* All pods: numbers count up. */
    explain(&r, &f, "");
    assert_int_equal(r.n, 4);
    for (size_t i = 0; i < r.n; i++)
        assert_int_equal(number(&r.records[i], "number"), (int64_t)i);
    done(&r);
    fixture_release(&f);
}

static void the_event_that_requeued_the_pod_is_recorded(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(HINT));
    a->code[PUPPET_FILTER] = BERTH_PENDING;
    a->reason = "no";
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
    fixture_schedule(&f);
    a->code[PUPPET_FILTER] = BERTH_SUCCESS;
    fixture_pass(&f, 400 * NSEC_PER_SEC);
    fixture_settle(&f);
    explain(&r, &f, "p");
    assert_int_equal(r.n, 3);
    assert_text(&r.records[0], "event", "UnschedulablePodAdd");
    assert_text(&r.records[1], "event", "NodeAdd");
    assert_text(&r.records[2], "event", "UnschedulableTimeout");
    assert_text(&r.records[2], "outcome", "scheduled");
    done(&r);
    fixture_release(&f);
}

static void failures_of_the_binding_are_explained_with_the_choice(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(SCORE) | AT(NORMALIZE) | AT(RESERVE));
    a->hook = judge;
    a->code[PUPPET_RESERVE] = BERTH_UNSCHEDULABLE;
    a->reason = "taken";
    puppet_scene(&f, 3);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    explain(&r, &f, "p");
    assert_text(&r.records[0], "outcome", "unschedulable");
    assert_text(&r.records[0], "message", "0/1 nodes are available: 1 taken.");
    assert_nodes(&r.records[0], "n0 Unschedulable A a \"zero\"+round; n1 Success; n2 Success");
    assert_feasible(&r.records[0], "n1 49; n2 48");
    done(&r);
    fixture_release(&f);
}

static void without_nodes_the_record_is_short(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    puppet_scene(&f, 0);
    ADD_POD(&f, .name = "p");
    engine_schedule_one(f.engine);
    explain(&r, &f, "p");
    assert_int_equal(r.n, 1);
    assert_text(&r.records[0], "message", "no nodes available to schedule pods");
    assert_nodes(&r.records[0], "");
    assert_int_equal(number(&r.records[0], "allNodes"), 0);
    done(&r);
    fixture_release(&f);
}

/* --- changing nodes --------------------------------------------------------------------------- */

static void names_are_those_of_the_time(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(SCORE) | AT(HINT));
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    a->reason = "no";
    puppet_scene(&f, 3);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    /* The slots of n0 and n2 are reused by other nodes. */
    fixture_delete(&f, NODE(.name = "n0", .cpu = "4", .memory = "8Gi"));
    fixture_delete(&f, NODE(.name = "n2", .cpu = "4", .memory = "8Gi"));
    ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
    ADD_NODE(&f, .name = "y", .cpu = "4", .memory = "8Gi");
    a->code[PUPPET_FILTER] = BERTH_SUCCESS;
    ADD_POD(&f, .name = "q");
    engine_schedule_one(f.engine);
    if (!fixture_binding(&f, "q"))
        engine_schedule_one(f.engine);
    /* Its nodes are deleted while q is being bound. */
    fixture_delete(&f, NODE(.name = "x", .cpu = "4", .memory = "8Gi"));
    fixture_delete(&f, NODE(.name = "n1", .cpu = "4", .memory = "8Gi"));
    fixture_delete(&f, NODE(.name = "y", .cpu = "4", .memory = "8Gi"));
    ADD_NODE(&f, .name = "late", .cpu = "4", .memory = "8Gi");
    fixture_answer(&f, fixture_binding(&f, "q"), 404, "no such node");
    explain(&r, &f, "p");
    assert_nodes(&r.records[0], "n0 Unschedulable A no; n1 Unschedulable A no; "
                                "n2 Unschedulable A no");
    done(&r);
    explain(&r, &f, "q");
    assert_text(&r.records[0], "outcome", "error");
    assert_nodes(&r.records[0], "n1 Success; x Success; y Success");
    assert_int_equal(number(&r.records[0], "allNodes"), 3);
    done(&r);
    fixture_release(&f);
}

/* --- packing ---------------------------------------------------------------------------------- */

#define MANY 300

/* The verdict on each node, by its number. */
static struct {
    size_t n;
    unsigned kinds; /* of reasons to reject */
    struct {
        unsigned refused; /* 0: passes */
        int64_t raw, normalized;
    } nodes[MANY];
} opinion;

static void hold_opinion(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER) {
        unsigned refused = opinion.nodes[number_of(call->node)].refused;
        char reason[32];
        int n = snprintf(reason, sizeof(reason), "reason %u", refused);
        if (refused) {
            call->code = refused % 2 ? BERTH_UNSCHEDULABLE : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
            call->puppet->host->status_text(call->status, (struct berth_str){reason, (size_t)n});
        }
    }
    if (call->point == PUPPET_SCORE)
        call->score = opinion.nodes[number_of(call->node)].raw;
    for (size_t i = 0, k = 0; call->point == PUPPET_NORMALIZE && i < opinion.n; i++)
        if (!opinion.nodes[i].refused)
            call->scores[k++] = opinion.nodes[i].normalized;
}

/* Ranges from empty to full, around zero and far from it. */
static int64_t draw_raw(struct rand *r, unsigned bits, bool negative)
{
    int64_t raw = bits ? (int64_t)(rand_u64(r) >> (64 - bits) & INT64_MAX) : 0;
    return negative ? -raw : raw;
}

static void form_opinion(struct rand *r, size_t size)
{
    unsigned bits = (unsigned)rand_below(r, 65), normal = (unsigned)rand_below(r, 102);
    bool negative = rand_below(r, 3) == 0, changing = rand_below(r, 2);
    opinion.n = 2 + rand_below(r, 2 + size * (MANY - 4) / 100);
    opinion.kinds = (unsigned)rand_below(r, 2) ? 3 : MANY;
    for (size_t i = 0; i < opinion.n; i++) {
        /* Two pass in any case, so that scoring runs. */
        bool refused = i >= 2 && rand_below(r, 3) == 0;
        opinion.nodes[i].refused = refused ? 1 + (unsigned)rand_below(r, opinion.kinds) : 0;
        opinion.nodes[i].raw = draw_raw(r, bits, negative && rand_below(r, 2));
        opinion.nodes[i].normalized =
            changing ? (int64_t)rand_below(r, normal + (normal < 101)) : 9;
    }
}

static bool node_is_told(const struct json_value *node, size_t i)
{
    char name[24], reason[32];
    unsigned refused = opinion.nodes[i].refused;
    const struct json_value *reasons = json_get(node, STR("reasons"));
    snprintf(name, sizeof(name), "n%zu", i);
    snprintf(reason, sizeof(reason), "reason %u", refused);
    return str_is(member(node, "name")->text, name) &&
           str_is(member(node, "code")->text,
                  code_name(!refused      ? BERTH_SUCCESS
                            : refused % 2 ? BERTH_UNSCHEDULABLE
                                          : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE)) &&
           (refused ? reasons && reasons->n == 1 && str_is(reasons->items[0].text, reason)
                    : !reasons);
}

static bool score_is_told(const struct json_value *node, size_t i)
{
    const struct json_value *plugins = member(node, "plugins");
    const char *name = textf("n%zu", i);
    return str_is(member(node, "name")->text, name) && plugins->n == 1 &&
           number(&plugins->items[0], "raw") == opinion.nodes[i].raw &&
           number(&plugins->items[0], "normalized") == opinion.nodes[i].normalized;
}

static bool all_is_told(struct rand *rand, size_t size, void *ctx)
{
    (void)ctx;
    struct fixture f;
    struct reading r;
    form_opinion(rand, size);
    puppet_clear();
    puppet_add("A", AT(FILTER) | AT(SCORE) | AT(NORMALIZE))->hook = hold_opinion;
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "percentageOfNodesToScore: 100\n",
                 puppet_registry());
    for (size_t i = 0; i < opinion.n; i++)
        ADD_NODE(&f, .name = textf("n%zu", i), .cpu = "4", .memory = "8Gi");

    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    explain(&r, &f, "p");
    const struct json_value *nodes = member(&r.records[0], "nodes");
    const struct json_value *feasible = member(&r.records[0], "feasible");
    bool ok = r.n == 1 && nodes->n == opinion.n;
    size_t passed = 0;
    for (size_t i = 0; ok && i < opinion.n; i++) {
        ok = node_is_told(&nodes->items[i], i);
        if (ok && !opinion.nodes[i].refused)
            ok = passed < feasible->n && score_is_told(&feasible->items[passed++], i);
    }
    ok &= passed == feasible->n;
    done(&r);
    fixture_release(&f);
    return ok;
}

static void any_message_is_recorded_unchanged(void **state)
{
    (void)state;
    assert_true(prop_run("records say what plugins said", 150, all_is_told, NULL));
}

/* --- bounds ----------------------------------------------------------------------------------- */

static void old_records_go(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    puppet_scene(&f, 5);
    struct explain *x = &f.engine->explain;
    x->max_bytes = 4096;
    for (int i = 0; i < 200; i++) {
        ADD_POD(&f, .name = textf("p%d", i));
        fixture_settle(&f);
        assert_true(x->bytes <= x->max_bytes);
        /* Names of node sets count as well. */
        const char *name = textf("x%d", i);
        ADD_NODE(&f, .name = name, .cpu = "4", .memory = "8Gi");
        fixture_delete(&f, NODE(.name = name, .cpu = "4", .memory = "8Gi"));
    }
    explain(&r, &f, "");
    assert_true(r.n >= 2 && r.n < 20);
    for (size_t i = 0; i < r.n; i++)
        assert_int_equal(number(&r.records[i], "number"), (int64_t)(200 - r.n + i));
    done(&r);
    explain(&r, &f, "p0");
    assert_int_equal(r.n, 0);
    done(&r);
    explain(&r, &f, "p199");
    assert_int_equal(r.n, 1);
    done(&r);
    fixture_release(&f);
}

static void what_is_too_large_is_not_kept(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    puppet_scene(&f, 50);
    f.engine->explain.max_bytes = 1000;
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "p"));
    explain(&r, &f, "");
    assert_int_equal(r.n, 0);
    assert_int_equal(f.engine->explain.bytes, 0);
    done(&r);
    fixture_release(&f);
}

/* --- PreFilter and surveys -------------------------------------------------------------------- */

/* A list of verdicts: "A Skip; B Unschedulable x+y". */
static void add_verdicts(const struct json_value *list, struct buf *out)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct json_value *v = &list->items[i], *reasons = json_get(v, STR("reasons"));
        buf_add_printf(out, "%s%.*s %.*s", i ? "; " : "", STR_ARG(member(v, "name")->text),
                       STR_ARG(member(v, "code")->text));
        for (size_t k = 0; reasons && k < reasons->n; k++)
            buf_add_printf(out, "%s%.*s", k ? "+" : " ", STR_ARG(reasons->items[k].text));
    }
}

static void assert_pre_filter(const struct json_value *record, const char *expected)
{
    struct buf out = BUF_INIT;
    add_verdicts(member(record, "preFilter"), &out);
    assert_string_equal(buf_cstr(&out), expected);
    buf_release(&out);
}

static void pre_filter_messages_are_recorded(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    puppet_add("A", AT(PRE_FILTER))->code[PUPPET_PRE_FILTER] = BERTH_SKIP;
    puppet_add("B", AT(PRE_FILTER));
    struct puppet *c = puppet_add("C", AT(PRE_FILTER));
    c->code[PUPPET_PRE_FILTER] = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    c->reason = "no";
    c->second_reason = "never";
    puppet_add("D", AT(PRE_FILTER)); /* not called any more */
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    explain(&r, &f, "p");
    assert_pre_filter(&r.records[0], "A Skip; B Success; C UnschedulableAndUnresolvable no+never");
    done(&r);
    fixture_release(&f);
}

/* "A B: n0 A Unschedulable x; B Error y, n1": the called plugins, and their rejections. */
static void assert_survey(const struct json_value *record, const char *expected)
{
    struct buf out = BUF_INIT;
    const struct json_value *filters = member(record, "filters");
    const struct json_value *asked = member(filters, "asked"), *nodes = member(filters, "nodes");
    for (size_t i = 0; i < asked->n; i++)
        buf_add_printf(&out, "%s%.*s", i ? " " : "", STR_ARG(asked->items[i].text));
    for (size_t i = 0; i < nodes->n; i++) {
        const struct json_value *refused = json_get(&nodes->items[i], STR("refused"));
        buf_add_printf(&out, "%s%.*s", i ? ", " : ": ",
                       STR_ARG(member(&nodes->items[i], "name")->text));
        if (refused) {
            buf_add_char(&out, ' ');
            add_verdicts(refused, &out);
        }
    }
    assert_string_equal(buf_cstr(&out), expected);
    buf_release(&out);
}

static void refuse_zero(struct puppet_call *call)
{
    if (call->point != PUPPET_FILTER || number_of(call->node) != 0)
        return;
    call->code = BERTH_UNSCHEDULABLE;
    call->puppet->host->status_text(call->status, BERTH_STR("zero"));
}

static void a_survey_asks_all_plugins_about_all_nodes(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    puppet_add("A", AT(FILTER))->hook = refuse_zero;
    puppet_add("Skips", AT(PRE_FILTER) | AT(FILTER))->code[PUPPET_PRE_FILTER] = BERTH_SKIP;
    struct puppet *b = puppet_add("B", AT(FILTER));
    b->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    b->reason = "x";
    b->second_reason = "y";
    puppet_scene(&f, 2);
    f.engine->surveys = true;
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    explain(&r, &f, "p");
    assert_survey(&r.records[0], "A B: n0 A Unschedulable zero; "
                                 "B UnschedulableAndUnresolvable x+y, "
                                 "n1 B UnschedulableAndUnresolvable x+y");
    assert_nodes(&r.records[0], "n0 Unschedulable A zero; "
                                "n1 UnschedulableAndUnresolvable B x+y");
    assert_null(json_get(&r.records[0], STR("disagreements")));
    done(&r);
    fixture_release(&f);
}

static void without_a_survey_no_filters_are_recorded(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    puppet_add("A", AT(FILTER));
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    explain(&r, &f, "p");
    assert_null(json_get(&r.records[0], STR("filters")));
    assert_int_equal(puppet_count(AT(FILTER)), 2);
    done(&r);
    fixture_release(&f);
}

/* The single form rejects n0, this one the node in slot 1. */
static enum berth_code refuse_one(void *self, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_filter_batch *batch,
                                  struct berth_status *status)
{
    (void)self;
    (void)cycle;
    (void)pod;
    (void)status;
    if (batch->feasible[0] & 2) {
        batch->feasible[0] &= ~(uint64_t)2;
        batch->codes[1] = BERTH_UNSCHEDULABLE;
        batch->reasons[1] = 0;
    }
    return BERTH_SUCCESS;
}

/* The single form returns 9 for all. */
static enum berth_code score_by_place(void *self, const struct berth_cycle *cycle,
                                      const struct berth_pod *pod, struct berth_score_batch *batch,
                                      struct berth_status *status)
{
    (void)self;
    (void)cycle;
    (void)pod;
    (void)status;
    for (size_t i = 0; i < batch->n; i++)
        batch->scores[i] = 8 + (int64_t)i;
    return BERTH_SUCCESS;
}

static void a_survey_notices_batches_that_disagree(void **state)
{
    (void)state;
    struct fixture f;
    struct reading r;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(SCORE));
    a->hook = refuse_zero;
    a->score = 9;
    a->plugin.filter_many = refuse_one;
    a->plugin.score_many = score_by_place;
    puppet_scene(&f, 3);
    f.engine->surveys = true;
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    explain(&r, &f, "p");
    struct buf out = BUF_INIT;
    const struct json_value *list = member(&r.records[0], "disagreements");
    for (size_t i = 0; i < list->n; i++) {
        const struct json_value *d = &list->items[i];
        const struct json_value *single = member(d, "single"), *batch = member(d, "batch");
        buf_add_printf(&out, "%s%.*s %.*s", i ? "; " : "", STR_ARG(member(d, "plugin")->text),
                       STR_ARG(member(d, "node")->text));
        if (json_get(batch, STR("score")))
            buf_add_printf(&out, " %lld/%lld", (long long)number(single, "score"),
                           (long long)number(batch, "score"));
        else
            buf_add_printf(&out, " %.*s/%.*s", STR_ARG(member(single, "code")->text),
                           STR_ARG(member(batch, "code")->text));
    }
    assert_string_equal(buf_cstr(&out), "A n0 Unschedulable/Success; "
                                        "A n1 Success/Unschedulable; A n0 9/8");
    buf_release(&out);
    done(&r);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_placed_pod_is_explained),
        cmocka_unit_test(a_single_node_has_no_scores),
        cmocka_unit_test(only_the_nominated_node_was_evaluated),
        cmocka_unit_test(a_rejected_pod_is_explained_attempt_by_attempt),
        cmocka_unit_test(the_event_that_requeued_the_pod_is_recorded),
        cmocka_unit_test(failures_of_the_binding_are_explained_with_the_choice),
        cmocka_unit_test(without_nodes_the_record_is_short),
        cmocka_unit_test(names_are_those_of_the_time),
        cmocka_unit_test(any_message_is_recorded_unchanged),
        cmocka_unit_test(old_records_go),
        cmocka_unit_test(what_is_too_large_is_not_kept),
        cmocka_unit_test(pre_filter_messages_are_recorded),
        cmocka_unit_test(a_survey_asks_all_plugins_about_all_nodes),
        cmocka_unit_test(without_a_survey_no_filters_are_recorded),
        cmocka_unit_test(a_survey_notices_batches_that_disagree),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
