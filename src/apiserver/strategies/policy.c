/* SPDX-License-Identifier: Apache-2.0 */
/* policy: disruption budgets. */
#include "apiserver/strategies/conditions.h"
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/strategies.h"

static void check_amount(const struct spot *amount)
{
    if (!spot_has(amount))
        return;
    field_check_int_or_percent(amount->errors, &amount->path, amount->v);
    field_check_percent_limit(amount->errors, &amount->path, amount->v);
}

/* Upstream shows its internal struct. */
static void refuse_both(const struct spot *spec)
{
    static const struct internal_member fields[] = {
        {"MinAvailable", "minAvailable", NULL, NULL},
        {"Selector", "selector", NULL, NULL},
        {"MaxUnavailable", "maxUnavailable", NULL, NULL},
        {"UnhealthyPodEvictionPolicy", "unhealthyPodEvictionPolicy", NULL, NULL},
        {0},
    };
    struct json_value shown = internal_form(spec->v, fields, spec->errors->arena);
    struct spot whole = *spec;

    whole.v = &shown;
    spot_invalid(&whole, "minAvailable and maxUnavailable cannot be both set");
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    static const char *const policies[] = {"AlwaysAllow", "IfHealthyBudget", NULL};
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot least = spot_get(&spec, "minAvailable"), most = spot_get(&spec, "maxUnavailable");
    struct spot selector = spot_get(&spec, "selector");
    struct spot policy = spot_get(&spec, "unhealthyPodEvictionPolicy");

    if (spot_has(&least) && spot_has(&most))
        refuse_both(&spec);
    check_amount(&least);
    check_amount(&most);
    spot_check_selector(&selector);
    if (spot_has(&policy))
        spot_check_one_of(&policy, policies);
}

static void validate_status(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    static const char *const counters[] = {"disruptionsAllowed", "currentHealthy", "desiredHealthy",
                                           "expectedPods"};
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");
    struct spot conditions = spot_get(&status, "conditions");

    (void)old;
    conditions_validate(&conditions);
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        struct spot count = spot_get(&status, counters[i]);

        spot_check_nonnegative(&count);
    }
}

const struct strategy policy_strategies[] = {
    {
        .group = STR_INIT("policy"),
        .plural = STR_INIT("poddisruptionbudgets"),
        .validate = validate,
        .validate_status = validate_status,
        .generation = (const char *const[]){"spec", NULL},
    },
    {.plural = STR_INIT("")},
};
