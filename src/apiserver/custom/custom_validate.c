/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects against their schema (upstream: kube-openapi's validation, and the list types of
 * apiextensions-apiserver).
 */
#include <math.h>

#include "apiserver/custom/custom_formats.h"
#include "apiserver/custom/custom_schema.h"
#include "base/num.h"

/* An object may be wrong in very many places; more than this is of no use. */
#define MAX_ERRORS 1000

struct check {
    struct field_errors *errors;
    struct buf *path; /* "spec.items[0].name" */
    struct arena *a;
};

static void check_value(struct check *c, const struct custom_schema *s, const struct json_value *v);

/* --- errors ----------------------------------------------------------------------------------- */

/* An error at the current path. */
static void fail(struct check *c, enum field_error_type type, const struct json_value *value,
                 struct str detail)
{
    struct field_path path = {.name = arena_dup(c->a, buf_str(c->path)), .index = SIZE_MAX};

    if (str_empty(path.name))
        path.name = STR("<nil>");
    field_error(c->errors, type, &path, value, "%.*s", STR_ARG(detail));
}

/* "spec.x in body should be …" */
static void fail_body(struct check *c, const struct json_value *value, struct str rule)
{
    fail(c, FIELD_INVALID, value,
         arena_printf(c->a, "%.*s in body %.*s", STR_ARG(buf_str(c->path)), STR_ARG(rule)));
}

static void fail_type(struct check *c, const char *wants, const char *has)
{
    struct json_value value = json_text(str_of(has));

    fail(c, FIELD_TYPE_INVALID, &value,
         arena_printf(c->a, "%.*s in body must be of type %s: \"%s\"", STR_ARG(buf_str(c->path)),
                      wants, has));
}

/* Errors of allOf, anyOf, oneOf and not have no path of their own. */
static void fail_whole(struct check *c, struct str rule)
{
    struct field_path path = {.name = STR("<nil>"), .index = SIZE_MAX};
    struct json_value none = json_text(STR(""));

    field_error(c->errors, FIELD_INVALID, &path, &none, "\"%.*s\" %.*s", STR_ARG(buf_str(c->path)),
                STR_ARG(rule));
}

static struct str number_text(struct check *c, double value)
{
    struct buf text = BUF_INIT;
    struct str s;

    num_format(value, NUM_STYLE_G, &text);
    s = arena_dup(c->a, buf_str(&text));
    buf_release(&text);
    return s;
}

/* --- types ------------------------------------------------------------------------------------ */

static double number_of(const struct json_value *v)
{
    char *text = str_dup(v->text);
    double d = strtod(text, NULL);

    free(text);
    return d;
}

static bool is_whole(const struct json_value *v)
{
    double d = number_of(v);

    return d == floor(d);
}

static const char *type_of(const struct json_value *v)
{
    int64_t n;

    switch (v->kind) {
    case JSON_NULL:
        return "null";
    case JSON_BOOL:
        return "boolean";
    case JSON_NUMBER:
        return str_to_i64(v->text, &n) ? "integer" : "number";
    case JSON_STRING:
        return "string";
    case JSON_ARRAY:
        return "array";
    case JSON_OBJECT:
        return "object";
    }
    return "";
}

static bool type_fits(enum custom_type type, const struct json_value *v)
{
    switch (type) {
    case CUSTOM_OBJECT:
        return v->kind == JSON_OBJECT;
    case CUSTOM_ARRAY:
        return v->kind == JSON_ARRAY;
    case CUSTOM_STRING:
        return v->kind == JSON_STRING;
    case CUSTOM_INTEGER:
        return v->kind == JSON_NUMBER && is_whole(v);
    case CUSTOM_NUMBER:
        return v->kind == JSON_NUMBER;
    case CUSTOM_BOOLEAN:
        return v->kind == JSON_BOOL;
    case CUSTOM_ANY:
        break;
    }
    return true;
}

