/* SPDX-License-Identifier: Apache-2.0 */
#include "api/scalars.h"

#include <inttypes.h>

#include "codec/json.h"
#include "codec/proto.h"
#include "codec/utf8.h"

/* --- times ------------------------------------------------------------------------------------ */

/* 0001-01-01T00:00:00Z, Go's zero time, and 9999-12-31T23:59:59Z. */
#define TIME_MIN_SEC ((int64_t)-62135596800)
#define TIME_MAX_SEC ((int64_t)253402300799)

/*
 * Truncates the time to `unit` nanoseconds. Any writer of a Lease can put any number into a
 * protobuf time; it is limited to the range that has a text form, since refusing it would lose the
 * object.
 */
static struct timestamp time_of(int64_t sec, int64_t nsec, int64_t unit)
{
    nsec = MIN(MAX(nsec, 0), NSEC_PER_SEC - 1);
    sec = MIN(MAX(sec, TIME_MIN_SEC), TIME_MAX_SEC);
    nsec -= nsec % unit;
    if (sec == TIME_MIN_SEC && nsec == 0)
        return (struct timestamp){0};
    return (struct timestamp){.sec = sec, .nsec = (int32_t)nsec, .set = true};
}

static int time_parse(struct str text, bool quoted, int64_t unit, struct timestamp *ret_time,
                      struct err *reterr)
{
    struct timestamp t;
    if (!quoted || !timestamp_parse(text, &t))
        return err_set(reterr, -EBADMSG, "expected a time such as \"2026-01-31T12:00:00Z\"");
    *ret_time = time_of(t.sec, t.nsec, unit);
    return 0;
}

static int time_read(struct str message, int64_t unit, struct timestamp *ret_time,
                     struct err *reterr)
{
    size_t at = 0;
    uint64_t sec = 0, nsec = 0, *field;
    uint32_t number;
    enum proto_wire wire;
    if (message.n == 0) {
        *ret_time = (struct timestamp){0};
        return 0;
    }
    while (at < message.n) {
        if (!proto_read_tag(message, &at, &number, &wire))
            return err_set(reterr, -EBADMSG, "truncated time");
        field = wire != PROTO_VARINT ? NULL : number == 1 ? &sec : number == 2 ? &nsec : NULL;
        if (field ? !proto_read_varint(message, &at, field) : !proto_skip(message, &at, wire))
            return err_set(reterr, -EBADMSG, "truncated time");
    }
    *ret_time = time_of((int64_t)sec, (int32_t)nsec, unit);
    return 0;
}

static void time_write_json(const struct timestamp *t, int digits, struct buf *out)
{
    if (!t->set) {
        buf_add_str(out, STR("null"));
        return;
    }
    buf_add_char(out, '"');
    timestamp_format(*t, digits, out);
    buf_add_char(out, '"');
}

static void time_write(const struct timestamp *t, int64_t unit, struct buf *out)
{
    if (!t->set)
        return;
    proto_write_varint(out, 1, (uint64_t)t->sec);
    proto_write_varint(out, 2, (uint64_t)(t->nsec - t->nsec % unit));
}

static bool time_is_zero(const void *value)
{
    const struct timestamp *t = value;
    return !t->set;
}

static int second_from_json(struct str text, bool quoted, struct arena *a UNUSED, void *out,
                            struct err *reterr)
{
    return time_parse(text, quoted, NSEC_PER_SEC, out, reterr);
}

static void second_to_json(const void *value, struct buf *out)
{
    time_write_json(value, 0, out);
}

static int second_from_proto(struct str message, struct arena *a UNUSED, void *out,
                             struct err *reterr)
{
    return time_read(message, NSEC_PER_SEC, out, reterr);
}

static void second_to_proto(const void *value, struct buf *out)
{
    time_write(value, NSEC_PER_SEC, out);
}

const struct custom time_custom = {
    .name = "k8s.io.apimachinery.pkg.apis.meta.v1.Time",
    .size = sizeof(struct timestamp),
    .align = _Alignof(struct timestamp),
    .from_json = second_from_json,
    .to_json = second_to_json,
    .from_proto = second_from_proto,
    .to_proto = second_to_proto,
    .is_zero = time_is_zero,
};

static int micro_from_json(struct str text, bool quoted, struct arena *a UNUSED, void *out,
                           struct err *reterr)
{
    return time_parse(text, quoted, NSEC_PER_USEC, out, reterr);
}

static void micro_to_json(const void *value, struct buf *out)
{
    time_write_json(value, 6, out);
}

static int micro_from_proto(struct str message, struct arena *a UNUSED, void *out,
                            struct err *reterr)
{
    return time_read(message, NSEC_PER_USEC, out, reterr);
}

static void micro_to_proto(const void *value, struct buf *out)
{
    time_write(value, NSEC_PER_USEC, out);
}

const struct custom micro_time_custom = {
    .name = "k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime",
    .size = sizeof(struct timestamp),
    .align = _Alignof(struct timestamp),
    .from_json = micro_from_json,
    .to_json = micro_to_json,
    .from_proto = micro_from_proto,
    .to_proto = micro_to_proto,
    .is_zero = time_is_zero,
};

