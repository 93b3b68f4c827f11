/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driven by the tables. Consecutive items of a list are counted before they are decoded, and need
 * one allocation.
 */
#include "codec/decode.h"
#include "codec/proto.h"
#include "codec/utf8.h"

struct decoder {
    const char *start;
    struct arena *a;
    size_t budget;
    int depth;
    const char *problem, *where;
    struct decode_path path;
    struct err custom;
};

/* A message that is being read. */
struct cursor {
    const char *at, *end;
};

static struct cursor cursor_of(struct str bytes)
{
    const char *p = bytes.n ? bytes.p : "";
    return (struct cursor){p, p + bytes.n};
}

static const char truncated[] = "truncated";
static const char malformed[] = "malformed";

static bool fail(struct decoder *d, const char *where, const char *problem)
{
    d->where = where;
    d->problem = problem;
    return false;
}

static bool decode_message(struct decoder *d, const struct type *type, struct str bytes, char *out);

/* --- wire format ------------------------------------------------------------------------------ */

static bool read_varint_slow(struct decoder *d, struct cursor *c, uint64_t *ret_value)
{
    struct str rest = {c->at, (size_t)(c->end - c->at)};
    size_t at = 0;
    if (!proto_read_varint(rest, &at, ret_value))
        return fail(d, c->at, rest.n < 10 ? truncated : malformed);
    c->at += at;
    return true;
}

/* Most numbers, tags and lengths take one or two bytes. */
static inline bool read_varint(struct decoder *d, struct cursor *c, uint64_t *ret_value)
{
    const unsigned char *p = (const unsigned char *)c->at;
    if (LIKELY(c->at < c->end && p[0] < 0x80)) {
        *ret_value = p[0];
        c->at += 1;
        return true;
    }
    if (LIKELY(c->end - c->at >= 2 && p[1] < 0x80)) {
        *ret_value = (uint64_t)(p[0] & 0x7F) | (uint64_t)p[1] << 7;
        c->at += 2;
        return true;
    }
    return read_varint_slow(d, c, ret_value);
}

static inline bool read_bytes(struct decoder *d, struct cursor *c, struct str *ret_bytes)
{
    const char *where = c->at;
    uint64_t n;
    if (!read_varint(d, c, &n))
        return false;
    if (UNLIKELY(n > (uint64_t)(c->end - c->at)))
        return fail(d, where, truncated);
    *ret_bytes = (struct str){c->at, (size_t)n};
    c->at += n;
    return true;
}

static bool skip(struct decoder *d, struct cursor *c, unsigned wire)
{
    struct str rest = {c->at, (size_t)(c->end - c->at)};
    uint64_t value;
    if (LIKELY(wire == PROTO_BYTES))
        return read_bytes(d, c, &rest);
    if (wire == PROTO_VARINT)
        return read_varint(d, c, &value);
    size_t at = 0;
    if (wire == 3 || wire == 4 || wire > 5)
        return fail(d, c->at, "unknown wire type");
    if (!proto_skip(rest, &at, (enum proto_wire)wire))
        return fail(d, c->at, rest.n < 10 ? truncated : malformed);
    c->at += at;
    return true;
}

/* --- values ----------------------------------------------------------------------------------- */

static enum proto_wire wire_of(const struct field *f)
{
    switch (f->kind) {
    case FIELD_BOOL:
    case FIELD_INT32:
    case FIELD_INT64:
        return PROTO_VARINT;
    case FIELD_DOUBLE:
        return PROTO_FIXED64;
    default:
        return PROTO_BYTES;
    }
}

static void store_number(const struct field *f, uint64_t value, void *out)
{
    if (f->kind == FIELD_BOOL)
        *(bool *)out = value != 0;
    else if (f->kind == FIELD_INT32)
        *(int32_t *)out = (int32_t)(uint32_t)value;
    else
        *(int64_t *)out = (int64_t)value;
}

static bool decode_raw(struct decoder *d, struct str message, struct str *out)
{
    struct cursor c = cursor_of(message);
    while (c.at < c.end) {
        uint64_t tag;
        struct str raw;
        if (!read_varint(d, &c, &tag))
            return false;
        if (tag != (1 << 3 | PROTO_BYTES)) {
            if (!skip(d, &c, tag & 7))
                return false;
        } else if (read_bytes(d, &c, &raw)) {
            *out = decode_dup(d->a, raw);
        } else {
            return false;
        }
    }
    return true;
}

