/* SPDX-License-Identifier: Apache-2.0 */
/* resource.k8s.io: DeviceClasses and DeviceTaintRules. */
#include "apiserver/strategies/conditions.h"
#include "apiserver/strategies/device_checks.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/strategies/strategies.h"

#define MAX_CONFIG     32
#define MAX_CONDITIONS 8

static void validate_class(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot selectors = spot_get(&spec, "selectors"), configs = spot_get(&spec, "config");
    struct spot name = spot_get(&spec, "extendedResourceName");
    struct device_cel cel = {0};

    check_selectors(&selectors, &cel);
    device_cel_release(&cel);
    if (!spot_too_many(&configs, MAX_CONFIG)) {
        for (size_t i = 0; i < spot_count(&configs); i++) {
            struct spot config = spot_item(&configs, i);

            check_configuration(&config);
        }
    }
    if (spot_has(&name) && !resource_name_is_extended(spot_str(&name), errors->arena))
        spot_invalid(&name, "must be a valid extended resource name");
}

/* --- taint rules ------------------------------------------------------------------------------ */

/* The time of creation; upstream takes the clock. */
static void prepare_new_rule(struct json_value *object, struct arena *a)
{
    struct str now = json_text_at(object, "metadata.creationTimestamp");
    struct json_value *taint;

    json_remove(object, STR("status"));
    taint = json_set_object(json_set_object(object, STR("spec"), a), STR("taint"), a);
    if (!str_empty(now))
        json_set_default(taint, STR("timeAdded"), json_text(now), a);
}

static void validate_rule(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot selector = spot_get(&spec, "deviceSelector"), taint = spot_get(&spec, "taint");
    struct spot driver = spot_get(&selector, "driver"), pool = spot_get(&selector, "pool");
    struct spot device = spot_get(&selector, "device");

    if (spot_has(&driver))
        check_driver_name(&driver);
    if (spot_has(&pool))
        check_pool_name(&pool);
    if (spot_has(&device))
        spot_check_name(&device, NAME_DNS_LABEL);
    check_device_taint(&taint);
}

static void validate_rule_status(const struct json_value *object, const struct json_value *old,
                                 struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");
    struct spot conditions = spot_get(&status, "conditions");

    (void)old;
    conditions_validate(&conditions);
    spot_too_many(&conditions, MAX_CONDITIONS);
}

const struct strategy device_class_strategies[] = {
    {
        .group = STR_INIT("resource.k8s.io"),
        .plural = STR_INIT("deviceclasses"),
        .validate = validate_class,
        .generation = (const char *const[]){"spec", NULL},
        .no_status = true,
        .unconditional_update = true,
    },
    {
        .group = STR_INIT("resource.k8s.io"),
        .plural = STR_INIT("devicetaintrules"),
        .prepare_create = prepare_new_rule,
        .validate = validate_rule,
        .validate_status = validate_rule_status,
        .generation = (const char *const[]){"spec", NULL},
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
