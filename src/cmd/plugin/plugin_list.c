/* SPDX-License-Identifier: Apache-2.0 */
/* berth plugin list, berth plugin inspect. */
#include "cmd/cli/text_table.h"
#include "cmd/plugin/plugin_internal.h"
#include "codec/json.h"
#include "loader/guest_config.h"
#include "plugins/registry.h"

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_text(struct buf *out, const char *key, const char *value)
{
    buf_add_printf(out, ",\"%s\":", key);
    json_write_str(out, str_of(value ? value : ""));
}

static void json_points(struct buf *out, unsigned points)
{
    bool first = true;
    buf_add_cstr(out, ",\"extensionPoints\":[");
    for (int i = 0; i < POINT_COUNT; i++)
        if (points >> i & 1) {
            buf_add_printf(out, "%s\"%s\"", first ? "" : ",", point_table[i].section);
            first = false;
        }
    buf_add_char(out, ']');
}

static void print(struct buf *out)
{
    fputs(buf_cstr(out), stdout);
    buf_release(out);
}

/* --- list ------------------------------------------------------------------------------------- */

/* The kind of arguments in a configuration, or the table of an out-of-tree plugin. */
static struct str args_text(const struct registry *registry, struct str plugin, struct arena *a)
{
    const struct args_kind *kind = args_kind_of(registry->args, plugin);
    return kind ? str_of(kind->name) : plugin_args_text(registry_find(registry, plugin)->args, a);
}

static bool is_default(const struct registry *registry, struct str plugin)
{
    for (size_t i = 0; i < registry->n_defaults; i++)
        if (str_eq(registry->defaults[i].name, plugin))
            return true;
    return false;
}

/* A plugin of an older release, of this program, or the file that it comes from. */
static const char *source_of(const struct loaded_plugins *set, struct str plugin)
{
    const char *path = loaded_plugins_path(set, plugin);
    if (path)
        return path;
    if (plugin_is_legacy(plugin))
        return "legacy";
    return registry_find(&in_tree_registry, plugin) ? "in-tree" : "compiled in";
}

static void list_table(const struct loaded_plugins *set, struct buf *out)
{
    struct text_table t;
    struct arena a;
    text_table_init(&t, 5);
    arena_init(&a, 0);
    static const char *const heads[] = {"NAME", "SOURCE", "DEFAULT", "ARGUMENTS",
                                        "EXTENSION POINTS"};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        text_table_add(&t, str_of(heads[i]));
    for (size_t i = 0; set->registry.plugins[i]; i++) {
        struct str name = str_of(set->registry.plugins[i]->name);
        text_table_add(&t, name);
        text_table_add(&t, str_of(source_of(set, name)));
        text_table_add(&t, is_default(&set->registry, name) ? STR("yes") : STR("no"));
        text_table_add(&t, args_text(&set->registry, name, &a));
        text_table_add(&t, plugin_points_text(plugin_points(&set->registry, name), &a));
    }
    text_table_write(&t, 0, out);
    text_table_release(&t);
    arena_release(&a);
}

static void list_json(const struct loaded_plugins *set, struct buf *out)
{
    struct arena a;
    arena_init(&a, 0);
    buf_add_char(out, '[');
    for (size_t i = 0; set->registry.plugins[i]; i++) {
        const struct berth_plugin *p = set->registry.plugins[i];
        struct str name = str_of(p->name);
        buf_add_printf(out, "%s\n {\"name\":", i ? "," : "");
        json_write_str(out, name);
        json_text(out, "version", p->version);
        json_text(out, "source", source_of(set, name));
        buf_add_printf(out, ",\"default\":%s", is_default(&set->registry, name) ? "true" : "false");
        buf_add_cstr(out, ",\"arguments\":");
        json_write_str(out, args_text(&set->registry, name, &a));
        json_points(out, plugin_points(&set->registry, name));
        buf_add_char(out, '}');
    }
    buf_add_cstr(out, "\n]\n");
    arena_release(&a);
}

int plugin_list(struct plugin_command *c, char **words, int n)
{
    struct loaded_plugins *set;
    struct buf out = BUF_INIT;
    struct err err;
    int code;
    (void)words;
    if (n)
        return cmd_fail(EXIT_USAGE, "list takes no arguments; see `berth plugin --help`");
    bool json = plugin_output_is_json(c, &code);
    if (code != EXIT_DONE)
        return code;
    if (loaded_plugins_new(&c->plugins.sources, NULL, &set, &err) < 0)
        return cmd_fail(EXIT_FAILED, "%s", err.msg);
    (json ? list_json : list_table)(set, &out);
    print(&out);
    loaded_plugins_unref(set);
    return EXIT_DONE;
}

/* --- inspect ---------------------------------------------------------------------------------- */

