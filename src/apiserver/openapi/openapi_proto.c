/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of v2 as protobuf: the message Document of gnostic's OpenAPIv2.proto. A table has
 * the fields that a document of ours can have; other members, such as "nullable" in the schema of a
 * custom resource, do not exist in that message and are left out.
 */
#include "apiserver/openapi/openapi.h"
#include "codec/json_value.h"
#include "codec/proto.h"
#include "codec/yaml.h"

enum message {
    DOCUMENT,
    INFO,
    PATHS,
    PATH_ITEM,
    OPERATION,
    PARAMETERS_ITEM,
    PARAMETER,
    BODY_PARAMETER,
    HEADER_PARAMETER,
    QUERY_PARAMETER,
    PATH_PARAMETER,
    RESPONSES,
    RESPONSE_VALUE,
    RESPONSE,
    SCHEMA_ITEM,
    SCHEMAS, /* Definitions and Properties */
    SCHEMA,
    ADDITIONAL,
    TYPE_ITEM,
    ITEMS_ITEM,
    EXTERNAL_DOCS,
    SECURITY_DEFINITIONS,
    SECURITY_ITEM,
    API_KEY,
    REQUIREMENT,
    STRING_ARRAY,
    N_MESSAGES,
};

enum form { TEXT, BOOLEAN, INTEGER, DOUBLE, ANY, MESSAGE };

/* Keys with a rule of their own; all others are names of members. */
#define ITSELF    ""   /* the value is the content of the field, if its kind fits */
#define EXTENSION "x-" /* every member whose name begins so: NamedAny */
#define REST      "*"  /* every other member: a pair of name and value */

struct member {
    const char *key;
    uint32_t number;
    enum form form;
    enum message message; /* of MESSAGE */
};

/* What parameters outside of the body have, from these numbers on. */
#define PARAMETER_FIELDS                                                          \
    {"required", 1, BOOLEAN, 0}, {"in", 2, TEXT, 0}, {"description", 3, TEXT, 0}, \
        {"name", 4, TEXT, 0}

