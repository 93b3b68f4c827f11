/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/flags.h"

#include "base/log.h"
#include "engine/config/features.h"

/* --- parsing ---------------------------------------------------------------------------------- */

/* A '_' in the argument stands for '-'. */
static bool is_named(const struct flag *f, struct str typed)
{
    if (strlen(f->name) != typed.n)
        return false;
    for (size_t i = 0; i < typed.n; i++)
        if (f->name[i] != (typed.p[i] == '_' ? '-' : typed.p[i]))
            return false;
    return true;
}

static struct flag *find_long(struct flag *table, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (is_named(&table[i], name))
            return &table[i];
    return NULL;
}

static struct flag *find_letter(struct flag *table, size_t n, char letter)
{
    for (size_t i = 0; i < n; i++)
        if (letter && table[i].letter == letter)
            return &table[i];
    return NULL;
}

static int set_value(struct flag *f, const char *text, struct err *reterr)
{
    int r = flag_set_value(f, text, reterr);
    if (r < 0) {
        struct buf quoted = BUF_INIT;
        char letter[] = {'-', f->letter, ',', ' ', '\0'};
        log_quote(&quoted, str_of(text));
        r = err_prefix(reterr, r, "invalid argument %s for \"%s--%s\" flag", buf_cstr(&quoted),
                       f->letter ? letter : "", f->name);
        buf_release(&quoted);
        return r;
    }
    f->given = true;
    if (f->deprecated)
        fprintf(stderr, "Flag --%s has been deprecated, %s\n", f->name, f->deprecated);
    return 0;
}

/* The value of a flag without one; NULL: the next argument is its value. */
static const char *value_without(const struct flag *f)
{
    if (f->kind == FLAG_BOOL)
        return "true";
    return f->kind == FLAG_CUSTOM ? ((const struct flag_custom *)f->value)->without : NULL;
}

/* Arguments not parsed yet. A flag may take the next one as its value. */
struct arguments {
    struct flag *table;
    size_t n;
    char **at, **end;
};

static int parse_long(struct arguments *args, const char *arg, struct err *reterr)
{
    const char *name = arg + 2, *equals = strchr(name, '=');
    struct str key = equals ? (struct str){name, (size_t)(equals - name)} : str_of(name);
    if (*name == '-' || *name == '=')
        return err_set(reterr, -EINVAL, "bad flag syntax: %s", arg);
    struct flag *f = find_long(args->table, args->n, key);
    if (!f)
        return err_set(reterr, -EINVAL, "unknown flag: --%.*s", STR_ARG(key));
    const char *value = equals ? equals + 1 : value_without(f);
    if (!value && args->at == args->end)
        return err_set(reterr, -EINVAL, "flag needs an argument: --%.*s", STR_ARG(key));
    if (!value)
        value = *args->at++;
    return set_value(f, value, reterr);
}

/* Parses one letter. *letters moves to the next one, or to the end if the rest is the value. */
static int parse_letter(struct arguments *args, const char **letters, struct err *reterr)
{
    const char *all = *letters;
    struct flag *f = find_letter(args->table, args->n, *all);
    if (!f)
        return err_set(reterr, -EINVAL, "unknown shorthand flag: '%c' in -%s", *all, all);
    const char *value = value_without(f);
    *letters = all + 1;
    if (all[1] == '=' && all[2]) {
        value = all + 2;
        *letters = "";
    } else if (!value && all[1]) {
        value = all + 1;
        *letters = "";
    } else if (!value && args->at < args->end) {
        value = *args->at++;
    }
    if (!value)
        return err_set(reterr, -EINVAL, "flag needs an argument: '%c' in -%s", *all, all);
    return set_value(f, value, reterr);
}

int flags_parse(struct flag *table, size_t n, int argc, char **argv, int *ret_n, struct err *reterr)
{
    struct arguments args = {table, n, argv + MIN(argc, 1), argv + argc};
    int kept = 0, r = 0;
    while (r == 0 && args.at < args.end) {
        char *arg = *args.at++;
        if (strcmp(arg, "--") == 0) {
            while (args.at < args.end)
                argv[++kept] = *args.at++;
        } else if (arg[0] != '-' || arg[1] == '\0') {
            argv[++kept] = arg;
        } else if (arg[1] == '-') {
            r = parse_long(&args, arg, reterr);
        } else {
            const char *letters = arg + 1;
            while (r == 0 && *letters)
                r = parse_letter(&args, &letters, reterr);
        }
    }
    if (r == 0)
        *ret_n = kept;
    return r;
}

bool flags_given(const struct flag *table, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].given;
    assert(!"no such flag");
    return false;
}

/* --- help ------------------------------------------------------------------------------------- */

static void add_left(const struct flag *f, struct buf *out)
{
    if (f->letter)
        buf_add_printf(out, "  -%c, --%s", f->letter, f->name);
    else
        buf_add_printf(out, "      --%s", f->name);
    const char *type = flag_type(f);
    const char *without = f->kind == FLAG_CUSTOM ? value_without(f) : NULL;
    if (type)
        buf_add_printf(out, " %s", type);
    if (without)
        buf_add_printf(out, "[=%s]", without);
}

