/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "cmd/config/config_diff_internal.h"
#include "codec/json_value.h"
#include "engine/config/profile_plan.h"

struct diff {
    struct arena arena;
    const struct registry *registry;
    const struct features *features;
    change_list changes;
};

static struct str number(struct diff *d, int64_t value)
{
    return arena_printf(&d->arena, "%lld", (long long)value);
}

/* --- points ----------------------------------------------------------------------------------- */

static const struct planned_plugin *find(const plan_list *list, struct str name)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->v[i].name, name))
            return &list->v[i];
    return NULL;
}

static bool weighs(int point)
{
    return point == POINT_SCORE || point == POINT_PLACEMENT_SCORE;
}

static void push_plugin(struct diff *d, enum change_kind kind, struct str profile, int point,
                        const struct planned_plugin *plugin)
{
    struct change c = {.kind = kind,
                       .profile = profile,
                       .point = point_table[point].section,
                       .what = plugin->name};
    if (weighs(point) && kind == CHANGE_REMOVED)
        c.before = number(d, plugin->weight);
    else if (weighs(point))
        c.after = number(d, plugin->weight);
    vec_push(&d->changes, c);
}

/* The names of a that are also in b, in the order of a. */
static struct str common_order(struct diff *d, const plan_list *a, const plan_list *b)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < a->n; i++)
        if (find(b, a->v[i].name))
            buf_add_printf(&text, "%s%.*s", text.n ? ", " : "", STR_ARG(a->v[i].name));
    struct str copy = arena_dup(&d->arena, buf_str(&text));
    buf_release(&text);
    return copy;
}

/* Scores are added up, so the order of score plugins does not matter. */
static void diff_order(struct diff *d, struct str profile, int point, const plan_list *a,
                       const plan_list *b)
{
    if (weighs(point) || point == POINT_PRE_SCORE)
        return;
    struct str before = common_order(d, a, b), after = common_order(d, b, a);
    if (!str_eq(before, after))
        vec_push(&d->changes, (struct change){.kind = CHANGE_ORDER,
                                              .profile = profile,
                                              .point = point_table[point].section,
                                              .before = before,
                                              .after = after});
}

static void diff_point(struct diff *d, struct str profile, int point, const plan_list *a,
                       const plan_list *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (!find(b, a->v[i].name))
            push_plugin(d, CHANGE_REMOVED, profile, point, &a->v[i]);
    for (size_t i = 0; i < b->n; i++) {
        const struct planned_plugin *before = find(a, b->v[i].name);
        if (!before) {
            push_plugin(d, CHANGE_ADDED, profile, point, &b->v[i]);
        } else if (weighs(point) && before->weight != b->v[i].weight) {
            push_plugin(d, CHANGE_WEIGHT, profile, point, &b->v[i]);
            d->changes.v[d->changes.n - 1].before = number(d, before->weight);
        }
    }
    diff_order(d, profile, point, a, b);
}

/* --- trees ------------------------------------------------------------------------------------ */

static struct str value_text(struct diff *d, const struct json_value *v)
{
    struct buf text = BUF_INIT;
    if (v->kind == JSON_STRING)
        return v->text.p ? v->text : STR("");
    json_write(v, &text);
    struct str copy = arena_dup(&d->arena, buf_str(&text));
    buf_release(&text);
    return copy;
}

static void diff_tree(struct diff *d, struct change at, const struct json_value *a,
                      const struct json_value *b);

static void diff_member(struct diff *d, const struct change *at, struct str key,
                        const struct json_value *a, const struct json_value *b)
{
    struct change below = *at;
    below.path = arena_printf(&d->arena, "%.*s%s%.*s", STR_ARG(at->path), at->path.n ? "." : "",
                              STR_ARG(key));
    diff_tree(d, below, a, b);
}

static void diff_objects(struct diff *d, const struct change *at, const struct json_value *a,
                         const struct json_value *b)
{
    for (size_t i = 0; i < a->n_members; i++)
        diff_member(d, at, a->members[i].key, &a->members[i].value, json_get(b, a->members[i].key));
    for (size_t i = 0; i < b->n_members; i++)
        if (!json_get(a, b->members[i].key))
            diff_member(d, at, b->members[i].key, NULL, &b->members[i].value);
}

