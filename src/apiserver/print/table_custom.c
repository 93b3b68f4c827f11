/* SPDX-License-Identifier: Apache-2.0 */
/* Custom resources: the printer columns of their definition. */
#include "apiserver/print/table_custom.h"

#include <inttypes.h>
#include <math.h>

#include "base/go_text.h"
#include "base/num.h"
#include "codec/json_path.h"

/* --- texts ------------------------------------------------------------------------------------ */

static int compare_members(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;
    return str_cmp((*x)->key, (*y)->key);
}

/* As Go's encoding/json: the members of objects are sorted. */
static void write_sorted(struct cells *c, const struct json_value *v, struct buf *out)
{
    if (v->kind == JSON_ARRAY) {
        buf_add_char(out, '[');
        for (size_t i = 0; i < v->n; i++) {
            if (i)
                buf_add_char(out, ',');
            write_sorted(c, &v->items[i], out);
        }
        buf_add_char(out, ']');
        return;
    }
    if (v->kind != JSON_OBJECT) {
        json_write(v, out);
        return;
    }
    const struct json_member **members =
        arena_array(&c->arena, const struct json_member *, v->n_members);
    for (size_t i = 0; i < v->n_members; i++)
        members[i] = &v->members[i];
    if (v->n_members)
        qsort(members, v->n_members, sizeof(const struct json_member *), compare_members);
    buf_add_char(out, '{');
    for (size_t i = 0; i < v->n_members; i++) {
        if (i)
            buf_add_char(out, ',');
        json_write_str(out, members[i]->key);
        buf_add_char(out, ':');
        write_sorted(c, &members[i]->value, out);
    }
    buf_add_char(out, '}');
}

/* As Go's fmt prints the value. */
static void write_text(struct cells *c, const struct json_value *v, struct buf *out)
{
    int64_t whole;
    double number;
    if (v->kind == JSON_STRING)
        buf_add_str(out, v->text);
    else if (v->kind == JSON_NULL)
        buf_add_cstr(out, "<no value>");
    else if (v->kind == JSON_NUMBER && !str_to_i64(v->text, &whole) &&
             go_parse_float64(v->text, &number, NULL) == 0)
        num_format(number, NUM_STYLE_G, out);
    else
        write_sorted(c, v, out);
}

/* --- other types ------------------------------------------------------------------------------ */

/* False: null. */
static bool write_integer(const struct json_value *v, struct buf *out)
{
    int64_t whole;
    double number;
    if (v->kind != JSON_NUMBER)
        return false;
    if (!str_to_i64(v->text, &whole)) {
        if (go_parse_float64(v->text, &number, NULL) || !(fabs(number) < 9.2e18))
            return false;
        whole = (int64_t)number;
    }
    buf_add_printf(out, "%" PRId64, whole);
    return true;
}

static bool write_number(const struct json_value *v, struct buf *out)
{
    double number;
    if (v->kind != JSON_NUMBER || go_parse_float64(v->text, &number, NULL))
        return false;
    num_format(number, NUM_STYLE_JSON, out);
    return true;
}

static bool write_date(struct cells *c, const struct json_value *v, struct buf *out)
{
    struct timestamp t;
    if (v->kind != JSON_STRING)
        return false;
    buf_clear(&c->text);
    if (v->text.n && !str_is(v->text, "null") && !timestamp_parse(v->text, &t))
        buf_add_cstr(&c->text, "<invalid>");
    else
        cell_age(c, v, &c->text);
    json_write_str(out, buf_str(&c->text));
    return true;
}

static bool write_cell(struct cells *c, struct str type, const struct json_value *v,
                       struct buf *out)
{
    if (!v)
        return false;
    if (str_is(type, "string")) {
        buf_clear(&c->text);
        write_text(c, v, &c->text);
        json_write_str(out, buf_str(&c->text));
        return true;
    }
    if (str_is(type, "integer"))
        return write_integer(v, out);
    if (str_is(type, "number"))
        return write_number(v, out);
    if (str_is(type, "date"))
        return write_date(c, v, out);
    if (!str_is(type, "boolean") || v->kind != JSON_BOOL)
        return false;
    buf_add_cstr(out, v->boolean ? "true" : "false");
    return true;
}

void table_custom_cells(struct cells *c, const struct resource *r, struct buf *out)
{
    json_write_str(out, json_text_at(c->object, "metadata.name"));
    for (size_t i = 0; i < r->n_columns; i++) {
        const struct printer_column *col = &r->columns[i];
        const struct json_value *v = json_path_first(c->object, col->json_path, &c->arena);
        buf_add_char(out, ',');
        if (!write_cell(c, col->type, v, out))
            buf_add_cstr(out, "null");
    }
}

void table_custom_heads(const struct resource *r, struct buf *out)
{
    for (size_t i = 0; i < r->n_columns; i++) {
        const struct printer_column *col = &r->columns[i];
        buf_add_cstr(out, ",{\"name\":");
        json_write_str(out, col->name);
        buf_add_cstr(out, ",\"type\":");
        json_write_str(out, col->type);
        buf_add_cstr(out, ",\"format\":");
        json_write_str(out, col->format);
        buf_add_cstr(out, ",\"description\":");
        if (col->description.n) {
            json_write_str(out, col->description);
        } else {
            struct buf text = BUF_INIT;
            buf_add_printf(&text, "Custom resource definition column (in JSONPath format): %.*s",
                           STR_ARG(col->json_path));
            json_write_str(out, buf_str(&text));
            buf_release(&text);
        }
        buf_add_printf(out, ",\"priority\":%" PRId32 "}", col->priority);
    }
}
