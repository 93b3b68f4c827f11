/* SPDX-License-Identifier: Apache-2.0 */
/* Types as schemas. */
#include "apiserver/openapi/openapi_internal.h"
#include "base/vec.h"
#include "codec/json_edit.h"

/* --- names ------------------------------------------------------------------------------------ */

void openapi_write_name(struct str type_name, struct buf *out)
{
    static const struct str host = STR_INIT("k8s.io.");
    if (str_starts(type_name, host)) {
        buf_add_cstr(out, "io.k8s.");
        type_name = str_slice(type_name, host.n, type_name.n);
    }
    buf_add_str(out, type_name);
}

static void write_prefix(struct document *d)
{
    buf_add_cstr(d->out, d->v2 ? "#/definitions/" : "#/components/schemas/");
}

void openapi_write_ref(struct document *d, struct str type_name)
{
    buf_add_cstr(d->out, "{\"$ref\":\"");
    write_prefix(d);
    openapi_write_name(type_name, d->out);
    buf_add_cstr(d->out, "\"}");
}

/* The labels of the group in reverse order. */
void openapi_write_custom_name(const struct resource *r, const char *suffix, struct buf *out)
{
    struct str rest = r->group;
    for (size_t end = rest.n; end > 0;) {
        size_t from = end;
        while (from > 0 && rest.p[from - 1] != '.')
            from--;
        buf_add_str(out, str_slice(rest, from, end));
        buf_add_char(out, '.');
        end = from ? from - 1 : 0;
    }
    buf_add_printf(out, "%.*s.%.*s%s", STR_ARG(r->version), STR_ARG(r->kind), suffix);
}

const struct schema_type *openapi_type(const char *name)
{
    for (size_t i = 0; i < n_schema_types; i++)
        if (strcmp(schema_types[i].name, name) == 0)
            return &schema_types[i];
    return NULL;
}

void openapi_need(struct document *d, const struct schema_type *type)
{
    VEC(const struct schema_type *) todo = {0};
    vec_push(&todo, type);
    while (todo.n) {
        const struct schema_type *t = vec_pop(&todo);
        bool *needed = &d->needed[t - schema_types];
        for (size_t i = 0; !*needed && i < t->n_fields; i++)
            if (t->fields[i].value == SCHEMA_MESSAGE)
                vec_push(&todo, &schema_types[t->fields[i].type]);
        *needed = true;
    }
    vec_release(&todo);
}

/* --- scalars ---------------------------------------------------------------------------------- */

/* Types that are a message in protobuf and something else in JSON. */
struct scalar_type {
    enum schema_wire wire;
    const char *name, *v3, *v2;
};

#define EXTENSIONS "k8s.io.apiextensions-apiserver.pkg.apis.apiextensions.v1."

static const struct scalar_type scalar_types[] = {
    {SCHEMA_WIRE_QUANTITY, "k8s.io.apimachinery.pkg.api.resource.Quantity",
     "\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]", "\"type\":\"string\""},
    {SCHEMA_WIRE_INT_OR_STRING, "k8s.io.apimachinery.pkg.util.intstr.IntOrString",
     "\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"format\":\"int-or-string\"",
     "\"type\":\"string\",\"format\":\"int-or-string\""},
    {SCHEMA_WIRE_TIME, OPENAPI_META "Time", "\"type\":\"string\",\"format\":\"date-time\"",
     "\"type\":\"string\",\"format\":\"date-time\""},
    {SCHEMA_WIRE_MICRO_TIME, OPENAPI_META "MicroTime",
     "\"type\":\"string\",\"format\":\"date-time\"",
     "\"type\":\"string\",\"format\":\"date-time\""},
    {SCHEMA_WIRE_DURATION, OPENAPI_META "Duration", "\"type\":\"string\"", "\"type\":\"string\""},
    {SCHEMA_WIRE_RAW, "k8s.io.apimachinery.pkg.runtime.RawExtension", "\"type\":\"object\"",
     "\"type\":\"object\""},
    {SCHEMA_WIRE_FIELDS_V1, OPENAPI_META "FieldsV1", "\"type\":\"object\"", "\"type\":\"object\""},
    {SCHEMA_WIRE_JSON, EXTENSIONS "JSON", "", ""},
    {SCHEMA_WIRE_SCHEMA_OR_ARRAY, EXTENSIONS "JSONSchemaPropsOrArray", "", ""},
    {SCHEMA_WIRE_SCHEMA_OR_BOOL, EXTENSIONS "JSONSchemaPropsOrBool", "", ""},
    {SCHEMA_WIRE_SCHEMA_OR_STRINGS, EXTENSIONS "JSONSchemaPropsOrStringArray", "", ""},
    {SCHEMA_WIRE_NONE, OPENAPI_META "Patch", "\"type\":\"object\"", "\"type\":\"object\""},
};

