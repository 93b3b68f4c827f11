/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "api/quantity.h"
#include "api/selector.h"
#include "apiserver/print/table_internal.h"

/* --- parts ------------------------------------------------------------------------------------ */

void cell_join(struct buf *out, const char *separator, struct str s)
{
    if (out->n)
        buf_add_cstr(out, separator);
    buf_add_str(out, s);
}

void cell_lower(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        buf_add_char(out, s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i]);
}

const struct json_value *cell_condition(const struct json_value *object, const char *type)
{
    struct json_items conditions = json_items_at(object, "status.conditions");
    for (size_t i = 0; i < conditions.n; i++)
        if (str_is(json_text_at(&conditions.v[i], "type"), type))
            return &conditions.v[i];
    return NULL;
}

struct timestamp cell_time(const struct json_value *v)
{
    static const struct timestamp year_one = {.sec = -62135596800, .set = true};
    struct timestamp t;
    if (!v || v->kind != JSON_STRING || !timestamp_parse(v->text, &t) ||
        timestamp_cmp(t, year_one) == 0)
        return (struct timestamp){0};
    return t;
}

void cell_since(const struct cells *c, struct timestamp t, struct buf *out)
{
    int64_t ns;
    if (!t.set) {
        buf_add_cstr(out, "<unknown>");
        return;
    }
    if (__builtin_sub_overflow(c->now, timestamp_ns(t), &ns))
        ns = timestamp_ns(t) < 0 ? INT64_MAX : INT64_MIN;
    duration_format_human(ns, out);
}

void cell_age(const struct cells *c, const struct json_value *v, struct buf *out)
{
    cell_since(c, cell_time(v), out);
}

void cell_quantity(struct cells *c, const struct json_value *v, struct buf *out)
{
    struct quantity q = {0};
    bool text = v && (v->kind == JSON_STRING || v->kind == JSON_NUMBER);
    if (text && quantity_parse(v->text, &c->arena, &q, NULL))
        q = (struct quantity){0};
    quantity_write(&q, out);
}

bool cell_selector(struct cells *c, const struct json_value *v, struct buf *out)
{
    struct label_selector ls;
    struct selector s;
    if (!v || v->kind != JSON_OBJECT)
        return true;
    if (json_value_decode(v, &label_selector_type, 0, &c->arena, &ls, NULL) ||
        selector_compile(&ls, &c->arena, &s, NULL))
        return false;
    selector_write(&s, out);
    return true;
}

static void write_otherwise(const struct column *col, struct buf *out)
{
    if (col->otherwise)
        buf_add_cstr(out, col->otherwise);
}

/* --- texts ------------------------------------------------------------------------------------ */

void cell_text_at(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *v = json_at(c->object, col->path);
    if (v && v->kind == JSON_STRING)
        buf_add_str(out, v->text);
    else
        write_otherwise(col, out);
}

void cell_text_or(struct cells *c, const struct column *col, struct buf *out)
{
    struct str text = json_text_at(c->object, col->path);
    if (text.n)
        buf_add_str(out, text);
    else
        write_otherwise(col, out);
}

void cell_number_at(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *v = json_at(c->object, col->path);
    if (v && v->kind == JSON_NUMBER)
        buf_add_str(out, v->text);
    else
        write_otherwise(col, out);
}

void cell_yes_no_at(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *v = json_at(c->object, col->path);
    if (v && v->kind == JSON_BOOL)
        buf_add_cstr(out, v->boolean ? "True" : "False");
    else
        write_otherwise(col, out);
}

void cell_age_at(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *v = json_at(c->object, col->path);
    if (col->otherwise && (!v || v->kind == JSON_NULL))
        write_otherwise(col, out);
    else
        cell_age(c, v, out);
}

void cell_quantity_at(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *v = json_at(c->object, col->path);
    if (col->otherwise && (!v || v->kind == JSON_NULL))
        write_otherwise(col, out);
    else
        cell_quantity(c, v, out);
}

void cell_int_or_string_at(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *v = json_at(c->object, col->path);
    if (v && (v->kind == JSON_STRING || v->kind == JSON_NUMBER))
        buf_add_str(out, v->text);
    else
        write_otherwise(col, out);
}

void cell_list_at(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items items = json_items_at(c->object, col->path);
    for (size_t i = 0; i < items.n; i++) {
        if (i)
            buf_add_char(out, ',');
        if (items.v[i].kind == JSON_STRING)
            buf_add_str(out, items.v[i].text);
    }
    if (!out->n)
        write_otherwise(col, out);
}

