/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config_hint.h"

#include "engine/known_plugins.h"

#define NAME_MAX_LENGTH 63
#define FEW_TYPOS       2

/* --- names that are near ---------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Letters to change, add or leave out, capitals being no difference. */
static size_t distance(struct str a, struct str b)
{
    size_t row[NAME_MAX_LENGTH + 1];
    if (a.n > NAME_MAX_LENGTH || b.n > NAME_MAX_LENGTH)
        return SIZE_MAX;
    for (size_t k = 0; k <= b.n; k++)
        row[k] = k;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= b.n; k++) {
            size_t change = diagonal + (lower(a.p[i - 1]) != lower(b.p[k - 1]));
            diagonal = row[k];
            row[k] = MIN(change, MIN(row[k], row[k - 1]) + 1);
        }
    }
    return row[b.n];
}

struct nearest {
    struct str to, name;
    size_t distance;
};

static void consider(struct nearest *n, struct str name)
{
    size_t d = distance(n->to, name);
    if (d < n->distance) {
        n->distance = d;
        n->name = name;
    }
}

static struct nearest nearest_plugin(const struct registry *registry, struct str name)
{
    struct nearest n = {.to = name, .distance = SIZE_MAX};
    for (size_t i = 0; registry->plugins[i]; i++)
        consider(&n, str_of(registry->plugins[i]->name));
    for (size_t i = 0; known_plugin_at(i); i++)
        consider(&n, str_of(known_plugin_at(i)->name));
    return n;
}

/* --- hints ------------------------------------------------------------------------------------ */

static void hint_unknown(const struct registry *registry, struct str name, struct buf *out)
{
    struct nearest near = nearest_plugin(registry, name);
    bool counts_disks = str_is(name, "EBSLimits") || str_is(name, "GCEPDLimits") ||
                        str_is(name, "AzureDiskLimits") || str_is(name, "CinderLimits");
    if (counts_disks)
        buf_add_cstr(out, " (NodeVolumeLimits does its work now)");
    else if (near.distance <= FEW_TYPOS)
        buf_add_printf(out, " (did you mean %.*s?)", STR_ARG(near.name));
    else
        buf_add_cstr(out, " (neither kube-scheduler nor this program has it: a plugin of your own "
                          "is compiled in, see src/cmd/out_of_tree.h)");
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

void config_hint(const struct registry *registry, struct str complaint, struct buf *out)
{
    if (has(complaint, "Plugin \"") && has(complaint, "\" does not exist"))
        hint_unknown(registry, quoted(complaint), out);
    else if (has(complaint, "\" does not extend "))
        hint_misplaced(registry, quoted(complaint), out);
}
