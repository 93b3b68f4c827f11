/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/spot.h"

static const struct json_value no_text = {.kind = JSON_STRING, .text = STR_INIT("")};
static const struct json_value no_number = {.kind = JSON_NUMBER, .text = STR_INIT("0")};

struct spot spot_root(const struct json_value *object, struct field_errors *errors)
{
    return (struct spot){.v = object, .errors = errors, .root = true};
}

struct spot spot_of(const struct json_value *v, const struct field_path *path,
                    struct field_errors *errors)
{
    return (struct spot){
        .v = v && v->kind == JSON_NULL ? NULL : v, .path = *path, .errors = errors};
}

static const struct field_path *path_of(const struct spot *s)
{
    return s->root ? NULL : &s->path;
}

struct spot spot_get(const struct spot *s, const char *name)
{
    struct field_path path = field_child(path_of(s), name);

    return spot_of(s->v ? json_get(s->v, str_of(name)) : NULL, &path, s->errors);
}

struct spot spot_text(const struct spot *s, const char *name)
{
    struct spot child = spot_get(s, name);

    if (!child.v)
        child.v = &no_text;
    return child;
}

struct spot spot_number(const struct spot *s, const char *name)
{
    struct spot child = spot_get(s, name);

    if (!child.v)
        child.v = &no_number;
    return child;
}

struct spot spot_item(const struct spot *s, size_t i)
{
    struct field_path path = field_index(path_of(s), i);

    return spot_of(&s->v->items[i], &path, s->errors);
}

struct spot spot_value(const struct spot *s, size_t i)
{
    struct field_path path = field_key(path_of(s), s->v->members[i].key);

    return spot_of(&s->v->members[i].value, &path, s->errors);
}

size_t spot_count(const struct spot *s)
{
    if (!s->v)
        return 0;
    return s->v->kind == JSON_ARRAY ? s->v->n : s->v->kind == JSON_OBJECT ? s->v->n_members : 0;
}

/* --- values ----------------------------------------------------------------------------------- */

struct str spot_str(const struct spot *s)
{
    return s->v && s->v->kind == JSON_STRING ? s->v->text : (struct str){0};
}

bool spot_is(const struct spot *s, const char *text)
{
    return s->v && s->v->kind == JSON_STRING && str_is(s->v->text, text);
}

bool spot_empty(const struct spot *s)
{
    return str_empty(spot_str(s));
}

int64_t spot_int(const struct spot *s)
{
    int64_t n;

    return s->v && s->v->kind == JSON_NUMBER && str_to_i64(s->v->text, &n) ? n : 0;
}

bool spot_bool(const struct spot *s, bool otherwise)
{
    return s->v && s->v->kind == JSON_BOOL ? s->v->boolean : otherwise;
}

/* --- errors ----------------------------------------------------------------------------------- */

void spot_required(const struct spot *s, const char *detail)
{
    field_error(s->errors, FIELD_REQUIRED, path_of(s), NULL, "%s", detail);
}

static void add(const struct spot *s, enum field_error_type type, const char *fmt, va_list ap)
{
    struct buf text = BUF_INIT;

    buf_add_vprintf(&text, fmt, ap);
    field_error(s->errors, type, path_of(s), s->v, "%.*s", STR_ARG(buf_str(&text)));
    buf_release(&text);
}

void spot_invalid(const struct spot *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(s, FIELD_INVALID, fmt, ap);
    va_end(ap);
}

/* Members of an object by name, without those that are empty. */
static struct json_value in_order(const struct json_value *v, const char *const *names,
                                  struct arena *a)
{
    struct json_value out = json_object();

    for (size_t i = 0; names[i]; i++) {
        const struct json_value *member = json_get(v, str_of(names[i]));
        bool empty = !member || member->kind == JSON_NULL ||
                     (member->kind == JSON_ARRAY && member->n == 0) ||
                     (member->kind == JSON_OBJECT && member->n_members == 0);

        if (!empty)
            json_set(&out, str_of(names[i]), *member, a);
    }
    return out;
}

static struct json_value shown_selector(const struct json_value *selector, struct arena *a)
{
    static const char *const members[] = {"matchLabels", "matchExpressions", NULL};
    static const char *const parts[] = {"key", "operator", "values", NULL};
    struct json_value out = in_order(selector, members, a);
    struct json_value *list = json_member(&out, STR("matchExpressions"));
    struct json_value *items;