static const struct scalar_type *scalar_of(const struct schema_field *f)
{
    if (f->wire == SCHEMA_WIRE_NONE)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(scalar_types); i++)
        if (scalar_types[i].wire == f->wire)
            return &scalar_types[i];
    return NULL;
}

static const char *plain_type(const struct schema_field *f)
{
    switch ((enum schema_value)f->value) {
    case SCHEMA_STRING:
        return f->wire == SCHEMA_WIRE_BYTES ? "\"type\":\"string\",\"format\":\"byte\""
                                            : "\"type\":\"string\"";
    case SCHEMA_BOOL:
        return "\"type\":\"boolean\"";
    case SCHEMA_INT:
        return f->wire == SCHEMA_WIRE_INT32 ? "\"type\":\"integer\",\"format\":\"int32\""
                                            : "\"type\":\"integer\",\"format\":\"int64\"";
    case SCHEMA_NUMBER:
        return "\"type\":\"number\",\"format\":\"double\"";
    default:
        return "\"type\":\"object\"";
    }
}

/* The zero value that Go has for an item of a list or map; NULL: it is a reference. */
static const char *zero_item(const struct schema_field *f)
{
    if (f->value == SCHEMA_MESSAGE && !scalar_of(f))
        return "{}";
    if (f->wire == SCHEMA_WIRE_BYTES || scalar_of(f))
        return NULL;
    return f->value == SCHEMA_STRING ? "\"\"" : f->value == SCHEMA_BOOL ? "false" : "0";
}

/* --- properties ------------------------------------------------------------------------------- */

/*
 * The members of a schema that refers to a type. In v3 nothing may stand next to $ref, so that it
 * is wrapped when there is more to say.
 */
static void write_reference(struct document *d, const char *name, bool more)
{
    bool wrap = !d->v2 && more;
    buf_add_cstr(d->out, wrap ? "\"allOf\":[{\"$ref\":\"" : "\"$ref\":\"");
    write_prefix(d);
    openapi_write_name(str_of(name), d->out);
    buf_add_cstr(d->out, wrap ? "\"}]" : "\"");
}

/* One value of the field, whatever its shape. preset: default as JSON, or NULL. */
static void write_value(struct document *d, const struct schema_field *f, const char *preset,
                        bool described)
{
    const struct scalar_type *scalar = scalar_of(f);
    bool with_preset = preset && !d->v2;
    if (scalar)
        write_reference(d, scalar->name, with_preset || described);
    else if (f->value == SCHEMA_MESSAGE)
        write_reference(d, schema_types[f->type].name, with_preset || described);
    else if (f->wire == SCHEMA_WIRE_STRING_LIST)
        buf_add_printf(d->out, "\"type\":\"array\",\"items\":{\"type\":\"string\"%s}",
                       d->v2 ? "" : ",\"default\":\"\"");
    else
        buf_add_cstr(d->out, plain_type(f));
    if (with_preset)
        buf_add_printf(d->out, ",\"default\":%s", preset);
}

static void write_keys(const char *keys, struct buf *out)
{
    struct str rest = str_of(keys), key;
    const char *separator = ",\"x-kubernetes-list-map-keys\":[";
    while (str_split(&rest, ',', &key)) {
        buf_add_printf(out, "%s\"%.*s\"", separator, STR_ARG(key));
        separator = ",";
    }
    buf_add_char(out, ']');
}

