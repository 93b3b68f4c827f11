/* SPDX-License-Identifier: Apache-2.0 */
/* batch: the pod failure policy and the success policy of Jobs. */
#include "apiserver/strategies/job_internal.h"

/* --- indexes ---------------------------------------------------------------------------------- */

static bool parse_index(struct str text, int64_t completions, struct arena *a, int64_t *ret_index,
                        struct str *ret_error)
{
    if (!str_to_i64(text, ret_index)) {
        *ret_error = arena_printf(a, "cannot convert string to integer for index: %.*s",
                                  STR_ARG(arena_quoted(a, text)));
        return false;
    }
    if (*ret_index >= completions) {
        *ret_error = arena_printf(a, "too large index: %.*s", STR_ARG(arena_quoted(a, text)));
        return false;
    }
    return true;
}

bool job_interval_parse(struct str text, int64_t completions, struct arena *a,
                        int64_t ret_interval[2], struct str *ret_error)
{
    struct str rest = text, part;

    str_split(&rest, '-', &part);
    if (rest.p && str_find(rest, '-') < rest.n) {
        *ret_error = arena_printf(a,
                                  "the fragment %.*s violates the requirement that an index "
                                  "interval can have at most two parts separated by '-'",
                                  STR_ARG(arena_quoted(a, text)));
        return false;
    }
    if (!parse_index(part, completions, a, &ret_interval[0], ret_error))
        return false;
    ret_interval[1] = ret_interval[0];
    if (!rest.p)
        return true;
    if (!parse_index(rest, completions, a, &ret_interval[1], ret_error))
        return false;
    if (ret_interval[0] < ret_interval[1])
        return true;
    *ret_error = arena_printf(a, "non-increasing order, previous: %lld, current: %lld",
                              (long long)ret_interval[0], (long long)ret_interval[1]);
    return false;
}

bool job_indexes_parse(struct str text, int64_t completions, struct arena *a, int64_t *ret_total,
                       struct str *ret_error)
{
    int64_t interval[2], last = 0;
    struct str part;
    bool first = true;

    *ret_total = 0;
    while (!str_empty(text) && str_split(&text, ',', &part)) {
        if (!job_interval_parse(part, completions, a, interval, ret_error))
            return false;
        if (!first && last >= interval[0]) {
            *ret_error = arena_printf(a, "non-increasing order, previous: %lld, current: %lld",
                                      (long long)last, (long long)interval[0]);
            return false;
        }
        *ret_total += interval[1] - interval[0] + 1;
        last = interval[1];
        first = false;
    }
    return true;
}

/* --- pod failure policy ----------------------------------------------------------------------- */

/* Required with the values, or one of them. The values are written as Go prints a list. */
static void check_choice(const struct spot *s, const char *const *values)
{
    struct buf text = BUF_INIT;

    if (!spot_empty(s)) {
        spot_check_one_of(s, values);
        return;
    }
    buf_add_cstr(&text, "valid values: [");
    for (size_t i = 0; values[i]; i++) {
        buf_add_cstr(&text, i ? " " : "");
        go_quote(&text, str_of(values[i]));
    }
    buf_add_char(&text, ']');
    spot_required(s, buf_cstr(&text));
    buf_release(&text);
}

static void check_exit_values(const struct spot *codes)
{
    struct spot operator= spot_text(codes, "operator"), values = spot_get(codes, "values");
    struct map seen = MAP_INIT;
    int64_t before = INT64_MIN;
    bool ordered = true;

    if (spot_count(&values) == 0)
        spot_invalid(&values, "at least one value is required");
    else
        spot_too_many(&values, 255);
    for (size_t i = 0; i < spot_count(&values); i++) {
        struct spot value = spot_item(&values, i);
        int64_t n = spot_int(&value);

        if (spot_is(&operator, "In") && n == 0)
            spot_invalid(&value, "must not be 0 for the In operator");
        if (value.v && map_put(&seen, value.v->text, codes->errors))
            spot_duplicate(&value);
        ordered = ordered && before <= n;
        before = n;
    }
    map_release(&seen);
    if (!ordered)
        spot_invalid(&values, "must be ordered");
}

static void check_exit_codes(const struct spot *codes, const struct map *containers)
{
    static const char *const operators[] = {"In", "NotIn", NULL};
    struct spot operator= spot_text(codes, "operator");
    struct spot container = spot_get(codes, "containerName");

    check_choice(&operator, operators);
    if (spot_has(&container) && !map_get(containers, spot_str(&container)))
        spot_invalid(&container, "must be one of the container or initContainer names in the pod "
                                 "template");
    check_exit_values(codes);
}

