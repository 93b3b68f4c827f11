/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/definition_schema.h"

#include "apiserver/strategies/field_checks.h"
#include "cel/regex/regex.h"

/* Recursion is as deep as the schema, which comes from the parser: at most JSON_MAX_DEPTH. */

enum level { LEVEL_ROOT, LEVEL_ITEM, LEVEL_FIELD };

struct node {
    const struct json_value *v;
    struct field_path path;
    enum level level;
};

static void check_schema(struct field_errors *errors, const struct node *n);
static void check_nested(struct field_errors *errors, const struct node *n);

static void error_at(struct field_errors *errors, const struct node *n, enum field_error_type type,
                     const char *member, const char *detail)
{
    struct field_path path = field_child(&n->path, member);

    field_error(errors, type, &path, json_get(n->v, str_of(member)), "%s", detail);
}

static bool is_true(const struct json_value *v, const char *member)
{
    return json_bool_at(v, member, false);
}

static struct str type_of(const struct json_value *v)
{
    return json_get_text(v, STR("type"));
}

/* --- values ----------------------------------------------------------------------------------- */

static void check_pattern(struct field_errors *errors, const struct node *n)
{
    struct str pattern = json_get_text(n->v, STR("pattern"));
    struct field_path path = field_child(&n->path, "pattern");
    struct json_value value = json_text(pattern);
    const struct regex *regex;
    struct regex_error err;
    struct arena a;

    if (str_empty(pattern))
        return;
    arena_init(&a, 0);
    if (regex_new(pattern, &a, &regex, &err) < 0)
        field_error(errors, FIELD_INVALID, &path, &value,
                    "must be a valid regular expression, but isn't: %.*s",
                    STR_ARG(regex_error_text(&err, &a)));
    arena_release(&a);
}

/* allOf, anyOf, oneOf and not: what they may say besides values. */
static void check_combinations(struct field_errors *errors, const struct node *n)
{
    static const char *const lists[] = {"anyOf", "allOf", "oneOf"};
    const struct json_value *none = json_get(n->v, STR("not"));
    /* x-kubernetes-int-or-string comes with an anyOf of the two types. */
    bool skip = is_true(n->v, "x-kubernetes-int-or-string");

    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_items items = json_items_at(n->v, lists[l]);
        struct field_path list = field_child(&n->path, lists[l]);

        for (size_t i = 0; i < items.n && !(skip && l < 2); i++) {
            struct node below = {&items.v[i], field_index(&list, i), n->level};

            check_nested(errors, &below);
        }
    }
    if (none) {
        struct node below = {none, field_child(&n->path, "not"), n->level};

        check_nested(errors, &below);
    }
    check_pattern(errors, n);
}

static void check_nested(struct field_errors *errors, const struct node *n)
{
    static const struct {
        const char *member, *detail;
    } forbidden[] = {
        {"type", "must be empty to be structural"},
        {"additionalProperties", "must be undefined to be structural"},
        {"default", "must be undefined to be structural"},
        {"title", "must be empty to be structural"},
        {"description", "must be empty to be structural"},
        {"nullable", "must be false to be structural"},
        {"x-kubernetes-preserve-unknown-fields", "must be false to be structural"},
        {"x-kubernetes-embedded-resource", "must be false to be structural"},
        {"x-kubernetes-int-or-string", "must be false to be structural"},
        {"x-kubernetes-list-map-keys", "must be empty to be structural"},
        {"x-kubernetes-list-type", "must be undefined to be structural"},
        {"x-kubernetes-map-type", "must be undefined to be structural"},
    };
    struct json_members members = json_members_at(n->v, "properties");
    struct field_path properties = field_child(&n->path, "properties");
    const struct json_value *items = json_get(n->v, STR("items"));

    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
        const struct json_value *v = json_get(n->v, str_of(forbidden[i].member));

        if (v && !(v->kind == JSON_BOOL && !v->boolean))
            error_at(errors, n, FIELD_FORBIDDEN, forbidden[i].member, forbidden[i].detail);
    }
    for (size_t i = 0; i < members.n; i++) {
        struct node below = {&members.v[i].value, field_key(&properties, members.v[i].key),
                             LEVEL_FIELD};

        check_nested(errors, &below);
    }
    if (items && items->kind == JSON_OBJECT) {
        struct node below = {items, field_child(&n->path, "items"), LEVEL_ITEM};

        check_nested(errors, &below);
    }
    check_combinations(errors, n);
}

