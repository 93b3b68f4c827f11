/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config/config_diff.h"

#include "base/map.h"
#include "base/vec.h"
#include "cmd/config/plugin_summary.h"
#include "codec/json.h"
#include "codec/json_value.h"
#include "engine/config/profile_plan.h"

enum change_kind {
    CHANGE_SETTING,
    CHANGE_ADDED, /* a plugin at a point; without a point: a profile */
    CHANGE_REMOVED,
    CHANGE_WEIGHT,
    CHANGE_ORDER,
    CHANGE_ARGUMENTS,
};

struct change {
    enum change_kind kind;
    struct str profile;       /* p NULL: all profiles */
    const char *point;        /* "score"; NULL: none */
    struct str what;          /* plugin or setting; p NULL: the profile, or an order */
    struct str path;          /* CHANGE_ARGUMENTS: the field, "scoringStrategy.type" */
    struct str before, after; /* p NULL: none */
};
typedef VEC(struct change) change_list;

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

static const char *const kind_names[] = {
    [CHANGE_SETTING] = "setting", [CHANGE_ADDED] = "added", [CHANGE_REMOVED] = "removed",
    [CHANGE_WEIGHT] = "weight",   [CHANGE_ORDER] = "order", [CHANGE_ARGUMENTS] = "arguments",
};

/* --- text ------------------------------------------------------------------------------------- */

static bool is_score(const struct change *c)
{
    return strcmp(c->point, "score") == 0 || strcmp(c->point, "placementScore") == 0;
}

/* These points only prepare others: they have no effect on pods of their own. */
static bool prepares(const struct change *c)
{
    return strcmp(c->point, "preFilter") == 0 || strcmp(c->point, "preScore") == 0;
}

static bool same_plugin(const struct change *a, const struct change *b)
{
    return a->kind == b->kind && a->point && b->point && str_eq(a->profile, b->profile) &&
           str_eq(a->what, b->what);
}

/* One line for all points at which a plugin is added or removed, at the first of them. */
static void write_plugin(const change_list *changes, size_t first, struct buf *out)
{
    const struct change *c = &changes->v[first];
    const char *separator = " (";
    bool rules = false, scores = false;
    buf_add_printf(out, "  %c %.*s", c->kind == CHANGE_ADDED ? '+' : '-', STR_ARG(c->what));
    for (size_t i = first; i < changes->n; i++) {
        const struct change *at = &changes->v[i];
        if (!same_plugin(c, at))
            continue;
        struct str weight = at->after.p ? at->after : at->before;
        buf_add_printf(out, "%s%s", separator, at->point);
        if (weight.p)
            buf_add_printf(out, " with weight %.*s", STR_ARG(weight));
        scores |= is_score(at);
        rules |= !is_score(at) && !prepares(at);
        separator = ", ";
    }
    const struct plugin_summary *summary = plugin_summary_find(c->what);
    const char *rule = summary && rules ? summary->rules : NULL,
               *preferred = summary && scores ? summary->prefers : NULL;
    buf_add_printf(out, ")%s%s%s%s%s\n", rule || preferred ? ": " : "", rule ? rule : "",
                   rule && preferred ? "; " : "", preferred ? "prefers " : "",
                   preferred ? preferred : "");
}

static bool is_written(const change_list *changes, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_plugin(&changes->v[k], &changes->v[i]))
            return true;
    return false;
}

static void write_profile(const struct change *c, struct buf *out)
{
    if (c->kind == CHANGE_ADDED)
        buf_add_printf(out, "  + the profile: pods with schedulerName %.*s are scheduled\n",
                       STR_ARG(c->profile));
    else
        buf_add_printf(out,
                       "  - the profile: pods with schedulerName %.*s are no longer scheduled\n",
                       STR_ARG(c->profile));
}

static struct str or_none(struct str s)
{
    return s.p ? s : STR("(none)");
}

static void write_change(const change_list *changes, size_t i, struct buf *out)
{
    const struct change *c = &changes->v[i];
    struct str before = or_none(c->before), after = or_none(c->after);
    switch (c->kind) {
    case CHANGE_ADDED:
    case CHANGE_REMOVED:
        if (!c->point)
            write_profile(c, out);
        else if (!is_written(changes, i))
            write_plugin(changes, i, out);
        break;
    case CHANGE_WEIGHT:
        buf_add_printf(out, "  %.*s: %s weight: %.*s -> %.*s\n", STR_ARG(c->what), c->point,
                       STR_ARG(before), STR_ARG(after));
        break;
    case CHANGE_ORDER:
        buf_add_printf(out, "  %s: new order: %.*s\n", c->point, STR_ARG(after));
        break;
    case CHANGE_ARGUMENTS:
        buf_add_printf(out, "  %.*s: %.*s%s%.*s -> %.*s\n", STR_ARG(c->what), STR_ARG(c->path),
                       c->path.n ? ": " : "", STR_ARG(before), STR_ARG(after));
        break;
    case CHANGE_SETTING:
        buf_add_printf(out, "  %.*s: %.*s -> %.*s\n", STR_ARG(c->what), STR_ARG(before),
                       STR_ARG(after));
        break;
    }
}

static void write_text(const change_list *changes, struct buf *out)
{
    if (changes->n == 0)
        buf_add_cstr(out, "Nothing changes for pods.\n");
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->v[i];
        bool starts = i == 0 || !str_eq(c->profile, changes->v[i - 1].profile);
        if (starts && c->profile.p)
            buf_add_printf(out, "profile %.*s:\n", STR_ARG(c->profile));
        else if (starts)
            buf_add_cstr(out, "all profiles:\n");
        write_change(changes, i, out);
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_member(struct buf *out, const char *key, struct str value)
{
    if (!value.p)
        return;
    buf_add_printf(out, ",\"%s\":", key);
    json_write_str(out, value);
}

static void write_json(const change_list *changes, struct buf *out)
{
    buf_add_cstr(out, "{\"changes\":[");
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->v[i];
        buf_add_printf(out, "%s\n {\"change\":\"%s\"", i ? "," : "", kind_names[c->kind]);
        write_member(out, "profile", c->profile);
        write_member(out, "point", c->point ? str_of(c->point) : (struct str){0});
        write_member(out, c->kind == CHANGE_SETTING ? "setting" : "plugin", c->what);
        write_member(out, "path", c->path);
        write_member(out, "before", c->before);
        write_member(out, "after", c->after);
        buf_add_char(out, '}');
    }
    buf_add_cstr(out, changes->n ? "\n]}\n" : "]}\n");
}

/* --- public function -------------------------------------------------------------------------- */

void config_diff(const struct scheduler_config *a, const struct scheduler_config *b,
                 const struct registry *registry, const struct features *features, bool json,
                 struct buf *out)
{
    struct diff d = {.registry = registry, .features = features};
    arena_init(&d.arena, 4096);
    diff_settings(&d, a, b);
    diff_profiles(&d, a, b);
    if (json)
        write_json(&d.changes, out);
    else
        write_text(&d.changes, out);
    vec_release(&d.changes);
    arena_release(&d.arena);
}