static const struct member *const messages[N_MESSAGES] = {
    [DOCUMENT] = (const struct member[]){{"swagger", 1, TEXT, 0},
                                         {"info", 2, MESSAGE, INFO},
                                         {"paths", 8, MESSAGE, PATHS},
                                         {"definitions", 9, MESSAGE, SCHEMAS},
                                         {"security", 12, MESSAGE, REQUIREMENT},
                                         {"securityDefinitions", 13, MESSAGE, SECURITY_DEFINITIONS},
                                         {0}},
    [INFO] = (const struct member[]){{"title", 1, TEXT, 0}, {"version", 2, TEXT, 0}, {0}},
    [PATHS] = (const struct member[]){{REST, 2, MESSAGE, PATH_ITEM}, {0}},
    [PATH_ITEM] = (const struct member[]){{"get", 2, MESSAGE, OPERATION},
                                          {"put", 3, MESSAGE, OPERATION},
                                          {"post", 4, MESSAGE, OPERATION},
                                          {"delete", 5, MESSAGE, OPERATION},
                                          {"patch", 8, MESSAGE, OPERATION},
                                          {"parameters", 9, MESSAGE, PARAMETERS_ITEM},
                                          {0}},
    [OPERATION] = (const struct member[]){{"description", 3, TEXT, 0},
                                          {"operationId", 5, TEXT, 0},
                                          {"consumes", 7, TEXT, 0},
                                          {"parameters", 8, MESSAGE, PARAMETERS_ITEM},
                                          {"responses", 9, MESSAGE, RESPONSES},
                                          {EXTENSION, 13, ANY, 0},
                                          {0}},
    [PARAMETERS_ITEM] = (const struct member[]){{ITSELF, 1, MESSAGE, PARAMETER}, {0}},
    [BODY_PARAMETER] = (const struct member[]){{"description", 1, TEXT, 0},
                                               {"name", 2, TEXT, 0},
                                               {"in", 3, TEXT, 0},
                                               {"required", 4, BOOLEAN, 0},
                                               {"schema", 5, MESSAGE, SCHEMA},
                                               {0}},
    [HEADER_PARAMETER] =
        (const struct member[]){
            PARAMETER_FIELDS, {"type", 5, TEXT, 0}, {"uniqueItems", 19, BOOLEAN, 0}, {0}},
    [QUERY_PARAMETER] =
        (const struct member[]){
            PARAMETER_FIELDS, {"type", 6, TEXT, 0}, {"uniqueItems", 20, BOOLEAN, 0}, {0}},
    [PATH_PARAMETER] =
        (const struct member[]){
            PARAMETER_FIELDS, {"type", 5, TEXT, 0}, {"uniqueItems", 19, BOOLEAN, 0}, {0}},
    [RESPONSES] = (const struct member[]){{REST, 1, MESSAGE, RESPONSE_VALUE}, {0}},
    [RESPONSE_VALUE] = (const struct member[]){{ITSELF, 1, MESSAGE, RESPONSE}, {0}},
    [RESPONSE] = (const struct member[]){{"description", 1, TEXT, 0},
                                         {"schema", 2, MESSAGE, SCHEMA_ITEM},
                                         {0}},
    [SCHEMA_ITEM] = (const struct member[]){{ITSELF, 1, MESSAGE, SCHEMA}, {0}},
    [SCHEMAS] = (const struct member[]){{REST, 1, MESSAGE, SCHEMA}, {0}},
    [SCHEMA] = (const struct member[]){{"$ref", 1, TEXT, 0},
                                       {"format", 2, TEXT, 0},
                                       {"title", 3, TEXT, 0},
                                       {"description", 4, TEXT, 0},
                                       {"default", 5, ANY, 0},
                                       {"multipleOf", 6, DOUBLE, 0},
                                       {"maximum", 7, DOUBLE, 0},
                                       {"exclusiveMaximum", 8, BOOLEAN, 0},
                                       {"minimum", 9, DOUBLE, 0},
                                       {"exclusiveMinimum", 10, BOOLEAN, 0},
                                       {"maxLength", 11, INTEGER, 0},
                                       {"minLength", 12, INTEGER, 0},
                                       {"pattern", 13, TEXT, 0},
                                       {"maxItems", 14, INTEGER, 0},
                                       {"minItems", 15, INTEGER, 0},
                                       {"uniqueItems", 16, BOOLEAN, 0},
                                       {"maxProperties", 17, INTEGER, 0},
                                       {"minProperties", 18, INTEGER, 0},
                                       {"required", 19, TEXT, 0},
                                       {"enum", 20, ANY, 0},
                                       {"additionalProperties", 21, MESSAGE, ADDITIONAL},
                                       {"type", 22, MESSAGE, TYPE_ITEM},
                                       {"items", 23, MESSAGE, ITEMS_ITEM},
                                       {"allOf", 24, MESSAGE, SCHEMA},
                                       {"properties", 25, MESSAGE, SCHEMAS},
                                       {"externalDocs", 29, MESSAGE, EXTERNAL_DOCS},
                                       {"example", 30, ANY, 0},
                                       {EXTENSION, 31, ANY, 0},
                                       {0}},
    [ADDITIONAL] =
        (const struct member[]){{ITSELF, 1, MESSAGE, SCHEMA}, {ITSELF, 2, BOOLEAN, 0}, {0}},
    [TYPE_ITEM] = (const struct member[]){{ITSELF, 1, TEXT, 0}, {0}},
    [ITEMS_ITEM] = (const struct member[]){{ITSELF, 1, MESSAGE, SCHEMA}, {0}},
    [EXTERNAL_DOCS] =
        (const struct member[]){{"description", 1, TEXT, 0}, {"url", 2, TEXT, 0}, {0}},
    [SECURITY_DEFINITIONS] = (const struct member[]){{REST, 1, MESSAGE, SECURITY_ITEM}, {0}},
    [SECURITY_ITEM] = (const struct member[]){{ITSELF, 2, MESSAGE, API_KEY}, {0}},
    [API_KEY] = (const struct member[]){{"type", 1, TEXT, 0},
                                        {"name", 2, TEXT, 0},
                                        {"in", 3, TEXT, 0},
                                        {"description", 4, TEXT, 0},
                                        {0}},
    [REQUIREMENT] = (const struct member[]){{REST, 1, MESSAGE, STRING_ARRAY}, {0}},
    [STRING_ARRAY] = (const struct member[]){{ITSELF, 1, TEXT, 0}, {0}},
};

/* --- values ----------------------------------------------------------------------------------- */

static void write_message(enum message type, const struct json_value *v, struct buf *out);

static double number_of(const struct json_value *v)
{
    char text[64] = "";
    memcpy(text, v->text.p, MIN(v->text.n, sizeof(text) - 1));
    return strtod(text, NULL);
}

static void write_double(uint32_t number, double value, struct buf *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    buf_add_char(out, (char)(number << 3 | PROTO_FIXED64)); /* numbers are less than 16 */
    for (int i = 0; i < 8; i++)
        buf_add_char(out, (char)(bits >> 8 * i & 0xff));
}

static void write_integer(uint32_t number, double value, struct buf *out)
{
    if (value >= -0x1p62 && value <= 0x1p62)
        proto_write_varint(out, number, (uint64_t)(int64_t)value);
}

/* gnostic's Any has the value as YAML. */
static void write_any(uint32_t number, const struct json_value *v, struct buf *out)
{
    struct buf text = BUF_INIT;
    size_t start = out->n;
    yaml_write(v, &text);
    proto_write_bytes(out, 2, buf_str(&text));
    proto_close_field(out, number, start);
    buf_release(&text);
}

