/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of claims: what can be found out about a claim without a node. Errors are kept in the plan
 * and reported by the search when upstream would find them, since others may come first.
 */
#include "plugins/dynamic_resources/allocator_internal.h"

/* What is being planned. */
struct planner {
    struct devices *d;
    struct arena *arena;
    struct claim_plan *claim;
    bool compile;
};

/* A request or one of its alternatives; upstream: requestAccessor. */
struct request_view {
    struct str name, parent, class_name, mode;
    const struct device_selector *selectors;
    size_t n_selectors;
    const struct device_toleration *tolerations;
    size_t n_tolerations;
    const struct capacity_requirements *capacity;
    int64_t count;
    bool admin_access;
};

static struct request_view view_exact(const struct device_request *r)
{
    static const struct exact_device_request nothing;
    const struct exact_device_request *e = r->exactly ? r->exactly : &nothing;
    return (struct request_view){.name = r->name,
                                 .class_name = e->device_class_name,
                                 .mode = e->allocation_mode,
                                 .selectors = e->selectors.v,
                                 .n_selectors = e->selectors.n,
                                 .tolerations = e->tolerations.v,
                                 .n_tolerations = e->tolerations.n,
                                 .capacity = e->capacity,
                                 .count = e->count,
                                 .admin_access = e->admin_access};
}

static struct request_view view_alternative(const struct device_request *r,
                                            const struct device_sub_request *s)
{
    return (struct request_view){.name = s->name,
                                 .parent = r->name,
                                 .class_name = s->device_class_name,
                                 .mode = s->allocation_mode,
                                 .selectors = s->selectors.v,
                                 .n_selectors = s->selectors.n,
                                 .tolerations = s->tolerations.v,
                                 .n_tolerations = s->tolerations.n,
                                 .capacity = s->capacity,
                                 .count = s->count};
}

static struct str request_error(const struct planner *p, const struct request_view *r,
                                const char *text, struct str value)
{
    return arena_printf(p->arena, "claim %.*s, request %.*s: %s%.*s", STR_ARG(p->claim->name),
                        STR_ARG(r->name), text, STR_ARG(value));
}

/* Upstream: the part of validateDeviceRequest that does not depend on the node. */
static struct str check_request(const struct planner *p, const struct request_view *r,
                                const struct request_plan *plan)
{
    for (size_t i = 0; i < r->n_selectors; i++)
        if (!r->selectors[i].cel)
            return arena_printf(p->arena,
                                "claim %.*s, request %.*s, selector #%zu: CEL expression empty "
                                "(unsupported selector type?)",
                                STR_ARG(p->claim->name), STR_ARG(r->name), i);
    if (!p->d->features.admin_access && r->admin_access)
        return request_error(p, r, "admin access is requested, but the feature is disabled",
                             STR(""));
    if (str_empty(r->class_name))
        return request_error(p, r, "missing device class name (unsupported request type?)",
                             STR(""));
    if (!plan->class)
        return arena_printf(p->arena,
                            "claim %.*s, request %.*s: could not retrieve device class %.*s: "
                            "deviceclass.resource.k8s.io \"%.*s\" not found",
                            STR_ARG(p->claim->name), STR_ARG(r->name), STR_ARG(r->class_name),
                            STR_ARG(r->class_name));
    if (!plan->all && !str_is(r->mode, "ExactCount"))
        return request_error(p, r, "unsupported count mode ", r->mode);
    return STR("");
}

static void plan_request(const struct planner *p, const struct request_view *r, uint32_t number,
                         struct request_plan *plan)
{
    *plan = (struct request_plan){.name = r->name,
                                  .parent = r->parent,
                                  .tolerations = r->tolerations,
                                  .n_tolerations = r->n_tolerations,
                                  .capacity = r->capacity ? &r->capacity->requests : NULL,
                                  .count = r->count,
                                  .all = str_is(r->mode, "All"),
                                  .admin_access = r->admin_access,
                                  .number = number};
    plan->class = map_get(&p->d->classes, r->class_name);
    if (plan->class && p->compile)
        plan->class->refs++;
    plan->error = check_request(p, r, plan);
    if (!str_empty(plan->error))
        return;
    plan->selectors.v = arena_array(p->arena, struct compiled_selector *, r->n_selectors);
    for (size_t i = 0; i < r->n_selectors && p->compile; i++)
        plan->selectors.v[plan->selectors.n++] =
            selector_get(p->d, r->selectors[i].cel->expression);
}