static bool decode_bytes(struct decoder *d, const struct field *f, struct str bytes, void *out)
{
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
        if (UNLIKELY(!utf8_valid(bytes)))
            return fail(d, bytes.p, "not UTF-8");
        *(struct str *)out = decode_dup(d->a, bytes);
        return true;
    case FIELD_BYTES:
        *(struct str *)out = decode_dup(d->a, bytes);
        return true;
    case FIELD_RAW:
        return decode_raw(d, bytes, out);
    case FIELD_MESSAGE:
        return decode_message(d, f->type, bytes, out);
    case FIELD_CUSTOM:
        if (f->custom->from_proto(bytes, d->a, out, &d->custom) < 0)
            return fail(d, bytes.p, d->custom.msg);
        return true;
    default:
        return fail(d, bytes.p, malformed);
    }
}

/* One value after its tag. */
static bool decode_item(struct decoder *d, struct cursor *c, const struct field *f, void *out)
{
    enum proto_wire wire = wire_of(f);
    if (wire == PROTO_BYTES) {
        struct str bytes;
        return read_bytes(d, c, &bytes) && decode_bytes(d, f, bytes, out);
    }
    if (wire == PROTO_VARINT) {
        uint64_t value;
        if (!read_varint(d, c, &value))
            return false;
        store_number(f, value, out);
        return true;
    }
    if ((size_t)(c->end - c->at) < sizeof(double))
        return fail(d, c->at, truncated);
    memcpy(out, c->at, sizeof(double));
    c->at += sizeof(double);
    return true;
}

/* --- lists and maps --------------------------------------------------------------------------- */

/* Makes room for n more items at the end of the list; they are zeroed. */
static bool extend(struct decoder *d, const struct field *f, struct any_list *list, size_t n)
{
    size_t size = field_item_size(f);
    /*
     * A list in many pieces is copied for each piece. That is charged to the budget, so that a
     * message built to be copied often is refused early.
     */
    size_t want;
    if (__builtin_mul_overflow(list->n + n, size, &want) || !decode_charge(&d->budget, want))
        return fail(d, d->start, "needs too much memory for its size");
    char *items = decode_alloc(d->a, want, field_item_align(f));
    if (list->n)
        memcpy(items, list->v, list->n * size);
    memset(items + list->n * size, 0, n * size);
    list->v = items;
    return true;
}

/* Counts the consecutive items with this tag from c on; c is behind the first tag. */
static bool count_run(struct decoder *d, struct cursor c, uint64_t tag, size_t *ret_n)
{
    size_t n = 0;
    uint64_t next;
    do {
        if (!skip(d, &c, tag & 7))
            return false;
        n++;
        if (c.at == c.end)
            break;
        if (!read_varint(d, &c, &next))
            return false;
    } while (next == tag);
    *ret_n = n;
    return true;
}

