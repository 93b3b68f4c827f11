/* SPDX-License-Identifier: Apache-2.0 */
/* Feature gates: how they are set, which plugins they bring, and how ties are drawn. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/internal.h"
#include "engine_fixture.h"
#include "plugins/registry.h"
#include "prop.h"

#define ALPHA FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS
#define BETA  FEATURE_NODE_DECLARED_FEATURES
#define OURS  FEATURE_BERTH_RANDOM_TIES

static void defaults_are_upstreams(void **state)
{
    (void)state;
    struct features f;
    features_default(&f);
    assert_true(f.on[BETA]);
    assert_false(f.on[ALPHA]);
    assert_false(f.on[FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS]);
    assert_false(f.on[FEATURE_BERTH_RANDOM_TIES]);
    assert_false(f.on[FEATURE_BERTH_SANE_SCORES]);
}

static void gates_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *texts[3]; /* one flag each */
        bool alpha, beta, ours;
    } cases[] = {
        {{""}, false, true, false},
        {{"NodeDeclaredFeatures=false"}, false, false, false},
        {{"NodeDeclaredFeatures=false,TaintTolerationComparisonOperators=true"},
         true,
         false,
         false},
        {{"NodeDeclaredFeatures=false", "NodeDeclaredFeatures=true"}, false, true, false},
        {{"BerthRandomTies=true", "NodeDeclaredFeatures=0"}, false, false, true},
        {{" BerthRandomTies=t , NodeDeclaredFeatures=F ,"}, false, false, true},
        /* Ours are not upstream's to switch. */
        {{"AllAlpha=true,AllBeta=false"}, true, false, false},
        {{"AllBeta=true"}, false, true, false},
        /* Who is named is not meant by All…, whichever comes first. */
        {{"AllAlpha=true,TaintTolerationComparisonOperators=false"}, false, true, false},
        {{"TaintTolerationComparisonOperators=false,AllAlpha=true"}, false, true, false},
        {{"NodeDeclaredFeatures=true", "AllBeta=false"}, false, true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct features f;
        struct err err;
        features_default(&f);
        for (size_t k = 0; k < 3 && cases[i].texts[k]; k++)
            assert_int_equal(features_parse(&f, str_of(cases[i].texts[k]), &err), 0);
        assert_int_equal(f.on[ALPHA], cases[i].alpha);
        assert_int_equal(f.on[BETA], cases[i].beta);
        assert_int_equal(f.on[OURS], cases[i].ours);
    }
}

static void wrong_gates_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"Nonsense=true", "unrecognized feature gate: Nonsense"},
        {"BerthRandomTies", "missing bool value for BerthRandomTies"},
        {"BerthRandomTies=yes", "invalid value of BerthRandomTies: yes, use true or false"},
        {"BerthRandomTies=", "invalid value of BerthRandomTies: , use true or false"},
        {"BerthRandomTies=true,=true", "unrecognized feature gate: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct features f;
        struct err err;
        features_default(&f);
        assert_int_equal(features_parse(&f, str_of(cases[i].text), &err), -EINVAL);
        assert_string_equal(err.msg, cases[i].error);
    }
}

/* Whatever help lists can be parsed as it stands. */
static void help_lists_every_gate(void **state)
{
    (void)state;
    struct buf help = BUF_INIT;
    struct features f;
    struct err err;
    size_t n = 0;
    features_write_help(&help);
    struct str left = buf_str(&help);
    while (left.n) {
        size_t end = str_find(left, '\n');
        struct str name = str_slice(left, 0, str_find(left, '='));
        struct buf text = BUF_INIT;
        buf_add_printf(&text, "%.*s=true", STR_ARG(name));
        features_default(&f);
        assert_int_equal(features_parse(&f, buf_str(&text), &err), 0);
        buf_release(&text);
        left = str_slice(left, end + 1, left.n);
        n++;
    }
    assert_int_equal(n, FEATURE_COUNT);
    buf_release(&help);
}

