/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/patch/go_value.h"

#include "base/num.h"

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
        go_value_write(&sorted[i]->value, out);
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

void go_value_write(const struct json_value *v, struct buf *out)
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
            go_value_write(&v->items[i], out);
        }
        buf_add_char(out, ']');
        break;
    case JSON_OBJECT:
        write_object(v, out);
        break;
    }
}

const char *go_value_type(const struct json_value *v)
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