static const struct {
    unsigned flag;
    const char *name;
} flag_names[] = {
    {BERTH_PLUGIN_NONBLOCKING, "nonblocking"},
    {BERTH_PLUGIN_PARALLEL_PRE_BIND, "parallelPreBind"},
};

static void add_row(struct text_table *t, const char *key, struct str value)
{
    text_table_add(t, str_of(key));
    text_table_add(t, value);
}

static void inspect_table(const char *path, const struct plugin_listing *l, struct buf *out)
{
    struct arena a;
    struct buf text = BUF_INIT;
    arena_init(&a, 0);
    for (size_t i = 0; i < l->n; i++) {
        const struct plugin_info *p = &l->plugins[i];
        struct text_table t;
        text_table_init(&t, 2);
        add_row(&t, "Name:", str_of(p->name));
        add_row(&t, "File:", str_of(path));
        add_row(&t, "Version:", str_of(p->version));
        add_row(&t, "ABI:",
                arena_printf(&a, "%u.%u, struct of %zu bytes", p->abi >> 16, p->abi & 0xffff,
                             p->struct_size));
        add_row(&t, "Extension points:", plugin_points_text(p->points, &a));
        add_row(&t, "Arguments:", plugin_args_text(p->args, &a));
        buf_clear(&text);
        for (size_t k = 0; k < ARRAY_LEN(flag_names); k++)
            if (p->flags & flag_names[k].flag)
                buf_add_printf(&text, "%s%s", text.n ? ", " : "", flag_names[k].name);
        add_row(&t, "Flags:", buf_str(&text));
        buf_clear(&text);
        for (size_t k = 0; l->needed[k]; k++)
            buf_add_printf(&text, "%s%s", k ? ", " : "", l->needed[k]);
        add_row(&t, "Needs:", buf_str(&text));
        if (i)
            buf_add_char(out, '\n');
        text_table_write(&t, 0, out);
        text_table_release(&t);
    }
    buf_release(&text);
    arena_release(&a);
}

static void inspect_json(const char *path, const struct plugin_listing *l, struct buf *out)
{
    struct arena a;
    arena_init(&a, 0);
    for (size_t i = 0; i < l->n; i++) {
        const struct plugin_info *p = &l->plugins[i];
        bool first = true;
        buf_add_cstr(out, "{\"name\":");
        json_write_str(out, str_of(p->name));
        json_text(out, "file", path);
        json_text(out, "version", p->version);
        buf_add_printf(out, ",\"abi\":\"%u.%u\",\"structSize\":%zu", p->abi >> 16, p->abi & 0xffff,
                       p->struct_size);
        json_points(out, p->points);
        buf_add_cstr(out, ",\"arguments\":");
        json_write_str(out, plugin_args_text(p->args, &a));
        buf_add_cstr(out, ",\"flags\":[");
        for (size_t k = 0; k < ARRAY_LEN(flag_names); k++)
            if (p->flags & flag_names[k].flag) {
                buf_add_printf(out, "%s\"%s\"", first ? "" : ",", flag_names[k].name);
                first = false;
            }
        buf_add_cstr(out, "],\"needs\":[");
        for (size_t k = 0; l->needed[k]; k++) {
            buf_add_cstr(out, k ? "," : "");
            json_write_str(out, str_of(l->needed[k]));
        }
        buf_add_cstr(out, "]}\n");
    }
    arena_release(&a);
}

static int inspect_one(const char *path, bool json, struct buf *out)
{
    struct plugin_listing listing = {0};
    struct buf bytes = BUF_INIT;
    struct arena a;
    struct err err;
    arena_init(&a, 0);
    int r = plugin_file_read(path, &bytes, &err);
    if (r == 0)
        r = (guest_is_module(buf_str(&bytes)) ? guest_inspect : plugin_file_inspect)(
            path, buf_str(&bytes), &a, &listing, &err);
    if (r < 0)
        cmd_fail(EXIT_FAILED, "%s", err.msg);
    else
        (json ? inspect_json : inspect_table)(path, &listing, out);
    buf_release(&bytes);
    arena_release(&a);
    return r;
}

int plugin_inspect(struct plugin_command *c, char **words, int n)
{
    int code, failed = EXIT_DONE;
    bool json = plugin_output_is_json(c, &code);
    if (code != EXIT_DONE)
        return code;
    if (!n)
        return cmd_fail(EXIT_USAGE, "inspect takes at least one file; see `berth plugin --help`");
    for (int i = 0; i < n; i++) {
        struct buf out = BUF_INIT;
        if (inspect_one(words[i], json, &out) < 0)
            failed = EXIT_FAILED;
        else if (i && !json)
            putchar('\n');
        print(&out);
    }
    return failed;
}
