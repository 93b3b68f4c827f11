/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "codec/base64.h"
#include "codec/json_edit.h"
#include "codec/proto.h"
#include "codec/schema_proto.h"
#include "codec/utf8.h"

/* All steps return false for malformed input. */
struct decoder {
    const struct schema_type *types;
    struct arena *a;
    unsigned depth;
};

/* One field of the wire. */
struct wire_field {
    uint32_t number;
    enum proto_wire wire;
    uint64_t varint;  /* also of fixed fields */
    struct str bytes; /* PROTO_BYTES */
};

static bool decode_message(struct decoder *d, const struct schema_type *type, struct str bytes,
                           struct json_value *ret);

static bool next_field(struct str bytes, size_t *at, struct wire_field *f)
{
    *f = (struct wire_field){0};
    if (!proto_read_tag(bytes, at, &f->number, &f->wire))
        return false;
    if (f->wire == PROTO_VARINT)
        return proto_read_varint(bytes, at, &f->varint);
    if (f->wire == PROTO_BYTES)
        return proto_read_bytes(bytes, at, &f->bytes);
    if (f->wire == PROTO_FIXED64 && bytes.n - *at >= 8)
        memcpy(&f->varint, bytes.p + *at, 8);
    return proto_skip(bytes, at, f->wire);
}

/* --- values ----------------------------------------------------------------------------------- */

/* The fields 1 to 3 of a small message. */
struct small {
    struct wire_field f[4];
};

static bool read_small(struct str bytes, struct small *s)
{
    struct wire_field f;

    *s = (struct small){0};
    for (size_t at = 0; at < bytes.n;) {
        if (!next_field(bytes, &at, &f))
            return false;
        if (f.number < ARRAY_LEN(s->f))
            s->f[f.number] = f;
    }
    return true;
}

static bool copy_text(struct decoder *d, struct str bytes, struct json_value *ret)
{
    if (!utf8_valid(bytes))
        return false;
    *ret = json_text(arena_dup(d->a, bytes));
    return true;
}

static struct json_value buf_text(struct decoder *d, struct buf *b)
{
    struct json_value v = json_text(arena_dup(d->a, buf_str(b)));

    buf_release(b);
    return v;
}

/* An empty message is the zero time, which JSON leaves out or writes as null. */
static bool decode_time(struct decoder *d, struct str bytes, int digits, struct json_value *ret)
{
    struct buf text = BUF_INIT;
    struct small s;

    *ret = json_null();
    if (bytes.n == 0)
        return true;
    if (!read_small(bytes, &s) || s.f[2].varint > 999999999)
        return false;
    timestamp_format((struct timestamp){.sec = (int64_t)s.f[1].varint,
                                        .nsec = (int32_t)s.f[2].varint,
                                        .set = true},
                     digits, &text);
    *ret = buf_text(d, &text);
    return true;
}

static bool decode_duration(struct decoder *d, struct str bytes, struct json_value *ret)
{
    struct buf text = BUF_INIT;
    struct small s;

    if (!read_small(bytes, &s))
        return false;
    duration_format((int64_t)s.f[1].varint, &text);
    *ret = buf_text(d, &text);
    return true;
}

static bool decode_raw(struct decoder *d, struct str bytes, struct json_value *ret)
{
    struct small s;

    *ret = json_null();
    return read_small(bytes, &s) &&
           (s.f[1].bytes.n == 0 || json_parse(s.f[1].bytes, 0, d->a, ret, NULL) == 0);
}

static bool decode_int_or_string(struct decoder *d, struct str bytes, struct json_value *ret)
{
    struct small s;

    if (!read_small(bytes, &s))
        return false;
    if (s.f[1].varint == 1)
        return copy_text(d, s.f[3].bytes, ret);
    *ret = json_int((int32_t)s.f[2].varint, d->a);
    return true;
}

static bool decode_strings(struct decoder *d, struct str bytes, uint32_t number,
                           struct json_value *ret)
{
    struct wire_field f;
    size_t n = 0;

    for (size_t at = 0; at < bytes.n;) {
        if (!next_field(bytes, &at, &f))
            return false;
        n += f.number == number && f.wire == PROTO_BYTES;
    }
    *ret = json_array();
    ret->items = arena_array(d->a, struct json_value, n);
    for (size_t at = 0; at < bytes.n && next_field(bytes, &at, &f);)
        if (f.number == number && f.wire == PROTO_BYTES &&
            !copy_text(d, f.bytes, &ret->items[ret->n++]))
            return false;
    return true;
}

static bool decode_schemas(struct decoder *d, const struct schema_type *type, struct str bytes,
                           struct json_value *ret)
{
    struct wire_field f;
    size_t n = 0;

    for (size_t at = 0; at < bytes.n;) {
        if (!next_field(bytes, &at, &f))
            return false;
        n += f.number == 2 && f.wire == PROTO_BYTES;
    }
    *ret = json_array();
    ret->items = arena_array(d->a, struct json_value, n);
    for (size_t at = 0; at < bytes.n && next_field(bytes, &at, &f);)
        if (f.number == 2 && f.wire == PROTO_BYTES &&
            !decode_message(d, type, f.bytes, &ret->items[ret->n++]))
            return false;
    return true;
}

