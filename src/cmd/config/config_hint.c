/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config/config_hint.h"

#include "base/nearest.h"
#include "engine/config/known_plugins.h"

static struct str nearest_plugin(const struct registry *registry, struct str name)
{
    struct nearest n;
    nearest_init(&n, name);
    for (size_t i = 0; registry->plugins[i]; i++)
        nearest_consider(&n, str_of(registry->plugins[i]->name));
    for (size_t i = 0; known_plugin_at(i); i++)
        nearest_consider(&n, str_of(known_plugin_at(i)->name));
    return nearest_suggestion(&n);
}

/* One of those that counted disks of a cloud. */
static bool is_removed(struct str name)
{
    return str_is(name, "EBSLimits") || str_is(name, "GCEPDLimits") ||
           str_is(name, "AzureDiskLimits") || str_is(name, "CinderLimits");
}

static void hint_unknown(const struct registry *registry, struct str name, struct buf *out)
{
    struct str near = nearest_plugin(registry, name);
    if (is_removed(name))
        buf_add_cstr(out, " (NodeVolumeLimits does its work now)");
    else if (near.n)
        buf_add_printf(out, " (did you mean %.*s?)", STR_ARG(near));
    else
        buf_add_cstr(out, " (neither kube-scheduler nor this program has it: a plugin of your own "
                          "is compiled in, see src/plugins/out_of_tree.h)");
}

static void hint_misplaced(const struct registry *registry, struct str name, struct buf *out)
{
    const char *separator = " (it runs at ";
    size_t before = out->n;
    for (int point = 0; point < POINT_COUNT; point++)
        if (plugin_extends(registry, name, (enum point)point)) {
            buf_add_printf(out, "%s%s", separator, point_table[point].section);
            separator = ", ";
        }
    if (out->n > before)
        buf_add_char(out, ')');
}

/* What stands between the first two quotes. */
static struct str quoted(struct str text)
{
    struct str rest = str_slice(text, str_find(text, '"') + 1, text.n);
    return str_slice(rest, 0, str_find(rest, '"'));
}

static bool has(struct str text, const char *part)
{
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}

void config_hint(const struct registry *registry, struct str entry, struct buf *out)
{
    if (has(entry, "\": was invalid in version \"") && is_removed(quoted(entry)))
        buf_add_cstr(out, " (NodeVolumeLimits does its work now)");
    else if (has(entry, "Plugin \"") && has(entry, "\" does not exist"))
        hint_unknown(registry, quoted(entry), out);
    else if (has(entry, "\" does not extend "))
        hint_misplaced(registry, quoted(entry), out);
}
