/* SPDX-License-Identifier: Apache-2.0 */
#include "api/measure.h"

#include "codec/proto.h"

/* What an allocation may lose to alignment. */
#define PAD (_Alignof(max_align_t) / 2 - 1)

/* Nearly all tags and lengths are one byte. */
static inline bool read_varint(struct str bytes, size_t *at, uint64_t *ret_value)
{
    if (LIKELY(*at < bytes.n && !(bytes.p[*at] & 0x80))) {
        *ret_value = (unsigned char)bytes.p[(*at)++];
        return true;
    }
    return proto_read_varint(bytes, at, ret_value);
}

/* The next field and, where it has them, its bytes. */
static inline bool next_field(struct str bytes, size_t *at, uint32_t *ret_number,
                              struct str *ret_content)
{
    uint64_t tag, n;
    if (!read_varint(bytes, at, &tag))
        return false;
    *ret_number = (uint32_t)(tag >> 3);
    *ret_content = (struct str){0};
    if ((tag & 7) == PROTO_VARINT)
        return read_varint(bytes, at, &n);
    if ((tag & 7) != PROTO_BYTES)
        return proto_skip(bytes, at, (enum proto_wire)(tag & 7));
    if (!read_varint(bytes, at, &n) || n > bytes.n - *at)
        return false;
    *ret_content = (struct str){bytes.p + *at, (size_t)n};
    *at += (size_t)n;
    return true;
}

/* What the value holds apart from itself. */
static size_t measure_content(const struct field *f, struct str bytes)
{
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
    case FIELD_BYTES:
    case FIELD_RAW:
        return bytes.n + 1;
    case FIELD_MESSAGE:
        return measure_proto(bytes, f->type);
    default:
        return 0;
    }
}

size_t measure_proto(struct str bytes, const struct type *type)
{
    size_t total = 0, at = 0;
    const struct field *before = NULL;
    uint32_t number;
    struct str content;
    while (at < bytes.n && next_field(bytes, &at, &number, &content)) {
        const struct field *f = type_find_number(type, number);
        if (!f)
            continue;
        total += measure_content(f, content);
        /* The items of a list lie together in one allocation. */
        if (f->shape != SHAPE_ONE)
            total += field_item_size(f) + (f == before && f->shape != SHAPE_PTR ? 0 : PAD);
        before = f;
    }
    return total;
}
