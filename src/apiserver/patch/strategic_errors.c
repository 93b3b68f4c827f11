/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of upstream's mergepatch/errors.go, which show values as Go does. */
#include "apiserver/patch/strategic_internal.h"
#include "base/num.h"

/* More than an error message holds. */
#define TEXT_MAX 1024

static int compare_members(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;

    return str_cmp((*x)->key, (*y)->key);
}

static void write_object(const struct json_value *v, struct buf *out)
{
    const struct json_member **sorted = xcalloc(v->n_members + 1, sizeof(*sorted));

    for (size_t i = 0; i < v->n_members; i++)
        sorted[i] = &v->members[i];
    qsort(sorted, v->n_members, sizeof(*sorted), compare_members);
    buf_add_cstr(out, "map[");
    for (size_t i = 0; i < v->n_members && !out->overflow; i++) {
        buf_add_printf(out, "%s%.*s:", i ? " " : "", STR_ARG(sorted[i]->key));
        strategic_write_go(&sorted[i]->value, out);
    }
    buf_add_char(out, ']');
    free(sorted);
}

static void write_number(struct str text, struct buf *out)
{
    char *copy;
    int64_t n;

    if (str_to_i64(text, &n)) {
        buf_add_printf(out, "%lld", (long long)n);
        return;
    }
    copy = str_dup(text);
    num_format(strtod(copy, NULL), NUM_STYLE_G, out);
    free(copy);
}

void strategic_write_go(const struct json_value *v, struct buf *out)
{
    switch (v->kind) {
    case JSON_NULL:
        buf_add_cstr(out, "<nil>");
        break;
    case JSON_BOOL:
        buf_add_cstr(out, v->boolean ? "true" : "false");
        break;
    case JSON_NUMBER:
        write_number(v->text, out);
        break;
    case JSON_STRING:
        buf_add_str(out, v->text);
        break;
    case JSON_ARRAY:
        buf_add_char(out, '[');
        for (size_t i = 0; i < v->n && !out->overflow; i++) {
            if (i)
                buf_add_char(out, ' ');
            strategic_write_go(&v->items[i], out);
        }
        buf_add_char(out, ']');
        break;
    case JSON_OBJECT:
        write_object(v, out);
        break;
    }
}

static const char *go_type(const struct json_value *v)
{
    int64_t n;

    switch (v->kind) {
    case JSON_NULL:
        return "nil";
    case JSON_BOOL:
        return "bool";
    case JSON_NUMBER:
        return str_to_i64(v->text, &n) ? "int64" : "float64";
    case JSON_STRING:
        return "string";
    case JSON_ARRAY:
        return GO_LIST;
    case JSON_OBJECT:
        return GO_MAP;
    }
    return "";
}

/* Fails with prefix, value and suffix. */
static int fail_with(const struct strategic *m, const char *prefix, const struct json_value *v,
                     const char *suffix)
{
    struct buf text;
    int r;

    buf_init(&text, TEXT_MAX);
    strategic_write_go(v, &text);
    r = err_set(m->err, -EBADMSG, "%s%.*s%s", prefix, STR_ARG(buf_str(&text)), suffix);
    buf_release(&text);
    return r;
}

int strategic_no_merge_key(const struct strategic *m, const struct json_value *item,
                           const char *key)
{
    char suffix[128];

    (void)snprintf(suffix, sizeof(suffix), " does not contain declared merge key: %s", key);
    return fail_with(m, "map: ", item, suffix);
}

int strategic_bad_directive(const struct strategic *m, const struct json_value *directive,
                            const struct json_value *object)
{
    struct buf text;
    int r;

    buf_init(&text, TEXT_MAX);
    buf_add_cstr(&text, "unknown patch type: ");
    if (directive->kind != JSON_STRING)
        buf_add_printf(&text, "%%!s(%s=", go_type(directive));
    strategic_write_go(directive, &text);
    buf_add_printf(&text, "%s in map: ", directive->kind == JSON_STRING ? "" : ")");
    r = fail_with(m, buf_cstr(&text), object, "");
    buf_release(&text);
    return r;
}

int strategic_bad_type(const struct strategic *m, const char *expected,
                       const struct json_value *actual)
{
    return err_set(m->err, -EBADMSG, "expected a %s, but received a %s", expected, go_type(actual));
}

int strategic_bad_order(const struct strategic *m, const struct json_value *patch,
                        const struct json_value *order)
{
    struct buf text;
    int r;

    buf_init(&text, TEXT_MAX);
    buf_add_cstr(&text, "The order in patch list:\n");
    strategic_write_go(patch, &text);
    buf_add_cstr(&text, "\n doesn't match $setElementOrder list:\n");
    r = fail_with(m, buf_cstr(&text), order, "\n");
    buf_release(&text);
    return r;
}

int strategic_mixed_items(const struct strategic *m, const struct json_value *target,
                          const struct json_value *patch)
{
    struct buf text;
    int r;

    buf_init(&text, TEXT_MAX);
    buf_add_cstr(&text, "list element types are not identical: [");
    strategic_write_go(target, &text);
    buf_add_char(&text, ' ');
    r = fail_with(m, buf_cstr(&text), patch, "]");
    buf_release(&text);
    return r;
}
