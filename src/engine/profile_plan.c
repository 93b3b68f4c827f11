/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upstream: framework/runtime, apis/config/v1 default_plugins. The user's multiPoint section is
 * merged into the default one, plugins named at a point are put there first, and multiPoint then
 * fills every point that its plugins implement. The final order at a point is: plugins named at the
 * point that multiPoint has too, in the point's order; plugins of multiPoint; the other plugins
 * named at the point.
 */
#include "engine/profile_plan.h"

#include "engine/known_plugins.h"

static const struct plugin_ref *find_ref(const struct plugin_ref *refs, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(refs[i].name, name))
            return &refs[i];
    return NULL;
}

/* The last of this name, as where names are keys of a map. */
static const struct plugin_ref *find_last(const struct plugin_section *s, struct str name)
{
    for (size_t i = s->enabled.n; i-- > 0;)
        if (str_eq(s->enabled.v[i].name, name))
            return &s->enabled.v[i];
    return NULL;
}

bool plugin_section_disables(const struct plugin_section *s, struct str name)
{
    return find_ref(s->disabled.v, s->disabled.n, name) != NULL;
}

static bool is_disabled(const struct plugin_section *s, struct str name)
{
    return plugin_section_disables(s, STR("*")) || plugin_section_disables(s, name);
}

void plugin_section_merge(const struct plugin_ref *defaults, size_t n,
                          const struct plugin_section *user, struct arena *a,
                          struct plugin_section *ret_section)
{
    struct plugin_section out = {.disabled.v = user->disabled.v, .disabled.n = user->disabled.n};
    out.enabled.v = arena_array(a, struct plugin_ref, n + user->enabled.n);
    for (size_t i = 0; i < n; i++) {
        if (is_disabled(user, defaults[i].name))
            continue;
        const struct plugin_ref *own = find_last(user, defaults[i].name);
        out.enabled.v[out.enabled.n++] = own ? *own : defaults[i];
    }
    for (size_t i = 0; i < user->enabled.n; i++) {
        const struct plugin_ref *own = &user->enabled.v[i];
        bool replaced = find_ref(defaults, n, own->name) && !is_disabled(user, own->name) &&
                        own == find_last(user, own->name);
        if (!replaced)
            out.enabled.v[out.enabled.n++] = *own;
    }
    *ret_section = out;
}

/* --- points ----------------------------------------------------------------------------------- */

static bool list_has(const plan_list *list, struct str name)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->v[i].name, name))
            return true;
    return false;
}

static struct planned_plugin planned(const struct plugin_ref *ref, enum point point)
{
    bool weighs = point == POINT_SCORE || point == POINT_PLACEMENT_SCORE;
    int64_t weight = weighs && ref->weight && *ref->weight ? *ref->weight : 1;
    return (struct planned_plugin){ref->name, weight};
}

static int twice(struct str name, enum point point, struct err *reterr)
{
    return err_set(reterr, -EINVAL, "plugin \"%.*s\" already registered as \"%sPlugin\"",
                   STR_ARG(name), point_table[point].name);
}

/* Where an entry of a point's section is, or of multiPoint's with POINT_COUNT; NULL: the section.
 */
static void set_fault(struct profile_plan *plan, int point, const struct plugin_section *section,
                      const struct plugin_ref *ref)
{
    const char *name = point < POINT_COUNT ? point_table[point].section : "multiPoint";
    size_t i = ref ? section->enabled.n : 0;
    while (i > 0 && !str_eq(section->enabled.v[i - 1].name, ref->name))
        i--;
    if (i > 0)
        snprintf(plan->fault, sizeof(plan->fault), "plugins.%s.enabled[%zu]", name, i - 1);
    else
        snprintf(plan->fault, sizeof(plan->fault), "plugins.%s", name);
}

static int unknown(struct str name, enum point point, struct err *reterr)
{
    return err_set(reterr, -EINVAL, "%sPlugin \"%.*s\" does not exist", point_table[point].name,
                   STR_ARG(name));
}

/* What runs at a point: named there; of multiPoint, but named there as well; of multiPoint. */
struct expansion {
    plan_list specific, overriding, expanded;
};