    if (!list || list->kind != JSON_ARRAY)
        return out;
    items = arena_array(a, struct json_value, list->n);
    for (size_t i = 0; i < list->n; i++) {
        struct json_value e = list->items[i];

        json_set_default(&e, STR("key"), no_text, a);
        json_set_default(&e, STR("operator"), no_text, a);
        items[i] = in_order(&e, parts, a);
    }
    list->items = items;
    return out;
}

void spot_invalid_selector(const struct spot *s, const char *fmt, ...)
{
    struct json_value shown;
    struct spot copy = *s;
    va_list ap;

    if (s->v) {
        shown = shown_selector(s->v, s->errors->arena);
        copy.v = &shown;
    }
    va_start(ap, fmt);
    add(&copy, FIELD_INVALID, fmt, ap);
    va_end(ap);
}

void spot_forbidden(const struct spot *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(s, FIELD_FORBIDDEN, fmt, ap);
    va_end(ap);
}

void spot_duplicate(const struct spot *s)
{
    field_error(s->errors, FIELD_DUPLICATE, path_of(s), s->v, "%s", "");
}

bool spot_too_many(const struct spot *s, size_t max)
{
    size_t n = spot_count(s);
    struct json_value count;

    if (n <= max)
        return false;
    count = json_int((int64_t)n, s->errors->arena);
    field_error(s->errors, FIELD_TOO_MANY, path_of(s), &count, "must have at most %zu item%s", max,
                max == 1 ? "" : "s");
    return true;
}

void spot_too_long(const struct spot *s, size_t max)
{
    field_error(s->errors, FIELD_TOO_LONG, path_of(s), NULL, "may not be more than %zu byte%s", max,
                max == 1 ? "" : "s");
}

/* --- checks ----------------------------------------------------------------------------------- */

bool spot_check_name(const struct spot *s, enum name_format format)
{
    return field_check_name(s->errors, path_of(s), spot_str(s), format);
}

bool spot_check_one_of(const struct spot *s, const char *const *values)
{
    return field_check_enum(s->errors, path_of(s), spot_str(s), values);
}

bool spot_check_selector(const struct spot *s)
{
    size_t before = s->errors->n;

    field_check_label_selector(s->errors, path_of(s), s->v);
    return s->errors->n == before;
}

#define PATH_TEXT "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"

static bool path_valid(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!word && (c == 0 || !strchr("/-._~%!$&'()*+,;=:", c)))
            return false;
    }
    return true;
}

bool spot_check_prefixed_path(const struct spot *s)
{
    struct str text = spot_str(s);
    size_t slash = str_find(text, '/');
    struct json_value host = json_text(str_slice(text, 0, slash));
    struct json_value rest = json_text(str_slice(text, slash + 1, text.n));
    struct spot part = *s;
    bool ok;

    if (str_empty(text)) {
        spot_required(s, "");
        return false;
    }
    if (slash == 0 || slash + 1 >= text.n) {
        spot_invalid(s, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return false;
    }
    part.v = &host;
    ok = spot_check_name(&part, NAME_DNS_SUBDOMAIN);
    part.v = &rest;
    if (path_valid(rest.text))
        return ok;
    spot_invalid(&part, "%s", PATH_TEXT);
    return false;
}

bool spot_check_nonnegative(const struct spot *s)
{
    return field_check_nonnegative(s->errors, path_of(s), s->v);
}

bool spot_check_immutable(const struct spot *s, const struct json_value *old)
{
    return field_check_immutable(s->errors, path_of(s), s->v, old);
}

bool spot_check_immutable_selector(const struct spot *s, const struct json_value *old)
{
    if (field_equal(s->v, old))
        return true;
    spot_invalid_selector(s, FIELD_IMMUTABLE_TEXT);
    return false;
}

bool spot_check_same(const struct spot *s, const struct json_value *old, const char *name)
{
    struct spot child = spot_get(s, name);

    return spot_check_immutable(&child, json_get(old, str_of(name)));
}

bool spot_check_same_text(const struct spot *s, const struct json_value *old, const char *name)
{
    struct spot child = spot_text(s, name);

    return spot_check_immutable(&child, json_get(old, str_of(name)));
}

void spot_check_unique(const struct spot *list, const char *key)
{
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < spot_count(list); i++) {
        struct spot item = spot_item(list, i);
        struct spot name = key ? spot_text(&item, key) : item;

        if (map_put(&seen, spot_str(&name), list->errors))
            spot_duplicate(&name);
    }
    map_release(&seen);
}