static void write_merge(const struct schema_field *f, struct buf *out)
{
    static const char *const list_types[] = {
        [SCHEMA_MERGE_ATOMIC] = "atomic", [SCHEMA_MERGE_SET] = "set", [SCHEMA_MERGE_MAP] = "map"};
    if (f->merge != SCHEMA_MERGE_DEFAULT)
        buf_add_printf(out, ",\"x-kubernetes-%s-type\":\"%s\"",
                       f->shape == SCHEMA_LIST ? "list" : "map", list_types[f->merge]);
    if (f->keys)
        write_keys(f->keys, out);
    if (f->patch_key && *f->patch_key)
        buf_add_printf(out, ",\"x-kubernetes-patch-merge-key\":\"%s\"", f->patch_key);
    if (f->patch_key || f->retain_keys)
        buf_add_printf(out, ",\"x-kubernetes-patch-strategy\":\"%s\"",
                       f->patch_key && f->retain_keys ? "merge,retainKeys"
                       : f->patch_key                 ? "merge"
                                                      : "retainKeys");
}

static void write_property(struct document *d, const struct schema_type *t,
                           const struct schema_field *f)
{
    const char *text = openapi_description(t->name, f->name);
    const char *preset = f->preset;
    bool more = text || f->retain_keys || (f->shape == SCHEMA_ONE && f->merge);
    if (!preset && f->shape == SCHEMA_ONE && f->value == SCHEMA_MESSAGE && !f->nullable &&
        !scalar_of(f))
        preset = "{}";
    buf_add_printf(d->out, "\"%s\":{", f->name);
    if (f->shape == SCHEMA_ONE) {
        write_value(d, f, preset, more);
    } else {
        buf_add_cstr(d->out, f->shape == SCHEMA_LIST
                                 ? "\"type\":\"array\",\"items\":{"
                                 : "\"type\":\"object\",\"additionalProperties\":{");
        write_value(d, f, zero_item(f), false);
        buf_add_char(d->out, '}');
        if (preset && !d->v2)
            buf_add_printf(d->out, ",\"default\":%s", preset);
    }
    /* The one field that a strategic merge replaces explicitly. */
    if (strcmp(t->name, "k8s.io.api.policy.v1.PodDisruptionBudgetSpec") == 0 &&
        strcmp(f->name, "selector") == 0)
        buf_add_cstr(d->out, ",\"x-kubernetes-patch-strategy\":\"replace\"");
    /* A struct that is replaced as a whole says so itself. */
    if (f->shape != SCHEMA_ONE || f->retain_keys || f->patch_key)
        write_merge(f, d->out);
    if (text) {
        buf_add_cstr(d->out, ",\"description\":");
        json_write_str(d->out, str_of(text));
    }
    buf_add_char(d->out, '}');
}

/* --- types ------------------------------------------------------------------------------------ */

static void write_gvk(struct str group, struct str version, struct str kind, const char *suffix,
                      struct buf *out)
{
    buf_add_printf(out,
                   ",\"x-kubernetes-group-version-kind\":[{\"group\":\"%.*s\",\"kind\":\"%.*s%s\","
                   "\"version\":\"%.*s\"}]",
                   STR_ARG(group), STR_ARG(kind), suffix, STR_ARG(version));
}

/* The kind that has this type, if it is one. */
static void write_kind(const struct schema_type *t, struct buf *out)
{
    static const char *const meta[] = {"Status", "DeleteOptions"};
    for (size_t i = 0; i < n_schema_kinds; i++)
        if (schema_kinds[i].type == t) {
            struct str api_version = schema_kinds[i].api_version;
            size_t slash = str_find(api_version, '/');
            bool grouped = slash < api_version.n;
            write_gvk(str_slice(api_version, 0, grouped ? slash : 0),
                      str_slice(api_version, grouped ? slash + 1 : 0, api_version.n),
                      schema_kinds[i].kind, "", out);
            return;
        }
    for (size_t i = 0; i < ARRAY_LEN(meta); i++)
        if (str_starts(str_of(t->name), STR(OPENAPI_META)) &&
            str_is(str_slice(str_of(t->name), sizeof(OPENAPI_META) - 1, SIZE_MAX), meta[i]))
            write_gvk(STR(""), STR("v1"), str_of(meta[i]), "", out);
}