static void check_type(struct check *c, const struct custom_schema *s, const struct json_value *v)
{
    static const char *const names[] = {
        [CUSTOM_ANY] = "",           [CUSTOM_OBJECT] = "object",   [CUSTOM_ARRAY] = "array",
        [CUSTOM_STRING] = "string",  [CUSTOM_INTEGER] = "integer", [CUSTOM_NUMBER] = "number",
        [CUSTOM_BOOLEAN] = "boolean"};

    if (v->kind == JSON_NULL && s->nullable)
        return;
    if (s->int_or_string && v->kind != JSON_STRING && !type_fits(CUSTOM_INTEGER, v)) {
        fail_whole(c, STR("must validate at least one schema (anyOf)"));
        fail_type(c, "integer", type_of(v));
    } else if (!type_fits(s->type, v)) {
        fail_type(c, names[s->type], type_of(v));
    }
}

/* --- scalars ---------------------------------------------------------------------------------- */

static void check_number(struct check *c, const struct custom_schema *s, const struct json_value *v)
{
    double d = number_of(v), quotient;

    if (s->multiple_of.set) {
        quotient = d / s->multiple_of.value;
        if (quotient != floor(quotient))
            fail_body(c, v,
                      arena_printf(c->a, "should be a multiple of %.*s",
                                   STR_ARG(number_text(c, s->multiple_of.value))));
    }
    if (s->maximum.set && (s->maximum.exclusive ? d >= s->maximum.value : d > s->maximum.value))
        fail_body(c, v,
                  arena_printf(c->a, "should be less than %s%.*s",
                               s->maximum.exclusive ? "" : "or equal to ",
                               STR_ARG(number_text(c, s->maximum.value))));
    if (s->minimum.set && (s->minimum.exclusive ? d <= s->minimum.value : d < s->minimum.value))
        fail_body(c, v,
                  arena_printf(c->a, "should be greater than %s%.*s",
                               s->minimum.exclusive ? "" : "or equal to ",
                               STR_ARG(number_text(c, s->minimum.value))));
}

static size_t count_runes(struct str text)
{
    size_t n = 0;

    for (; text.n > 0; n++)
        (void)str_next_rune(&text);
    return n;
}

static void check_string(struct check *c, const struct custom_schema *s, const struct json_value *v)
{
    double n = s->max_length.set || s->min_length.set ? (double)count_runes(v->text) : 0;

    if (s->max_length.set && n > s->max_length.value)
        fail(c, FIELD_TOO_LONG, NULL,
             arena_printf(c->a, "may not be more than %.0f bytes", s->max_length.value));
    if (s->min_length.set && n < s->min_length.value)
        fail_body(c, v,
                  arena_printf(c->a, "should be at least %.0f chars long", s->min_length.value));
    if (s->regex && !regex_match(s->regex, v->text))
        fail_body(c, v, arena_printf(c->a, "should match '%.*s'", STR_ARG(s->pattern)));
    if (!str_empty(s->format) && !custom_format_matches(s->format, v->text))
        fail(c, FIELD_TYPE_INVALID, v,
             arena_printf(c->a, "%.*s in body must be of type %.*s: %.*s",
                          STR_ARG(buf_str(c->path)), STR_ARG(s->format),
                          STR_ARG(arena_quoted(c->a, v->text))));
}

