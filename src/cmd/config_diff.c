/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config_diff.h"

#include "base/vec.h"
#include "codec/json_value.h"
#include "engine/profile_plan.h"

/* One change: where, what, before and after; absent texts have p NULL. */
struct change {
    struct str profile; /* p NULL: of all */
    const char *point;  /* NULL: not of a point */
    struct str what;    /* a plugin or a setting */
    const char *kind;   /* "added", "removed", "weight", "order", "arguments", "setting" */
    struct str before, after;
};

struct diff {
    struct arena arena;
    const struct registry *registry;
    const struct features *features;
    VEC(struct change) changes;
};

static const struct str nothing;

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

/* The names in a that are in b too, in their order. */
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

static void diff_point(struct diff *d, struct str profile, int point, const plan_list *a,
                       const plan_list *b)
{
    const char *section = point_table[point].section;
    for (size_t i = 0; i < a->n; i++)
        if (!find(b, a->v[i].name))
            vec_push(&d->changes,
                     (struct change){profile, section, a->v[i].name, "removed",
                                     weighs(point) ? number(d, a->v[i].weight) : nothing, nothing});
    for (size_t i = 0; i < b->n; i++) {
        const struct planned_plugin *before = find(a, b->v[i].name);
        if (!before)
            vec_push(&d->changes,
                     (struct change){profile, section, b->v[i].name, "added", nothing,
                                     weighs(point) ? number(d, b->v[i].weight) : nothing});
        else if (weighs(point) && before->weight != b->v[i].weight)
            vec_push(&d->changes,
                     (struct change){profile, section, b->v[i].name, "weight",
                                     number(d, before->weight), number(d, b->v[i].weight)});
    }
    struct str before = common_order(d, a, b), after = common_order(d, b, a);
    if (!str_eq(before, after))
        vec_push(&d->changes, (struct change){profile, section, nothing, "order", before, after});
}

/* --- arguments -------------------------------------------------------------------------------- */

/* With all defaults, so that what is spelt out and what goes without saying are the same. */
static struct str arguments(struct diff *d, const struct profile_config *p, struct str plugin)
{
    const struct args_kind *kind = args_kind_of(d->registry->args, plugin);
    struct str given = nothing;
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

static bool same_json(struct diff *d, struct str a, struct str b)
{
    struct json_value x, y;
    struct err err;
    if (str_eq(a, b))
        return true;
    return json_parse(a, 0, &d->arena, &x, &err) == 0 &&
           json_parse(b, 0, &d->arena, &y, &err) == 0 && json_value_equal(&x, &y);
}

static void diff_arguments(struct diff *d, const struct profile_config *a,
                           const struct profile_config *b, const struct profile_plan *plan)
{
    for (size_t i = 0; i < plan->needed.n; i++) {
        struct str plugin = plan->needed.v[i], before = arguments(d, a, plugin),
                   after = arguments(d, b, plugin);
        if (!same_json(d, before, after))
            vec_push(&d->changes,
                     (struct change){*b->scheduler_name, NULL, plugin, "arguments", before, after});
    }
}

/* --- profiles --------------------------------------------------------------------------------- */

static const struct profile_config *profile_of(const struct scheduler_config *c, struct str name)
{
    for (size_t i = 0; i < c->profiles.n; i++)
        if (str_eq(*c->profiles.v[i].scheduler_name, name))
            return &c->profiles.v[i];
    return NULL;
}

static void diff_setting(struct diff *d, struct str profile, const char *name, int64_t a, int64_t b)
{
    if (a != b)
        vec_push(&d->changes, (struct change){profile, NULL, str_of(name), "setting", number(d, a),
                                              number(d, b)});
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
    if (profile_plan_init(&before, d->registry, d->features, a, &err) < 0)
        return;
    if (profile_plan_init(&after, d->registry, d->features, b, &err) == 0) {
        diff_setting(d, name, "percentageOfNodesToScore", percentage(ca, a), percentage(cb, b));
        for (int i = 0; i < POINT_COUNT; i++)
            diff_point(d, name, i, &before.at[i], &after.at[i]);
        diff_arguments(d, a, b, &after);
        profile_plan_release(&after);
    }
    profile_plan_release(&before);
}

static struct str extenders_text(struct diff *d, const struct scheduler_config *c)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < c->extenders.n; i++) {
        buf_add_cstr(&text, i ? "," : "[");
        json_encode(&extender_config_type, &c->extenders.v[i], &text);
    }
    buf_add_cstr(&text, c->extenders.n ? "]" : "[]");
    struct str copy = arena_dup(&d->arena, buf_str(&text));
    buf_release(&text);
    return copy;
}

