/* SPDX-License-Identifier: Apache-2.0 */
/* berth plugin new: a directory to start a plugin from. */
#include <ctype.h>
#include <sys/stat.h>

#include "cmd/plugin/plugin_internal.h"
#include "cmd/plugin/plugin_templates.h"

/* The longest name of a plugin. */
#define NAME_MAX_LENGTH 63

struct names {
    const char *dir;  /* as given: may be a path */
    struct str name;  /* its last element, "my-filter" */
    char *plugin;     /* "MyFilter" */
    char *identifier; /* "my_filter" */
};

static bool is_name(struct str name)
{
    if (!name.n || name.n > NAME_MAX_LENGTH || !isalpha((unsigned char)name.p[0]))
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '-' && name.p[i] != '_')
            return false;
    return true;
}

static bool is_separator(char c)
{
    return c == '-' || c == '_';
}

static char *camel_case(struct str name)
{
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < name.n; i++)
        if (!is_separator(name.p[i])) {
            bool first = i == 0 || is_separator(name.p[i - 1]);
            buf_add_char(&out, first ? (char)toupper((unsigned char)name.p[i]) : name.p[i]);
        }
    return buf_take(&out);
}

/* "my-filter" and "MyFilter" become "my_filter". */
static char *snake_case(struct str name)
{
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (isupper(c) && i && islower((unsigned char)name.p[i - 1]))
            buf_add_char(&out, '_');
        buf_add_char(&out, is_separator(name.p[i]) ? '_' : (char)tolower(c));
    }
    return buf_take(&out);
}

static void expand(const struct names *n, struct str text, struct buf *out)
{
    const struct {
        struct str mark, value;
    } marks[] = {{STR("@NAME@"), n->name},
                 {STR("@PLUGIN@"), str_of(n->plugin)},
                 {STR("@IDENT@"), str_of(n->identifier)}};
    while (text.n) {
        size_t k = 0, at = str_find(text, '@');
        buf_add_str(out, str_slice(text, 0, at));
        text = str_slice(text, at, text.n);
        while (k < ARRAY_LEN(marks) && !str_starts(text, marks[k].mark))
            k++;
        if (k < ARRAY_LEN(marks)) {
            buf_add_str(out, marks[k].value);
            text = str_slice(text, marks[k].mark.n, text.n);
        } else if (text.n) {
            buf_add_char(out, '@');
            text = str_slice(text, 1, text.n);
        }
    }
}

static int write_one(const struct names *n, const struct plugin_template *t, struct err *reterr)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    buf_add_printf(&path, "%s/", n->dir);
    expand(n, str_of(t->path), &path);
    expand(n, (struct str){t->text, (size_t)(t->end - t->text)}, &text);
    FILE *file = fopen(buf_cstr(&path), "wxe");
    bool ok = file && fwrite(text.p, 1, text.n, file) == text.n;
    int error = errno;
    ok = file && fclose(file) == 0 && ok;
    int r = ok ? 0 : cmd_file_error(file ? "write" : "open", buf_cstr(&path), -error, reterr);
    buf_release(&path);
    buf_release(&text);
    return r;
}

static int create(const struct names *n, const char *lang)
{
    struct err err;
    if (mkdir(n->dir, 0777) < 0) {
        cmd_file_error("mkdir", n->dir, -errno, &err);
        return cmd_fail(EXIT_FAILED, "%s", err.msg);
    }
    for (size_t i = 0; i < n_plugin_templates; i++) {
        const struct plugin_template *t = &plugin_templates[i];
        if (t->lang && strcmp(t->lang, lang) != 0)
            continue;
        if (write_one(n, t, &err) < 0)
            return cmd_fail(EXIT_FAILED, "%s", err.msg);
    }
    printf("Created %s with the plugin %s. Try it with `make -C %s test`.\n", n->dir, n->plugin,
           n->dir);
    return EXIT_DONE;
}

static bool is_language(const char *lang)
{
    return strcmp(lang, "c") == 0 || strcmp(lang, "c++") == 0 || strcmp(lang, "rust") == 0;
}

int plugin_new(struct plugin_command *c, char **words, int n)
{
    if (n != 1)
        return cmd_fail(EXIT_USAGE, "new takes one name; see `berth plugin --help`");
    if (!is_language(c->lang))
        return cmd_fail(EXIT_USAGE, "--lang: \"%s\" is not one of c, c++ or rust", c->lang);
    const char *slash = strrchr(words[0], '/');
    struct names names = {.dir = words[0], .name = str_of(slash ? slash + 1 : words[0])};
    if (!is_name(names.name))
        return cmd_fail(EXIT_USAGE,
                        "\"%s\" is not a name: use a letter and then up to %d letters, digits, "
                        "'-' and '_'",
                        words[0], NAME_MAX_LENGTH - 1);
    names.plugin = camel_case(names.name);
    names.identifier = snake_case(names.name);
    int code = create(&names, c->lang);
    free(names.plugin);
    free(names.identifier);
    return code;
}