static void check_choices(struct check *c, const struct custom_schema *s,
                          const struct json_value *v)
{
    const char **texts;
    struct field_path path;

    for (size_t i = 0; i < s->choices.n; i++)
        if (json_value_equal(&s->choices.v[i], v))
            return;
    texts = arena_array(c->a, const char *, s->choices.n + 1);
    for (size_t i = 0; i < s->choices.n; i++) {
        struct buf text = BUF_INIT;

        if (s->choices.v[i].kind == JSON_STRING)
            buf_add_str(&text, s->choices.v[i].text);
        else
            json_write(&s->choices.v[i], &text);
        texts[i] = arena_dup(c->a, buf_str(&text)).p;
        buf_release(&text);
    }
    path = (struct field_path){.name = arena_dup(c->a, buf_str(c->path)), .index = SIZE_MAX};
    field_not_supported(c->errors, &path, v, texts);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* The value of an item that must be unique: the item, or its keys. */
static struct json_value unique_part(struct check *c, const struct custom_schema *s,
                                     const struct json_value *item)
{
    struct json_value keys = json_object();

    if (str_is(s->list_type, "set"))
        return *item;
    for (size_t i = 0; i < s->list_keys.n; i++) {
        const struct json_value *v = json_get(item, s->list_keys.v[i].text);

        if (v)
            json_set(&keys, s->list_keys.v[i].text, *v, c->a);
    }
    return keys;
}

static void check_unique(struct check *c, const struct custom_schema *s, const struct json_value *v)
{
    struct map seen = MAP_INIT; /* text to how often, up to two */
    size_t n = c->path->n;
    static char once, twice;

    for (size_t i = 0; i < v->n; i++) {
        struct json_value part = unique_part(c, s, &v->items[i]);
        struct buf text = BUF_INIT;
        const char *before;
        struct str key;

        json_write(&part, &text);
        key = arena_dup(c->a, buf_str(&text));
        buf_release(&text);
        before = map_get(&seen, key);
        map_put(&seen, key, before ? &twice : &once);
        if (before != &once)
            continue;
        buf_add_printf(c->path, "[%zu]", i);
        fail(c, FIELD_DUPLICATE, &part, STR(""));
        c->path->n = n;
    }
    map_release(&seen);
}

static void check_list(struct check *c, const struct custom_schema *s, const struct json_value *v)
{
    struct json_value count = json_int((int64_t)v->n, c->a);
    size_t n = c->path->n;

    for (size_t i = 0; s->items && i < v->n; i++) {
        buf_add_printf(c->path, "[%zu]", i);
        check_value(c, s->items, &v->items[i]);
        c->path->n = n;
    }
    if (s->min_items.set && (double)v->n < s->min_items.value)
        fail_body(c, &count,
                  arena_printf(c->a, "should have at least %.0f items", s->min_items.value));
    if (s->max_items.set && (double)v->n > s->max_items.value)
        fail(c, FIELD_TOO_MANY, &count,
             arena_printf(c->a, "must have at most %.0f items", s->max_items.value));
    if (str_is(s->list_type, "set") || str_is(s->list_type, "map"))
        check_unique(c, s, v);
}

/* --- objects ---------------------------------------------------------------------------------- */

static void check_required(struct check *c, const struct custom_schema *s,
                           const struct json_value *v)
{
    struct map names = MAP_INIT;
    size_t n = c->path->n;

    if (s->required.n == 0)
        return;
    for (size_t i = 0; i < v->n_members; i++)
        map_put(&names, v->members[i].key, &names);
    for (size_t i = 0; i < s->required.n; i++) {
        if (map_get(&names, s->required.v[i].text))
            continue;
        buf_add_printf(c->path, "%s%.*s", n ? "." : "", STR_ARG(s->required.v[i].text));
        fail(c, FIELD_REQUIRED, NULL, STR(""));
        c->path->n = n;
    }
    map_release(&names);
}

/* An object within an object that has an identity of its own. */
static void check_embedded(struct check *c, const struct json_value *v)
{
    static const char *const names[] = {"apiVersion", "kind"};
    size_t n = c->path->n;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!str_empty(json_get_text(v, str_of(names[i]))))
            continue;
        buf_add_printf(c->path, ".%s", names[i]);
        fail(c, FIELD_REQUIRED, NULL, STR("must not be empty"));
        c->path->n = n;
    }
}

