/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_edit.h"

/* --- new values ------------------------------------------------------------------------------- */

struct json_value json_null(void)
{
    return (struct json_value){.kind = JSON_NULL};
}

struct json_value json_bool(bool b)
{
    return (struct json_value){.kind = JSON_BOOL, .boolean = b};
}

struct json_value json_text(struct str s)
{
    return (struct json_value){.kind = JSON_STRING, .text = s};
}

struct json_value json_int(int64_t n, struct arena *a)
{
    return (struct json_value){.kind = JSON_NUMBER, .text = arena_printf(a, "%lld", (long long)n)};
}

struct json_value json_object(void)
{
    return (struct json_value){.kind = JSON_OBJECT};
}

struct json_value json_array(void)
{
    return (struct json_value){.kind = JSON_ARRAY};
}

/* Depth is bounded by JSON_MAX_DEPTH: trees come from the parser. */
struct json_value json_copy(const struct json_value *v, struct arena *a)
{
    struct json_value copy = *v;

    if (v->kind == JSON_STRING || v->kind == JSON_NUMBER) {
        copy.text = arena_dup(a, v->text);
    } else if (v->kind == JSON_ARRAY) {
        copy.items = v->n ? arena_array(a, struct json_value, v->n) : NULL;
        for (size_t i = 0; i < v->n; i++)
            copy.items[i] = json_copy(&v->items[i], a);
    } else if (v->kind == JSON_OBJECT) {
        copy.members = v->n_members ? arena_array(a, struct json_member, v->n_members) : NULL;
        for (size_t i = 0; i < v->n_members; i++)
            copy.members[i] = (struct json_member){arena_dup(a, v->members[i].key),
                                                   json_copy(&v->members[i].value, a)};
    }
    return copy;
}

/* --- objects ---------------------------------------------------------------------------------- */

struct json_value *json_member(struct json_value *v, struct str key)
{
    if (!v || v->kind != JSON_OBJECT)
        return NULL;
    for (size_t i = 0; i < v->n_members; i++) {
        if (str_eq(v->members[i].key, key))
            return &v->members[i].value;
    }
    return NULL;
}

struct json_value *json_set(struct json_value *v, struct str key, struct json_value value,
                            struct arena *a)
{
    struct json_value *old = json_member(v, key);
    struct json_member *members;

    if (old) {
        *old = value;
        return old;
    }
    if (v->kind != JSON_OBJECT)
        *v = json_object();
    members = arena_array(a, struct json_member, v->n_members + 1);
    if (v->n_members > 0)
        memcpy(members, v->members, v->n_members * sizeof(*members));
    members[v->n_members] = (struct json_member){key, value};
    v->members = members;
    return &v->members[v->n_members++].value;
}

bool json_set_default(struct json_value *v, struct str key, struct json_value value,
                      struct arena *a)
{
    const struct json_value *old = json_member(v, key);

    if (old && old->kind != JSON_NULL)
        return false;
    json_set(v, key, value, a);
    return true;
}

struct json_value *json_set_object(struct json_value *v, struct str key, struct arena *a)
{
    struct json_value *old = json_member(v, key);

    return old && old->kind == JSON_OBJECT ? old : json_set(v, key, json_object(), a);
}

struct json_value *json_set_array(struct json_value *v, struct str key, struct arena *a)
{
    struct json_value *old = json_member(v, key);

    return old && old->kind == JSON_ARRAY ? old : json_set(v, key, json_array(), a);
}

bool json_remove(struct json_value *v, struct str key)
{
    struct json_value *old = json_member(v, key);

    if (!old)
        return false;
    struct json_member *m = CONTAINER_OF(old, struct json_member, value);
    size_t i = (size_t)(m - v->members);

    memmove(m, m + 1, (v->n_members - i - 1) * sizeof(*m));
    v->n_members--;
    return true;
}

/* --- arrays ----------------------------------------------------------------------------------- */

struct json_value *json_append(struct json_value *v, struct json_value value, struct arena *a)
{
    struct json_value *items;

    if (v->kind != JSON_ARRAY)
        *v = json_array();
    items = arena_array(a, struct json_value, v->n + 1);
    if (v->n > 0)
        memcpy(items, v->items, v->n * sizeof(*items));
    items[v->n] = value;
    v->items = items;
    return &v->items[v->n++];
}

void json_remove_item(struct json_value *v, size_t i)
{
    assert(v->kind == JSON_ARRAY && i < v->n);
    memmove(&v->items[i], &v->items[i + 1], (v->n - i - 1) * sizeof(*v->items));
    v->n--;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Takes the first name off the path. */
static struct str next_name(const char **path)
{
    const char *p = *path, *dot = strchr(p, '.');
    struct str name = dot ? (struct str){p, (size_t)(dot - p)} : str_of(p);

    *path = dot ? dot + 1 : p + name.n;
    return name;
}

const struct json_value *json_at(const struct json_value *v, const char *path)
{
    while (v && *path)
        v = json_get(v, next_name(&path));
    return v;
}

struct str json_text_at(const struct json_value *v, const char *path)
{
    const struct json_value *at = json_at(v, path);

    return at && at->kind == JSON_STRING ? at->text : (struct str){0};
}

int64_t json_int_at(const struct json_value *v, const char *path, int64_t otherwise)
{
    const struct json_value *at = json_at(v, path);
    int64_t n;

    return at && at->kind == JSON_NUMBER && str_to_i64(at->text, &n) ? n : otherwise;
}

bool json_bool_at(const struct json_value *v, const char *path, bool otherwise)
{
    const struct json_value *at = json_at(v, path);

    return at && at->kind == JSON_BOOL ? at->boolean : otherwise;
}

struct json_value *json_set_at(struct json_value *v, const char *path, struct json_value value,
                               struct arena *a)
{
    for (;;) {
        struct str name = next_name(&path);

        if (!*path)
            return json_set(v, name, value, a);
        v = json_set_object(v, name, a);
    }
}

struct json_items json_items_at(const struct json_value *v, const char *path)
{
    const struct json_value *list = json_at(v, path);
    if (!list || list->kind != JSON_ARRAY)
        return (struct json_items){0};
    return (struct json_items){list->items, list->n};
}

struct json_members json_members_at(const struct json_value *v, const char *path)
{
    const struct json_value *map = json_at(v, path);
    if (!map || map->kind != JSON_OBJECT)
        return (struct json_members){0};
    return (struct json_members){map->members, map->n_members};
}

struct json_value json_literal(const char *text, struct arena *a)
{
    struct json_value v = json_null();
    int code = json_parse(str_of(text), 0, a, &v, NULL);
    assert(code == 0);
    return v;
}
