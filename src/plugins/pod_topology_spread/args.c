/* SPDX-License-Identifier: Apache-2.0 */
/* args.c - PodTopologySpreadArgs (upstream: ValidatePodTopologySpreadArgs). */
#include "base/map.h"
#include "plugins/pod_topology_spread/spread.h"

static const struct field spread_args_fields[] = {
    ARGS_META_FIELDS(struct spread_args),
    F_LIST_MSG(struct spread_args, default_constraints, "defaultConstraints", 0,
               struct topology_spread_constraint, &topology_spread_constraint_type),
    F_ONE(struct spread_args, defaulting_type, "defaultingType", 0, STR),
};
static const struct type spread_args_type =
    TYPE("PodTopologySpreadArgs", struct spread_args, spread_args_fields);

static void check_defaulting_type(const struct spread_args *args, struct error_list *c)
{
    bool system = str_is(args->defaulting_type, "System");
    if (!system && !str_is(args->defaulting_type, "List"))
        error_list_add(c,
                       "defaultingType: Unsupported value: \"%.*s\": supported values: "
                       "\"System\", \"List\"",
                       STR_ARG(args->defaulting_type));
    else if (system && args->default_constraints.n)
        error_list_add(c, "defaultingType: Invalid value: \"System\": when .defaultConstraints "
                          "are not empty");
}

static void check_topology_key(size_t i, struct str key, struct error_list *c)
{
    if (str_empty(key))
        error_list_add(c, "defaultConstraints[%zu].topologyKey: Required value: can not be empty",
                       i);
    else
        error_list_check_name(c, key, "defaultConstraints[%zu].topologyKey", i);
}

static void check_action(size_t i, struct str action, struct error_list *c)
{
    if (str_empty(action))
        error_list_add(
            c, "defaultConstraints[%zu].whenUnsatisfiable: Required value: can not be empty", i);
    else if (!str_is(action, "DoNotSchedule") && !str_is(action, "ScheduleAnyway"))
        error_list_add(c,
                       "defaultConstraints[%zu].whenUnsatisfiable: Unsupported value: \"%.*s\": "
                       "supported values: \"DoNotSchedule\", \"ScheduleAnyway\"",
                       i, STR_ARG(action));
}

/* The constraints checked so far: topologyKey and whenUnsatisfiable. */
struct seen {
    struct arena arena;
    struct map map;
};

static void check_repeated(const struct topology_spread_constraint *t, size_t i, struct seen *seen,
                           struct error_list *c)
{
    struct str both = arena_printf(&seen->arena, "%.*s, %.*s", STR_ARG(t->topology_key),
                                   STR_ARG(t->when_unsatisfiable));
    if (map_put(&seen->map, both, seen))
        error_list_add(c, "defaultConstraints[%zu]: Duplicate value: \"{%.*s}\"", i, STR_ARG(both));
}

static void check_constraint(const struct topology_spread_constraint *t, size_t i,
                             struct seen *seen, struct error_list *c)
{
    if (t->max_skew <= 0)
        error_list_add(c,
                       "defaultConstraints[%zu].maxSkew: Invalid value: %d: not in valid range "
                       "(0, inf)",
                       i, t->max_skew);
    check_topology_key(i, t->topology_key, c);
    check_action(i, t->when_unsatisfiable, c);
    if (t->label_selector)
        error_list_add(c,
                       "defaultConstraints[%zu].labelSelector: Forbidden: constraint must not "
                       "define a selector, as they deduced for each pod",
                       i);
    check_repeated(t, i, seen, c);
}

static void fill(void *ctx, struct arena *a UNUSED)
{
    struct spread_args *args = ctx;
    if (str_empty(args->defaulting_type))
        args->defaulting_type = STR("System");
}

static void check(const void *ctx, struct error_list *c)
{
    const struct spread_args *args = ctx;
    struct seen seen = {.map = MAP_INIT};
    arena_init(&seen.arena, 0);
    check_defaulting_type(args, c);
    for (size_t i = 0; i < args->default_constraints.n; i++)
        check_constraint(&args->default_constraints.v[i], i, &seen, c);
    map_release(&seen.map);
    arena_release(&seen.arena);
}

const struct args_kind spread_args_kind = {
    .plugin = "PodTopologySpread",
    .name = "PodTopologySpreadArgs",
    .type = &spread_args_type,
    .fill = fill,
    .check = check,
};