static void write_type(struct document *d, const struct schema_type *t)
{
    const char *text = openapi_description(t->name, NULL), *separator = "";
    bool required = false;
    buf_add_char(d->out, '"');
    openapi_write_name(str_of(t->name), d->out);
    buf_add_cstr(d->out, "\":{\"type\":\"object\"");
    if (text) {
        buf_add_cstr(d->out, ",\"description\":");
        json_write_str(d->out, str_of(text));
    }
    if (t->n_fields)
        buf_add_cstr(d->out, ",\"properties\":{");
    for (size_t i = 0; i < t->n_fields; i++) {
        buf_add_cstr(d->out, separator);
        write_property(d, t, &t->fields[i]);
        separator = ",";
    }
    if (t->n_fields)
        buf_add_char(d->out, '}');
    for (size_t i = 0; i < t->n_fields; i++)
        if (t->fields[i].required) {
            buf_add_printf(d->out, "%s\"%s\"", required ? "," : ",\"required\":[",
                           t->fields[i].name);
            required = true;
        }
    if (required)
        buf_add_char(d->out, ']');
    if (t->atomic)
        buf_add_cstr(d->out, ",\"x-kubernetes-map-type\":\"atomic\"");
    write_kind(t, d->out);
    buf_add_char(d->out, '}');
}

/* --- lists and custom resources --------------------------------------------------------------- */

static void write_resource_name(const struct resource *r, const char *suffix, struct buf *out)
{
    if (r->type) {
        openapi_write_name(str_of(r->type->name), out);
        buf_add_cstr(out, suffix);
    } else {
        openapi_write_custom_name(r, suffix, out);
    }
}

static void write_list(struct document *d, const struct resource *r)
{
    const char *wrap = d->v2 ? "" : "\"allOf\":[{", *end = d->v2 ? "" : "}],\"default\":{}";
    buf_add_char(d->out, '"');
    write_resource_name(r, "List", d->out);
    buf_add_printf(d->out,
                   "\":{\"type\":\"object\",\"description\":\"A list of objects of kind %.*s.\","
                   "\"required\":[\"items\"],\"properties\":{\"apiVersion\":{\"type\":\"string\"},"
                   "\"items\":{\"type\":\"array\",\"description\":\"List of %.*s\","
                   "\"items\":{%s\"$ref\":\"",
                   STR_ARG(r->kind), STR_ARG(r->plural), wrap);
    write_prefix(d);
    write_resource_name(r, "", d->out);
    buf_add_printf(d->out, "\"%s}},\"kind\":{\"type\":\"string\"},\"metadata\":{%s\"$ref\":\"", end,
                   wrap);
    write_prefix(d);
    openapi_write_name(STR(OPENAPI_META "ListMeta"), d->out);
    buf_add_printf(d->out, "\"%s}}", end);
    write_gvk(r->group, r->version, r->kind, "List", d->out);
    buf_add_char(d->out, '}');
}

#define PRESERVE "x-kubernetes-preserve-unknown-fields"

/*
 * Whether a member of a custom resource's schema is part of v2. As upstream: kubectl refuses a
 * value that may be null or anything if its type is known.
 */
static bool in_v2(const struct json_value *schema, struct str key)
{
    static const char *const never[] = {"nullable", "allOf", "oneOf", "anyOf", "not"};
    bool nullable = json_bool_at(schema, "nullable", false);
    bool any = json_bool_at(schema, PRESERVE, false);
    struct str type = json_get_text(schema, STR("type"));
    for (size_t i = 0; i < ARRAY_LEN(never); i++)
        if (str_is(key, never[i]))
            return false;
    if (str_is(key, "items") || str_is(key, "properties"))
        return !nullable && !any;
    if (str_is(key, "type"))
        return !nullable && !(any && str_is(type, "object")) &&
               !(str_is(type, "array") && (any || !json_get(schema, STR("items"))));
    return true;
}

/* Properties that may be null are not required. */
static void write_required(const struct json_value *schema, struct buf *out)
{
    struct json_items names = json_items_at(schema, "required");
    const struct json_value *properties = json_get(schema, STR("properties"));
    bool first = true;
    buf_add_char(out, '[');
    for (size_t i = 0; i < names.n; i++) {
        if (names.v[i].kind != JSON_STRING ||
            json_bool_at(json_get(properties, names.v[i].text), "nullable", false))
            continue;
        buf_add_cstr(out, first ? "" : ",");
        json_write_str(out, names.v[i].text);
        first = false;
    }
    buf_add_char(out, ']');
}

static void write_custom_schema(struct document *d, const struct json_value *schema);

