/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config/config_diff_internal.h"
#include "cmd/config/plugin_summary.h"
#include "codec/json.h"

static const char *const kind_names[] = {
    [CHANGE_SETTING] = "setting", [CHANGE_ADDED] = "added", [CHANGE_REMOVED] = "removed",
    [CHANGE_WEIGHT] = "weight",   [CHANGE_ORDER] = "order", [CHANGE_ARGUMENTS] = "arguments",
};

/* --- for a person ----------------------------------------------------------------------------- */

static bool is_score(const struct change *c)
{
    return strcmp(c->point, "score") == 0 || strcmp(c->point, "placementScore") == 0;
}

/* What a plugin works out there matters to it at another point. */
static bool prepares(const struct change *c)
{
    return strcmp(c->point, "preFilter") == 0 || strcmp(c->point, "preScore") == 0;
}

static bool same_plugin(const struct change *a, const struct change *b)
{
    return a->kind == b->kind && a->point && b->point && str_eq(a->profile, b->profile) &&
           str_eq(a->what, b->what);
}

/* One line for all the points at which a plugin comes or goes; the first of them tells it. */
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
    const struct plugin_summary *words = plugin_summary_find(c->what);
    const char *rule = words && rules ? words->rules : NULL,
               *preferred = words && scores ? words->prefers : NULL;
    buf_add_printf(out, ")%s%s%s%s%s\n", rule || preferred ? ": " : "", rule ? rule : "",
                   rule && preferred ? "; " : "", preferred ? "prefers " : "",
                   preferred ? preferred : "");
}

static bool is_told(const change_list *changes, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_plugin(&changes->v[k], &changes->v[i]))
            return true;
    return false;
}

static void write_profile(const struct change *c, struct buf *out)
{
    if (c->kind == CHANGE_ADDED)
        buf_add_printf(out, "  + the whole profile: pods with schedulerName %.*s are scheduled\n",
                       STR_ARG(c->profile));
    else
        buf_add_printf(out,
                       "  - the whole profile: pods with schedulerName %.*s are left to others\n",
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
        else if (!is_told(changes, i))
            write_plugin(changes, i, out);
        break;
    case CHANGE_WEIGHT:
        buf_add_printf(out, "  %.*s: %s weight: %.*s -> %.*s\n", STR_ARG(c->what), c->point,
                       STR_ARG(before), STR_ARG(after));
        break;
    case CHANGE_ORDER:
        buf_add_printf(out, "  %s runs in another order: %.*s\n", c->point, STR_ARG(after));
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

void changes_write_text(const change_list *changes, struct buf *out)
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

/* --- for a program ---------------------------------------------------------------------------- */

static void write_member(struct buf *out, const char *key, struct str value)
{
    if (!value.p)
        return;
    buf_add_printf(out, ",\"%s\":", key);
    json_write_str(out, value);
}

void changes_write_json(const change_list *changes, struct buf *out)
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