static void diff_arrays(struct diff *d, const struct change *at, const struct json_value *a,
                        const struct json_value *b)
{
    for (size_t i = 0; i < MAX(a->n, b->n); i++) {
        struct change below = *at;
        below.path = arena_printf(&d->arena, "%.*s[%zu]", STR_ARG(at->path), i);
        diff_tree(d, below, i < a->n ? &a->items[i] : NULL, i < b->n ? &b->items[i] : NULL);
    }
}

/* Adds a change with its path for every leaf that differs. a, b: NULL if none. */
static void diff_tree(struct diff *d, struct change at, const struct json_value *a,
                      const struct json_value *b)
{
    if (a && b && json_value_equal(a, b))
        return;
    if (a && b && a->kind == JSON_OBJECT && b->kind == JSON_OBJECT) {
        diff_objects(d, &at, a, b);
    } else if (a && b && a->kind == JSON_ARRAY && b->kind == JSON_ARRAY) {
        diff_arrays(d, &at, a, b);
    } else {
        at.before = a ? value_text(d, a) : (struct str){0};
        at.after = b ? value_text(d, b) : (struct str){0};
        vec_push(&d->changes, at);
    }
}

static const struct json_value *parse(struct diff *d, struct str text)
{
    struct json_value *v = arena_new(&d->arena, struct json_value);
    struct err err;
    return text.n && json_parse(text, 0, &d->arena, v, &err) == 0 ? v : NULL;
}

/* --- arguments -------------------------------------------------------------------------------- */

/* With all defaults, so that an omitted default equals a given one. */
static struct str arguments(struct diff *d, const struct profile_config *p, struct str plugin)
{
    const struct args_kind *kind = args_kind_of(d->registry->args, plugin);
    struct str given = {0};
    struct err err;
    for (size_t i = 0; i < p->plugin_config.n; i++)
        if (str_eq(p->plugin_config.v[i].name, plugin))
            given = p->plugin_config.v[i].args;
    if (!kind)
        return given;
    void *args = arena_alloc(&d->arena, kind->type->size, kind->type->align);
    if (str_is(given, "null") || args_read(kind, d->features, given, &d->arena, args, &err) < 0)
        return given;
    return args_write(kind, args, &d->arena);
}

static void diff_arguments(struct diff *d, const struct profile_config *a,
                           const struct profile_config *b, const struct profile_plan *before,
                           const struct profile_plan *after)
{
    for (size_t i = 0; i < after->needed.n; i++) {
        struct str plugin = after->needed.v[i];
        bool was_there = false;
        for (size_t k = 0; k < before->needed.n && !was_there; k++)
            was_there = str_eq(before->needed.v[k], plugin);
        const struct json_value *x = parse(d, arguments(d, a, plugin)),
                                *y = parse(d, arguments(d, b, plugin));
        struct change at = {
            .kind = CHANGE_ARGUMENTS, .profile = *b->scheduler_name, .what = plugin};
        if (was_there && (x || y))
            diff_tree(d, at, x, y);
    }
}

/* --- profiles --------------------------------------------------------------------------------- */

/* Profiles by name. */
static void index_profiles(const struct scheduler_config *c, struct map *ret_index)
{
    for (size_t i = 0; i < c->profiles.n; i++)
        map_put(ret_index, *c->profiles.v[i].scheduler_name, &c->profiles.v[i]);
}

/* Avoids making plans for equal profiles, which most are. */
static bool same_profile(const struct profile_config *a, const struct profile_config *b)
{
    struct buf x = BUF_INIT, y = BUF_INIT;
    profile_config_write(a, &x);
    profile_config_write(b, &y);
    bool same = str_eq(buf_str(&x), buf_str(&y));
    buf_release(&x);
    buf_release(&y);
    return same;
}

static void diff_setting(struct diff *d, struct str profile, const char *name, int64_t a, int64_t b)
{
    if (a != b)
        vec_push(&d->changes, (struct change){.kind = CHANGE_SETTING,
                                              .profile = profile,
                                              .what = str_of(name),
                                              .before = number(d, a),
                                              .after = number(d, b)});
}

static int64_t percentage(const struct scheduler_config *c, const struct profile_config *p)
{
    return p->percentage_of_nodes_to_score ? *p->percentage_of_nodes_to_score
                                           : *c->percentage_of_nodes_to_score;
}

