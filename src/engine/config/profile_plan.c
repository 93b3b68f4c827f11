/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upstream: framework/runtime expandMultiPointPlugins, apis/config/v1 default_plugins. The user's
 * multiPoint section is merged into the default one; then multiPoint adds its plugins to every
 * point that they implement. The final order at a point is: plugins listed at the point that
 * multiPoint has too, in the point's order; plugins of multiPoint; the other plugins listed at the
 * point.
 */
#include "engine/config/profile_plan.h"

#include "base/map.h"
#include "engine/config/error_list.h"

/* --- names ------------------------------------------------------------------------------------ */

/* An index of names, for lists that are too long for repeated searches. */
struct name_index {
    const struct plugin_ref *v;
    size_t n;
    struct map last; /* the last of each name; empty for short lists */
};

#define SHORT_LIST 32

static void index_init(struct name_index *index, const struct plugin_ref *v, size_t n)
{
    *index = (struct name_index){.v = v, .n = n};
    for (size_t i = 0; n > SHORT_LIST && i < n; i++)
        map_put(&index->last, v[i].name, (void *)(uintptr_t)&v[i]);
}

static void index_release(struct name_index *index)
{
    map_release(&index->last);
}

/* The last of this name, as in upstream's map; NULL if none. */
static const struct plugin_ref *index_find(const struct name_index *index, struct str name)
{
    if (index->n > SHORT_LIST)
        return map_get(&index->last, name);
    for (size_t i = index->n; i-- > 0;)
        if (str_eq(index->v[i].name, name))
            return &index->v[i];
    return NULL;
}

static const struct plugin_ref *find_ref(const struct plugin_ref *refs, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(refs[i].name, name))
            return &refs[i];
    return NULL;
}

bool plugin_section_disables(const struct plugin_section *s, struct str name)
{
    return find_ref(s->disabled.v, s->disabled.n, name) != NULL;
}

bool plugin_section_enables(const struct plugin_section *section, struct str name)
{
    return find_ref(section->enabled.v, section->enabled.n, name) != NULL;
}

static bool is_disabled(const struct name_index *disabled, struct str name)
{
    return index_find(disabled, STR("*")) || index_find(disabled, name);
}

static void merge(const struct plugin_ref *defaults, size_t n, const struct name_index *enabled,
                  const struct name_index *disabled, struct plugin_section *out)
{
    for (size_t i = 0; i < n; i++) {
        if (is_disabled(disabled, defaults[i].name))
            continue;
        const struct plugin_ref *own = index_find(enabled, defaults[i].name);
        out->enabled.v[out->enabled.n++] = own ? *own : defaults[i];
    }
    for (size_t i = 0; i < enabled->n; i++) {
        const struct plugin_ref *own = &enabled->v[i];
        bool replaced = find_ref(defaults, n, own->name) && !is_disabled(disabled, own->name) &&
                        own == index_find(enabled, own->name);
        if (!replaced)
            out->enabled.v[out->enabled.n++] = *own;
    }
}

void plugin_section_merge(const struct plugin_ref *defaults, size_t n,
                          const struct plugin_section *user, struct arena *a,
                          struct plugin_section *ret_section)
{
    struct plugin_section out = {.disabled.v = user->disabled.v, .disabled.n = user->disabled.n};
    struct name_index enabled, disabled;
    out.enabled.v = arena_array(a, struct plugin_ref, n + user->enabled.n);
    index_init(&enabled, user->enabled.v, user->enabled.n);
    index_init(&disabled, user->disabled.v, user->disabled.n);
    merge(defaults, n, &enabled, &disabled, &out);
    index_release(&enabled);
    index_release(&disabled);
    *ret_section = out;
}

/* --- errors ----------------------------------------------------------------------------------- */

#define MULTI_POINT POINT_COUNT

/* State of the computation. */
struct planning {
    struct profile_plan *plan;
    const struct registry *registry;
    const struct profile_config *profile;
    const struct plugins_config *user;
    unsigned *multi;  /* by plugin of multiPoint: the points that it runs at */
    bool *multi_told; /* its absence has been reported */
    struct error_list *out;
};

