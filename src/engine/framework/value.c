/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/value.h"

#include "api/quantity.h"
#include "api/scalars.h"
#include "codec/json_value.h"

/* What spare[0] says about spare[1] and spare[2]. */
enum place {
    PLACE_NONE,
    PLACE_FIELD, /* spare[1]: struct field, spare[2]: one value of it */
    PLACE_LIST,  /* spare[1]: struct field, spare[2]: struct any_list */
    PLACE_BODY,  /* spare[1]: struct type, spare[2]: a message */
    PLACE_JSON,  /* spare[2]: struct json_value */
};

static enum place place_of(const struct berth_value *v)
{
    return (enum place)(uintptr_t)v->spare[0];
}

static void set_place(struct berth_value *v, enum place place, const void *what, const void *where)
{
    v->spare[0] = (const void *)(uintptr_t)place;
    v->spare[1] = what;
    v->spare[2] = where;
}

static bool absent(struct berth_value *ret_value)
{
    *ret_value = (struct berth_value){.kind = BERTH_VALUE_ABSENT};
    return false;
}

/* --- typed objects ---------------------------------------------------------------------------- */

static void set_custom(const struct custom *custom, const void *at, struct berth_value *v)
{
    if (custom == &quantity_custom) {
        v->kind = BERTH_VALUE_QUANTITY;
        v->i = quantity_milli_value(at);
        v->d = quantity_approximate(at);
    } else if (custom == &time_custom || custom == &micro_time_custom) {
        const struct timestamp *t = at;
        v->kind = t->set ? BERTH_VALUE_TIME : BERTH_VALUE_ABSENT;
        v->i = t->set ? timestamp_ns(*t) : 0;
    } else if (custom == &int_or_string_custom) {
        const struct int_or_string *s = at;
        v->kind = s->is_text ? BERTH_VALUE_STRING : BERTH_VALUE_INT;
        if (s->is_text)
            v->str = abi_str(s->text);
        else
            v->i = s->number;
    } else if (custom == &duration_custom) {
        v->kind = BERTH_VALUE_INT;
        v->i = *(const int64_t *)at;
    } else {
        v->kind = BERTH_VALUE_OBJECT;
    }
}

/* One value of the field; at NULL: it is absent. */
static bool set_one(const struct field *f, const void *at, struct berth_value *v)
{
    absent(v);
    if (!at)
        return false;
    set_place(v, PLACE_FIELD, f, at);
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
    case FIELD_BYTES:
    case FIELD_RAW:
        v->kind = BERTH_VALUE_STRING;
        v->str = abi_str(*(const struct str *)at);
        break;
    case FIELD_BOOL:
        v->kind = BERTH_VALUE_BOOL;
        v->i = *(const bool *)at;
        break;
    case FIELD_INT32:
        v->kind = BERTH_VALUE_INT;
        v->i = *(const int32_t *)at;
        break;
    case FIELD_INT64:
        v->kind = BERTH_VALUE_INT;
        v->i = *(const int64_t *)at;
        break;
    case FIELD_DOUBLE:
        v->kind = BERTH_VALUE_DOUBLE;
        v->d = *(const double *)at;
        break;
    case FIELD_MESSAGE:
        v->kind = BERTH_VALUE_OBJECT;
        set_place(v, PLACE_BODY, f->type, at);
        break;
    case FIELD_CUSTOM:
        set_custom(f->custom, at, v);
        break;
    }
    return v->kind != BERTH_VALUE_ABSENT || absent(v);
}

/* A path that ends with an index names an element, not the list that the field is. */
static bool names_element(struct str path)
{
    return path.n && path.p[path.n - 1] == ']';
}

static bool get_typed(const struct type *type, const void *body, struct str path,
                      struct berth_value *v)
{
    const struct field *field;
    const void *value;
    if (!desc_get(type, body, path, &field, &value))
        return absent(v);
    bool many = field->shape == SHAPE_LIST || field->shape == SHAPE_MAP;
    if (!many || names_element(path))
        return set_one(field, value, v);
    absent(v);
    v->kind = field->shape == SHAPE_MAP ? BERTH_VALUE_MAP : BERTH_VALUE_LIST;
    v->i = value ? (int64_t)((const struct any_list *)value)->n : 0;
    if (value)
        set_place(v, PLACE_LIST, field, value);
    return true;
}

