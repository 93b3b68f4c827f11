/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format's building blocks, and the envelope. */
#include "codec/proto.h"

bool proto_read_varint(struct str bytes, size_t *at, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = *at;
    for (int shift = 0; shift < 64 && i < bytes.n && bytes.p; shift += 7) {
        unsigned char c = (unsigned char)bytes.p[i++];
        value |= (uint64_t)(c & 0x7F) << shift;
        if (c < 0x80) {
            /* Only one bit of the tenth byte fits. */
            if (shift == 63 && c > 1)
                return false;
            *at = i;
            *ret_value = value;
            return true;
        }
    }
    return false;
}

bool proto_read_tag(struct str bytes, size_t *at, uint32_t *ret_number, enum proto_wire *ret_wire)
{
    uint64_t tag;
    size_t i = *at;
    if (!proto_read_varint(bytes, &i, &tag) || tag >> 3 == 0 || tag > UINT32_MAX)
        return false;
    *at = i;
    *ret_number = (uint32_t)(tag >> 3);
    *ret_wire = (enum proto_wire)(tag & 7);
    return true;
}

bool proto_read_bytes(struct str bytes, size_t *at, struct str *ret_bytes)
{
    uint64_t n;
    size_t i = *at;
    if (!proto_read_varint(bytes, &i, &n) || n > bytes.n - i)
        return false;
    *ret_bytes = (struct str){bytes.p + i, (size_t)n};
    *at = i + (size_t)n;
    return true;
}

bool proto_skip(struct str bytes, size_t *at, enum proto_wire wire)
{
    uint64_t value;
    struct str content;
    size_t fixed = 0;
    switch (wire) {
    case PROTO_VARINT:
        return proto_read_varint(bytes, at, &value);
    case PROTO_BYTES:
        return proto_read_bytes(bytes, at, &content);
    case PROTO_FIXED64:
        fixed = 8;
        break;
    case PROTO_FIXED32:
        fixed = 4;
        break;
    default:
        return false; /* groups: never used by Kubernetes */
    }
    if (bytes.n - *at < fixed)
        return false;
    *at += fixed;
    return true;
}

static void write_number(struct buf *out, uint64_t value)
{
    char text[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        text[n++] = (char)(value | 0x80);
    text[n++] = (char)value;
    buf_add(out, text, n);
}

void proto_write_varint(struct buf *out, uint32_t number, uint64_t value)
{
    write_number(out, (uint64_t)number << 3 | PROTO_VARINT);
    write_number(out, value);
}

void proto_write_bytes(struct buf *out, uint32_t number, struct str bytes)
{
    write_number(out, (uint64_t)number << 3 | PROTO_BYTES);
    write_number(out, bytes.n);
    buf_add_str(out, bytes);
}

void proto_close_field(struct buf *out, uint32_t number, size_t start)
{
    struct buf head = BUF_INIT;
    size_t n = out->n - start;
    proto_write_varint(&head, number, n);
    head.p[0] = (char)(head.p[0] | PROTO_BYTES); /* the tag's first byte has the wire type */
    if (buf_reserve(out, head.n)) {
        memmove(out->p + start + head.n, out->p + start, n);
        memcpy(out->p + start, head.p, head.n);
        out->n += head.n;
    }
    buf_release(&head);
}

/* --- envelope: runtime.Unknown ---------------------------------------------------------------- */

static const char magic[4] = {'k', '8', 's', 0};

enum { UNKNOWN_TYPE_META = 1, UNKNOWN_RAW = 2, UNKNOWN_ENCODING = 3, UNKNOWN_CONTENT_TYPE = 4 };
enum { TYPE_META_API_VERSION = 1, TYPE_META_KIND = 2 };

/* Reads the bytes fields of a message into parts[number]; others are skipped. */
static bool read_parts(struct str bytes, struct str *parts, size_t n_parts)
{
    for (size_t at = 0; at < bytes.n;) {
        uint32_t number;
        enum proto_wire wire;
        if (!proto_read_tag(bytes, &at, &number, &wire))
            return false;
        bool wanted = number < n_parts && wire == PROTO_BYTES;
        if (wanted ? !proto_read_bytes(bytes, &at, &parts[number]) : !proto_skip(bytes, &at, wire))
            return false;
    }
    return true;
}

int proto_open_envelope(struct str bytes, struct proto_envelope *ret_envelope, struct err *reterr)
{
    struct str unknown[5] = {{0}}, meta[3] = {{0}};
    if (!str_starts(bytes, (struct str){magic, sizeof(magic)}))
        return err_set(reterr, -EBADMSG, "not a protobuf object: does not begin with \"k8s\\0\"");
    bytes = str_slice(bytes, sizeof(magic), bytes.n);
    if (!read_parts(bytes, unknown, ARRAY_LEN(unknown)) ||
        !read_parts(unknown[UNKNOWN_TYPE_META], meta, ARRAY_LEN(meta)))
        return err_set(reterr, -EBADMSG, "malformed protobuf envelope");
    if (unknown[UNKNOWN_ENCODING].n)
        return err_set(reterr, -EBADMSG, "protobuf envelope with content encoding \"%.*s\"",
                       (int)MIN(unknown[UNKNOWN_ENCODING].n, (size_t)40),
                       unknown[UNKNOWN_ENCODING].p);
    *ret_envelope = (struct proto_envelope){.api_version = meta[TYPE_META_API_VERSION],
                                            .kind = meta[TYPE_META_KIND],
                                            .raw = unknown[UNKNOWN_RAW],
                                            .content_type = unknown[UNKNOWN_CONTENT_TYPE]};
    return 0;
}

void proto_encode_envelope(struct str api_version, struct str kind, const struct type *type,
                           const void *value, struct buf *out)
{
    struct buf meta = BUF_INIT, raw = BUF_INIT;
    proto_write_bytes(&meta, TYPE_META_API_VERSION, api_version);
    proto_write_bytes(&meta, TYPE_META_KIND, kind);
    proto_encode(type, value, &raw);
    buf_add(out, magic, sizeof(magic));
    proto_write_bytes(out, UNKNOWN_TYPE_META, buf_str(&meta));
    proto_write_bytes(out, UNKNOWN_RAW, buf_str(&raw));
    proto_write_bytes(out, UNKNOWN_ENCODING, STR(""));
    proto_write_bytes(out, UNKNOWN_CONTENT_TYPE, STR(""));
    out->overflow |= raw.overflow || meta.overflow;
    buf_release(&raw);
    buf_release(&meta);
}