/* The section as in the file. */
static const struct plugin_section *given_section(const struct planning *p, int point)
{
    const struct plugins_config *given = p->profile->given ? p->profile->given : p->user;
    return point < POINT_COUNT ? &given->at[point] : &given->multi_point;
}

/* "plugins.score.enabled[0]", or only the section if the file does not list the plugin. */
static void write_place(const struct planning *p, int point, const struct plugin_ref *ref,
                        struct buf *out)
{
    const struct plugin_section *section = given_section(p, point);
    const char *name = point < POINT_COUNT ? point_table[point].section : "multiPoint";
    size_t i = ref ? section->enabled.n : 0;
    if (p->profile->from_policy) {
        buf_add_cstr(out, point == POINT_SCORE ? "priorities" : "predicates");
        return;
    }
    while (i > 0 && !str_eq(section->enabled.v[i - 1].name, ref->name))
        i--;
    buf_add_printf(out, "plugins.%s", name);
    if (i > 0)
        buf_add_printf(out, ".enabled[%zu]", i - 1);
}

static void fault(const struct planning *p, int point, const struct plugin_ref *ref,
                  const char *fmt, ...) PRINTF_LIKE(4, 5);

/* ref: the plugin; NULL: the whole section. */
static void fault(const struct planning *p, int point, const struct plugin_ref *ref,
                  const char *fmt, ...)
{
    struct buf place = BUF_INIT, what = BUF_INIT;
    va_list ap;
    if (!error_list_full(p->out)) {
        write_place(p, point, ref, &place);
        va_start(ap, fmt);
        buf_add_vprintf(&what, fmt, ap);
        va_end(ap);
    }
    error_list_add(p->out, "%s: %s", buf_cstr(&place), buf_cstr(&what));
    buf_release(&place);
    buf_release(&what);
}

static void fault_unknown(const struct planning *p, int section, const struct plugin_ref *ref,
                          enum point point)
{
    fault(p, section, ref, "%sPlugin \"%.*s\" does not exist", point_table[point].name,
          STR_ARG(ref->name));
}

static void fault_twice(const struct planning *p, int section, const struct plugin_ref *ref,
                        enum point point)
{
    fault(p, section, ref, "plugin \"%.*s\" already registered as \"%sPlugin\"", STR_ARG(ref->name),
          point_table[point].name);
}

/* --- points ----------------------------------------------------------------------------------- */

/* Lists of a plan are short: they have no duplicates. */
static bool list_has(const plan_list *list, struct str name)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->v[i].name, name))
            return true;
    return false;
}

/* PLUGIN_UNKNOWN: there is no such plugin for files of this version. */
static unsigned points_of(const struct planning *p, struct str name)
{
    bool refused = !p->profile->older && plugin_is_removed(name);
    return refused ? PLUGIN_UNKNOWN : plugin_points(p->registry, name);
}

static struct planned_plugin planned(const struct plugin_ref *ref, enum point point)
{
    bool weighs = point == POINT_SCORE || point == POINT_PLACEMENT_SCORE;
    int64_t weight = weighs && ref->weight && *ref->weight ? *ref->weight : 1;
    return (struct planned_plugin){ref->name, weight};
}

/* The plugins of a point: listed there; of multiPoint and listed there; of multiPoint. */
struct expansion {
    plan_list specific, overriding, expanded;
};

/* The plugins that the section lists, in its order. */
static void take_specific(const struct planning *p, enum point point, plan_list *out)
{
    const struct plugin_section *section = &p->user->at[point];
    for (size_t i = 0; i < section->enabled.n; i++) {
        const struct plugin_ref *ref = &section->enabled.v[i];
        unsigned points = points_of(p, ref->name);
        if (points == PLUGIN_UNKNOWN)
            fault_unknown(p, (int)point, ref, point);
        else if (!(points >> point & 1))
            fault(p, (int)point, ref, "plugin \"%.*s\" does not extend %sPlugin plugin",
                  STR_ARG(ref->name), point_table[point].name);
        else if (list_has(out, ref->name))
            fault_twice(p, (int)point, ref, point);
        else
            vec_push(out, planned(ref, point));
    }
}

