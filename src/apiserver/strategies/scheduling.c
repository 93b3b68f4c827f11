/* SPDX-License-Identifier: Apache-2.0 */
/* scheduling.k8s.io: priority classes. */
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

#define HIGHEST_USER_PRIORITY 1000000000

static const struct {
    const char *name;
    int64_t value;
} system_classes[] = {
    {"system-node-critical", 2000001000},
    {"system-cluster-critical", 2000000000},
};

static void set_defaults(struct json_value *object, struct arena *a)
{
    json_set_default(object, STR("preemptionPolicy"), json_text(STR("PreemptLowerPriority")), a);
}

/* What is wrong with a class of the reserved prefix; NULL: it is one of upstream's own. */
static const char *system_fault(struct str name, int64_t value, bool global, struct arena *a)
{
    for (size_t i = 0; i < ARRAY_LEN(system_classes); i++) {
        if (!str_is(name, system_classes[i].name))
            continue;
        if (value != system_classes[i].value)
            return arena_printf(a, "value of %.*s PriorityClass must be %lld", STR_ARG(name),
                                (long long)system_classes[i].value)
                .p;
        if (global)
            return arena_printf(a, "globalDefault of %.*s PriorityClass must be false",
                                STR_ARG(name))
                .p;
        return NULL;
    }
    return arena_printf(a, "%.*s is not a known system priority class", STR_ARG(name)).p;
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    static const char *const policies[] = {"PreemptLowerPriority", "Never", NULL};
    struct spot root = spot_root(object, errors), metadata = spot_get(&root, "metadata");
    struct spot name = spot_text(&metadata, "name"), value = spot_number(&root, "value");
    struct spot policy = spot_get(&root, "preemptionPolicy");

    /* Nothing of this changes: updates have their own checks. */
    if (!str_empty(json_text_at(object, "metadata.resourceVersion")))
        return;
    if (str_starts(spot_str(&name), STR("system-"))) {
        const char *fault =
            system_fault(spot_str(&name), spot_int(&value),
                         json_bool_at(object, "globalDefault", false), errors->arena);

        if (fault)
            spot_forbidden(&name,
                           "priority class names with 'system-' prefix are reserved for system use "
                           "only. error: %s",
                           fault);
    } else if (spot_int(&value) > HIGHEST_USER_PRIORITY) {
        spot_forbidden(&value, "maximum allowed value of a user defined priority is %d",
                       HIGHEST_USER_PRIORITY);
    }
    if (!spot_has(&policy))
        return;
    if (spot_empty(&policy))
        spot_required(&policy, "");
    else
        spot_check_one_of(&policy, policies);
}

static void validate_update(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), value = spot_number(&root, "value");

    if (spot_int(&value) != json_int_at(old, "value", 0))
        spot_forbidden(&value, "may not be changed in an update.");
    spot_check_same(&root, old, "preemptionPolicy");
}

const struct strategy scheduling_strategies[] = {
    {
        .group = STR_INIT("scheduling.k8s.io"),
        .plural = STR_INIT("priorityclasses"),
        .set_defaults = set_defaults,
        .validate = validate,
        .validate_update = validate_update,
        /* Upstream sets the generation of a new class and does not change it. */
        .generation = (const char *const[]){NULL},
        .no_status = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