static void add_default(const struct flag *f, struct buf *out)
{
    /* A flag given beside --help holds its value, not the default. */
    if (f->given || flag_is_zero(f))
        return;
    struct buf value = BUF_INIT;
    flag_write_value(f, &value);
    buf_add_cstr(out, " (default ");
    if (f->kind == FLAG_STR)
        log_quote(out, buf_str(&value));
    else
        buf_add_str(out, buf_str(&value));
    buf_add_char(out, ')');
    buf_release(&value);
}

static void add_right(const struct flag *f, struct buf *out)
{
    const struct flag_custom *custom = f->kind == FLAG_CUSTOM ? f->value : NULL;
    buf_add_cstr(out, f->help);
    if (custom && custom->write_options) {
        buf_add_char(out, '\n');
        custom->write_options(out);
        if (out->p[out->n - 1] == '\n')
            out->n--;
    }
    add_default(f, out);
}

/* The layout of a group: start of the second column, and width of the terminal (0: unlimited). */
struct layout {
    size_t indent, width;
};

/* If less than LEAST_ROOM columns are left, the second column goes below the first. */
enum { LEAST_ROOM = 24, INDENT_BELOW = 16 };

/* Bytes of `line` that fit into `room` columns, up to a space; a longer word is not broken. */
static size_t fitting(struct str line, size_t room)
{
    if (room == 0 || line.n <= room)
        return line.n;
    size_t end = room;
    while (end > 0 && line.p[end] != ' ')
        end--;
    return end > 0 ? end : str_find(line, ' ');
}

static void add_lines(struct str text, const struct layout *l, struct buf *out)
{
    struct str line;
    for (bool first = true; str_split(&text, '\n', &line);) {
        do {
            size_t n = fitting(line, l->width ? l->width - l->indent : 0);
            if (!first)
                buf_add_printf(out, "\n%*s", (int)l->indent, "");
            buf_add_str(out, str_slice(line, 0, n));
            line = str_slice(line, MIN(n + 1, line.n), line.n);
            first = false;
        } while (line.n > 0);
    }
    buf_add_char(out, '\n');
}

static struct layout layout_of(const struct flag *rows, size_t n, size_t width)
{
    struct buf left = BUF_INIT;
    struct layout l = {0, width};
    for (size_t i = 0; i < n; i++) {
        buf_clear(&left);
        add_left(&rows[i], &left);
        if (!rows[i].deprecated)
            l.indent = MAX(l.indent, left.n + 3);
    }
    buf_release(&left);
    if (width && l.indent + LEAST_ROOM > width)
        l.indent = INDENT_BELOW;
    if (width < INDENT_BELOW + LEAST_ROOM)
        l.width = 0;
    return l;
}

static void help_group(const struct flag *rows, size_t n, size_t width, struct buf *out)
{
    struct layout l = layout_of(rows, n, width);
    struct buf left = BUF_INIT, right = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].deprecated)
            continue;
        buf_clear(&left);
        buf_clear(&right);
        add_left(&rows[i], &left);
        add_right(&rows[i], &right);
        buf_add_printf(out, "%-*s", (int)l.indent, buf_cstr(&left));
        if (left.n >= l.indent)
            buf_add_printf(out, "\n%*s", (int)l.indent, "");
        add_lines(buf_str(&right), &l, out);
    }
    buf_release(&left);
    buf_release(&right);
}

void flags_help(const struct flag *table, size_t n, size_t width, struct buf *out)
{
    for (size_t i = 0, end; i < n; i = end) {
        bool shown = false;
        for (end = i; end < n && (end == i || !table[end].group); end++)
            shown |= !table[end].deprecated;
        if (!shown)
            continue;
        if (table[i].group)
            buf_add_printf(out, "\n%s flags:\n\n", table[i].group);
        help_group(table + i, end - i, width, out);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct flag *const *)a)->name, (*(const struct flag *const *)b)->name);
}

void flags_each(const struct flag *table, size_t n, flags_fn *fn, void *ctx)
{
    const struct flag **sorted = xreallocarray(NULL, n, sizeof(*sorted));
    struct buf value = BUF_INIT;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &table[i];
    qsort(sorted, n, sizeof(*sorted), by_name);
    for (size_t i = 0; i < n; i++) {
        buf_clear(&value);
        flag_write_value(sorted[i], &value);
        fn(ctx, sorted[i], buf_str(&value));
    }
    buf_release(&value);
    free(sorted);
}

/* --- feature gates ---------------------------------------------------------------------------- */

static int set_features(void *features, struct str text, struct err *reterr)
{
    return features_parse(features, text, reterr);
}

struct flag_custom flag_features(struct features *features)
{
    return (struct flag_custom){
        .to = features, .set = set_features, .write_options = features_write_own_help};
}
