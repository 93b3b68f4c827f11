/* SPDX-License-Identifier: Apache-2.0 */
/* args.c - DefaultPreemptionArgs (upstream: ValidateDefaultPreemptionArgs), and the same by another
 * name. */
#include "plugins/default_preemption/args.h"

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

static void check_default_preemption(const void *ctx, struct error_list *c)
{
    const struct default_preemption_args *args = ctx;
    int32_t percentage = *args->min_candidate_nodes_percentage,
            absolute = *args->min_candidate_nodes_absolute;
    if (percentage < 0 || percentage > 100)
        error_list_add(c,
                       "minCandidateNodesPercentage: Invalid value: %d: not in valid range "
                       "[0, 100]",
                       percentage);
    if (absolute < 0)
        error_list_add(c,
                       "minCandidateNodesAbsolute: Invalid value: %d: not in valid range [0, inf)",
                       absolute);
    if (percentage == 0 && absolute == 0) {
        error_list_add(c, "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the "
                          "same time as minCandidateNodesAbsolute");
        error_list_add(c, "minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the "
                          "same time as minCandidateNodesPercentage");
    }
}

const struct args_kind default_preemption_args_kind = {
    .plugin = "DefaultPreemption",
    .name = "DefaultPreemptionArgs",
    .type = &default_preemption_type,
    .fill = fill_default_preemption,
    .check = check_default_preemption,
};

const struct args_kind preemption_toleration_args_kind = {
    .plugin = "PreemptionToleration",
    .name = "PreemptionTolerationArgs",
    .type = &default_preemption_type,
    .fill = fill_default_preemption,
    .check = check_default_preemption,
    .checked_late = true,
};
