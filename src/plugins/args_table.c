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

/* --- table ------------------------------------------------------------------------------------ */

const struct args_kind *const in_tree_args[] = {
    &default_preemption_args_kind,
    &dynamic_resources_args_kind,
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
