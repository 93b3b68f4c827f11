/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CustomResourceDefinition (upstream: apiextensions-apiserver's defaults.go, strategy.go and
 * validation.go). A conversion by webhook is accepted and not called: versions differ in their
 * apiVersion only.
 */
#include "apiserver/strategies/definition_schema.h"
#include "apiserver/strategies/field_checks.h"
#include "apiserver/strategies/strategies.h"

/* --- defaults --------------------------------------------------------------------------------- */

static struct str lower(struct str s, struct arena *a)
{
    char *text = arena_array(a, char, s.n + 1);

    for (size_t i = 0; i < s.n; i++)
        text[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] - 'A' + 'a') : s.p[i];
    return (struct str){text, s.n};
}

static void set_defaults(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    struct json_value *names = json_set_object(spec, STR("names"), a);
    struct str kind = json_get_text(names, STR("kind"));

    if (str_empty(json_get_text(names, STR("singular"))))
        json_set(names, STR("singular"), json_text(lower(kind, a)), a);
    if (str_empty(json_get_text(names, STR("listKind"))) && !str_empty(kind))
        json_set(names, STR("listKind"), json_text(arena_printf(a, "%.*sList", STR_ARG(kind))), a);
    spec = json_set_object(object, STR("spec"), a);
    json_set_default(spec, STR("conversion"), json_literal("{\"strategy\":\"None\"}", a), a);
}

/* The storage version is one of status.storedVersions. */
static void add_stored_version(struct json_value *object, struct arena *a)
{
    struct json_items versions = json_items_at(object, "spec.versions");
    struct json_value *list =
        json_set_array(json_set_object(object, STR("status"), a), STR("storedVersions"), a);

    for (size_t i = 0; i < versions.n; i++) {
        struct str name = json_text_at(&versions.v[i], "name");

        if (!json_bool_at(&versions.v[i], "storage", false))
            continue;
        if (!list_has_string(list, name))
            json_append(list, json_text(name), a);
        return;
    }
}

static void prepare_create(struct json_value *object, struct arena *a)
{
    json_remove(object, STR("status"));
    add_stored_version(object, a);
}

static void prepare_update(struct json_value *object, const struct json_value *old, struct arena *a)
{
    const struct json_value *status = json_get(old, STR("status"));

    json_set(object, STR("status"), status ? json_copy(status, a) : json_object(), a);
    add_stored_version(object, a);
}

/* --- names ------------------------------------------------------------------------------------ */

static void check_label(struct field_errors *errors, const struct field_path *names,
                        const struct json_value *v, const char *member)
{
    struct field_path path = field_child(names, member);
    struct str text = json_get_text(v, str_of(member));

    if (str_empty(text))
        field_error(errors, FIELD_REQUIRED, &path, NULL, "%s", "");
    else
        field_check_name(errors, &path, text, NAME_DNS_1035_LABEL);
}

/* Kinds may have mixed case. */
static void check_kind(struct field_errors *errors, const struct field_path *names,
                       const struct json_value *v, const char *member)
{
    struct field_path path = field_child(names, member);
    const struct json_value *value = json_get(v, str_of(member));
    struct str text = json_get_text(v, str_of(member));

    if (str_empty(text))
        field_error(errors, FIELD_REQUIRED, &path, NULL, "%s", "");
    else if (!name_valid(lower(text, errors->arena), NAME_DNS_1035_LABEL))
        field_error(errors, FIELD_INVALID, &path, value,
                    "may have mixed case, but should otherwise match: a DNS-1035 label must "
                    "consist of lower case alphanumeric characters or '-', start with an "
                    "alphabetic character, and end with an alphanumeric character (e.g. "
                    "'my-name',  or 'abc-123', regex used for validation is "
                    "'[a-z]([-a-z0-9]*[a-z0-9])?')");
}

static void check_name_list(struct field_errors *errors, const struct field_path *names,
                            const struct json_value *v, const char *member)
{
    struct field_path list = field_child(names, member);
    struct json_items items = json_items_at(v, member);

    for (size_t i = 0; i < items.n; i++) {
        struct field_path path = field_index(&list, i);

        if (items.v[i].kind == JSON_STRING)
            field_check_name(errors, &path, items.v[i].text, NAME_DNS_1035_LABEL);
    }
}

static void check_names(struct field_errors *errors, const struct field_path *spec,
                        const struct json_value *v)
{
    struct field_path names = field_child(spec, "names");
    struct field_path list_kind = field_child(&names, "listKind");
    struct str kind = json_get_text(v, STR("kind"));

    check_label(errors, &names, v, "plural");
    check_label(errors, &names, v, "singular");
    check_kind(errors, &names, v, "kind");
    check_kind(errors, &names, v, "listKind");
    check_name_list(errors, &names, v, "shortNames");
    if (!str_empty(kind) && str_eq(kind, json_get_text(v, STR("listKind"))))
        field_error(errors, FIELD_INVALID, &list_kind, json_get(v, STR("listKind")),
                    "kind and listKind may not be the same");
    check_name_list(errors, &names, v, "categories");
}