static bool decode_run(struct decoder *d, struct cursor *c, const struct field *f, uint64_t tag,
                       struct any_list *list)
{
    size_t n, size = field_item_size(f);
    if (!count_run(d, *c, tag, &n) || !extend(d, f, list, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t again;
        if (i > 0 && !read_varint(d, c, &again))
            return false;
        char *item = (char *)list->v + list->n * size;
        if (UNLIKELY(!decode_item(d, c, f, item))) {
            if (f->shape == SHAPE_LIST)
                path_index(&d->path, list->n);
            return false;
        }
        list->n++;
    }
    if (f->shape == SHAPE_MAP)
        decode_sort_map(list, f->type);
    return true;
}

/* [packed] numbers: one length-delimited run of varints (or doubles). */
static bool decode_packed(struct decoder *d, struct cursor *c, const struct field *f,
                          struct any_list *list)
{
    struct str bytes;
    if (!read_bytes(d, c, &bytes))
        return false;
    struct cursor run = cursor_of(bytes);
    size_t n = 0, size = field_item_size(f);
    if (f->kind == FIELD_DOUBLE)
        n = bytes.n / sizeof(double);
    else
        for (const char *p = run.at; p < run.end; p++)
            n += (unsigned char)*p < 0x80;
    if (n == 0)
        return bytes.n == 0 || fail(d, run.at, truncated);
    if (!extend(d, f, list, n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!decode_item(d, &run, f, (char *)list->v + list->n++ * size))
            return false;
    return run.at == run.end || fail(d, run.at, truncated);
}

/* --- messages --------------------------------------------------------------------------------- */

static bool decode_ptr(struct decoder *d, struct cursor *c, const struct field *f, void **member)
{
    if (!*member) {
        size_t size = field_item_size(f);
        if (!decode_charge(&d->budget, size))
            return fail(d, c->at, "needs too much memory for its size");
        *member = arena_alloc(d->a, size, field_item_align(f));
    }
    return decode_item(d, c, f, *member);
}

/* The value of a known field; c is behind its tag. */
static bool decode_field(struct decoder *d, struct cursor *c, const struct field *f, uint64_t tag,
                         void *member)
{
    enum proto_wire want = wire_of(f);
    if (UNLIKELY((tag & 7) != want)) {
        if (f->shape == SHAPE_LIST && (tag & 7) == PROTO_BYTES)
            return decode_packed(d, c, f, member);
        return fail(d, c->at, "unexpected wire type");
    }
    switch ((enum field_shape)f->shape) {
    case SHAPE_ONE:
        return decode_item(d, c, f, member);
    case SHAPE_PTR:
        return decode_ptr(d, c, f, member);
    default:
        return decode_run(d, c, f, tag, member);
    }
}

/* A tag and its value. */
static bool decode_next(struct decoder *d, struct cursor *c, const struct type *type, char *out)
{
    uint64_t tag;
    const char *where = c->at;
    if (!read_varint(d, c, &tag))
        return false;
    if (UNLIKELY(tag < 8 || tag > UINT32_MAX))
        return fail(d, where, malformed);
    const struct field *f = type_find_number(type, tag >> 3);
    if (!f)
        return skip(d, c, tag & 7);
    if (LIKELY(decode_field(d, c, f, tag, out + f->offset)))
        return true;
    if (!(f->flags & FIELD_INLINE))
        path_field(&d->path, (struct str){f->json, f->json_len});
    return false;
}

static bool decode_message(struct decoder *d, const struct type *type, struct str bytes, char *out)
{
    if (UNLIKELY(++d->depth > PROTO_MAX_DEPTH))
        return fail(d, bytes.p, "nested too deeply");
    struct cursor c = cursor_of(bytes);
    while (c.at < c.end)
        if (!decode_next(d, &c, type, out))
            return false;
    d->depth--;
    return true;
}

/* --- entry points ----------------------------------------------------------------------------- */

static void decoder_init(struct decoder *d, struct str bytes, struct arena *a)
{
    d->start = bytes.n ? bytes.p : "";
    d->a = a;
    d->budget = decode_budget(bytes.n);
    d->depth = 0;
    path_init(&d->path);
}

static int report(const struct decoder *d, struct err *reterr)
{
    struct str path = path_str(&d->path);
    return err_set(reterr, -EBADMSG, "%.*s%s%s at byte %zu", STR_ARG(path), path.n ? ": " : "",
                   d->problem, (size_t)(d->where - d->start));
}

int proto_decode(struct str bytes, const struct type *type, struct arena *a, void *out,
                 struct err *reterr)
{
    struct decoder d;
    decoder_init(&d, bytes, a);
    memset(out, 0, type->size);
    return decode_message(&d, type, bytes, out) ? 0 : report(&d, reterr);
}

#define LIST_ITEMS ((uint64_t)2 << 3 | PROTO_BYTES)

int proto_decode_list(struct str bytes, const struct type *type, struct arena *a, void *out,
                      proto_item_fn *on_item, void *ctx, struct err *reterr)
{
    struct decoder d;
    decoder_init(&d, bytes, a);
    memset(out, 0, type->size);
    struct cursor c = cursor_of(bytes);
    while (c.at < c.end) {
        struct cursor behind_tag = c;
        uint64_t tag;
        struct str item;
        if (!read_varint(&d, &behind_tag, &tag))
            return report(&d, reterr);
        if (tag != LIST_ITEMS) {
            if (!decode_next(&d, &c, type, out))
                return report(&d, reterr);
            continue;
        }
        c = behind_tag;
        if (!read_bytes(&d, &c, &item)) {
            path_field(&d.path, STR("items"));
            return report(&d, reterr);
        }
        int stop = on_item(ctx, item);
        if (stop)
            return stop;
    }
    return 0;
}
