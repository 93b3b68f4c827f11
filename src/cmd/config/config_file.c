/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config/config_file.h"

#include <unistd.h>

#include "base/nearest.h"
#include "cmd/cli/cmd.h"
#include "engine/config/error_list.h"
#include "engine/config/registry.h"

/* Turns "f.yaml: line 3, column 7: x" into "f.yaml:3: x", which editors understand. */
static int put_line_first(const char *path, struct err *reterr)
{
    struct err original = *reterr;
    struct str file = str_of(path), rest = str_of(original.msg);
    uint64_t line;
    if (!str_starts(rest, file))
        return reterr->code;
    rest = str_slice(rest, file.n + strlen(": "), rest.n);
    size_t colon = str_find(rest, ':'), comma = str_find(rest, ',');
    if (!str_starts(rest, STR("line ")) ||
        !str_to_u64(str_slice(rest, strlen("line "), MIN(colon, comma)), &line))
        return reterr->code;
    return err_set(reterr, reterr->code, "%s:%llu: %.*s", path, (unsigned long long)line,
                   STR_ARG(str_trim(str_slice(rest, colon + 1, rest.n))));
}

struct config_text config_path_split(const char *path, struct arena *a)
{
    const char *hash = strrchr(path, '#');
    struct config_text t = {.file = path, .key = STR("")};
    if (hash && hash[1] && access(path, F_OK) < 0) {
        t.file = arena_dup(a, (struct str){path, (size_t)(hash - path)}).p;
        t.key = str_of(hash + 1);
    }
    t.shown = strcmp(t.file, "-") == 0 ? "<stdin>" : t.file;
    return t;
}

int config_text_read(const char *path, struct arena *a, struct config_text *ret_text,
                     struct err *reterr)
{
    struct config_text t = config_path_split(path, a);
    int r = cmd_read_limited(t.file, CONFIG_MAX_FILE, a, &t.text, reterr);
    if (r == -EFBIG || r == -ETIMEDOUT)
        return r;
    if (r < 0)
        return cmd_file_error(r == -EISDIR ? "read" : "open", t.file, r, reterr);
    *ret_text = t;
    return 0;
}

int config_text_parse(const struct config_text *t, struct arena *a,
                      struct scheduler_config *ret_config, struct err *reterr)
{
    int r = config_parse_key(t->shown, t->text, t->key, a, ret_config, reterr);
    return r < 0 ? put_line_first(t->shown, reterr) : 0;
}

int config_text_load(const struct config_text *t, struct arena *a,
                     struct scheduler_config *ret_config, struct err *reterr)
{
    int r = config_text_parse(t, a, ret_config, reterr);
    if (r == 0)
        config_fill(ret_config, a);
    return r;
}

int config_file_load(const char *path, struct arena *a, struct scheduler_config *ret_config,
                     struct err *reterr)
{
    struct config_text t;
    int r = config_text_read(path, a, &t, reterr);
    return r < 0 ? r : config_text_load(&t, a, ret_config, reterr);
}

/* --- hints ------------------------------------------------------------------------------------ */

static struct str nearest_plugin(const struct registry *registry, struct str name)
{
    struct nearest n;
    nearest_init(&n, name);
    for (size_t i = 0; registry->plugins[i]; i++)
        nearest_consider(&n, str_of(registry->plugins[i]->name));
    return nearest_suggestion(&n);
}

static void hint_unknown(const struct registry *registry, struct str name, struct buf *out)
{
    struct str near = nearest_plugin(registry, name);
    if (plugin_is_removed(name))
        buf_add_cstr(out, " (use NodeVolumeLimits instead)");
    else if (near.n)
        buf_add_printf(out, " (did you mean %.*s?)", STR_ARG(near));
    else
        buf_add_cstr(out, " (it is not a plugin of kube-scheduler; load your own plugin with "
                          "--plugin FILE.so)");
}

static void hint_misplaced(const struct registry *registry, struct str name, struct buf *out)
{
    const char *separator = " (it extends ";
    size_t before = out->n;
    for (int point = 0; point < POINT_COUNT; point++)
        if (plugin_extends(registry, name, (enum point)point)) {
            buf_add_printf(out, "%s%s", separator, point_table[point].section);
            separator = ", ";
        }
    if (out->n > before)
        buf_add_char(out, ')');
}

/* The text between the first two quotes. */
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
    if (has(entry, "\": was invalid in version \"") && plugin_is_removed(quoted(entry)))
        buf_add_cstr(out, " (use NodeVolumeLimits instead)");
    else if (has(entry, "Plugin \"") && has(entry, "\" does not exist"))
        hint_unknown(registry, quoted(entry), out);
    else if (has(entry, "\" does not extend "))
        hint_misplaced(registry, quoted(entry), out);
}

/* --- checking --------------------------------------------------------------------------------- */

/* An error and its position. */
struct placed {
    const struct error_entry *entry;
    const char *file;
    uint32_t line; /* 0: none */
    size_t at;     /* index in the list of errors */
};

/* Errors without a line come last. */
static int by_line(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    uint32_t p = x->line ? x->line : UINT32_MAX, q = y->line ? y->line : UINT32_MAX;
    return p != q ? (p > q) - (p < q) : (x->at > y->at) - (x->at < y->at);
}

static void add_line(const struct placed *placed, const struct registry *registry,
                     struct buf *lines)
{
    const struct error_entry *c = placed->entry;
    if (placed->file && placed->line)
        buf_add_printf(lines, "%s:%u: ", placed->file, placed->line);
    else if (placed->file)
        buf_add_printf(lines, "%s: ", placed->file);
    buf_add_cstr(lines, c->text);
    if (c->hint)
        buf_add_cstr(lines, c->hint);
    else
        config_hint(registry, str_of(c->text), lines);
    buf_add_char(lines, '\n');
}

bool config_file_check(const struct scheduler_config *config, const struct registry *registry,
                       const struct features *features, struct buf *lines)
{
    struct error_list errors = {0};
    struct placed placed[ERROR_LIST_MAX];
    config_complain(config, registry, features, &errors);
    bool ok = errors.n == 0;
    size_t n = errors.v.n;
    for (size_t i = 0; i < n; i++) {
        const struct error_entry *c = &errors.v.v[i];
        bool own = !c->file || c->file == config->file;
        placed[i] = (struct placed){c, c->file ? c->file : config->file, c->line, i};
        if (own && !c->line)
            placed[i].line = config_line(config, str_of(c->text));
    }
    qsort(placed, n, sizeof(*placed), by_line);
    for (size_t i = 0; i < n; i++)
        add_line(&placed[i], registry, lines);
    if (errors.left_out)
        buf_add_printf(lines, "%s%sand %zu more\n", config->file ? config->file : "",
                       config->file ? ": " : "", errors.left_out);
    error_list_release(&errors);
    return ok;
}

bool config_file_use(const char *path, struct loaded_plugins **plugins,
                     const struct features *features, struct arena *a,
                     struct scheduler_config *ret_config, struct buf *lines)
{
    struct err err;
    if (config_file_load(path, a, ret_config, &err) < 0 ||
        loaded_plugins_add_guests(plugins, ret_config, NULL, &err) < 0) {
        buf_add_printf(lines, "%s\n", err.msg);
        return false;
    }
    return config_file_check(ret_config, &(*plugins)->registry, features, lines);
}

void config_file_print(const struct buf *lines)
{
    struct str rest = buf_str(lines), line;
    while (rest.n && str_split(&rest, '\n', &line))
        fprintf(stderr, "berth: %.*s\n", STR_ARG(line));
}