/* --- versions --------------------------------------------------------------------------------- */

static void check_json_path(struct field_errors *errors, const struct field_path *path,
                            const struct json_value *v, const char *member, const char *prefix)
{
    struct field_path at = field_child(path, member);
    struct str text = v && v->kind == JSON_STRING ? v->text : STR("");

    if (str_empty(text))
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    else if (text.p[0] != '.')
        field_error(errors, FIELD_INVALID, &at, v, "must be a simple json path starting with .");
    else if (prefix && !str_starts(text, str_of(prefix)))
        field_error(errors, FIELD_INVALID, &at, v, "should be a json path under %.*s",
                    (int)strlen(prefix) - 1, prefix);
}

static void check_column(struct field_errors *errors, const struct field_path *path,
                         const struct json_value *v)
{
    static const char *const types[] = {"boolean", "date", "integer", "number", "string", NULL};
    static const char *const formats[] = {"byte",  "date",  "date-time", "double", "float",
                                          "int32", "int64", "password",  NULL};
    struct field_path type = field_child(path, "type"), format = field_child(path, "format");
    struct str text = json_get_text(v, STR("type"));

    if (str_empty(json_get_text(v, STR("name"))))
        field_required(errors, path, "name");
    if (str_empty(text))
        field_error(errors, FIELD_REQUIRED, &type, NULL,
                    "must be one of boolean,date,integer,number,string");
    else if (!text_is_one_of(text, types))
        field_error(errors, FIELD_INVALID, &type, json_get(v, STR("type")),
                    "must be one of boolean,date,integer,number,string");
    text = json_get_text(v, STR("format"));
    if (!str_empty(text) && !text_is_one_of(text, formats))
        field_error(errors, FIELD_INVALID, &format, json_get(v, STR("format")),
                    "must be one of byte,date,date-time,double,float,int32,int64,password");
    check_json_path(errors, path, json_get(v, STR("jsonPath")), "JSONPath", NULL);
}

static void check_version(struct field_errors *errors, const struct field_path *path,
                          const struct json_value *v)
{
    struct field_path name = field_child(path, "name"), schema = field_child(path, "schema");
    struct field_path open = field_child(&schema, "openAPIV3Schema");
    struct field_path subresources = field_child(path, "subresources");
    struct field_path columns = field_child(path, "additionalPrinterColumns");
    const struct json_value *tree = json_at(v, "schema.openAPIV3Schema");
    const struct json_value *scale = json_at(v, "subresources.scale");
    struct json_items list = json_items_at(v, "additionalPrinterColumns");

    field_check_name(errors, &name, json_get_text(v, STR("name")), NAME_DNS_1035_LABEL);
    if (tree)
        definition_schema_validate(errors, &open, tree);
    else
        field_required(errors, &schema, "openAPIV3Schema");
    if (scale) {
        check_json_path(errors, &subresources, json_get(scale, STR("specReplicasPath")),
                        "scale.specReplicasPath", ".spec.");
        check_json_path(errors, &subresources, json_get(scale, STR("statusReplicasPath")),
                        "scale.statusReplicasPath", ".status.");
    }
    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&columns, i);

        check_column(errors, &at, &list.v[i]);
    }
}

static void check_versions(struct field_errors *errors, const struct field_path *spec,
                           const struct json_value *v)
{
    struct field_path list = field_child(spec, "versions");
    struct json_items versions = json_items_at(v, "versions");
    struct map names = MAP_INIT;
    size_t storage = 0;
    bool unique = true;

    for (size_t i = 0; i < versions.n; i++) {
        struct field_path path = field_index(&list, i);

        storage += json_bool_at(&versions.v[i], "storage", false);
        if (map_put(&names, json_text_at(&versions.v[i], "name"), &names))
            unique = false;
        check_version(errors, &path, &versions.v[i]);
    }
    map_release(&names);
    if (!unique)
        field_error(errors, FIELD_INVALID, &list, json_get(v, STR("versions")),
                    "must contain unique version names");
    if (storage != 1)
        field_error(errors, FIELD_INVALID, &list, json_get(v, STR("versions")),
                    "must have exactly one version marked as storage version");
}