/* Plugins that the section names, in its order. */
static int take_specific(struct profile_plan *plan, const struct registry *registry,
                         enum point point, const struct plugin_section *section, plan_list *out,
                         struct err *reterr)
{
    for (size_t i = 0; i < section->enabled.n; i++) {
        const struct plugin_ref *ref = &section->enabled.v[i];
        set_fault(plan, (int)point, section, ref);
        if (plugin_is_unknown(registry, ref->name))
            return unknown(ref->name, point, reterr);
        if (!plugin_extends(registry, ref->name, point))
            return err_set(reterr, -EINVAL, "plugin \"%.*s\" does not extend %sPlugin plugin",
                           STR_ARG(ref->name), point_table[point].name);
        if (list_has(out, ref->name))
            return twice(ref->name, point, reterr);
        vec_push(out, planned(ref, point));
    }
    return 0;
}

static int take_multi(struct profile_plan *plan, const struct registry *registry, enum point point,
                      const struct plugins_config *user, struct expansion *out, struct err *reterr)
{
    const struct plugin_section *section = &user->at[point], *multi = &plan->multi_point;
    if (plugin_section_disables(section, STR("*")))
        return 0;
    for (size_t i = 0; i < multi->enabled.n; i++) {
        const struct plugin_ref *ref = &multi->enabled.v[i];
        set_fault(plan, POINT_COUNT, &user->multi_point, ref);
        if (plugin_is_unknown(registry, ref->name))
            return unknown(ref->name, point, reterr);
        if (!plugin_extends(registry, ref->name, point) || is_disabled(section, ref->name))
            continue;
        plan_list *to = list_has(&out->specific, ref->name) ? &out->overriding : &out->expanded;
        if (to == &out->expanded && list_has(to, ref->name))
            return twice(ref->name, point, reterr);
        vec_push(to, planned(ref, point));
    }
    return 0;
}

static int fill_point(struct profile_plan *plan, const struct registry *registry, enum point point,
                      const struct plugins_config *user, struct err *reterr)
{
    plan_list *at = &plan->at[point];
    struct expansion e = {0};
    int r = take_specific(plan, registry, point, &user->at[point], &e.specific, reterr);
    if (r == 0)
        r = take_multi(plan, registry, point, user, &e, reterr);
    for (size_t i = 0; r == 0 && i < e.specific.n; i++)
        if (list_has(&e.overriding, e.specific.v[i].name))
            vec_push(at, e.specific.v[i]);
    for (size_t i = 0; r == 0 && i < e.expanded.n; i++)
        vec_push(at, e.expanded.v[i]);
    for (size_t i = 0; r == 0 && i < e.specific.n; i++)
        if (!list_has(&e.overriding, e.specific.v[i].name))
            vec_push(at, e.specific.v[i]);
    vec_release(&e.specific);
    vec_release(&e.overriding);
    vec_release(&e.expanded);
    return r;
}

/* --- the plan --------------------------------------------------------------------------------- */

static void need(struct profile_plan *plan, const struct plugin_section *section)
{
    for (size_t i = 0; i < section->enabled.n; i++) {
        bool known = false;
        for (size_t k = 0; k < plan->needed.n && !known; k++)
            known = str_eq(plan->needed.v[k], section->enabled.v[i].name);
        if (!known)
            vec_push(&plan->needed, section->enabled.v[i].name);
    }
}

/*
 * The weights of a point must not overflow a score; upstream's arithmetic wraps, so that a negative
 * weight is refused unless it stands last.
 */
static bool weights_overflow(const struct profile_plan *plan, const struct registry *registry,
                             enum point point, const struct plugin_section *specific)
{
    const int64_t max_score = 100;
    uint64_t total = 0;
    const struct plugin_section *sections[] = {specific, &plan->multi_point};
    for (size_t s = 0; s < ARRAY_LEN(sections); s++)
        for (size_t i = 0; i < sections[s]->enabled.n; i++) {
            const struct plugin_ref *ref = &sections[s]->enabled.v[i];
            if (!plugin_extends(registry, ref->name, point) ||
                (s == 1 && find_last(specific, ref->name)))
                continue;
            int64_t weighted = planned(ref, point).weight * max_score;
            if (weighted > (int64_t)((uint64_t)INT64_MAX - total))
                return true;
            total += (uint64_t)weighted;
        }
    return false;
}