static void diff_profile(struct diff *d, const struct scheduler_config *ca,
                         const struct profile_config *a, const struct scheduler_config *cb,
                         const struct profile_config *b)
{
    struct profile_plan before, after;
    struct err err;
    struct str name = *b->scheduler_name;
    diff_setting(d, name, "percentageOfNodesToScore", percentage(ca, a), percentage(cb, b));
    if (same_profile(a, b) || profile_plan_init(&before, d->registry, d->features, a, &err) < 0)
        return;
    if (profile_plan_init(&after, d->registry, d->features, b, &err) == 0) {
        for (int i = 0; i < POINT_COUNT; i++)
            diff_point(d, name, i, &before.at[i], &after.at[i]);
        diff_arguments(d, a, b, &before, &after);
        profile_plan_release(&after);
    }
    profile_plan_release(&before);
}

/* --- settings of all profiles ----------------------------------------------------------------- */

/* The extenders as a JSON array, with their effective timeouts. */
static const struct json_value *extenders_tree(struct diff *d, const struct scheduler_config *c)
{
    struct buf text = BUF_INIT;
    buf_add_char(&text, '[');
    for (size_t i = 0; i < c->extenders.n; i++) {
        struct extender_config e = c->extenders.v[i];
        e.http_timeout = e.http_timeout ? e.http_timeout : EXTENDER_DEFAULT_TIMEOUT;
        buf_add_cstr(&text, i ? "," : "");
        json_encode(&extender_config_type, &e, &text);
    }
    buf_add_char(&text, ']');
    const struct json_value *v = parse(d, arena_dup(&d->arena, buf_str(&text)));
    buf_release(&text);
    return v;
}

/* Paths become names of settings: "extenders[0].weight". */
static void diff_extenders(struct diff *d, const struct scheduler_config *a,
                           const struct scheduler_config *b)
{
    size_t first = d->changes.n;
    struct change at = {.kind = CHANGE_SETTING};
    diff_tree(d, at, extenders_tree(d, a), extenders_tree(d, b));
    for (size_t i = first; i < d->changes.n; i++) {
        struct change *c = &d->changes.v[i];
        c->what = arena_printf(&d->arena, "extenders%.*s", STR_ARG(c->path));
        c->path = (struct str){0};
    }
}

static void diff_settings(struct diff *d, const struct scheduler_config *a,
                          const struct scheduler_config *b)
{
    struct str all = {0};
    diff_setting(d, all, "podInitialBackoffSeconds", *a->pod_initial_backoff_seconds,
                 *b->pod_initial_backoff_seconds);
    diff_setting(d, all, "podMaxBackoffSeconds", *a->pod_max_backoff_seconds,
                 *b->pod_max_backoff_seconds);
    diff_extenders(d, a, b);
}

static void diff_profiles(struct diff *d, const struct scheduler_config *a,
                          const struct scheduler_config *b)
{
    struct map before = MAP_INIT, after = MAP_INIT;
    index_profiles(a, &before);
    index_profiles(b, &after);
    for (size_t i = 0; i < a->profiles.n; i++) {
        struct str name = *a->profiles.v[i].scheduler_name;
        const struct profile_config *other = map_get(&after, name);
        if (other)
            diff_profile(d, a, &a->profiles.v[i], b, other);
        else
            vec_push(&d->changes, (struct change){.kind = CHANGE_REMOVED, .profile = name});
    }
    for (size_t i = 0; i < b->profiles.n; i++) {
        struct str name = *b->profiles.v[i].scheduler_name;
        if (!map_get(&before, name))
            vec_push(&d->changes, (struct change){.kind = CHANGE_ADDED, .profile = name});
    }
    map_release(&before);
    map_release(&after);
}

void config_diff(const struct scheduler_config *a, const struct scheduler_config *b,
                 const struct registry *registry, const struct features *features, bool json,
                 struct buf *out)
{
    struct diff d = {.registry = registry, .features = features};
    arena_init(&d.arena, 4096);
    diff_settings(&d, a, b);
    diff_profiles(&d, a, b);
    if (json)
        changes_write_json(&d.changes, out);
    else
        changes_write_text(&d.changes, out);
    vec_release(&d.changes);
    arena_release(&d.arena);
}
