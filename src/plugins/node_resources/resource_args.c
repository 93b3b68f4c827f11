/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/node_resources/resource_args.h"

#include "api/resources.h"
#include "base/map.h"

#define MAX_WEIGHT 100

/* --- tables ----------------------------------------------------------------------------------- */

static const struct field resource_spec_fields[] = {
    F_ALWAYS(struct resource_spec, name, "name", 0, STR),
    F_ONE(struct resource_spec, weight, "weight", 0, INT64),
};
static const struct type resource_spec_type =
    TYPE("ResourceSpec", struct resource_spec, resource_spec_fields);

static const struct field ratio_fields[] = {
    F_LIST_MSG(struct requested_to_capacity_ratio, shape, "shape", 0, struct shape_point,
               &shape_point_type),
};
static const struct type ratio_type =
    TYPE("RequestedToCapacityRatioParam", struct requested_to_capacity_ratio, ratio_fields);

static const struct field scoring_strategy_fields[] = {
    F_ONE(struct scoring_strategy, type_name, "type", 0, STR),
    F_LIST_MSG(struct scoring_strategy, resources, "resources", 0, struct resource_spec,
               &resource_spec_type),
    F_PTR_MSG(struct scoring_strategy, requested_to_capacity_ratio, "requestedToCapacityRatio", 0,
              struct requested_to_capacity_ratio, &ratio_type),
};
static const struct type scoring_strategy_type =
    TYPE("ScoringStrategy", struct scoring_strategy, scoring_strategy_fields);

static const struct field fit_args_fields[] = {
    ARGS_META_FIELDS(struct fit_args),
    F_LIST(struct fit_args, ignored_resources, "ignoredResources", 0, STR),
    F_LIST(struct fit_args, ignored_resource_groups, "ignoredResourceGroups", 0, STR),
    F_PTR_MSG(struct fit_args, scoring_strategy, "scoringStrategy", 0, struct scoring_strategy,
              &scoring_strategy_type),
};
static const struct type fit_args_type =
    TYPE("NodeResourcesFitArgs", struct fit_args, fit_args_fields);

static const struct field balanced_args_fields[] = {
    ARGS_META_FIELDS(struct balanced_allocation_args),
    F_LIST_MSG(struct balanced_allocation_args, resources, "resources", 0, struct resource_spec,
               &resource_spec_type),
};
static const struct type balanced_args_type = TYPE(
    "NodeResourcesBalancedAllocationArgs", struct balanced_allocation_args, balanced_args_fields);

static const struct field allocation_args_fields[] = {
    ARGS_META_FIELDS(struct allocation_args),
    F_LIST_MSG(struct allocation_args, resources, "resources", 0, struct resource_spec,
               &resource_spec_type),
};
static const struct type allocation_args_type =
    TYPE("NodeResourcesAllocationArgs", struct allocation_args, allocation_args_fields);

static const struct field ratio_args_fields[] = {
    ARGS_META_FIELDS(struct allocation_args),
    F_LIST_MSG(struct allocation_args, resources, "resources", 0, struct resource_spec,
               &resource_spec_type),
    F_LIST_MSG(struct allocation_args, shape, "shape", 0, struct shape_point, &shape_point_type),
};
static const struct type ratio_args_type =
    TYPE("RequestedToCapacityRatioArgs", struct allocation_args, ratio_args_fields);

/* --- defaults --------------------------------------------------------------------------------- */

static void default_resources(resource_spec_list *list, struct arena *a)
{
    if (list->n > 0)
        return;
    list->v = arena_array(a, struct resource_spec, 2);
    list->v[0] = (struct resource_spec){RESOURCE_CPU, 1};
    list->v[1] = (struct resource_spec){RESOURCE_MEMORY, 1};
    list->n = 2;
}

static void default_weights(resource_spec_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].weight == 0)
            list->v[i].weight = 1;
}

/* --- checks ----------------------------------------------------------------------------------- */

static void check_resources(const resource_spec_list *list, const char *path, struct error_list *c)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].weight <= 0 || list->v[i].weight > MAX_WEIGHT)
            error_list_add(c,
                           "%s[%zu].weight: Invalid value: %lld: resource weight of %.*s not in "
                           "valid range (0, %d]",
                           path, i, (long long)list->v[i].weight, STR_ARG(list->v[i].name),
                           MAX_WEIGHT);
}

static void check_ignored(const struct fit_args *args, struct error_list *c)
{
    for (size_t i = 0; i < args->ignored_resources.n; i++)
        error_list_check_name(c, args->ignored_resources.v[i], "ignoredResources[%zu]", i);
    for (size_t i = 0; i < args->ignored_resource_groups.n; i++) {
        struct str group = args->ignored_resource_groups.v[i];
        if (str_find(group, '/') < group.n)
            error_list_add(c,
                           "ignoredResourceGroups[%zu]: Invalid value: \"%.*s\": resource group "
                           "name can't contain '/'",
                           i, STR_ARG(group));
        error_list_check_name(c, group, "ignoredResourceGroups[%zu]", i);
    }
}

static const struct str scoring_types[] = {
    [SCORING_LEAST_ALLOCATED] = STR_INIT("LeastAllocated"),
    [SCORING_MOST_ALLOCATED] = STR_INIT("MostAllocated"),
    [SCORING_REQUESTED_TO_CAPACITY_RATIO] = STR_INIT("RequestedToCapacityRatio"),
};

/* ARRAY_LEN(scoring_types) if there is no such type. */
static size_t find_type(struct str name)
{
    size_t i = 0;
    while (i < ARRAY_LEN(scoring_types) && !str_eq(name, scoring_types[i]))
        i++;
    return i;
}