/* --- types ------------------------------------------------------------------------------------ */

static void check_type(struct field_errors *errors, const struct node *n)
{
    static const char *const types[] = {"array",  "boolean", "integer", "number",
                                        "object", "string",  NULL};
    static const char *const missing[] = {
        [LEVEL_ROOT] = "must not be empty at the root",
        [LEVEL_ITEM] = "must not be empty for specified array items",
        [LEVEL_FIELD] = "must not be empty for specified object fields",
    };
    struct str type = type_of(n->v);
    struct field_path path = field_child(&n->path, "type");
    bool embedded = is_true(n->v, "x-kubernetes-embedded-resource");

    if (!str_empty(type) && !text_is_one_of(type, types))
        field_not_supported(errors, &path, json_get(n->v, STR("type")), types);
    if (embedded && !str_is(type, "object"))
        error_at(errors, n, str_empty(type) ? FIELD_REQUIRED : FIELD_INVALID, "type",
                 "must be object if x-kubernetes-embedded-resource is true");
    else if (str_empty(type) && !is_true(n->v, "x-kubernetes-int-or-string") &&
             !is_true(n->v, "x-kubernetes-preserve-unknown-fields"))
        error_at(errors, n, FIELD_REQUIRED, "type", missing[n->level]);
    if (n->level == LEVEL_ROOT && !str_empty(type) && !str_is(type, "object"))
        error_at(errors, n, FIELD_INVALID, "type", "must be object at the root");
}

static void check_list_type(struct field_errors *errors, const struct node *n)
{
    static const char *const types[] = {"atomic", "map", "set", NULL};
    const struct json_value *list_type = json_get(n->v, STR("x-kubernetes-list-type"));
    struct field_path path = field_child(&n->path, "x-kubernetes-list-type");
    bool has_keys = json_items_at(n->v, "x-kubernetes-list-map-keys").n > 0;

    if (!list_type) {
        if (has_keys)
            error_at(errors, n, FIELD_REQUIRED, "x-kubernetes-list-type",
                     "must be map if x-kubernetes-list-map-keys is non-empty");
        return;
    }
    if (list_type->kind != JSON_STRING || !text_is_one_of(list_type->text, types)) {
        field_not_supported(errors, &path, list_type, types);
        return;
    }
    if (!str_is(type_of(n->v), "array"))
        error_at(errors, n, str_empty(type_of(n->v)) ? FIELD_REQUIRED : FIELD_INVALID, "type",
                 "must be array if x-kubernetes-list-type is specified");
    if (str_is(list_type->text, "map") && !has_keys)
        error_at(errors, n, FIELD_REQUIRED, "x-kubernetes-list-map-keys",
                 "must not be empty if x-kubernetes-list-type is map");
}

