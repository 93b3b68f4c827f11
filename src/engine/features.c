/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/features.h"

#include "engine/internal.h"

enum stage { ALPHA, BETA };

static const struct gate {
    struct str name;
    enum stage stage;
    bool on;
} gates[FEATURE_COUNT] = {
    [FEATURE_MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD] = {STR_INIT(
                                                             "MatchLabelKeysInPodTopologySpread"),
                                                         BETA, true},
    [FEATURE_NODE_DECLARED_FEATURES] = {STR_INIT("NodeDeclaredFeatures"), BETA, true},
    [FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS] = {STR_INIT(
                                                           "TaintTolerationComparisonOperators"),
                                                       ALPHA, false},
    [FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS] = {STR_INIT("BerthExactNamespaceSelectors"), BETA,
                                                 false},
    [FEATURE_BERTH_RANDOM_TIES] = {STR_INIT("BerthRandomTies"), BETA, false},
    [FEATURE_BERTH_SANE_SCORES] = {STR_INIT("BerthSaneScores"), BETA, false},
};

void features_default(struct features *f)
{
    *f = (struct features){0};
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        f->on[i] = gates[i].on;
}

static int parse_bool(struct str name, struct str text, bool *ret_value, struct err *reterr)
{
    if (str_to_bool(text, ret_value))
        return 0;
    return err_set(reterr, -EINVAL, "invalid value of %.*s: %.*s, use true or false", STR_ARG(name),
                   STR_ARG(text));
}

/* AllAlpha and AllBeta mean what upstream has; ours change placements and are named one by one. */
static bool is_ours(const struct gate *gate)
{
    return str_starts(gate->name, STR("Berth"));
}

static int set(struct features *f, struct str name, bool on, struct err *reterr)
{
    bool alpha = str_is(name, "AllAlpha"), beta = str_is(name, "AllBeta");
    bool known = alpha || beta;
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        const struct gate *gate = &gates[i];
        bool named = str_eq(gate->name, name);
        bool of_stage = (alpha && gate->stage == ALPHA) || (beta && gate->stage == BETA);
        known |= named;
        f->named[i] |= named;
        if (named || (of_stage && !is_ours(gate) && !f->named[i]))
            f->on[i] = on;
    }
    return known ? 0 : err_set(reterr, -EINVAL, "unrecognized feature gate: %.*s", STR_ARG(name));
}

static int parse_one(struct features *f, struct str text, struct err *reterr)
{
    size_t eq = str_find(text, '=');
    bool on = false;
    if (eq == text.n)
        return err_set(reterr, -EINVAL, "missing bool value for %.*s", STR_ARG(text));
    struct str name = str_slice(text, 0, eq);
    int r = parse_bool(name, str_slice(text, eq + 1, text.n), &on, reterr);
    return r < 0 ? r : set(f, name, on, reterr);
}

int features_parse(struct features *f, struct str text, struct err *reterr)
{
    int r = 0;
    while (r == 0 && !str_empty(text)) {
        size_t comma = str_find(text, ',');
        struct str one = str_trim(str_slice(text, 0, comma));
        if (!str_empty(one))
            r = parse_one(f, one, reterr);
        text = str_slice(text, MIN(comma + 1, text.n), text.n);
    }
    return r;
}

void features_write_help(struct buf *out)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        buf_add_printf(out, "%.*s=true|false (%s - default=%s)\n", STR_ARG(gates[i].name),
                       gates[i].stage == ALPHA ? "ALPHA" : "BETA", gates[i].on ? "true" : "false");
}

bool handle_feature(const struct berth_handle *h, enum feature feature)
{
    return h->engine->features.on[feature];
}