static void check_strategy(const struct scoring_strategy *s, struct error_list *c)
{
    const struct requested_to_capacity_ratio *ratio = s->requested_to_capacity_ratio;
    size_t type = find_type(s->type_name);
    if (type == ARRAY_LEN(scoring_types))
        error_list_add(c,
                       "scoringStrategy.type: Unsupported value: \"%.*s\": supported values: "
                       "\"%s\", \"%s\", \"%s\"",
                       STR_ARG(s->type_name), scoring_types[0].p, scoring_types[1].p,
                       scoring_types[2].p);
    check_resources(&s->resources, "scoringStrategy.resources", c);
    if (type == SCORING_REQUESTED_TO_CAPACITY_RATIO) {
        if (ratio)
            shape_check(&ratio->shape, "scoringStrategy.requestedToCapacityRatio.shape", c);
        else
            error_list_add(c, "scoringStrategy.requestedToCapacityRatio: Required value: must be "
                              "specified when type is RequestedToCapacityRatio");
    } else if (ratio) {
        error_list_add(c, "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when "
                          "type is not RequestedToCapacityRatio");
    }
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void fill_fit(void *ctx, struct arena *a)
{
    struct fit_args *args = ctx;
    if (!args->scoring_strategy) {
        args->scoring_strategy = arena_new(a, struct scoring_strategy);
        args->scoring_strategy->type_name = scoring_types[SCORING_LEAST_ALLOCATED];
    }
    struct scoring_strategy *s = args->scoring_strategy;
    default_resources(&s->resources, a);
    default_weights(&s->resources);
    size_t type = find_type(s->type_name);
    s->type = type < ARRAY_LEN(scoring_types) ? (enum scoring_type)type : SCORING_LEAST_ALLOCATED;
}

static void check_fit(const void *ctx, struct error_list *c)
{
    const struct fit_args *args = ctx;
    check_ignored(args, c);
    check_strategy(args->scoring_strategy, c);
}

const struct args_kind fit_args_kind = {
    .plugin = "NodeResourcesFit",
    .name = "NodeResourcesFitArgs",
    .type = &fit_args_type,
    .fill = fill_fit,
    .check = check_fit,
    .checked_late = true,
};

static void fill_balanced(void *ctx, struct arena *a)
{
    struct balanced_allocation_args *args = ctx;
    default_resources(&args->resources, a);
    default_weights(&args->resources);
}

static void check_balanced(const void *ctx, struct error_list *c)
{
    const struct balanced_allocation_args *args = ctx;
    const resource_spec_list *list = &args->resources;
    struct map names = MAP_INIT;
    for (size_t i = 0; i < list->n; i++) {
        if (map_put(&names, list->v[i].name, &names))
            error_list_add(c, "resources[%zu].name: Duplicate value: \"%.*s\"", i,
                           STR_ARG(list->v[i].name));
        if (list->v[i].weight != 1)
            error_list_add(c, "resources[%zu].weight: Invalid value: %lld: must be 1", i,
                           (long long)list->v[i].weight);
    }
    map_release(&names);
}

const struct args_kind balanced_allocation_args_kind = {
    .plugin = "NodeResourcesBalancedAllocation",
    .name = "NodeResourcesBalancedAllocationArgs",
    .type = &balanced_args_type,
    .fill = fill_balanced,
    .check = check_balanced,
};

/* --- kinds of older releases ------------------------------------------------------------------ */

static void fill_allocation(void *ctx, struct arena *a)
{
    default_resources(&((struct allocation_args *)ctx)->resources, a);
}

static void check_allocation(const void *ctx, struct error_list *c)
{
    check_resources(&((const struct allocation_args *)ctx)->resources, "resources", c);
}

static void check_ratio(const void *ctx, struct error_list *c)
{
    const struct allocation_args *args = ctx;
    const resource_spec_list *list = &args->resources;
    shape_check(&args->shape, "shape", c);
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].weight < 1)
            error_list_add(c,
                           "resources[%zu].weight: Invalid value: %lld: resource weight of "
                           "%.*s not in valid range [1, inf)",
                           i, (long long)list->v[i].weight, STR_ARG(list->v[i].name));
}

#define LEGACY_KIND(p, t, c)  \
    {.plugin = (p),           \
     .name = p "Args",        \
     .type = (t),             \
     .fill = fill_allocation, \
     .check = (c),            \
     .legacy = true}
const struct args_kind allocation_args_kinds[] = {
    [SCORING_LEAST_ALLOCATED] =
        LEGACY_KIND("NodeResourcesLeastAllocated", &allocation_args_type, check_allocation),
    [SCORING_MOST_ALLOCATED] =
        LEGACY_KIND("NodeResourcesMostAllocated", &allocation_args_type, check_allocation),
    [SCORING_REQUESTED_TO_CAPACITY_RATIO] =
        LEGACY_KIND("RequestedToCapacityRatio", &ratio_args_type, check_ratio),
};

/* Releases up to 1.22 kept names as map keys: the last weight of a name counts. */
static void merge_repeated(resource_spec_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        size_t k = 0;
        while (k < n && !str_eq(list->v[k].name, list->v[i].name))
            k++;
        list->v[k] = list->v[i];
        n = MAX(n, k + 1);
    }
    list->n = n;
}

int allocation_args_read(struct berth_str text, enum scoring_type type, struct arena *a,
                         struct allocation_args *ret_args, struct berth_error *error)
{
    int r = plugin_args_read(&allocation_args_kinds[type], text, a, ret_args, error);
    if (r == 0)
        merge_repeated(&ret_args->resources);
    return r;
}
