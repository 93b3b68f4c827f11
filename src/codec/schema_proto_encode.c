/* SPDX-License-Identifier: Apache-2.0 */
/* Trees as protobuf: the bytes that Go's encoder writes for the same object. */
#include "base/go_text.h"
#include "base/time.h"
#include "codec/base64.h"
#include "codec/proto.h"
#include "codec/schema_proto.h"

struct encoder {
    const struct schema_type *types;
    struct buf *out;
    int depth;
};

static void write_message(struct encoder *e, const struct schema_type *type,
                          const struct json_value *v);

/* --- pieces ----------------------------------------------------------------------------------- */

/* Makes what was written since `start` a field: its tag and length are put before it. */
static void close_field(struct encoder *e, uint32_t number, size_t start)
{
    struct buf head = BUF_INIT;
    size_t n = e->out->n - start;
    proto_write_varint(&head, number, n);
    head.p[0] = (char)(head.p[0] | PROTO_BYTES); /* the tag's first byte has the wire type */
    if (buf_reserve(e->out, head.n)) {
        memmove(e->out->p + start + head.n, e->out->p + start, n);
        memcpy(e->out->p + start, head.p, head.n);
        e->out->n += head.n;
    }
    buf_release(&head);
}

static int64_t int_of(const struct json_value *v)
{
    int64_t n = 0;
    if (v && v->kind == JSON_NUMBER && !str_to_i64(v->text, &n))
        n = 0;
    return n;
}

static struct str text_of(const struct json_value *v)
{
    bool has_text = v && (v->kind == JSON_STRING || v->kind == JSON_NUMBER);
    return has_text ? v->text : STR("");
}

static void write_double(struct encoder *e, uint32_t number, const struct json_value *v)
{
    char tag[] = {(char)(number << 3 | PROTO_FIXED64)};
    double d = 0;
    if (v && v->kind == JSON_NUMBER && go_parse_float64(v->text, &d, NULL))
        d = 0;
    buf_add(e->out, tag, sizeof(tag));
    buf_add(e->out, &d, sizeof(d));
}

static void write_base64(struct encoder *e, uint32_t number, struct str text)
{
    char *bytes = xmalloc(BASE64_DECODED_MAX(text.n));
    size_t n = 0;
    if (!base64_decode(text, bytes, &n))
        n = 0;
    proto_write_bytes(e->out, number, (struct str){bytes, n});
    free(bytes);
}

/* --- types that are no plain message ---------------------------------------------------------- */

/* Time drops fractions of a second, MicroTime those of a microsecond. Zero is an empty message. */
static void write_time(struct encoder *e, const struct json_value *v, bool micro)
{
    struct timestamp t;
    if (!v || v->kind != JSON_STRING || !timestamp_parse(v->text, &t))
        return;
    proto_write_varint(e->out, 1, (uint64_t)t.sec);
    proto_write_varint(e->out, 2, micro ? (uint64_t)(t.nsec / 1000 * 1000) : 0);
}

static void write_int_or_string(struct encoder *e, const struct json_value *v)
{
    bool text = v && v->kind == JSON_STRING;
    proto_write_varint(e->out, 1, text);
    proto_write_varint(e->out, 2, (uint64_t)int_of(v));
    proto_write_bytes(e->out, 3, text ? v->text : STR(""));
}

static void write_duration(struct encoder *e, const struct json_value *v)
{
    int64_t ns = 0;
    if (v && v->kind == JSON_STRING && !duration_parse(v->text, &ns))
        ns = 0;
    proto_write_varint(e->out, 1, (uint64_t)ns);
}

/* {raw=1}: the JSON of the value. */
static void write_raw(struct encoder *e, const struct json_value *v)
{
    size_t start = e->out->n;
    if (!v || v->kind == JSON_NULL)
        return;
    json_write(v, e->out);
    close_field(e, 1, start);
}

static void write_strings(struct encoder *e, uint32_t number, const struct json_value *v)
{
    for (size_t i = 0; v && v->kind == JSON_ARRAY && i < v->n; i++)
        proto_write_bytes(e->out, number, text_of(&v->items[i]));
}

static void write_schema(struct encoder *e, const struct schema_field *f, uint32_t number,
                         const struct json_value *v)
{
    size_t start = e->out->n;
    write_message(e, &e->types[f->type], v);
    close_field(e, number, start);
}

/* The unions of apiextensions. */
static void write_union(struct encoder *e, const struct schema_field *f, const struct json_value *v)
{
    bool object = v->kind == JSON_OBJECT;
    if (f->wire == SCHEMA_WIRE_SCHEMA_OR_BOOL) {
        proto_write_varint(e->out, 1, object || (v->kind == JSON_BOOL && v->boolean));
        if (object)
            write_schema(e, f, 2, v);
    } else if (object) {
        write_schema(e, f, 1, v);
    } else if (f->wire == SCHEMA_WIRE_SCHEMA_OR_STRINGS) {
        write_strings(e, 2, v);
    } else {
        for (size_t i = 0; v->kind == JSON_ARRAY && i < v->n; i++)
            write_schema(e, f, 2, &v->items[i]);
    }
}