static void check_conditions(const struct spot *patterns)
{
    static const char *const values[] = {"False", "True", "Unknown", NULL};

    spot_too_many(patterns, 20);
    for (size_t i = 0; i < spot_count(patterns); i++) {
        struct spot pattern = spot_item(patterns, i);
        struct spot type = spot_text(&pattern, "type"), status = spot_text(&pattern, "status");

        spot_check_name(&type, NAME_QUALIFIED);
        check_choice(&status, values);
    }
}

static void check_rule(const struct spot *rule, const struct json_value *spec,
                       const struct map *containers)
{
    static const char *const actions[] = {"Count", "FailIndex", "FailJob", "Ignore", NULL};
    struct spot action = spot_text(rule, "action");
    struct spot codes = spot_get(rule, "onExitCodes");
    struct spot conditions = spot_get(rule, "onPodConditions");
    bool has_conditions = spot_count(&conditions) > 0;
    struct spot whole = *rule;

    check_choice(&action, actions);
    if (spot_is(&action, "FailIndex") && !json_get(spec, STR("backoffLimitPerIndex")))
        spot_invalid(&action, "requires the backoffLimitPerIndex to be set");
    if (spot_has(&codes))
        check_exit_codes(&codes, containers);
    if (has_conditions)
        check_conditions(&conditions);
    whole.v = &field_value_omitted;
    if (spot_has(&codes) && has_conditions)
        spot_invalid(&whole, "specifying both OnExitCodes and OnPodConditions is not supported");
    if (!spot_has(&codes) && !has_conditions)
        spot_invalid(&whole, "specifying one of OnExitCodes and OnPodConditions is required");
}

void job_failure_policy_validate(const struct spot *spec)
{
    struct spot policy = spot_get(spec, "podFailurePolicy"), rules = spot_get(&policy, "rules");
    const char *const lists[] = {"template.spec.containers", "template.spec.initContainers"};
    struct map containers = MAP_INIT;

    spot_too_many(&rules, 20);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct json_items list = json_items_at(spec->v, lists[i]);

        for (size_t j = 0; j < list.n; j++)
            map_put(&containers, json_get_text(&list.v[j], STR("name")), spec->errors);
    }
    for (size_t i = 0; i < spot_count(&rules); i++) {
        struct spot rule = spot_item(&rules, i);

        check_rule(&rule, spec->v, &containers);
    }
    map_release(&containers);
}

/* --- success policy --------------------------------------------------------------------------- */

static void check_success_rule(const struct spot *rule, int64_t completions)
{
    struct spot count = spot_get(rule, "succeededCount");
    struct spot indexes = spot_get(rule, "succeededIndexes");
    int64_t total = 0;
    struct str error;

    if (!spot_has(&count) && !spot_has(&indexes))
        spot_required(rule, "at least one of succeededCount or succeededIndexes must be specified");
    if (spot_has(&indexes)) {
        if (spot_str(&indexes).n > 64 << 10)
            spot_too_long(&indexes, 64 << 10);
        if (!job_indexes_parse(spot_str(&indexes), completions, rule->errors->arena, &total,
                               &error)) {
            total = 0;
            spot_invalid(&indexes, "error parsing succeededIndexes: %.*s", STR_ARG(error));
        }
    }
    if (!spot_has(&count))
        return;
    spot_check_nonnegative(&count);
    if (spot_int(&count) > completions)
        spot_invalid(&count,
                     "must be less than or equal to %lld (the number of specified completions)",
                     (long long)completions);
    if (spot_has(&indexes) && spot_int(&count) > total)
        spot_invalid(&count,
                     "must be less than or equal to %lld (the number of indexes in the specified "
                     "succeededIndexes field)",
                     (long long)total);
}

void job_success_policy_validate(const struct spot *spec)
{
    struct spot policy = spot_get(spec, "successPolicy"), rules = spot_get(&policy, "rules");
    int64_t completions = json_int_at(spec->v, "completions", 0);

    if (spot_count(&rules) == 0)
        spot_required(&rules, "at least one rules must be specified when the successPolicy is "
                              "specified");
    spot_too_many(&rules, 20);
    for (size_t i = 0; i < spot_count(&rules); i++) {
        struct spot rule = spot_item(&rules, i);

        check_success_rule(&rule, completions);
    }
}