static int check_weights(struct profile_plan *plan, const struct registry *registry,
                         const struct plugins_config *user, struct err *reterr)
{
    set_fault(plan, POINT_SCORE, &user->at[POINT_SCORE], NULL);
    if (weights_overflow(plan, registry, POINT_SCORE, &user->at[POINT_SCORE]))
        return err_set(reterr, -EINVAL,
                       "score plugins: total score of Score plugins could overflow");
    set_fault(plan, POINT_PLACEMENT_SCORE, &user->at[POINT_PLACEMENT_SCORE], NULL);
    if (weights_overflow(plan, registry, POINT_PLACEMENT_SCORE, &user->at[POINT_PLACEMENT_SCORE]))
        return err_set(reterr, -EINVAL,
                       "placement score plugins: total score of Score plugins could overflow");
    return 0;
}

static int check(struct profile_plan *plan, struct str name, struct err *reterr)
{
    static const struct plugin_section none;
    set_fault(plan, POINT_QUEUE_SORT, &none, NULL);
    if (plan->at[POINT_QUEUE_SORT].n != 1)
        return err_set(reterr, -EINVAL,
                       "only one queue sort plugin required for profile with scheduler name "
                       "\"%.*s\", but got %zu",
                       STR_ARG(name), plan->at[POINT_QUEUE_SORT].n);
    set_fault(plan, POINT_BIND, &none, NULL);
    if (plan->at[POINT_BIND].n == 0)
        return err_set(reterr, -EINVAL,
                       "at least one bind plugin is needed for profile with scheduler name "
                       "\"%.*s\"",
                       STR_ARG(name));
    set_fault(plan, POINT_PLACEMENT_GENERATE, &none, NULL);
    if (plan->at[POINT_PLACEMENT_GENERATE].n > 1)
        return err_set(reterr, -EINVAL,
                       "at most one placement generate plugin is allowed for profile with "
                       "scheduler name \"%.*s\"",
                       STR_ARG(name));
    return 0;
}

/* Faults are told in the order in which upstream comes upon the points. */
static const enum point order[POINT_COUNT] = {
    POINT_PRE_FILTER,         POINT_FILTER,          POINT_POST_FILTER, POINT_RESERVE,
    POINT_PRE_SCORE,          POINT_SCORE,           POINT_PRE_BIND,    POINT_BIND,
    POINT_POST_BIND,          POINT_PERMIT,          POINT_PRE_ENQUEUE, POINT_QUEUE_SORT,
    POINT_PLACEMENT_GENERATE, POINT_PLACEMENT_SCORE,
};

int profile_plan_init(struct profile_plan *plan, const struct registry *registry,
                      const struct features *features, const struct profile_config *profile,
                      struct err *reterr)
{
    static const struct plugins_config nothing;
    const struct plugins_config *user = profile->plugins ? profile->plugins : &nothing;
    struct plugin_ref *defaults = xcalloc(MAX(registry->n_defaults, (size_t)1), sizeof(*defaults));
    size_t n = registry_defaults(registry, features, defaults);
    *plan = (struct profile_plan){0};
    arena_init(&plan->arena, 0);
    plugin_section_merge(defaults, n, &user->multi_point, &plan->arena, &plan->multi_point);
    free(defaults);

    int r = 0;
    need(plan, &plan->multi_point);
    for (int i = 0; i < POINT_COUNT; i++)
        need(plan, &user->at[i]);
    for (int i = 0; r == 0 && i < POINT_COUNT; i++)
        r = fill_point(plan, registry, order[i], user, reterr);
    if (r == 0)
        r = check(plan, profile->scheduler_name ? *profile->scheduler_name : STR(""), reterr);
    if (r == 0)
        r = check_weights(plan, registry, user, reterr);
    if (r < 0)
        profile_plan_release(plan);
    return r;
}

void profile_plan_release(struct profile_plan *plan)
{
    for (int i = 0; i < POINT_COUNT; i++)
        vec_release(&plan->at[i]);
    vec_release(&plan->needed);
    arena_release(&plan->arena);
}