static void take_multi(const struct planning *p, enum point point, struct expansion *out)
{
    const struct plugin_section *section = &p->user->at[point], *multi = &p->plan->multi_point;
    struct name_index disabled;
    if (plugin_section_disables(section, STR("*")))
        return;
    index_init(&disabled, section->disabled.v, section->disabled.n);
    for (size_t i = 0; i < multi->enabled.n; i++) {
        const struct plugin_ref *ref = &multi->enabled.v[i];
        if (p->multi[i] == PLUGIN_UNKNOWN && !p->multi_told[i]) {
            p->multi_told[i] = true;
            fault_unknown(p, MULTI_POINT, ref, point);
        }
        if (p->multi[i] == PLUGIN_UNKNOWN || !(p->multi[i] >> point & 1) ||
            index_find(&disabled, ref->name))
            continue;
        plan_list *to = list_has(&out->specific, ref->name) ? &out->overriding : &out->expanded;
        if (!list_has(to, ref->name))
            vec_push(to, planned(ref, point));
        else if (to == &out->expanded)
            fault_twice(p, MULTI_POINT, ref, point);
    }
    index_release(&disabled);
}

static void fill_point(const struct planning *p, enum point point)
{
    plan_list *at = &p->plan->at[point];
    struct expansion e = {0};
    take_specific(p, point, &e.specific);
    take_multi(p, point, &e);
    for (size_t i = 0; i < e.specific.n; i++)
        if (list_has(&e.overriding, e.specific.v[i].name))
            vec_push(at, e.specific.v[i]);
    for (size_t i = 0; i < e.expanded.n; i++)
        vec_push(at, e.expanded.v[i]);
    for (size_t i = 0; i < e.specific.n; i++)
        if (!list_has(&e.overriding, e.specific.v[i].name))
            vec_push(at, e.specific.v[i]);
    vec_release(&e.specific);
    vec_release(&e.overriding);
    vec_release(&e.expanded);
}

/* --- plan ------------------------------------------------------------------------------------- */

/* Every plugin that a section lists, once. */
static void need_all(const struct planning *p)
{
    struct map known = MAP_INIT;
    for (int point = 0; point <= POINT_COUNT; point++) {
        const struct plugin_section *s =
            point == 0 ? &p->plan->multi_point : &p->user->at[point - 1];
        for (size_t i = 0; i < s->enabled.n; i++) {
            struct str name = s->enabled.v[i].name;
            if (!map_put(&known, name, &known))
                vec_push(&p->plan->needed, name);
        }
    }
    map_release(&known);
}

/*
 * The weights of a point must not overflow a score. Upstream's arithmetic wraps, so a negative
 * weight is an error unless it is the last.
 */
static bool weights_overflow(const struct planning *p, enum point point,
                             const struct name_index *specific)
{
    const int64_t max_score = 100;
    const struct plugin_section *multi = &p->plan->multi_point;
    uint64_t total = 0;
    for (size_t i = 0; i < specific->n + multi->enabled.n; i++) {
        size_t m = i - specific->n;
        bool own = i < specific->n;
        const struct plugin_ref *ref = own ? &specific->v[i] : &multi->enabled.v[m];
        unsigned points = own ? points_of(p, ref->name) : p->multi[m];
        if (points == PLUGIN_UNKNOWN || !(points >> point & 1) ||
            (!own && index_find(specific, ref->name)))
            continue;
        int64_t weighted = planned(ref, point).weight * max_score;
        if (weighted > (int64_t)((uint64_t)INT64_MAX - total))
            return true;
        total += (uint64_t)weighted;
    }
    return false;
}

static void check_weights(const struct planning *p, enum point point, const char *what)
{
    const struct plugin_section *section = &p->user->at[point];
    struct name_index specific;
    index_init(&specific, section->enabled.v, section->enabled.n);
    if (weights_overflow(p, point, &specific))
        fault(p, (int)point, NULL, "%s: total score of Score plugins could overflow", what);
    index_release(&specific);
}