static bool element_at(const struct field *f, const struct any_list *list, size_t i,
                       struct str *ret_key, struct berth_value *v)
{
    if (i >= list->n)
        return absent(v);
    const char *item = (const char *)list->v + i * field_item_size(f);
    if (f->shape != SHAPE_MAP)
        return set_one(f, item, v);
    /* Number 1 is the key, number 2 the value. */
    const struct field *key = type_find_number(f->type, 1), *value = type_find_number(f->type, 2);
    const void *at = item + value->offset;
    *ret_key = *(const struct str *)(const void *)(item + key->offset);
    return set_one(value, value->shape == SHAPE_PTR ? *(void *const *)at : at, v);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static bool number_of(struct str text, double *ret_value)
{
    char number[64];
    if (text.n >= sizeof(number))
        return false;
    memcpy(number, text.p, text.n);
    number[text.n] = 0;
    *ret_value = strtod(number, NULL);
    return true;
}

static bool set_json(const struct json_value *j, struct berth_value *v)
{
    absent(v);
    if (!j || j->kind == JSON_NULL)
        return false;
    set_place(v, PLACE_JSON, NULL, j);
    switch (j->kind) {
    case JSON_NULL:
        break;
    case JSON_BOOL:
        v->kind = BERTH_VALUE_BOOL;
        v->i = j->boolean;
        break;
    case JSON_NUMBER:
        v->kind = str_to_i64(j->text, &v->i) ? BERTH_VALUE_INT : BERTH_VALUE_DOUBLE;
        if (v->kind == BERTH_VALUE_DOUBLE && !number_of(j->text, &v->d))
            return absent(v);
        break;
    case JSON_STRING:
        v->kind = BERTH_VALUE_STRING;
        v->str = abi_str(j->text);
        break;
    case JSON_ARRAY:
        v->kind = BERTH_VALUE_LIST;
        v->i = (int64_t)j->n;
        break;
    case JSON_OBJECT:
        v->kind = BERTH_VALUE_MAP;
        v->i = (int64_t)j->n_members;
        break;
    }
    return true;
}

static bool json_at(const struct json_value *j, size_t i, struct str *ret_key,
                    struct berth_value *v)
{
    if (j->kind == JSON_ARRAY && i < j->n)
        return set_json(&j->items[i], v);
    if (j->kind != JSON_OBJECT || i >= j->n_members)
        return absent(v);
    *ret_key = j->members[i].key;
    return set_json(&j->members[i].value, v);
}

static const struct json_value *json_step(const struct json_value *j, struct str *path)
{
    struct str key;
    uint64_t i;
    if (path->p[0] == '[') {
        if (!desc_take_brackets(path, &key))
            return NULL;
        if (j->kind == JSON_ARRAY)
            return str_to_u64(key, &i) && i < j->n ? &j->items[i] : NULL;
        return json_get(j, key);
    }
    if (path->p[0] == '.')
        *path = str_slice(*path, 1, path->n);
    size_t n = MIN(str_find(*path, '.'), str_find(*path, '['));
    key = str_slice(*path, 0, n);
    *path = str_slice(*path, n, path->n);
    return n ? json_get(j, key) : NULL;
}

static bool get_json(const struct json_value *j, struct str path, struct berth_value *v)
{
    while (j && path.n)
        j = json_step(j, &path);
    return set_json(j, v);
}

/* --- both ------------------------------------------------------------------------------------- */

bool value_of_object(const struct object *o, struct str path, struct berth_value *v)
{
    if (!o)
        return absent(v);
    const struct json_value *json = object_tree(o);
    const struct type *type = object_kind(o)->type;
    /* The decoded metadata is what counts; get_typed finds nothing else of a custom object. */
    if (json)
        return (path.n && get_typed(type, object_body(o), path, v)) || get_json(json, path, v);
    if (!str_empty(path))
        return get_typed(type, object_body(o), path, v);
    absent(v);
    v->kind = BERTH_VALUE_OBJECT;
    set_place(v, PLACE_BODY, type, object_body(o));
    return true;
}

bool value_at(const struct berth_value *v, size_t i, struct str *ret_key,
              struct berth_value *ret_value)
{
    struct berth_value list = *v; /* ret_value may be v */
    *ret_key = STR("");
    if (place_of(&list) == PLACE_LIST)
        return element_at(list.spare[1], list.spare[2], i, ret_key, ret_value);
    if (place_of(&list) == PLACE_JSON)
        return json_at(list.spare[2], i, ret_key, ret_value);
    return absent(ret_value);
}

/* "[2].name" of a list, "[key]" of a map. */
static bool get_in_list(const struct berth_value *list, struct str path, struct berth_value *v)
{
    struct str index, key;
    uint64_t number;
    bool map = list->kind == BERTH_VALUE_MAP;
    if (path.p[0] != '[' || !desc_take_brackets(&path, &index))
        return absent(v);
    if (!map)
        return str_to_u64(index, &number) && value_at(list, number, &key, v) &&
               value_get(v, path, v);
    for (size_t i = 0; i < (size_t)list->i; i++)
        if (value_at(list, i, &key, v) && str_eq(key, index))
            return value_get(v, path, v);
    return absent(v);
}

bool value_get(const struct berth_value *v, struct str path, struct berth_value *ret_value)
{
    struct berth_value from = *v; /* ret_value may be v */
    if (str_empty(path)) {
        *ret_value = from;
        return from.kind != BERTH_VALUE_ABSENT;
    }
    switch (place_of(&from)) {
    case PLACE_BODY:
        if (path.p[0] == '.')
            path = str_slice(path, 1, path.n);
        return get_typed(from.spare[1], from.spare[2], path, ret_value);
    case PLACE_LIST:
        return get_in_list(&from, path, ret_value);
    case PLACE_JSON:
        return get_json(from.spare[2], path, ret_value);
    case PLACE_NONE:
    case PLACE_FIELD:
        break;
    }
    return absent(ret_value);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void write_field(const struct field *f, const struct berth_value *v, struct buf *out)
{
    if (f->kind == FIELD_CUSTOM)
        f->custom->to_json(v->spare[2], out);
    else if (v->kind == BERTH_VALUE_STRING)
        json_write_str(out, str_abi(v->str));
    else if (v->kind == BERTH_VALUE_DOUBLE)
        buf_add_printf(out, "%.17g", v->d);
    else if (v->kind == BERTH_VALUE_BOOL)
        buf_add_cstr(out, v->i ? "true" : "false");
    else
        buf_add_printf(out, "%lld", (long long)v->i);
}

static void write_list(const struct berth_value *v, struct buf *out)
{
    bool map = v->kind == BERTH_VALUE_MAP;
    buf_add_char(out, map ? '{' : '[');
    for (size_t i = 0; i < (size_t)v->i; i++) {
        struct berth_value item;
        struct str key;
        value_at(v, i, &key, &item);
        if (i)
            buf_add_char(out, ',');
        if (map) {
            json_write_str(out, key);
            buf_add_char(out, ':');
        }
        value_write_json(&item, out);
    }
    buf_add_char(out, map ? '}' : ']');
}

void value_write_json(const struct berth_value *v, struct buf *out)
{
    switch (place_of(v)) {
    case PLACE_NONE:
        buf_add_cstr(out, v->kind == BERTH_VALUE_LIST  ? "[]"
                          : v->kind == BERTH_VALUE_MAP ? "{}"
                                                       : "null");
        break;
    case PLACE_FIELD:
        write_field(v->spare[1], v, out);
        break;
    case PLACE_LIST:
        write_list(v, out);
        break;
    case PLACE_BODY:
        json_encode(v->spare[1], v->spare[2], out);
        break;
    case PLACE_JSON:
        json_write(v->spare[2], out);
        break;
    }
}