static const struct field time_entry_fields[] = {
    F_ONE(struct time_entry, key, "key", 1, STR),
    F_CUSTOM(struct time_entry, value, "value", 2, struct timestamp, &time_custom),
};
const struct type time_entry_type = TYPE("map<string, k8s.io.apimachinery.pkg.apis.meta.v1.Time>",
                                         struct time_entry, time_entry_fields);

/* --- durations -------------------------------------------------------------------------------- */

static int duration_from_json(struct str text, bool quoted, struct arena *a UNUSED, void *out,
                              struct err *reterr)
{
    int64_t ns;
    if (!quoted || !duration_parse(text, &ns))
        return err_set(reterr, -EBADMSG, "expected a duration such as \"1m30s\"");
    *(int64_t *)out = ns;
    return 0;
}

static void duration_to_json(const void *value, struct buf *out)
{
    buf_add_char(out, '"');
    duration_format(*(const int64_t *)value, out);
    buf_add_char(out, '"');
}

static int duration_from_proto(struct str message, struct arena *a UNUSED, void *out,
                               struct err *reterr)
{
    size_t at = 0;
    uint64_t ns = 0;
    uint32_t number;
    enum proto_wire wire;
    while (at < message.n) {
        if (!proto_read_tag(message, &at, &number, &wire))
            return err_set(reterr, -EBADMSG, "truncated duration");
        bool wanted = number == 1 && wire == PROTO_VARINT;
        if (wanted ? !proto_read_varint(message, &at, &ns) : !proto_skip(message, &at, wire))
            return err_set(reterr, -EBADMSG, "truncated duration");
    }
    *(int64_t *)out = (int64_t)ns;
    return 0;
}

static void duration_to_proto(const void *value, struct buf *out)
{
    proto_write_varint(out, 1, (uint64_t)*(const int64_t *)value);
}

static bool duration_is_zero(const void *value)
{
    return *(const int64_t *)value == 0;
}

const struct custom duration_custom = {
    .name = "k8s.io.apimachinery.pkg.apis.meta.v1.Duration",
    .size = sizeof(int64_t),
    .align = _Alignof(int64_t),
    .from_json = duration_from_json,
    .to_json = duration_to_json,
    .from_proto = duration_from_proto,
    .to_proto = duration_to_proto,
    .is_zero = duration_is_zero,
};

/* --- numbers or strings ----------------------------------------------------------------------- */

static int int_or_string_from_json(struct str text, bool quoted, struct arena *a, void *out,
                                   struct err *reterr)
{
    struct int_or_string *v = out;
    int64_t number;
    if (quoted) {
        *v = (struct int_or_string){.text = arena_dup(a, text), .is_text = true};
        return 0;
    }
    if (!str_to_i64(text, &number) || number < INT32_MIN || number > INT32_MAX)
        return err_set(reterr, -EBADMSG, "expected a string or a whole number of 32 bits");
    *v = (struct int_or_string){.number = (int32_t)number};
    return 0;
}

static void int_or_string_to_json(const void *value, struct buf *out)
{
    const struct int_or_string *v = value;
    if (v->is_text)
        json_write_str(out, v->text);
    else
        buf_add_printf(out, "%" PRId32, v->number);
}

static int int_or_string_from_proto(struct str message, struct arena *a, void *out,
                                    struct err *reterr)
{
    size_t at = 0;
    uint64_t type = 0, number = 0;
    struct str text = {0};
    bool ok = true;
    while (ok && at < message.n) {
        uint32_t field;
        enum proto_wire wire;
        ok = proto_read_tag(message, &at, &field, &wire);
        if (!ok)
            break;
        if (field == 1 && wire == PROTO_VARINT)
            ok = proto_read_varint(message, &at, &type);
        else if (field == 2 && wire == PROTO_VARINT)
            ok = proto_read_varint(message, &at, &number);
        else if (field == 3 && wire == PROTO_BYTES)
            ok = proto_read_bytes(message, &at, &text) && utf8_valid(text);
        else
            ok = proto_skip(message, &at, wire);
    }
    if (!ok)
        return err_set(reterr, -EBADMSG, "malformed IntOrString");
    struct int_or_string *v = out;
    if (type == 0)
        *v = (struct int_or_string){.number = (int32_t)number};
    else
        *v = (struct int_or_string){.text = arena_dup(a, text), .is_text = true};
    return 0;
}

static void int_or_string_to_proto(const void *value, struct buf *out)
{
    const struct int_or_string *v = value;
    proto_write_varint(out, 1, v->is_text);
    proto_write_varint(out, 2, (uint64_t)(v->is_text ? 0 : v->number));
    proto_write_bytes(out, 3, v->is_text ? v->text : (struct str){0});
}

static bool int_or_string_is_zero(const void *value)
{
    const struct int_or_string *v = value;
    return !v->is_text && v->number == 0;
}

const struct custom int_or_string_custom = {
    .name = "k8s.io.apimachinery.pkg.util.intstr.IntOrString",
    .size = sizeof(struct int_or_string),
    .align = _Alignof(struct int_or_string),
    .from_json = int_or_string_from_json,
    .to_json = int_or_string_to_json,
    .from_proto = int_or_string_from_proto,
    .to_proto = int_or_string_to_proto,
    .is_zero = int_or_string_is_zero,
};