/* --- fields ----------------------------------------------------------------------------------- */

/* The content of a field that has a length. */
static void write_content(struct encoder *e, const struct schema_field *f,
                          const struct json_value *v)
{
    switch (f->wire) {
    case SCHEMA_WIRE_MESSAGE:
        write_message(e, &e->types[f->type], v);
        break;
    case SCHEMA_WIRE_QUANTITY:
        proto_write_bytes(e->out, 1, v ? text_of(v) : STR("0"));
        break;
    case SCHEMA_WIRE_INT_OR_STRING:
        write_int_or_string(e, v);
        break;
    case SCHEMA_WIRE_TIME:
    case SCHEMA_WIRE_MICRO_TIME:
        write_time(e, v, f->wire == SCHEMA_WIRE_MICRO_TIME);
        break;
    case SCHEMA_WIRE_DURATION:
        write_duration(e, v);
        break;
    case SCHEMA_WIRE_RAW:
    case SCHEMA_WIRE_FIELDS_V1:
    case SCHEMA_WIRE_JSON:
        write_raw(e, v);
        break;
    case SCHEMA_WIRE_STRING_LIST:
        write_strings(e, 1, v);
        break;
    case SCHEMA_WIRE_SCHEMA_OR_ARRAY:
    case SCHEMA_WIRE_SCHEMA_OR_BOOL:
    case SCHEMA_WIRE_SCHEMA_OR_STRINGS:
        write_union(e, f, v);
        break;
    default:
        break;
    }
}

/* One value as field `number`. v NULL: Go's zero value. */
static void write_item(struct encoder *e, const struct schema_field *f, uint32_t number,
                       const struct json_value *v)
{
    size_t start = e->out->n;
    switch (f->wire) {
    case SCHEMA_WIRE_NONE:
        return;
    case SCHEMA_WIRE_VARINT:
    case SCHEMA_WIRE_INT32:
        proto_write_varint(e->out, number, (uint64_t)int_of(v));
        return;
    case SCHEMA_WIRE_BOOL:
        proto_write_varint(e->out, number, v && v->kind == JSON_BOOL && v->boolean);
        return;
    case SCHEMA_WIRE_STRING:
        proto_write_bytes(e->out, number, text_of(v));
        return;
    case SCHEMA_WIRE_BYTES:
        if (v)
            write_base64(e, number, text_of(v));
        return;
    case SCHEMA_WIRE_DOUBLE:
        write_double(e, number, v);
        return;
    default:
        write_content(e, f, v);
        close_field(e, number, start);
    }
}

static int compare_members(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;
    return str_cmp((*x)->key, (*y)->key);
}

/* Entries {key=1, value=2}, sorted by key. */
static void write_map(struct encoder *e, const struct schema_field *f, const struct json_value *v)
{
    size_t n = v->kind == JSON_OBJECT ? v->n_members : 0;
    const struct json_member **members = xcalloc(n + 1, sizeof(const struct json_member *));
    for (size_t i = 0; i < n; i++)
        members[i] = &v->members[i];
    qsort(members, n, sizeof(const struct json_member *), compare_members);
    for (size_t i = 0; i < n; i++) {
        size_t start = e->out->n;
        proto_write_bytes(e->out, 1, members[i]->key);
        write_item(e, f, 2, &members[i]->value);
        close_field(e, f->number, start);
    }
    free(members);
}

static void write_field(struct encoder *e, const struct schema_field *f, const struct json_value *v)
{
    bool absent = !v || v->kind == JSON_NULL;
    if (absent && (f->shape != SCHEMA_ONE || f->nullable))
        return;
    if (f->shape == SCHEMA_MAP)
        write_map(e, f, v);
    else if (f->shape == SCHEMA_LIST)
        for (size_t i = 0; v->kind == JSON_ARRAY && i < v->n; i++)
            write_item(e, f, f->number, &v->items[i]);
    else
        write_item(e, f, f->number, absent ? NULL : v);
}

/* Fields in the order of their numbers; those of an inline struct are a message of their own. */
static void write_message(struct encoder *e, const struct schema_type *type,
                          const struct json_value *v)
{
    if (e->depth == PROTO_MAX_DEPTH)
        return;
    e->depth++;
    for (size_t i = 0; i < type->n_order;) {
        const struct schema_field *f = &type->fields[(unsigned char)type->order[i]];
        size_t start = e->out->n;
        uint8_t outer = f->outer;
        do {
            write_field(e, f, json_get(v, (struct str){f->name, f->name_len}));
            i++;
            f = i < type->n_order ? &type->fields[(unsigned char)type->order[i]] : NULL;
        } while (outer && f && f->outer == outer);
        if (outer)
            close_field(e, outer, start);
    }
    e->depth--;
}

void schema_proto_encode(const struct schema_type *types, const struct schema_type *type,
                         const struct json_value *v, struct buf *out)
{
    struct encoder e = {.types = types, .out = out};
    write_message(&e, type, v);
}