static int compare_texts(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Sorted by "key=value", as upstream: "a-b=1" is before "a=1". */
void cell_labels_at(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_members labels = json_members_at(c->object, col->path);
    struct str *texts = arena_array(&c->arena, struct str, labels.n);
    for (size_t i = 0; i < labels.n; i++) {
        const struct json_value *v = &labels.v[i].value;
        struct str value = v->kind == JSON_STRING ? v->text : STR("");
        texts[i] = arena_printf(&c->arena, "%.*s=%.*s", STR_ARG(labels.v[i].key), STR_ARG(value));
    }
    if (labels.n)
        qsort(texts, labels.n, sizeof(*texts), compare_texts);
    for (size_t i = 0; i < labels.n; i++)
        cell_join(out, ",", texts[i]);
    if (!labels.n)
        buf_add_cstr(out, "<none>");
}

void cell_selector_at(struct cells *c, const struct column *col, struct buf *out)
{
    if (!cell_selector(c, json_at(c->object, col->path), out)) {
        buf_clear(out);
        buf_add_cstr(out, "<error>");
    } else if (!out->n) {
        buf_add_cstr(out, "<none>");
    }
}

static void write_members(const struct cells *c, const char *path, const char *member,
                          struct buf *out)
{
    struct json_items items = json_items_at(c->object, path);
    for (size_t i = 0; i < items.n; i++) {
        if (i)
            buf_add_char(out, ',');
        buf_add_str(out, json_text_at(&items.v[i], member));
    }
}

void cell_container_names_at(struct cells *c, const struct column *col, struct buf *out)
{
    write_members(c, col->path, "name", out);
}

void cell_container_images_at(struct cells *c, const struct column *col, struct buf *out)
{
    write_members(c, col->path, "image", out);
}

void cell_ready_replicas(struct cells *c, const struct column *col, struct buf *out)
{
    (void)col;
    buf_add_printf(out, "%" PRId64 "/%" PRId64, json_int_at(c->object, "status.readyReplicas", 0),
                   json_int_at(c->object, "spec.replicas", 0));
}

void cell_access_modes_at(struct cells *c, const struct column *col, struct buf *out)
{
    static const char *const modes[][2] = {{"ReadWriteOnce", "RWO"},
                                           {"ReadOnlyMany", "ROX"},
                                           {"ReadWriteMany", "RWX"},
                                           {"ReadWriteOncePod", "RWOP"}};
    struct json_items has = json_items_at(c->object, col->path);
    for (size_t m = 0; m < ARRAY_LEN(modes); m++)
        for (size_t i = 0; i < has.n; i++)
            if (has.v[i].kind == JSON_STRING && str_is(has.v[i].text, modes[m][0])) {
                cell_join(out, ",", str_of(modes[m][1]));
                break;
            }
}

/* Addresses or host names, sorted, each once. */
void cell_balancer_addresses(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items ingress = json_items_at(c->object, "status.loadBalancer.ingress");
    struct str *texts = arena_array(&c->arena, struct str, ingress.n);
    size_t n = 0;
    (void)col;
    for (size_t i = 0; i < ingress.n; i++) {
        struct str ip = json_text_at(&ingress.v[i], "ip");
        struct str text = ip.n ? ip : json_text_at(&ingress.v[i], "hostname");
        if (text.n)
            texts[n++] = text;
    }
    if (n)
        qsort(texts, n, sizeof(*texts), compare_texts);
    for (size_t i = 0; i < n; i++)
        if (!i || !str_eq(texts[i], texts[i - 1]))
            cell_join(out, ",", texts[i]);
}

/* --- other types ------------------------------------------------------------------------------ */

void cell_int_at(struct cells *c, const struct column *col, struct buf *out)
{
    buf_add_printf(out, "%" PRId64, json_int_at(c->object, col->path, 0));
}

void cell_count_at(struct cells *c, const struct column *col, struct buf *out)
{
    buf_add_printf(out, "%zu",
                   json_items_at(c->object, col->path).n + json_members_at(c->object, col->path).n);
}

void cell_bool_at(struct cells *c, const struct column *col, struct buf *out)
{
    bool yes = json_bool_at(c->object, col->path, col->otherwise != NULL);
    buf_add_cstr(out, yes ? "true" : "false");
}
