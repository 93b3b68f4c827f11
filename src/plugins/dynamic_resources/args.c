/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dynamic_resources/args.h"

#include "api/scalars.h"
#include "plugins/common/in_tree.h"

static const struct field dynamic_resources_fields[] = {
    ARGS_META_FIELDS(struct dynamic_resources_args),
    F_ALWAYS_PTR_CUSTOM(struct dynamic_resources_args, filter_timeout, "filterTimeout", 0, int64_t,
                        &duration_custom),
    F_PTR_CUSTOM(struct dynamic_resources_args, binding_timeout, "bindingTimeout", 0, int64_t,
                 &duration_custom),
};
static const struct type dynamic_resources_type =
    TYPE("DynamicResourcesArgs", struct dynamic_resources_args, dynamic_resources_fields);

static void fill_duration(int64_t **value, int64_t otherwise, struct arena *a)
{
    if (*value)
        return;
    *value = arena_new(a, int64_t);
    **value = otherwise;
}

static bool has_filter_timeout(const struct features *f)
{
    return f->on[FEATURE_DRA_SCHEDULER_FILTER_TIMEOUT];
}

static bool has_binding_timeout(const struct features *f)
{
    return f->on[FEATURE_DRA_DEVICE_BINDING_CONDITIONS] &&
           f->on[FEATURE_DRA_RESOURCE_CLAIM_DEVICE_STATUS];
}

static void fill_dynamic_resources(void *ctx, struct arena *a)
{
    struct dynamic_resources_args *args = ctx;
    if (has_filter_timeout(args->meta.features))
        fill_duration(&args->filter_timeout, 10 * NSEC_PER_SEC, a);
    if (has_binding_timeout(args->meta.features))
        fill_duration(&args->binding_timeout, BINDING_TIMEOUT_DEFAULT, a);
}

static void add_duration_error(struct error_list *c, const char *field, int64_t ns, const char *why)
{
    struct buf text = BUF_INIT;
    duration_format(ns, &text);
    error_list_add(c, "%s: Invalid value: \"%s\": %s", field, buf_cstr(&text), why);
    buf_release(&text);
}

static void check_dynamic_resources(const void *ctx, struct error_list *c)
{
    const struct dynamic_resources_args *args = ctx;
    const int64_t *filter = args->filter_timeout, *binding = args->binding_timeout;
    if (filter && !has_filter_timeout(args->meta.features))
        error_list_add(c, "filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is "
                          "disabled");
    else if (filter && *filter < 0)
        add_duration_error(c, "filterTimeout", *filter, "must be zero or positive");
    if (binding && !has_binding_timeout(args->meta.features))
        error_list_add(c, "bindingTimeout: Forbidden: DRADeviceBindingConditions or "
                          "DRAResourceClaimDeviceStatus feature gate is disabled");
    else if (binding && *binding < NSEC_PER_SEC)
        add_duration_error(c, "bindingTimeout", *binding, "must be at least 1 second");
}

const struct args_kind dynamic_resources_args_kind = {
    .plugin = "DynamicResources",
    .name = "DynamicResourcesArgs",
    .type = &dynamic_resources_type,
    .fill = fill_dynamic_resources,
    .check = check_dynamic_resources,
};
