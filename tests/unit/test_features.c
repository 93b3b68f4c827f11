/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/config/features.h"

static void assert_refused(struct kube_version v, const char *text, const char *why)
{
    struct features f;
    struct err err;
    features_default(&f);
    features_emulate(&f, v, KUBE_VERSION_OLDEST);
    struct features before = f;
    assert_int_equal(features_parse(&f, str_of(text), &err), -EINVAL);
    assert_string_equal(err.msg, why);
    assert_memory_equal(&f, &before, sizeof(f));
}

static struct features taken(const char *text)
{
    struct features f;
    struct err err;
    features_default(&f);
    assert_int_equal(features_parse(&f, str_of(text), &err), 0);
    return f;
}

static bool is_known(struct str name)
{
    for (size_t i = 0; i < FEATURE_GATE_COUNT; i++)
        if (str_eq(feature_gates[i].name, name))
            return true;
    return false;
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < FEATURE_GATE_COUNT; i++) {
        const struct feature_gate *gate = &feature_gates[i];
        assert_true(gate->name.n > 0 && *gate->stages);
        assert_true(i == 0 || str_cmp(feature_gates[i - 1].name, gate->name) < 0);
        struct str rest = str_of(gate->stages), one;
        unsigned last = 0;
        while (str_split(&rest, ' ', &one)) {
            unsigned minor;
            char stage, on, lock = '!';
            char *text = str_dup(one);
            int n = sscanf(text, "%u%c%c%c", &minor, &stage, &on, &lock);
            free(text);
            assert_true(n >= 3 && strchr("abgd", stage) && strchr("+-", on) && lock == '!');
            assert_true(minor >= last && minor <= KUBE_VERSION.minor);
            last = minor;
        }
        rest = str_of(gate->needs);
        while (gate->needs && str_split(&rest, ' ', &one))
            assert_true(is_known(one));
    }
}

static void test_defaults(void **state)
{
    (void)state;
    struct features f;
    features_default(&f);
    assert_true(f.on[FEATURE_NODE_DECLARED_FEATURES]);
    assert_false(f.on[FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS]);
    assert_false(f.on[FEATURE_BERTH_RANDOM_TIES]);
    /* It was alpha, and off, in that version. */
    features_emulate(&f, (struct kube_version){1, 35}, (struct kube_version){1, 34});
    assert_false(f.on[FEATURE_NODE_DECLARED_FEATURES]);
}

static void test_all(void **state)
{
    (void)state;
    struct features f = taken("AllAlpha=true");
    assert_true(f.on[FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS]);
    f = taken("kube:TaintTolerationComparisonOperators=false,kube:AllAlpha=true");
    assert_false(f.on[FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS]);
    f = taken("AllBeta=false");
    assert_false(f.on[FEATURE_MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD]);
    /* berth's own gates are set one by one. */
    f = taken("AllBeta=true");
    assert_false(f.on[FEATURE_BERTH_SANE_SCORES]);
    f = taken(" BerthSaneScores = T ,, ");
    assert_true(f.on[FEATURE_BERTH_SANE_SCORES]);
}

static void test_refused(void **state)
{
    (void)state;
    assert_refused(KUBE_VERSION, "abc", "missing bool value for abc");
    assert_refused(KUBE_VERSION, "Abc=true", "unrecognized feature gate: Abc");
    assert_refused(KUBE_VERSION, "AllAlpha=x",
                   "invalid value of AllAlpha=x, err: strconv.ParseBool: parsing \"x\": invalid "
                   "syntax");
    assert_refused(KUBE_VERSION, "Abc=true,b", "missing bool value for b");
    assert_refused(KUBE_VERSION, "x:AllAlpha=true", "component not registered: x");
    assert_refused(KUBE_VERSION, "kube:AllAlpha=true,AllBeta=true",
                   "set kube feature gates with default empty prefix or kube: prefix "
                   "consistently, do not mix use");
    assert_refused(KUBE_VERSION, "DynamicResourceAllocation=false",
                   "cannot set feature gate DynamicResourceAllocation to false, feature is locked "
                   "to true");
    assert_refused(KUBE_VERSION, "MatchLabelKeysInPodTopologySpread=false",
                   "MatchLabelKeysInPodTopologySpreadSelectorMerge is enabled, but depends on "
                   "features that are disabled: [MatchLabelKeysInPodTopologySpread]");
    /* All errors are reported at once. */
    assert_refused(KUBE_VERSION,
                   "NodeDeclaredFeatures=false,ExtendWebSocketsToKubelet=false,"
                   "InPlacePodLevelResourcesVerticalScaling=false",
                   "[InPlacePodVerticalScalingInitContainers is enabled, but depends on features "
                   "that are disabled: [NodeDeclaredFeatures], "
                   "RestartAllContainersOnContainerExits is enabled, but depends on features that "
                   "are disabled: [NodeDeclaredFeatures]]");
    assert_refused((struct kube_version){1, 34}, "GenericWorkload=true",
                   "cannot set feature gate GenericWorkload to true, feature is PreAlpha at "
                   "emulated version 1.34, min compatibility version 1.33");
}

static void on_notice(void *ctx, const char *name, bool deprecated, bool value)
{
    buf_add_printf(ctx, "%s %s %s;", name, deprecated ? "deprecated" : "GA", value ? "on" : "off");
}

static void test_notices(void **state)
{
    (void)state;
    struct features f = taken("DynamicResourceAllocation=true,NodeDeclaredFeatures=true,"
                              "AllowDNSOnlyNodeCSR=true,TaintTolerationComparisonOperators=true");
    struct buf text = BUF_INIT;
    features_each_notice(&f, on_notice, &text);
    assert_string_equal(buf_cstr(&text),
                        "AllowDNSOnlyNodeCSR deprecated on;DynamicResourceAllocation GA on;");
    buf_clear(&text);
    features_write_alpha(&f, &text);
    assert_string_equal(buf_cstr(&text), "TaintTolerationComparisonOperators");
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),   cmocka_unit_test(test_defaults), cmocka_unit_test(test_all),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_notices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