static void diff_settings(struct diff *d, const struct scheduler_config *a,
                          const struct scheduler_config *b)
{
    diff_setting(d, nothing, "podInitialBackoffSeconds", *a->pod_initial_backoff_seconds,
                 *b->pod_initial_backoff_seconds);
    diff_setting(d, nothing, "podMaxBackoffSeconds", *a->pod_max_backoff_seconds,
                 *b->pod_max_backoff_seconds);
    struct str before = extenders_text(d, a), after = extenders_text(d, b);
    if (!str_eq(before, after))
        vec_push(&d->changes,
                 (struct change){nothing, NULL, STR("extenders"), "setting", before, after});
}

/* --- output ----------------------------------------------------------------------------------- */

static void write_line(const struct change *c, struct buf *out)
{
    buf_add_str(out, STR("  "));
    if (c->point)
        buf_add_printf(out, "%s: ", c->point);
    if (strcmp(c->kind, "added") == 0)
        buf_add_printf(out, "+ %.*s", STR_ARG(c->what));
    else if (strcmp(c->kind, "removed") == 0)
        buf_add_printf(out, "- %.*s", STR_ARG(c->what));
    else if (strcmp(c->kind, "order") == 0)
        buf_add_printf(out, "order: %.*s -> %.*s", STR_ARG(c->before), STR_ARG(c->after));
    else
        buf_add_printf(out, "%.*s%s%s: %.*s -> %.*s", STR_ARG(c->what),
                       strcmp(c->kind, "setting") == 0 ? "" : " ",
                       strcmp(c->kind, "setting") == 0 ? "" : c->kind, STR_ARG(c->before),
                       STR_ARG(c->after));
    struct str weight = c->after.p ? c->after : c->before;
    bool comes_or_goes = strcmp(c->kind, "added") == 0 || strcmp(c->kind, "removed") == 0;
    if (comes_or_goes && weight.p)
        buf_add_printf(out, " (weight %.*s)", STR_ARG(weight));
    buf_add_char(out, '\n');
}

static void write_text(const struct diff *d, struct buf *out)
{
    if (d->changes.n == 0)
        buf_add_cstr(out, "Nothing changes for pods.\n");
    for (size_t i = 0; i < d->changes.n; i++) {
        const struct change *c = &d->changes.v[i];
        bool starts = i == 0 || !str_eq(c->profile, d->changes.v[i - 1].profile);
        if (starts && c->profile.p)
            buf_add_printf(out, "profile %.*s:\n", STR_ARG(c->profile));
        else if (starts)
            buf_add_cstr(out, "all profiles:\n");
        write_line(c, out);
    }
}

static void write_member(struct buf *out, const char *key, struct str value)
{
    if (!value.p)
        return;
    buf_add_printf(out, ",\"%s\":", key);
    json_write_str(out, value);
}

static void write_json(const struct diff *d, struct buf *out)
{
    buf_add_cstr(out, "{\"changes\":[");
    for (size_t i = 0; i < d->changes.n; i++) {
        const struct change *c = &d->changes.v[i];
        buf_add_printf(out, "%s\n {\"change\":\"%s\"", i ? "," : "", c->kind);
        write_member(out, "profile", c->profile);
        write_member(out, "point", str_of(c->point));
        write_member(out, strcmp(c->kind, "setting") == 0 ? "setting" : "plugin", c->what);
        write_member(out, "before", c->before);
        write_member(out, "after", c->after);
        buf_add_char(out, '}');
    }
    buf_add_cstr(out, d->changes.n ? "\n]}\n" : "]}\n");
}

void config_diff(const struct scheduler_config *a, const struct scheduler_config *b,
                 const struct registry *registry, const struct features *features, bool json,
                 struct buf *out)
{
    struct diff d = {.registry = registry, .features = features};
    arena_init(&d.arena, 4096);
    diff_settings(&d, a, b);
    for (size_t i = 0; i < a->profiles.n; i++) {
        struct str name = *a->profiles.v[i].scheduler_name;
        const struct profile_config *other = profile_of(b, name);
        if (other)
            diff_profile(&d, a, &a->profiles.v[i], b, other);
        else
            vec_push(&d.changes, (struct change){name, NULL, STR("the whole profile"), "removed",
                                                 nothing, nothing});
    }
    for (size_t i = 0; i < b->profiles.n; i++)
        if (!profile_of(a, *b->profiles.v[i].scheduler_name))
            vec_push(&d.changes,
                     (struct change){*b->profiles.v[i].scheduler_name, NULL,
                                     STR("the whole profile"), "added", nothing, nothing});
    if (json)
        write_json(&d, out);
    else
        write_text(&d, out);
    vec_release(&d.changes);
    arena_release(&d.arena);
}