/* A member of a custom resource's schema. The tree is at most JSON_MAX_DEPTH deep. */
static void write_custom_member(struct document *d, const struct json_value *schema,
                                const struct json_member *m)
{
    bool properties = str_is(m->key, "properties") && m->value.kind == JSON_OBJECT;
    json_write_str(d->out, m->key);
    buf_add_char(d->out, ':');
    if (d->v2 && str_is(m->key, "required")) {
        write_required(schema, d->out);
    } else if (d->v2 && properties) {
        buf_add_char(d->out, '{');
        for (size_t i = 0; i < m->value.n_members; i++) {
            buf_add_cstr(d->out, i ? "," : "");
            json_write_str(d->out, m->value.members[i].key);
            buf_add_char(d->out, ':');
            write_custom_schema(d, &m->value.members[i].value);
        }
        buf_add_char(d->out, '}');
    } else if (d->v2 && (str_is(m->key, "items") || str_is(m->key, "additionalProperties"))) {
        write_custom_schema(d, &m->value);
    } else {
        json_write(&m->value, d->out);
    }
}

static void write_custom_schema(struct document *d, const struct json_value *schema)
{
    bool first = true;
    if (!d->v2 || schema->kind != JSON_OBJECT) {
        json_write(schema, d->out);
        return;
    }
    buf_add_char(d->out, '{');
    for (size_t i = 0; i < schema->n_members; i++) {
        if (!in_v2(schema, schema->members[i].key))
            continue;
        buf_add_cstr(d->out, first ? "" : ",");
        write_custom_member(d, schema, &schema->members[i]);
        first = false;
    }
    buf_add_char(d->out, '}');
}

/*
 * The members of the definition's schema, with those that every object has. Without a schema there
 * are none of these, as kubectl then accepts any.
 */
static void write_custom(struct document *d, const struct resource *r)
{
    const struct json_value *schema = r->schema;
    struct json_members properties = json_members_at(schema, "properties");
    buf_add_char(d->out, '"');
    openapi_write_custom_name(r, "", d->out);
    buf_add_cstr(d->out, "\":{\"type\":\"object\"");
    if (!schema || (d->v2 && json_bool_at(schema, PRESERVE, false))) {
        write_gvk(r->group, r->version, r->kind, "", d->out);
        buf_add_char(d->out, '}');
        return;
    }
    for (size_t i = 0; schema->kind == JSON_OBJECT && i < schema->n_members; i++) {
        struct str key = schema->members[i].key;
        if (str_is(key, "type") || str_is(key, "properties") || (d->v2 && !in_v2(schema, key)))
            continue;
        buf_add_char(d->out, ',');
        write_custom_member(d, schema, &schema->members[i]);
    }
    buf_add_cstr(d->out, ",\"properties\":{\"apiVersion\":{\"type\":\"string\"},"
                         "\"kind\":{\"type\":\"string\"},\"metadata\":");
    openapi_write_ref(d, STR(OPENAPI_META "ObjectMeta"));
    for (size_t i = 0; i < properties.n; i++) {
        struct str key = properties.v[i].key;
        if (str_is(key, "apiVersion") || str_is(key, "kind") || str_is(key, "metadata"))
            continue;
        buf_add_char(d->out, ',');
        json_write_str(d->out, key);
        buf_add_char(d->out, ':');
        write_custom_schema(d, &properties.v[i].value);
    }
    buf_add_char(d->out, '}');
    write_gvk(r->group, r->version, r->kind, "", d->out);
    buf_add_char(d->out, '}');
}

static void write_resource_types(struct document *d, const struct resource *r)
{
    if (!r->type) {
        buf_add_char(d->out, ',');
        write_custom(d, r);
    }
    if (r->verbs & VERB_LIST) {
        buf_add_char(d->out, ',');
        write_list(d, r);
    }
}

void openapi_write_types(struct document *d, bool (*serves)(void *ctx, const struct resource *r),
                         void *ctx)
{
    for (size_t i = 0; i < ARRAY_LEN(scalar_types); i++) {
        const char *schema = d->v2 ? scalar_types[i].v2 : scalar_types[i].v3;
        buf_add_cstr(d->out, i ? ",\"" : "\"");
        openapi_write_name(str_of(scalar_types[i].name), d->out);
        buf_add_printf(d->out, "\":{%s}", schema);
    }
    for (size_t i = 0; i < n_schema_types; i++)
        if (d->needed[i]) {
            buf_add_char(d->out, ',');
            write_type(d, &schema_types[i]);
        }
    for (const struct resource *r = NULL; (r = resources_next(d->rs, r));)
        if (serves(ctx, r))
            write_resource_types(d, r);
}
