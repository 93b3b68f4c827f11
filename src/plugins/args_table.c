/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/args_table.h"

#include "api/scalars.h"
#include "base/time.h"
#include "plugins/node_resources/resource_args.h"

/* --- VolumeBinding ---------------------------------------------------------------------------- */

struct volume_binding_args {
    struct args_meta meta;
    int64_t *bind_timeout_seconds;
    shape_list shape; /* v NULL: absent */
};

static const struct field volume_binding_fields[] = {
    ARGS_META_FIELDS(struct volume_binding_args),
    F_PTR(struct volume_binding_args, bind_timeout_seconds, "bindTimeoutSeconds", 0, INT64),
    F_LIST_MSG(struct volume_binding_args, shape, "shape", 0, struct shape_point,
               &shape_point_type),
};
static const struct type volume_binding_type =
    TYPE("VolumeBindingArgs", struct volume_binding_args, volume_binding_fields);

/* The default: prefer nodes with free resources. */
static void fill_shape(shape_list *shape, struct arena *a)
{
    shape->v = arena_array(a, struct shape_point, 2);
    shape->v[0] = (struct shape_point){.utilization = 0, .score = 10};
    shape->v[1] = (struct shape_point){.utilization = 100, .score = 0};
    shape->n = 2;
}

static void fill_volume_binding(void *ctx, struct arena *a)
{
    struct volume_binding_args *args = ctx;
    if (!args->bind_timeout_seconds) {
        args->bind_timeout_seconds = arena_new(a, int64_t);
        *args->bind_timeout_seconds = 600;
    }
    if (args->shape.n == 0 && args->meta.features->on[FEATURE_STORAGE_CAPACITY_SCORING])
        fill_shape(&args->shape, a);
}

static void add_shape_error(const shape_list *shape, struct error_list *c)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < shape->n; i++)
        buf_add_printf(&text, "%s{\"Utilization\":%d,\"Score\":%d}", i ? "," : "",
                       shape->v[i].utilization, shape->v[i].score);
    error_list_add(c,
                   "shape: Invalid value: [%s]: unexpected field `shape`, remove it or turn on the "
                   "feature gate StorageCapacityScoring",
                   buf_cstr(&text));
    buf_release(&text);
}

static void check_volume_binding(const void *ctx, struct error_list *c)
{
    const struct volume_binding_args *args = ctx;
    if (*args->bind_timeout_seconds < 0)
        error_list_add(c,
                       "bindTimeoutSeconds: Invalid value: %lld: invalid BindTimeoutSeconds, "
                       "should not be a negative value",
                       (long long)*args->bind_timeout_seconds);
    if (args->meta.features->on[FEATURE_STORAGE_CAPACITY_SCORING])
        shape_check(&args->shape, "shape", c);
    else if (args->shape.v)
        add_shape_error(&args->shape, c);
}

static const struct args_kind volume_binding_kind = {
    .plugin = "VolumeBinding",
    .name = "VolumeBindingArgs",
    .type = &volume_binding_type,
    .fill = fill_volume_binding,
    .check = check_volume_binding,
};

/* --- DynamicResources ------------------------------------------------------------------------- */

struct dynamic_resources_args {
    struct args_meta meta;
    int64_t *filter_timeout, *binding_timeout; /* ns */
};

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
        fill_duration(&args->binding_timeout, 600 * NSEC_PER_SEC, a);
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

static const struct args_kind dynamic_resources_kind = {
    .plugin = "DynamicResources",
    .name = "DynamicResourcesArgs",
    .type = &dynamic_resources_type,
    .fill = fill_dynamic_resources,
    .check = check_dynamic_resources,
};

/* --- table ------------------------------------------------------------------------------------ */

const struct args_kind *const in_tree_args[] = {
    &default_preemption_args_kind,
    &dynamic_resources_kind,
    &inter_pod_affinity_args_kind,
    &node_affinity_args_kind,
    &balanced_allocation_args_kind,
    &fit_args_kind,
    &spread_args_kind,
    &volume_binding_kind,
    &node_label_args_kind,
    &service_affinity_args_kind,
    &allocation_args_kinds[SCORING_LEAST_ALLOCATED],
    &allocation_args_kinds[SCORING_MOST_ALLOCATED],
    &allocation_args_kinds[SCORING_REQUESTED_TO_CAPACITY_RATIO],
    NULL,
};
