/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes' authorization library. Its values come from a variable that selectors of devices do
 * not have: the checker knows the functions, and no call of them can succeed.
 */
#include "cel/lib.h"

static const struct cel_type authorizer = CEL_OBJECT_TYPE("kubernetes.authorization.Authorizer");
static const struct cel_type path_check = CEL_OBJECT_TYPE("kubernetes.authorization.PathCheck");
static const struct cel_type group_check = CEL_OBJECT_TYPE("kubernetes.authorization.GroupCheck");
static const struct cel_type resource_check =
    CEL_OBJECT_TYPE("kubernetes.authorization.ResourceCheck");
static const struct cel_type decision = CEL_OBJECT_TYPE("kubernetes.authorization.Decision");

#define CHECK_COST    350000 /* two checks per expression */
#define SELECTOR_COST 10

static uint64_t cost_check(const struct cel_call *call UNUSED, struct cel_value result UNUSED)
{
    return CHECK_COST;
}

static bool estimate_check(const struct cel_estimate_call *call UNUSED, struct cel_estimate *ret)
{
    ret->cost = cel_fixed(CHECK_COST);
    return true;
}

/* Reading a selector, and its requirements: one for two characters, a list and a struct each. */
static struct cel_range selector_cost(struct cel_range size)
{
    struct cel_range requirements = cel_range_scale(size, 0.5);
    return cel_range_add(
        cel_range_add(cel_fixed(SELECTOR_COST), cel_range_scale(size, CEL_TRAVERSAL)),
        cel_range_scale(requirements, 10 + 40));
}

static uint64_t cost_selector(const struct cel_call *call, struct cel_value result UNUSED)
{
    return selector_cost(cel_fixed(cel_size_of(call->args[1]))).max;
}

static bool estimate_selector(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (call->n != 1)
        return false;
    ret->cost = selector_cost(call->args[0].size);
    return true;
}

#define S &cel_string_type
#define ROW(name, row_id, count, type, ...) \
    {.function = name,                      \
     .id = row_id,                          \
     .flags = CEL_MEMBER,                   \
     .n_args = (count),                     \
     .args = {__VA_ARGS__},                 \
     .result = &(type)}
#define COST_ROW(name, row_id, type, cost_, estimate_, ...) \
    {.function = name,                                      \
     .id = row_id,                                          \
     .flags = CEL_MEMBER | CEL_COST_BY_NAME,                \
     .n_args = 2,                                           \
     .args = {__VA_ARGS__},                                 \
     .result = &(type),                                     \
     .cost = (cost_),                                       \
     .estimate = (estimate_)}

static const struct cel_overload overloads[] = {
    ROW("path", "authorizer_path", 2, path_check, &authorizer, S),
    ROW("group", "authorizer_group", 2, group_check, &authorizer, S),
    ROW("serviceAccount", "authorizer_serviceaccount", 3, authorizer, &authorizer, S, S),
    ROW("resource", "groupcheck_resource", 2, resource_check, &group_check, S),
    ROW("subresource", "resourcecheck_subresource", 2, resource_check, &resource_check, S),
    ROW("namespace", "resourcecheck_namespace", 2, resource_check, &resource_check, S),
    ROW("name", "resourcecheck_name", 2, resource_check, &resource_check, S),
    COST_ROW("check", "pathcheck_check", decision, cost_check, estimate_check, &path_check, S),
    COST_ROW("check", "resourcecheck_check", decision, cost_check, estimate_check, &resource_check,
             S),
    ROW("errored", "decision_errored", 1, cel_bool_type, &decision),
    ROW("error", "decision_error", 1, cel_string_type, &decision),
    ROW("allowed", "decision_allowed", 1, cel_bool_type, &decision),
    ROW("reason", "decision_reason", 1, cel_string_type, &decision),
    COST_ROW("fieldSelector", "authorizer_fieldselector", resource_check, cost_selector,
             estimate_selector, &resource_check, S),
    COST_ROW("labelSelector", "authorizer_labelselector", resource_check, cost_selector,
             estimate_selector, &resource_check, S),
};
const struct cel_library cel_lib_authz = {overloads, ARRAY_LEN(overloads), NULL, 0};