static void check_object(struct check *c, const struct custom_schema *s, const struct json_value *v)
{
    struct json_value count = json_int((int64_t)v->n_members, c->a);
    size_t n = c->path->n;

    if (s->min_members.set && (double)v->n_members < s->min_members.value)
        fail_body(c, &count,
                  arena_printf(c->a, "should have at least %.0f properties", s->min_members.value));
    if (s->max_members.set && (double)v->n_members > s->max_members.value)
        fail(c, FIELD_TOO_MANY, &count,
             arena_printf(c->a, "must have at most %.0f items", s->max_members.value));
    check_required(c, s, v);
    for (size_t i = 0; i < v->n_members; i++) {
        const struct custom_schema *below = map_get(&s->properties, v->members[i].key);

        if (!below)
            below = s->additional;
        if (!below)
            continue;
        buf_add_printf(c->path, "%s%.*s", n ? "." : "", STR_ARG(v->members[i].key));
        check_value(c, below, &v->members[i].value);
        c->path->n = n;
    }
    if (s->embedded)
        check_embedded(c, v);
}

/* --- combinations ----------------------------------------------------------------------------- */

/* The errors that one schema has; none if it matches. */
static struct field_errors try(struct check *c, const struct custom_schema *s,
                               const struct json_value *v)
{
    struct field_errors errors = {.arena = c->a};
    struct check sub = {&errors, c->path, c->a};

    check_value(&sub, s, v);
    return errors;
}

static void add_errors(struct check *c, const struct field_errors *from)
{
    for (size_t i = 0; i < from->n; i++)
        field_errors_add(c->errors, from->v[i]);
}

/* How many match; *ret_first: the errors of the first that does not. */
static size_t count_matches(struct check *c, const struct custom_schemas *list,
                            const struct json_value *v, struct field_errors *ret_first)
{
    size_t n = 0;

    *ret_first = (struct field_errors){.arena = c->a};
    for (size_t i = 0; i < list->n; i++) {
        struct field_errors errors = try(c, list->v[i], v);

        if (errors.n == 0)
            n++;
        else if (ret_first->n == 0)
            *ret_first = errors;
    }
    return n;
}

static void check_combinations(struct check *c, const struct custom_schema *s,
                               const struct json_value *v)
{
    struct field_errors first;
    size_t n;

    if (s->any_of.n > 0 && count_matches(c, &s->any_of, v, &first) == 0) {
        fail_whole(c, STR("must validate at least one schema (anyOf)"));
        add_errors(c, &first);
    }
    if (s->one_of.n > 0) {
        n = count_matches(c, &s->one_of, v, &first);
        if (n == 0) {
            fail_whole(c, STR("must validate one and only one schema (oneOf). Found none valid"));
            add_errors(c, &first);
        } else if (n > 1) {
            fail_whole(c, arena_printf(c->a,
                                       "must validate one and only one schema (oneOf). Found %zu "
                                       "valid alternatives",
                                       n));
        }
    }
    n = 0;
    for (size_t i = 0; i < s->all_of.n; i++) {
        struct field_errors errors = try(c, s->all_of.v[i], v);

        n += errors.n == 0;
        add_errors(c, &errors);
    }
    if (n < s->all_of.n)
        fail_whole(c, n ? STR("must validate all the schemas (allOf)")
                        : STR("must validate all the schemas (allOf). None validated"));
    if (s->none_of && try(c, s->none_of, v).n == 0)
        fail_whole(c, STR("must not validate the schema (not)"));
}

/* Depth is that of the object and of the schema, which come from the parser. */
static void check_value(struct check *c, const struct custom_schema *s, const struct json_value *v)
{
    if (c->errors->n >= MAX_ERRORS)
        return;
    check_type(c, s, v);
    if (v->kind == JSON_NULL)
        return;
    check_combinations(c, s, v);
    if (v->kind == JSON_STRING)
        check_string(c, s, v);
    else if (v->kind == JSON_NUMBER)
        check_number(c, s, v);
    else if (v->kind == JSON_ARRAY)
        check_list(c, s, v);
    if (s->choices.n > 0)
        check_choices(c, s, v);
    if (v->kind == JSON_OBJECT)
        check_object(c, s, v);
}

void custom_schema_validate(const struct custom_schema *s, const struct json_value *object,
                            struct field_errors *errors)
{
    struct buf path = BUF_INIT;
    struct check c = {errors, &path, errors->arena};

    check_value(&c, s, object);
    buf_release(&path);
}