/* The unions of apiextensions: a schema, or something else. */
static bool decode_union(struct decoder *d, const struct schema_field *field, struct str bytes,
                         struct json_value *ret)
{
    const struct schema_type *type = &d->types[field->type];
    unsigned schema = field->wire == SCHEMA_WIRE_SCHEMA_OR_BOOL ? 2 : 1;
    struct small s;

    if (!read_small(bytes, &s))
        return false;
    if (s.f[schema].wire == PROTO_BYTES && s.f[schema].number == schema)
        return decode_message(d, type, s.f[schema].bytes, ret);
    if (field->wire == SCHEMA_WIRE_SCHEMA_OR_BOOL) {
        *ret = json_bool(s.f[1].varint != 0);
        return true;
    }
    return field->wire == SCHEMA_WIRE_SCHEMA_OR_ARRAY ? decode_schemas(d, type, bytes, ret)
                                                      : decode_strings(d, bytes, 2, ret);
}

static bool decode_number(struct decoder *d, const struct schema_field *field,
                          const struct wire_field *f, struct json_value *ret)
{
    double number;

    switch (field->wire) {
    case SCHEMA_WIRE_BOOL:
        *ret = json_bool(f->varint != 0);
        return f->wire == PROTO_VARINT;
    case SCHEMA_WIRE_INT32:
        *ret = json_int((int32_t)f->varint, d->a);
        return f->wire == PROTO_VARINT;
    case SCHEMA_WIRE_VARINT:
        *ret = json_int((int64_t)f->varint, d->a);
        return f->wire == PROTO_VARINT;
    default:
        memcpy(&number, &f->varint, sizeof(number));
        *ret =
            (struct json_value){.kind = JSON_NUMBER, .text = arena_printf(d->a, "%.17g", number)};
        return f->wire == PROTO_FIXED64 && number - number == 0;
    }
}

static bool decode_value(struct decoder *d, const struct schema_field *field,
                         const struct wire_field *f, struct json_value *ret)
{
    struct buf text = BUF_INIT;
    struct small s;

    if (field->wire == SCHEMA_WIRE_VARINT || field->wire == SCHEMA_WIRE_INT32 ||
        field->wire == SCHEMA_WIRE_BOOL || field->wire == SCHEMA_WIRE_DOUBLE)
        return decode_number(d, field, f, ret);
    if (f->wire != PROTO_BYTES)
        return false;
    switch ((enum schema_wire)field->wire) {
    case SCHEMA_WIRE_STRING:
        return copy_text(d, f->bytes, ret);
    case SCHEMA_WIRE_BYTES:
        base64_encode(f->bytes, &text);
        *ret = buf_text(d, &text);
        return true;
    case SCHEMA_WIRE_MESSAGE:
        return decode_message(d, &d->types[field->type], f->bytes, ret);
    case SCHEMA_WIRE_QUANTITY:
        return read_small(f->bytes, &s) && copy_text(d, s.f[1].bytes, ret);
    case SCHEMA_WIRE_INT_OR_STRING:
        return decode_int_or_string(d, f->bytes, ret);
    case SCHEMA_WIRE_TIME:
        return decode_time(d, f->bytes, 0, ret);
    case SCHEMA_WIRE_MICRO_TIME:
        return decode_time(d, f->bytes, 6, ret);
    case SCHEMA_WIRE_DURATION:
        return decode_duration(d, f->bytes, ret);
    case SCHEMA_WIRE_RAW:
    case SCHEMA_WIRE_FIELDS_V1:
    case SCHEMA_WIRE_JSON:
        return decode_raw(d, f->bytes, ret);
    case SCHEMA_WIRE_STRING_LIST:
        return decode_strings(d, f->bytes, 1, ret);
    case SCHEMA_WIRE_SCHEMA_OR_ARRAY:
    case SCHEMA_WIRE_SCHEMA_OR_BOOL:
    case SCHEMA_WIRE_SCHEMA_OR_STRINGS:
        return decode_union(d, field, f->bytes, ret);
    default:
        return false;
    }
}

/* --- messages --------------------------------------------------------------------------------- */

/* The position of the field with this number; SIZE_MAX: unknown. */
static size_t position_of(const struct schema_type *type, uint32_t outer, uint32_t number)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].number == number && type->fields[i].outer == outer)
            return i;
    return SIZE_MAX;
}

static bool has_outer(const struct schema_type *type, uint32_t number)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].outer && type->fields[i].outer == number)
            return true;
    return false;
}

/* The members of one message: first they are counted, then filled. */
struct filling {
    const struct schema_type *type;
    uint32_t counts[SCHEMA_MAX_FIELDS];
    struct json_value values[SCHEMA_MAX_FIELDS];
};