static void check_counts(const struct planning *p)
{
    const struct profile_plan *plan = p->plan;
    struct str name = p->profile->scheduler_name ? *p->profile->scheduler_name : STR("");
    if (plan->at[POINT_QUEUE_SORT].n != 1)
        fault(p, POINT_QUEUE_SORT, NULL,
              "only one queue sort plugin required for profile with scheduler name "
              "\"%.*s\", but got %zu",
              STR_ARG(name), plan->at[POINT_QUEUE_SORT].n);
    if (plan->at[POINT_BIND].n == 0)
        fault(p, POINT_BIND, NULL,
              "at least one bind plugin is needed for profile with scheduler name \"%.*s\"",
              STR_ARG(name));
    if (plan->at[POINT_PLACEMENT_GENERATE].n > 1)
        fault(p, POINT_PLACEMENT_GENERATE, NULL,
              "at most one placement generate plugin is allowed for profile with scheduler name "
              "\"%.*s\"",
              STR_ARG(name));
}

/* Errors are reported in the order in which upstream checks the points. */
static const enum point order[POINT_COUNT] = {
    POINT_PRE_FILTER,         POINT_FILTER,          POINT_POST_FILTER, POINT_RESERVE,
    POINT_PRE_SCORE,          POINT_SCORE,           POINT_PRE_BIND,    POINT_BIND,
    POINT_POST_BIND,          POINT_PERMIT,          POINT_PRE_ENQUEUE, POINT_QUEUE_SORT,
    POINT_PLACEMENT_GENERATE, POINT_PLACEMENT_SCORE,
};

static void plan_points(struct planning *p)
{
    const struct plugin_section *multi = &p->plan->multi_point;
    size_t before = p->out->n;
    need_all(p);
    for (size_t i = 0; i < multi->enabled.n; i++)
        p->multi[i] = points_of(p, multi->enabled.v[i].name);
    for (int i = 0; i < POINT_COUNT; i++)
        fill_point(p, order[i]);
    /* A missing plugin may be one that was just reported. */
    if (p->out->n == before)
        check_counts(p);
    check_weights(p, POINT_SCORE, "score plugins");
    check_weights(p, POINT_PLACEMENT_SCORE, "placement score plugins");
}

void profile_plan_make(struct profile_plan *plan, const struct registry *registry,
                       const struct features *features, const struct profile_config *profile,
                       struct error_list *out)
{
    static const struct plugins_config nothing;
    const struct plugins_config *user = profile->plugins ? profile->plugins : &nothing;
    struct plugin_ref *defaults = xcalloc(MAX(registry->n_defaults, (size_t)1), sizeof(*defaults));
    size_t n = registry_defaults(registry, features, defaults);
    *plan = (struct profile_plan){0};
    arena_init(&plan->arena, 0);
    plugin_section_merge(defaults, n, &user->multi_point, &plan->arena, &plan->multi_point);
    free(defaults);
    size_t n_multi = plan->multi_point.enabled.n;
    struct planning p = {.plan = plan,
                         .registry = registry,
                         .profile = profile,
                         .user = user,
                         .multi = arena_array(&plan->arena, unsigned, n_multi + 1),
                         .multi_told = arena_array(&plan->arena, bool, n_multi + 1),
                         .out = out};
    plan_points(&p);
}

int profile_plan_init(struct profile_plan *plan, const struct registry *registry,
                      const struct features *features, const struct profile_config *profile,
                      struct err *reterr)
{
    struct error_list faults = {0};
    int r = 0;
    profile_plan_make(plan, registry, features, profile, &faults);
    if (faults.n) {
        struct str text = str_of(faults.v.v[0].text);
        text = str_slice(text, str_search(text, STR(": ")) + 2, text.n);
        r = err_set(reterr, -EINVAL, "%.*s", STR_ARG(text));
        profile_plan_release(plan);
    }
    error_list_release(&faults);
    return r;
}

void profile_plan_release(struct profile_plan *plan)
{
    for (int i = 0; i < POINT_COUNT; i++)
        vec_release(&plan->at[i]);
    vec_release(&plan->needed);
    arena_release(&plan->arena);
}
