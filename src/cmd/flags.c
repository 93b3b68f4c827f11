/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/flags.h"

#include "base/time.h"
#include "engine/features.h"

static struct flag *find_long(struct flag *table, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, table[i].name))
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

static int set_custom(const struct flag *f, const char *text, struct err *reterr)
{
    const struct flag_custom *custom = f->value;
    int r = custom->set(custom->to, str_of(text), reterr);
    return r < 0 ? err_prefix(reterr, r, "invalid argument \"%s\" for \"--%s\" flag", text, f->name)
                 : 0;
}

static int set_value(struct flag *f, const char *text, struct err *reterr)
{
    bool ok = true;
    int r = 0;
    switch (f->kind) {
    case FLAG_STR:
        *(const char **)f->value = text;
        break;
    case FLAG_BOOL:
        ok = str_to_bool(str_of(text), f->value);
        break;
    case FLAG_INT:
        ok = str_to_i64(str_of(text), f->value);
        break;
    case FLAG_DURATION:
        ok = duration_parse(str_of(text), f->value);
        break;
    case FLAG_CUSTOM:
        r = set_custom(f, text, reterr);
        break;
    }
    if (!ok)
        return err_set(reterr, -EINVAL, "invalid argument \"%s\" for \"--%s\" flag", text, f->name);
    f->given = true;
    return r;
}

/* Flag and, behind '=', value of one argument; *ret_value NULL: none stands there. */
static int split(struct flag *table, size_t n, char *arg, struct flag **ret_flag,
                 const char **ret_value, struct err *reterr)
{
    bool is_long = arg[1] == '-';
    char *name = arg + (is_long ? 2 : 1);
    char *equals = strchr(name, '=');
    struct str key = equals ? (struct str){name, (size_t)(equals - name)} : str_of(name);
    *ret_value = equals ? equals + 1 : NULL;
    if (is_long) {
        *ret_flag = find_long(table, n, key);
        if (!*ret_flag)
            return err_set(reterr, -EINVAL, "unknown flag: --%.*s", STR_ARG(key));
        return 0;
    }
    *ret_flag = find_letter(table, n, name[0]);
    if (!*ret_flag)
        return err_set(reterr, -EINVAL, "unknown shorthand flag: '%c' in -%s", name[0], name);
    /* -v2 is -v 2. */
    if (!equals && key.n > 1)
        *ret_value = name + 1;
    return 0;
}

int flags_parse(struct flag *table, size_t n, int argc, char **argv, int *ret_n, struct err *reterr)
{
    int kept = 0;
    for (int i = 1; i < argc; i++) {
        char *arg = argv[i];
        if (strcmp(arg, "--") == 0) {
            while (++i < argc)
                argv[++kept] = argv[i];
            break;
        }
        if (arg[0] != '-' || arg[1] == '\0') {
            argv[++kept] = arg;
            continue;
        }
        struct flag *f;
        const char *value;
        int r = split(table, n, arg, &f, &value, reterr);
        if (r < 0)
            return r;
        if (!value && f->kind == FLAG_BOOL)
            value = "true";
        if (!value && i + 1 < argc)
            value = argv[++i];
        if (!value)
            return err_set(reterr, -EINVAL, "flag needs an argument: --%s", f->name);
        r = set_value(f, value, reterr);
        if (r < 0)
            return r;
    }
    *ret_n = kept;
    return 0;
}

static void add_default(const struct flag *f, struct buf *out)
{
    switch (f->kind) {
    case FLAG_STR:
        if (*(const char **)f->value && **(const char **)f->value)
            buf_add_printf(out, " (default \"%s\")", *(const char **)f->value);
        break;
    case FLAG_BOOL:
        if (*(bool *)f->value)
            buf_add_cstr(out, " (default true)");
        break;
    case FLAG_INT:
        if (*(int64_t *)f->value)
            buf_add_printf(out, " (default %lld)", (long long)*(int64_t *)f->value);
        break;
    case FLAG_DURATION:
        if (*(int64_t *)f->value) {
            buf_add_cstr(out, " (default ");
            duration_format(*(int64_t *)f->value, out);
            buf_add_char(out, ')');
        }
        break;
    case FLAG_CUSTOM:
        break;
    }
}

static void add_options(const struct flag *f, struct buf *out)
{
    const struct flag_custom *custom = f->kind == FLAG_CUSTOM ? f->value : NULL;
    struct buf options = BUF_INIT;
    if (custom && custom->write_options)
        custom->write_options(&options);
    struct str left = buf_str(&options);
    while (left.n) {
        size_t end = str_find(left, '\n');
        buf_add_printf(out, "\n                %.*s", STR_ARG(str_slice(left, 0, end)));
        left = str_slice(left, MIN(end + 1, left.n), left.n);
    }
    buf_release(&options);
}

void flags_help(const struct flag *table, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct flag *f = &table[i];
        if (f->group)
            buf_add_printf(out, "\n%s flags:\n\n", f->group);
        if (f->letter)
            buf_add_printf(out, "  -%c, --%s", f->letter, f->name);
        else
            buf_add_printf(out, "      --%s", f->name);
        if (f->metavar)
            buf_add_printf(out, " %s", f->metavar);
        buf_add_printf(out, "\n                %s", f->help);
        /* A flag on this command line holds its own value, not the default. */
        if (!f->given)
            add_default(f, out);
        add_options(f, out);
        buf_add_char(out, '\n');
    }
}

static int set_features(void *features, struct str text, struct err *reterr)
{
    return features_parse(features, text, reterr);
}

struct flag_custom flag_features(struct features *features)
{
    return (struct flag_custom){features, set_features, features_write_help};
}