/* Versions that may still be on disk must stay in the definition. */
static void check_stored_versions(struct field_errors *errors, const struct json_value *object)
{
    struct field_path status = field_child(NULL, "status");
    struct field_path path = field_child(&status, "storedVersions");
    struct json_items stored = json_items_at(object, "status.storedVersions");
    struct json_items versions = json_items_at(object, "spec.versions");
    struct map names = MAP_INIT;

    for (size_t i = 0; i < versions.n; i++)
        map_put(&names, json_text_at(&versions.v[i], "name"), &names);
    for (size_t i = 0; i < stored.n; i++) {
        struct field_path at = field_index(&path, i);
        struct str name = stored.v[i].kind == JSON_STRING ? stored.v[i].text : STR("");

        if (!map_get(&names, name))
            field_error(errors, FIELD_INVALID, &at, &stored.v[i],
                        "missing from spec.versions; %.*s was previously a storage version, and "
                        "must remain in spec.versions until a storage migration ensures no data "
                        "remains persisted in %.*s and removes %.*s from status.storedVersions",
                        STR_ARG(name), STR_ARG(name), STR_ARG(name));
    }
    map_release(&names);
}

/* --- the definition --------------------------------------------------------------------------- */

static void check_group(struct field_errors *errors, const struct field_path *spec,
                        const struct json_value *v)
{
    struct field_path path = field_child(spec, "group");
    struct str group = json_get_text(v, STR("group"));

    if (str_empty(group))
        field_error(errors, FIELD_REQUIRED, &path, NULL, "%s", "");
    else if (field_check_name(errors, &path, group, NAME_DNS_SUBDOMAIN) &&
             str_find(group, '.') == group.n)
        field_error(errors, FIELD_INVALID, &path, json_get(v, STR("group")),
                    "should be a domain with at least one dot");
}

static void check_scope(struct field_errors *errors, const struct field_path *spec,
                        const struct json_value *v)
{
    static const char *const scopes[] = {"Cluster", "Namespaced", NULL};
    struct field_path path = field_child(spec, "scope");
    struct str scope = json_get_text(v, STR("scope"));

    if (str_empty(scope))
        field_error(errors, FIELD_REQUIRED, &path, NULL, "%s", "");
    else if (!text_is_one_of(scope, scopes))
        field_not_supported(errors, &path, json_get(v, STR("scope")), scopes);
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    const struct json_value *spec = json_get(object, STR("spec"));
    struct field_path path = field_child(NULL, "spec"), meta = field_child(NULL, "metadata");
    struct field_path name = field_child(&meta, "name");
    struct field_path preserve = field_child(&path, "preserveUnknownFields");
    struct str wants =
        arena_printf(errors->arena, "%.*s.%.*s", STR_ARG(json_text_at(spec, "names.plural")),
                     STR_ARG(json_text_at(spec, "group")));

    if (!str_eq(json_text_at(object, "metadata.name"), wants))
        field_error(errors, FIELD_INVALID, &name, json_at(object, "metadata.name"),
                    "must be spec.names.plural+\".\"+spec.group");
    check_group(errors, &path, spec);
    check_scope(errors, &path, spec);
    check_versions(errors, &path, spec);
    check_names(errors, &path, json_get(spec, STR("names")));
    check_stored_versions(errors, object);
    if (json_bool_at(spec, "preserveUnknownFields", false))
        field_error(errors, FIELD_INVALID, &preserve, json_get(spec, STR("preserveUnknownFields")),
                    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                    "spec.versions[*].schema instead");
}

static bool established(const struct json_value *object)
{
    struct json_items conditions = json_items_at(object, "status.conditions");

    for (size_t i = 0; i < conditions.n; i++)
        if (str_is(json_text_at(&conditions.v[i], "type"), "Established"))
            return str_is(json_text_at(&conditions.v[i], "status"), "True");
    return false;
}

static void check_same(struct field_errors *errors, const struct json_value *object,
                       const struct json_value *old, const char *member, const char *in_names)
{
    struct field_path spec = field_child(NULL, "spec"), path = field_child(&spec, member);
    struct field_path below = field_child(&path, in_names ? in_names : "");
    struct str at = arena_printf(errors->arena, "spec.%s%s%s", member, in_names ? "." : "",
                                 in_names ? in_names : "");

    field_check_immutable(errors, in_names ? &below : &path, json_at(object, at.p),
                          json_at(old, at.p));
}

static void validate_update(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    if (established(old)) {
        check_same(errors, object, old, "scope", NULL);
        check_same(errors, object, old, "names", "kind");
    }
    check_same(errors, object, old, "group", NULL);
    check_same(errors, object, old, "names", "plural");
}

static const char *const generation[] = {"spec", NULL};

const struct strategy definition_strategies[] = {
    {
        .group = STR_INIT("apiextensions.k8s.io"),
        .plural = STR_INIT("customresourcedefinitions"),
        .set_defaults = set_defaults,
        .prepare_create = prepare_create,
        .prepare_update = prepare_update,
        .validate = validate,
        .validate_update = validate_update,
        .generation = generation,
    },
    {.plural = STR_INIT("")},
};