static bool fits(enum form form, const struct json_value *v)
{
    static const enum json_kind kinds[] = {[TEXT] = JSON_STRING,
                                           [BOOLEAN] = JSON_BOOL,
                                           [INTEGER] = JSON_NUMBER,
                                           [DOUBLE] = JSON_NUMBER,
                                           [MESSAGE] = JSON_OBJECT};
    return form == ANY || v->kind == kinds[form];
}

/* Messages that are made from something else than an object: the item decides. */
static bool has_itself(enum message type)
{
    return messages[type] && messages[type][0].key && !*messages[type][0].key;
}

static void write_one(const struct member *f, const struct json_value *v, struct buf *out)
{
    size_t start = out->n;
    if (f->form == MESSAGE && (v->kind == JSON_OBJECT || has_itself(f->message))) {
        write_message(f->message, v, out);
        proto_close_field(out, f->number, start);
    } else if (!fits(f->form, v)) {
        return;
    } else if (f->form == TEXT) {
        proto_write_bytes(out, f->number, v->text);
    } else if (f->form == BOOLEAN) {
        proto_write_varint(out, f->number, v->boolean);
    } else if (f->form == INTEGER) {
        write_integer(f->number, number_of(v), out);
    } else if (f->form == DOUBLE) {
        write_double(f->number, number_of(v), out);
    } else if (f->form == ANY) {
        write_any(f->number, v, out);
    }
}

/* Every item of a list is a field, unless the message itself is made from the list. */
static void write_field(const struct member *f, const struct json_value *v, struct buf *out)
{
    bool whole = f->form == MESSAGE && (f->message == TYPE_ITEM || f->message == STRING_ARRAY);
    bool list = v->kind == JSON_ARRAY && !whole && (f->form != ANY || strcmp(f->key, "enum") == 0);
    if (!list)
        write_one(f, v, out);
    for (size_t i = 0; list && i < v->n; i++)
        write_one(f, &v->items[i], out);
}

static void write_named(const struct member *f, const struct json_member *m, struct buf *out)
{
    struct member value = {f->key, 2, f->form, f->message};
    size_t start = out->n;
    proto_write_bytes(out, 1, m->key);
    write_one(&value, &m->value, out);
    proto_close_field(out, f->number, start);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Where a parameter is decides on its message. */
static void write_parameter(const struct json_value *v, struct buf *out)
{
    struct str in = json_get_text(v, STR("in"));
    size_t start = out->n;
    if (str_is(in, "body")) {
        write_message(BODY_PARAMETER, v, out);
        proto_close_field(out, 1, start);
        return;
    }
    bool header = str_is(in, "header"), path = str_is(in, "path");
    write_message(header ? HEADER_PARAMETER : path ? PATH_PARAMETER : QUERY_PARAMETER, v, out);
    proto_close_field(out, header ? 1 : path ? 4 : 3, start);
    proto_close_field(out, 2, start);
}

static const struct member *find_field(const struct member *fields, struct str key)
{
    for (const struct member *f = fields; f->key; f++) {
        bool rule = strcmp(f->key, REST) == 0 ||
                    (strcmp(f->key, EXTENSION) == 0 && str_starts(key, STR(EXTENSION)));
        if (rule || str_eq(str_of(f->key), key))
            return f;
    }
    return NULL;
}

/* The tree is at most JSON_MAX_DEPTH deep. */
static void write_message(enum message type, const struct json_value *v, struct buf *out)
{
    const struct member *fields = messages[type];
    if (type == PARAMETER) {
        write_parameter(v, out);
        return;
    }
    if (has_itself(type)) {
        for (const struct member *f = fields; f->key; f++)
            if (fits(f->form, v) || v->kind == JSON_ARRAY)
                write_field(f, v, out);
        return;
    }
    for (size_t i = 0; v->kind == JSON_OBJECT && i < v->n_members; i++) {
        const struct json_member *m = &v->members[i];
        const struct member *f = find_field(fields, m->key);
        if (f && (strcmp(f->key, REST) == 0 || strcmp(f->key, EXTENSION) == 0))
            write_named(f, m, out);
        else if (f)
            write_field(f, &m->value, out);
    }
}

bool openapi_v2_proto(const struct resources *rs, struct buf *out)
{
    struct buf text = BUF_INIT;
    struct json_value document;
    struct arena a;
    struct err err;
    arena_init(&a, 0);
    openapi_v2(rs, &text);
    bool ok = json_parse(buf_str(&text), 0, &a, &document, &err) == 0;
    if (ok)
        write_message(DOCUMENT, &document, out);
    buf_release(&text);
    arena_release(&a);
    return ok;
}
