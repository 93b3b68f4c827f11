/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/args_table.h"

#include "api/scalars.h"
#include "base/time.h"
#include "plugins/resource_args.h"

/* --- DefaultPreemption ------------------------------------------------------------------------ */

struct default_preemption_args {
    struct args_meta meta;
    int32_t *min_candidate_nodes_percentage, *min_candidate_nodes_absolute;
};

static const struct field default_preemption_fields[] = {
    ARGS_META_FIELDS(struct default_preemption_args),
    F_PTR(struct default_preemption_args, min_candidate_nodes_percentage,
          "minCandidateNodesPercentage", 0, INT32),
    F_PTR(struct default_preemption_args, min_candidate_nodes_absolute, "minCandidateNodesAbsolute",
          0, INT32),
};
static const struct type default_preemption_type =
    TYPE("DefaultPreemptionArgs", struct default_preemption_args, default_preemption_fields);

static void fill_int(int32_t **value, int32_t otherwise, struct arena *a)
{
    if (*value)
        return;
    *value = arena_new(a, int32_t);
    **value = otherwise;
}

static void fill_default_preemption(void *ctx, struct arena *a)
{
    struct default_preemption_args *args = ctx;
    fill_int(&args->min_candidate_nodes_percentage, 10, a);
    fill_int(&args->min_candidate_nodes_absolute, 100, a);
}

static void check_default_preemption(const void *ctx, struct complaints *c)
{
    const struct default_preemption_args *args = ctx;
    int32_t percentage = *args->min_candidate_nodes_percentage,
            absolute = *args->min_candidate_nodes_absolute;
    if (percentage < 0 || percentage > 100)
        complaints_add(c,
                       "minCandidateNodesPercentage: Invalid value: %d: not in valid range "
                       "[0, 100]",
                       percentage);
    if (absolute < 0)
        complaints_add(c,
                       "minCandidateNodesAbsolute: Invalid value: %d: not in valid range [0, inf)",
                       absolute);
    if (percentage == 0 && absolute == 0) {
        complaints_add(c, "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the "
                          "same time as minCandidateNodesAbsolute");
        complaints_add(c, "minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the "
                          "same time as minCandidateNodesPercentage");
    }
}

static const struct args_kind default_preemption_kind = {
    .plugin = "DefaultPreemption",
    .name = "DefaultPreemptionArgs",
    .type = &default_preemption_type,
    .fill = fill_default_preemption,
    .check = check_default_preemption,
};

/* --- VolumeBinding ---------------------------------------------------------------------------- */

struct volume_binding_args {
    struct args_meta meta;
    int64_t *bind_timeout_seconds;
    struct str shape; /* JSON; only under the gate StorageCapacityScoring, which is off */
};

static const struct field volume_binding_fields[] = {
    ARGS_META_FIELDS(struct volume_binding_args),
    F_PTR(struct volume_binding_args, bind_timeout_seconds, "bindTimeoutSeconds", 0, INT64),
    F_ONE(struct volume_binding_args, shape, "shape", 0, RAW),
};
static const struct type volume_binding_type =
    TYPE("VolumeBindingArgs", struct volume_binding_args, volume_binding_fields);

static void fill_volume_binding(void *ctx, struct arena *a)
{
    struct volume_binding_args *args = ctx;
    if (!args->bind_timeout_seconds) {
        args->bind_timeout_seconds = arena_new(a, int64_t);
        *args->bind_timeout_seconds = 600;
    }
}

static void check_volume_binding(const void *ctx, struct complaints *c)
{
    const struct volume_binding_args *args = ctx;
    if (*args->bind_timeout_seconds < 0)
        complaints_add(c,
                       "bindTimeoutSeconds: Invalid value: %lld: invalid BindTimeoutSeconds, "
                       "should not be a negative value",
                       (long long)*args->bind_timeout_seconds);
    if (args->shape.n && !str_is(args->shape, "null"))
        complaints_add(c,
                       "shape: Invalid value: %.*s: unexpected field `shape`, remove it or turn on "
                       "the feature gate StorageCapacityScoring",
                       STR_ARG(args->shape));
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
    F_PTR_CUSTOM(struct dynamic_resources_args, filter_timeout, "filterTimeout", 0, int64_t,
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

static void fill_dynamic_resources(void *ctx, struct arena *a)
{
    struct dynamic_resources_args *args = ctx;
    fill_duration(&args->filter_timeout, 10 * NSEC_PER_SEC, a);
    fill_duration(&args->binding_timeout, 600 * NSEC_PER_SEC, a);
}

static void complain_of_duration(struct complaints *c, const char *field, int64_t ns,
                                 const char *why)
{
    struct buf text = BUF_INIT;
    duration_format(ns, &text);
    complaints_add(c, "%s: Invalid value: \"%s\": %s", field, buf_cstr(&text), why);
    buf_release(&text);
}

static void check_dynamic_resources(const void *ctx, struct complaints *c)
{
    const struct dynamic_resources_args *args = ctx;
    if (*args->filter_timeout < 0)
        complain_of_duration(c, "filterTimeout", *args->filter_timeout, "must be zero or positive");
    if (*args->binding_timeout < NSEC_PER_SEC)
        complain_of_duration(c, "bindingTimeout", *args->binding_timeout,
                             "must be at least 1 second");
}

static const struct args_kind dynamic_resources_kind = {
    .plugin = "DynamicResources",
    .name = "DynamicResourcesArgs",
    .type = &dynamic_resources_type,
    .fill = fill_dynamic_resources,
    .check = check_dynamic_resources,
};

/* --- all of them ------------------------------------------------------------------------------ */

const struct args_kind *const in_tree_args[] = {
    &default_preemption_kind,
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
