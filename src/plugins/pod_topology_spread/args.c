/* SPDX-License-Identifier: Apache-2.0 */
#include "api/labels.h"
#include "plugins/pod_topology_spread/spread.h"

static const struct field spread_args_fields[] = {
    ARGS_META_FIELDS(struct spread_args),
    F_LIST_MSG(struct spread_args, default_constraints, "defaultConstraints", 0,
               struct topology_spread_constraint, &topology_spread_constraint_type),
    F_ONE(struct spread_args, defaulting_type, "defaultingType", 0, STR),
};
static const struct type spread_args_type =
    TYPE("PodTopologySpreadArgs", struct spread_args, spread_args_fields);

static void check_defaulting_type(const struct spread_args *args, struct arg_errors *e)
{
    bool system = str_is(args->defaulting_type, "System");
    if (!system && !str_is(args->defaulting_type, "List"))
        arg_errors_add(e,
                       "defaultingType: Unsupported value: \"%.*s\": supported values: "
                       "\"System\", \"List\"",
                       STR_ARG(args->defaulting_type));
    else if (system && args->default_constraints.n)
        arg_errors_add(e, "defaultingType: Invalid value: \"System\": when .defaultConstraints "
                          "are not empty");
}

static void check_topology_key(size_t i, struct str key, struct arg_errors *e)
{
    const char *fault = str_empty(key) ? NULL : label_key_fault(key);
    if (str_empty(key))
        arg_errors_add(e, "defaultConstraints[%zu].topologyKey: Required value: can not be empty",
                       i);
    else if (fault)
        arg_errors_add(e, "defaultConstraints[%zu].topologyKey: Invalid value: \"%.*s\": %s", i,
                       STR_ARG(key), fault);
}

static void check_action(size_t i, struct str action, struct arg_errors *e)
{
    if (str_empty(action))
        arg_errors_add(
            e, "defaultConstraints[%zu].whenUnsatisfiable: Required value: can not be empty", i);
    else if (!str_is(action, "DoNotSchedule") && !str_is(action, "ScheduleAnyway"))
        arg_errors_add(e,
                       "defaultConstraints[%zu].whenUnsatisfiable: Unsupported value: \"%.*s\": "
                       "supported values: \"DoNotSchedule\", \"ScheduleAnyway\"",
                       i, STR_ARG(action));
}

static void check_repeated(const spread_constraint_list *list, size_t i, struct arg_errors *e)
{
    const struct topology_spread_constraint *c = &list->v[i];
    for (size_t k = 0; k < i; k++)
        if (str_eq(c->topology_key, list->v[k].topology_key) &&
            str_eq(c->when_unsatisfiable, list->v[k].when_unsatisfiable)) {
            arg_errors_add(e, "defaultConstraints[%zu]: Duplicate value: \"{%.*s, %.*s}\"", i,
                           STR_ARG(c->topology_key), STR_ARG(c->when_unsatisfiable));
            return;
        }
}

static void check_constraint(const spread_constraint_list *list, size_t i, struct arg_errors *e)
{
    const struct topology_spread_constraint *c = &list->v[i];
    if (c->max_skew <= 0)
        arg_errors_add(e,
                       "defaultConstraints[%zu].maxSkew: Invalid value: %d: not in valid range "
                       "(0, inf)",
                       i, c->max_skew);
    check_topology_key(i, c->topology_key, e);
    check_action(i, c->when_unsatisfiable, e);
    if (c->label_selector)
        arg_errors_add(e,
                       "defaultConstraints[%zu].labelSelector: Forbidden: constraint must not "
                       "define a selector, as they deduced for each pod",
                       i);
    check_repeated(list, i, e);
}

int spread_args_decode(struct berth_str text, struct arena *a, struct spread_args *ret_args,
                       struct berth_error *error)
{
    struct spread_args args;
    struct arg_errors errors = {0};
    int r = plugin_args_decode(text, "PodTopologySpreadArgs", &spread_args_type, a, &args, error);
    if (r < 0)
        return r;
    if (str_empty(args.defaulting_type))
        args.defaulting_type = STR("System");
    check_defaulting_type(&args, &errors);
    for (size_t i = 0; i < args.default_constraints.n; i++)
        check_constraint(&args.default_constraints, i, &errors);
    r = arg_errors_finish(&errors, error);
    if (r < 0)
        return r;
    *ret_args = args;
    return 0;
}