static bool count_fields(struct filling *fill, struct str bytes, uint32_t outer)
{
    struct wire_field f;
    size_t i;

    for (size_t at = 0; at < bytes.n;) {
        if (!next_field(bytes, &at, &f))
            return false;
        i = position_of(fill->type, outer, f.number);
        if (i != SIZE_MAX)
            fill->counts[i]++;
        else if (!outer && f.wire == PROTO_BYTES && has_outer(fill->type, f.number) &&
                 !count_fields(fill, f.bytes, f.number))
            return false;
    }
    return true;
}

static bool fill_entry(struct decoder *d, const struct schema_field *field, struct str bytes,
                       struct json_member *ret)
{
    struct json_value key;
    struct small s;

    if (!read_small(bytes, &s) || !copy_text(d, s.f[1].bytes, &key))
        return false;
    ret->key = key.text;
    /* A missing value is the zero value: an empty string, message or number. */
    if (s.f[2].number == 0)
        s.f[2].wire = field->wire == SCHEMA_WIRE_VARINT || field->wire == SCHEMA_WIRE_INT32 ||
                              field->wire == SCHEMA_WIRE_BOOL
                          ? PROTO_VARINT
                          : PROTO_BYTES;
    return decode_value(d, field, &s.f[2], &ret->value);
}

static bool fill_field(struct decoder *d, struct filling *fill, size_t i,
                       const struct wire_field *f)
{
    const struct schema_field *field = &fill->type->fields[i];
    struct json_value *v = &fill->values[i];

    if (field->shape == SCHEMA_ONE)
        return decode_value(d, field, f, v);
    if (field->shape == SCHEMA_LIST) {
        if (v->kind != JSON_ARRAY) {
            *v = json_array();
            v->items = arena_array(d->a, struct json_value, fill->counts[i]);
        }
        return decode_value(d, field, f, &v->items[v->n++]);
    }
    if (v->kind != JSON_OBJECT) {
        *v = json_object();
        v->members = arena_array(d->a, struct json_member, fill->counts[i]);
    }
    return f->wire == PROTO_BYTES && fill_entry(d, field, f->bytes, &v->members[v->n_members++]);
}

static bool fill_fields(struct decoder *d, struct filling *fill, struct str bytes, uint32_t outer)
{
    struct wire_field f;
    size_t i;

    for (size_t at = 0; at < bytes.n && next_field(bytes, &at, &f);) {
        i = position_of(fill->type, outer, f.number);
        if (i != SIZE_MAX ? !fill_field(d, fill, i, &f)
                          : !outer && f.wire == PROTO_BYTES && has_outer(fill->type, f.number) &&
                                !fill_fields(d, fill, f.bytes, f.number))
            return false;
    }
    return true;
}

/* Whether Go leaves the value out of JSON. */
static bool omits(const struct schema_field *field, const struct json_value *v)
{
    /* Structs of Go are written even if they are empty: quantities, ports. */
    bool is_struct =
        field->wire == SCHEMA_WIRE_QUANTITY || field->wire == SCHEMA_WIRE_INT_OR_STRING;

    if (v->kind == JSON_NULL)
        return true;
    if (field->nullable || !field->omit_empty || (is_struct && field->shape == SCHEMA_ONE))
        return false;
    switch (v->kind) {
    case JSON_STRING:
        return v->text.n == 0;
    case JSON_BOOL:
        return !v->boolean;
    case JSON_NUMBER:
        return str_is(v->text, "0");
    case JSON_ARRAY:
        return v->n == 0;
    default:
        return field->shape == SCHEMA_MAP && v->n_members == 0;
    }
}

static bool decode_message(struct decoder *d, const struct schema_type *type, struct str bytes,
                           struct json_value *ret)
{
    struct filling *fill;
    size_t n = 0;
    bool ok;

    *ret = json_object();
    if (bytes.n == 0)
        return true;
    if (++d->depth > PROTO_MAX_DEPTH)
        return false;
    fill = xnew(struct filling);
    fill->type = type;
    ok = count_fields(fill, bytes, 0) && fill_fields(d, fill, bytes, 0);
    for (size_t i = 0; ok && i < type->n_fields; i++)
        n += fill->counts[i] > 0;
    if (ok)
        ret->members = arena_array(d->a, struct json_member, n);
    for (size_t i = 0; ok && i < type->n_fields; i++)
        if (fill->counts[i] > 0 && !omits(&type->fields[i], &fill->values[i]))
            ret->members[ret->n_members++] = (struct json_member){
                {type->fields[i].name, type->fields[i].name_len}, fill->values[i]};
    free(fill);
    d->depth--;
    return ok;
}

int schema_proto_decode(const struct schema_type *types, const struct schema_type *type,
                        struct str bytes, struct arena *a, struct json_value *ret_value,
                        struct err *reterr)
{
    struct decoder d = {.types = types, .a = a};

    if (!decode_message(&d, type, bytes, ret_value))
        return err_set(reterr, -EBADMSG, "malformed protobuf object");
    return 0;
}