/* What OpenAPI has and definitions may not use. */
static void check_forbidden(struct field_errors *errors, const struct node *n)
{
    static const char *const unsupported[] = {
        "id", "$ref", "definitions", "dependencies", "patternProperties", "additionalItems"};
    const struct json_value *preserve = json_get(n->v, STR("x-kubernetes-preserve-unknown-fields"));
    const struct json_value *additional = json_get(n->v, STR("additionalProperties"));

    for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
        if (json_get(n->v, str_of(unsupported[i]))) {
            struct field_path path = field_child(&n->path, unsupported[i]);

            field_error(errors, FIELD_FORBIDDEN, &path, NULL, "%s is not supported",
                        unsupported[i]);
        }
    }
    if (is_true(n->v, "uniqueItems"))
        error_at(errors, n, FIELD_FORBIDDEN, "uniqueItems",
                 "uniqueItems cannot be set to true since the runtime complexity becomes "
                 "quadratic");
    if (preserve && !is_true(n->v, "x-kubernetes-preserve-unknown-fields"))
        error_at(errors, n, FIELD_INVALID, "x-kubernetes-preserve-unknown-fields",
                 "must be true or undefined");
    if (!additional)
        return;
    if (n->level == LEVEL_ROOT)
        error_at(errors, n, FIELD_FORBIDDEN, "additionalProperties",
                 "must not be used at the root");
    if (is_true(n->v, "x-kubernetes-embedded-resource"))
        error_at(errors, n, FIELD_FORBIDDEN, "additionalProperties",
                 "must not be used if x-kubernetes-embedded-resource is set");
    /* Next to properties, true is the only value. */
    if (json_members_at(n->v, "properties").n > 0 && !is_true(n->v, "additionalProperties"))
        error_at(errors, n, FIELD_FORBIDDEN, "additionalProperties",
                 "additionalProperties and properties are mutual exclusive");
}

/* --- children --------------------------------------------------------------------------------- */

/* kind, apiVersion and metadata are the same for all objects. */
static void check_identity(struct field_errors *errors, const struct node *n, struct str name,
                           const struct json_value *v, const struct field_path *path)
{
    bool checks = n->level == LEVEL_ROOT || is_true(n->v, "x-kubernetes-embedded-resource");
    const char *wants = str_is(name, "metadata") ? "object" : "string";
    struct field_path type = field_child(path, "type");
    struct json_value has = json_text(type_of(v));
    struct json_members members = json_members_at(v, "properties");

    if (!checks ||
        !(str_is(name, "kind") || str_is(name, "apiVersion") || str_is(name, "metadata")))
        return;
    if (!str_is(has.text, wants))
        field_error(errors, FIELD_INVALID, &type, &has, "must be %s", wants);
    if (n->level != LEVEL_ROOT || !str_is(name, "metadata"))
        return;
    for (size_t i = 0; i < members.n; i++) {
        if (!str_is(members.v[i].key, "name") && !str_is(members.v[i].key, "generateName")) {
            field_error(errors, FIELD_FORBIDDEN, path, NULL,
                        "must not specify anything other than name and generateName, but metadata "
                        "is implicitly specified");
            return;
        }
    }
}

static void check_children(struct field_errors *errors, const struct node *n)
{
    struct json_members members = json_members_at(n->v, "properties");
    struct field_path properties = field_child(&n->path, "properties");
    const struct json_value *items = json_get(n->v, STR("items"));
    const struct json_value *additional = json_get(n->v, STR("additionalProperties"));

    for (size_t i = 0; i < members.n; i++) {
        struct node below = {&members.v[i].value, field_key(&properties, members.v[i].key),
                             LEVEL_FIELD};

        check_schema(errors, &below);
        check_identity(errors, n, members.v[i].key, below.v, &below.path);
    }
    if (items && items->kind == JSON_ARRAY) {
        error_at(errors, n, FIELD_FORBIDDEN, "items",
                 "items must be a schema object and not an array");
    } else if (items) {
        struct node below = {items, field_child(&n->path, "items"), LEVEL_ITEM};

        check_schema(errors, &below);
    } else if (str_is(type_of(n->v), "array")) {
        error_at(errors, n, FIELD_REQUIRED, "items", "must be specified");
    }
    if (additional && additional->kind == JSON_OBJECT) {
        struct node below = {additional, field_child(&n->path, "additionalProperties"),
                             LEVEL_FIELD};

        check_schema(errors, &below);
    }
}

static void check_schema(struct field_errors *errors, const struct node *n)
{
    if (n->v->kind != JSON_OBJECT)
        return;
    check_children(errors, n);
    check_forbidden(errors, n);
    check_type(errors, n);
    check_list_type(errors, n);
    check_combinations(errors, n);
}

void definition_schema_validate(struct field_errors *errors, const struct field_path *path,
                                const struct json_value *schema)
{
    struct node n = {schema, *path, LEVEL_ROOT};

    check_schema(errors, &n);
}
