/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Written from the last byte to the first: a message's content is written before its length, so
 * that nothing is measured twice and nothing is moved.
 */
#include "codec/decode.h"
#include "codec/proto.h"

struct back {
    char *p;       /* [p, p + cap) */
    size_t n, cap; /* the last n bytes are written */
    struct buf custom;
};

/* Makes room for n more bytes in front; they count as written. */
static char *back_room(struct back *b, size_t n)
{
    if (b->cap - b->n < n) {
        size_t cap = MAX(b->cap * 2, b->n + n + 256);
        char *p = xmalloc(cap);
        if (b->n)
            memcpy(p + cap - b->n, b->p + b->cap - b->n, b->n);
        free(b->p);
        b->p = p;
        b->cap = cap;
    }
    b->n += n;
    return b->p + b->cap - b->n;
}

static void back_bytes(struct back *b, struct str s)
{
    if (s.n)
        memcpy(back_room(b, s.n), s.p, s.n);
}

static void back_varint(struct back *b, uint64_t value)
{
    size_t n = 1;
    for (uint64_t v = value; v >= 0x80; v >>= 7)
        n++;
    char *p = back_room(b, n);
    for (; value >= 0x80; value >>= 7)
        *p++ = (char)(value | 0x80);
    *p = (char)value;
}

static void back_tag(struct back *b, uint32_t number, enum proto_wire wire)
{
    back_varint(b, (uint64_t)number << 3 | wire);
}

/* Writes length and tag in front of what was written since `end`. */
static void back_close(struct back *b, uint32_t number, size_t end)
{
    back_varint(b, b->n - end);
    back_tag(b, number, PROTO_BYTES);
}

static void write_message(struct back *b, const struct type *type, const char *value);

static void write_custom(struct back *b, const struct custom *custom, const void *item)
{
    buf_clear(&b->custom);
    custom->to_proto(item, &b->custom);
    back_bytes(b, buf_str(&b->custom));
}

/* The value of a field whose wire type is varint. */
static uint64_t varint_of(const struct field *f, const void *item)
{
    switch (f->kind) {
    case FIELD_BOOL:
        return *(const bool *)item;
    case FIELD_INT32:
        return (uint64_t)(int64_t)*(const int32_t *)item;
    default:
        return (uint64_t)*(const int64_t *)item;
    }
}

/* One value with its tag. */
static void write_item(struct back *b, const struct field *f, const void *item)
{
    size_t end = b->n;
    switch ((enum field_kind)f->kind) {
    case FIELD_BOOL:
    case FIELD_INT32:
    case FIELD_INT64:
        back_varint(b, varint_of(f, item));
        back_tag(b, f->number, PROTO_VARINT);
        return;
    case FIELD_DOUBLE: {
        memcpy(back_room(b, sizeof(double)), item, sizeof(double));
        back_tag(b, f->number, PROTO_FIXED64);
        return;
    }
    case FIELD_STR:
    case FIELD_BYTES:
        back_bytes(b, *(const struct str *)item);
        break;
    case FIELD_RAW:
        if (((const struct str *)item)->n) {
            back_bytes(b, *(const struct str *)item);
            back_close(b, 1, end);
        }
        break;
    case FIELD_MESSAGE:
        write_message(b, f->type, item);
        break;
    case FIELD_CUSTOM:
        write_custom(b, f->custom, item);
        break;
    }
    back_close(b, f->number, end);
}

static void write_one(struct back *b, const struct field *f, const void *member)
{
    bool always = f->flags & FIELD_ALWAYS;
    size_t end = b->n;
    if (f->kind == FIELD_MESSAGE) {
        /* A message of only zero values is omitted. */
        write_message(b, f->type, member);
        if (always || b->n > end)
            back_close(b, f->number, end);
    } else if (always || !field_item_is_zero(f, member)) {
        write_item(b, f, member);
    }
}

static void write_field(struct back *b, const struct field *f, const void *member)
{
    if (f->shape == SHAPE_ONE) {
        write_one(b, f, member);
    } else if (f->shape == SHAPE_PTR) {
        const void *item = *(const void *const *)member;
        if (item)
            write_item(b, f, item);
    } else {
        const struct any_list *list = member;
        size_t size = field_item_size(f);
        for (size_t i = list->n; i-- > 0;)
            write_item(b, f, (const char *)list->v + i * size);
    }
}

static void write_message(struct back *b, const struct type *type, const char *value)
{
    for (size_t i = type->n_fields; i-- > 0;) {
        const struct field *f = &type->fields[i];
        if (f->number)
            write_field(b, f, value + f->offset);
    }
}

void proto_encode(const struct type *type, const void *value, struct buf *out)
{
    struct back b = {0};
    write_message(&b, type, value);
    if (b.n)
        buf_add(out, b.p + b.cap - b.n, b.n);
    free(b.p);
    buf_release(&b.custom);
}
