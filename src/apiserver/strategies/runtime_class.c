/* SPDX-License-Identifier: Apache-2.0 */
/* node.k8s.io: RuntimeClasses. */
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

static void set_defaults(struct json_value *object, struct arena *a)
{
    struct json_value *overhead = json_member(object, STR("overhead"));
    struct json_value *fixed = json_member(overhead, STR("podFixed"));

    if (fixed && fixed->kind == JSON_OBJECT)
        resource_list_set_defaults(fixed, a);
}

static void check_overhead(const struct spot *overhead)
{
    struct pod_check check = {.errors = overhead->errors};
    const struct json_value *fixed = json_get(overhead->v, STR("podFixed"));
    struct json_value requirements = json_object();

    if (fixed)
        json_set(&requirements, STR("limits"), *fixed, overhead->errors->arena);
    resource_requirements_validate(&check, &requirements, false, &overhead->path);
}

static const struct internal_member toleration_form[] = {
    {"Key", "key", NULL, "\"\""},
    {"Operator", "operator", NULL, "\"\""},
    {"Value", "value", NULL, "\"\""},
    {"Effect", "effect", NULL, "\"\""},
    {"TolerationSeconds", "tolerationSeconds", NULL, NULL},
    {0},
};

/* Two tolerations that differ in their seconds only are equal. */
static void check_tolerations(const struct spot *scheduling)
{
    static const char *const members[] = {"key", "operator", "value", "effect"};
    struct spot list = spot_get(scheduling, "tolerations");
    struct arena *a = scheduling->errors->arena;
    struct map seen = MAP_INIT;

    tolerations_validate(scheduling->v, &list.path, scheduling->errors);
    for (size_t i = 0; i < spot_count(&list); i++) {
        struct spot toleration = spot_item(&list, i);
        struct buf key = BUF_INIT;

        for (size_t j = 0; j < ARRAY_LEN(members); j++)
            go_quote(&key, json_get_text(toleration.v, str_of(members[j])));
        if (map_put(&seen, arena_dup(a, buf_str(&key)), a)) {
            struct json_value shown = internal_form(toleration.v, toleration_form, a);

            toleration.v = &shown;
            spot_duplicate(&toleration);
        }
        buf_release(&key);
    }
    map_release(&seen);
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), handler = spot_text(&root, "handler");
    struct spot overhead = spot_get(&root, "overhead"), scheduling = spot_get(&root, "scheduling");
    struct spot selector = spot_get(&scheduling, "nodeSelector");

    if (spot_empty(&handler))
        spot_required(&handler, "");
    else
        spot_check_name(&handler, NAME_DNS_LABEL);
    if (spot_has(&overhead))
        check_overhead(&overhead);
    if (!spot_has(&scheduling))
        return;
    field_check_labels(errors, &selector.path, selector.v);
    check_tolerations(&scheduling);
}

static void validate_update(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    struct spot root = spot_root(object, errors);

    spot_check_same_text(&root, old, "handler");
}

const struct strategy runtime_class_strategies[] = {
    {
        .group = STR_INIT("node.k8s.io"),
        .plural = STR_INIT("runtimeclasses"),
        .set_defaults = set_defaults,
        .validate = validate,
        .validate_update = validate_update,
        .no_status = true,
        .allow_create_on_update = true,
    },
    {.plural = STR_INIT("")},
};