/* --- plugins behind gates --------------------------------------------------------------------- */

static bool profile_has(const struct fixture *f, const char *plugin)
{
    const struct profile *p = f->engine->profiles.v[0];
    for (size_t i = 0; i < p->instances.n; i++)
        if (strcmp(p->instances.v[i]->plugin->name, plugin) == 0)
            return true;
    return false;
}

static void a_gate_decides_on_a_default_plugin(void **state)
{
    (void)state;
    static const char named[] =
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- plugins: {multiPoint: {enabled: [{name: NodeDeclaredFeatures}]}}\n";
    static const struct {
        const char *config, *gates;
        bool has;
    } cases[] = {
        {NULL, "", true},
        {NULL, "NodeDeclaredFeatures=false", false},
        /* Who names it gets it. */
        {named, "NodeDeclaredFeatures=false", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        fixture_init_features(&f, cases[i].config, cases[i].gates);
        assert_int_equal(profile_has(&f, "NodeDeclaredFeatures"), cases[i].has);
        assert_true(profile_has(&f, "NodeResourcesFit"));
        fixture_release(&f);
    }
}

/* --- ties ------------------------------------------------------------------------------------- */

#define TIED  4
#define DRAWS 2000

/* Nodes that are alike, and one that is fuller. Counts where pods of no size go. */
static void place_tied(const char *gates, size_t ret_counts[TIED + 1])
{
    struct fixture f;
    fixture_init_features(&f, NULL, gates);
    for (int i = 0; i <= TIED; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        fixture_add(&f, fixture_node(name, "4", "8Gi"));
    }
    fixture_add(&f, fixture_pod_on("fills", "3", "6Gi", "n2"));
    for (int i = 0; i < DRAWS; i++) {
        fixture_add(&f, fixture_pod("p", "1", "1Gi"));
        fixture_schedule(&f);
        struct fixture_write *w = fixture_binding(&f, "p");
        assert_non_null(w);
        ret_counts[w->node[1] - '0']++;
        fixture_answer(&f, w, 409, "try again"); /* its room is free again */
        fixture_delete(&f, fixture_pod("p", "1", "1Gi"));
    }
    fixture_release(&f);
}

static void ties_are_drawn_evenly(void **state)
{
    (void)state;
    size_t counts[TIED + 1] = {0}, again[TIED + 1] = {0};
    place_tied("BerthRandomTies=true", counts);
    for (int i = 0; i <= TIED; i++)
        if (i == 2)
            assert_int_equal(counts[i], 0);
        else
            assert_in_range(counts[i], DRAWS / TIED * 3 / 4, DRAWS / TIED * 5 / 4);
    /* By the engine's own dice: the same seed draws the same lots. */
    place_tied("BerthRandomTies=true", again);
    assert_memory_equal(counts, again, sizeof(counts));
}

static void without_the_gate_nothing_is_drawn(void **state)
{
    (void)state;
    struct fixture f;
    size_t counts[TIED + 1] = {0};
    place_tied("", counts);
    assert_int_equal(counts[2], 0);
    fixture_init(&f, NULL, NULL);
    uint64_t before = f.engine->rand.s[0];
    fixture_add(&f, fixture_node("a", "4", "8Gi"));
    fixture_add(&f, fixture_node("b", "4", "8Gi"));
    fixture_add(&f, fixture_pod("p", "1", "1Gi"));
    fixture_settle(&f);
    assert_true(f.engine->rand.s[0] == before);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_upstreams),
        cmocka_unit_test(gates_are_parsed),
        cmocka_unit_test(wrong_gates_are_refused),
        cmocka_unit_test(help_lists_every_gate),
        cmocka_unit_test(a_gate_decides_on_a_default_plugin),
        cmocka_unit_test(ties_are_drawn_evenly),
        cmocka_unit_test(without_the_gate_nothing_is_drawn),
    };
    return cmocka_run_group_tests_name("features", tests, NULL, NULL);
}