/* What upstream checks before it looks at the alternatives. */
static struct str check_group(const struct planner *p, const struct device_request *r)
{
    struct str claim = p->claim->name;
    if (!p->d->features.prioritized_list && r->first_available.n > 0)
        return arena_printf(p->arena,
                            "claim %.*s, request %.*s: has subrequests, but the "
                            "DRAPrioritizedList feature is disabled",
                            STR_ARG(claim), STR_ARG(r->name));
    if (p->d->features.consumable_capacity || p->d->stable)
        return STR("");
    if (r->exactly && r->exactly->capacity)
        return arena_printf(p->arena,
                            "claim %.*s, request %.*s: has capacity requests, but the "
                            "DRAConsumableCapacity feature is disabled",
                            STR_ARG(claim), STR_ARG(r->name));
    for (size_t i = 0; i < r->first_available.n; i++)
        if (r->first_available.v[i].capacity)
            return arena_printf(p->arena,
                                "claim %.*s, subrequest %.*s: has capacity requests, but the "
                                "DRAConsumableCapacity feature is disabled",
                                STR_ARG(claim), STR_ARG(r->first_available.v[i].name));
    return STR("");
}

static void plan_group(const struct planner *p, const struct device_request *r,
                       struct numbering *next, struct request_group *group)
{
    group->name = r->name;
    group->prioritized = r->first_available.n > 0;
    group->n = group->prioritized ? r->first_available.n : 1;
    group->plans = arena_array(p->arena, struct request_plan, group->n);
    group->error = check_group(p, r);
    for (size_t i = 0; i < group->n; i++) {
        struct request_view view =
            group->prioritized ? view_alternative(r, &r->first_available.v[i]) : view_exact(r);
        plan_request(p, &view, next->requests++, &group->plans[i]);
        if (group->prioritized)
            group->plans[i].points = allocation_points(i);
    }
}

static int compare_strs(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool plan_constraint(const struct planner *p, const struct device_constraint *c,
                            struct constraint_plan *plan)
{
    plan->distinct = str_empty(c->match_attribute);
    plan->attribute = plan->distinct ? c->distinct_attribute : c->match_attribute;
    /* The stable allocator does not know distinctAttribute. */
    if (str_empty(plan->attribute) || (plan->distinct && p->d->stable))
        return false;
    size_t slash = str_find(plan->attribute, '/');
    if (slash < plan->attribute.n) {
        plan->domain = str_slice(plan->attribute, 0, slash);
        plan->id = str_slice(plan->attribute, slash + 1, plan->attribute.n);
    }
    plan->requests.n = c->requests.n;
    plan->requests.v = arena_array(p->arena, struct str, c->requests.n);
    for (size_t i = 0; i < c->requests.n; i++)
        plan->requests.v[i] = c->requests.v[i];
    if (c->requests.n > 1)
        qsort(plan->requests.v, c->requests.n, sizeof(struct str), compare_strs);
    return true;
}

void claim_plan_make(struct devices *d, const struct resource_claim *claim, bool compile,
                     struct arena *a, struct numbering *next, struct claim_plan *ret_plan)
{
    const struct device_claim *spec = &claim->spec.devices;
    const struct object_meta *meta = &claim->metadata;
    struct claim_plan plan = {.claim = claim, .first_constraint = next->constraints};
    plan.name = str_empty(meta->namespace)
                    ? meta->name
                    : arena_printf(a, "%.*s/%.*s", STR_ARG(meta->namespace), STR_ARG(meta->name));
    struct planner p = {.d = d, .arena = a, .claim = &plan, .compile = compile};
    plan.groups.n = spec->requests.n;
    plan.groups.v = arena_array(a, struct request_group, spec->requests.n);
    for (size_t i = 0; i < spec->requests.n; i++)
        plan_group(&p, &spec->requests.v[i], next, &plan.groups.v[i]);
    plan.constraints.v = arena_array(a, struct constraint_plan, spec->constraints.n);
    for (size_t i = 0; i < spec->constraints.n; i++) {
        if (!plan_constraint(&p, &spec->constraints.v[i], &plan.constraints.v[i])) {
            plan.constraint_error = arena_printf(
                a, "claim %.*s, constraint #%zu: empty constraint (unsupported constraint type?)",
                STR_ARG(plan.name), i);
            break;
        }
        plan.constraints.n++;
    }
    next->constraints += (uint32_t)plan.constraints.n;
    *ret_plan = plan;
}

void claim_plan_release(const struct claim_plan *plan)
{
    for (size_t i = 0; i < plan->groups.n; i++)
        for (size_t k = 0; k < plan->groups.v[i].n; k++) {
            struct request_plan *r = &plan->groups.v[i].plans[k];
            class_entry_unref(r->class);
            for (size_t m = 0; m < r->selectors.n; m++)
                selector_put(r->selectors.v[m]);
        }
}
