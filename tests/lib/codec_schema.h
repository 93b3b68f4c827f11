/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_schema.h - a type that uses every kind and shape of field, for tests of the codecs.
 *
 * Purpose:   `struct everything` and its table; codec_random fills a value of any described type.
 * Ownership: random values live in the arena.
 * Threading: any.
 */
#ifndef BERTH_TESTS_CODEC_SCHEMA_H
#define BERTH_TESTS_CODEC_SCHEMA_H

#include <inttypes.h>

#include "codec/desc.h"
#include "codec/json.h"
#include "codec/proto.h"

/* A custom scalar: "0x1f" or 31 in JSON, {1: varint} in protobuf. */
struct hex {
    uint64_t value;
};

static int hex_from_json(struct str text, bool quoted, struct arena *a, void *out,
                         struct err *reterr)
{
    (void)a;
    struct hex *h = out;
    if (!quoted)
        return str_to_u64(text, &h->value) ? 0 : err_set(reterr, -EBADMSG, "expected hex");
    char copy[24];
    if (text.n < 3 || text.n >= 19 || memcmp(text.p, "0x", 2) != 0)
        return err_set(reterr, -EBADMSG, "expected hex");
    memcpy(copy, text.p + 2, text.n - 2);
    copy[text.n - 2] = '\0';
    if (strspn(copy, "0123456789abcdef") != text.n - 2)
        return err_set(reterr, -EBADMSG, "expected hex");
    h->value = strtoull(copy, NULL, 16);
    return 0;
}

static void hex_to_json(const void *value, struct buf *out)
{
    buf_add_printf(out, "\"0x%" PRIx64 "\"", ((const struct hex *)value)->value);
}

static int hex_from_proto(struct str message, struct arena *a, void *out, struct err *reterr)
{
    (void)a;
    for (size_t at = 0; at < message.n;) {
        uint32_t number;
        enum proto_wire wire;
        if (!proto_read_tag(message, &at, &number, &wire))
            return err_set(reterr, -EBADMSG, "malformed hex");
        bool ours = number == 1 && wire == PROTO_VARINT;
        if (ours ? !proto_read_varint(message, &at, &((struct hex *)out)->value)
                 : !proto_skip(message, &at, wire))
            return err_set(reterr, -EBADMSG, "malformed hex");
    }
    return 0;
}

static void hex_to_proto(const void *value, struct buf *out)
{
    proto_write_varint(out, 1, ((const struct hex *)value)->value);
}

static bool hex_is_zero(const void *value)
{
    return ((const struct hex *)value)->value == 0;
}

static const struct custom hex_custom = {"hex",         sizeof(struct hex), _Alignof(struct hex),
                                         hex_from_json, hex_to_json,        hex_from_proto,
                                         hex_to_proto,  hex_is_zero};

struct meta {
    struct str kind, api_version;
};
static const struct field meta_fields[] = {
    F_ONE(struct meta, kind, "kind", 0, STR),
    F_ONE(struct meta, api_version, "apiVersion", 0, STR),
};
static const struct type meta_type = TYPE("meta", struct meta, meta_fields);

struct leaf {
    struct str name;
    int32_t port;
    bool on;
};
static const struct field leaf_fields[] = {
    F_ONE(struct leaf, name, "name", 1, STR),
    F_ONE(struct leaf, port, "port", 2, INT32),
    F_ONE(struct leaf, on, "on", 3, BOOL),
};
static const struct type leaf_type = TYPE("leaf", struct leaf, leaf_fields);

struct source {
    struct leaf *file;
    struct str url;
};
static const struct field source_fields[] = {
    F_PTR_MSG(struct source, file, "file", 1, struct leaf, &leaf_type),
    F_ONE(struct source, url, "url", 2, STR),
};
static const struct type source_type = TYPE("source", struct source, source_fields);

struct leaf_entry {
    struct str key;
    struct leaf value;
};
static const struct field leaf_entry_fields[] = {
    F_ONE(struct leaf_entry, key, "key", 1, STR),
    F_MSG(struct leaf_entry, value, "value", 2, struct leaf, &leaf_type),
};
static const struct type leaf_entry_type = TYPE("leaf_entry", struct leaf_entry, leaf_entry_fields);

struct hex_entry {
    struct str key;
    struct hex value;
};
static const struct field hex_entry_fields[] = {
    F_ONE(struct hex_entry, key, "key", 1, STR),
    F_CUSTOM(struct hex_entry, value, "value", 2, struct hex, &hex_custom),
};
static const struct type hex_entry_type = TYPE("hex_entry", struct hex_entry, hex_entry_fields);

struct everything {
    struct meta meta;
    struct str s;
    struct str bytes;
    bool b;
    int32_t i32;
    int64_t i64;
    double d;
    struct str raw;
    struct leaf leaf;
    int32_t count;
    struct leaf always;
    struct source source;
    struct hex hex;
    struct str *ps;
    bool *pb;
    int32_t *pi32;
    int64_t *pi64;
    struct leaf *pleaf;
    struct hex *phex;
    struct everything *child;
    LIST(struct str) strings;
    LIST(int32_t) i32s;
    LIST(int64_t) i64s;
    LIST(bool) bools;
    LIST(struct leaf) leaves;
    LIST(struct everything) children;
    str_map labels;
    LIST(struct leaf_entry) leaf_map;
    LIST(struct hex_entry) limits;
};
static const struct type everything_type;
static const struct field everything_fields[] = {
    F_INLINE_MSG(struct everything, meta, "", 0, struct meta, &meta_type),
    F_ONE(struct everything, s, "s", 1, STR),
    F_ONE(struct everything, bytes, "bytes", 2, BYTES),
    F_ONE(struct everything, b, "b", 3, BOOL),
    F_ONE(struct everything, i32, "i32", 4, INT32),
    F_ONE(struct everything, i64, "i64", 5, INT64),
    F_ONE(struct everything, d, "d", 6, DOUBLE),
    F_ONE(struct everything, raw, "raw", 7, RAW),
    F_MSG(struct everything, leaf, "leaf", 8, struct leaf, &leaf_type),
    F_ALWAYS(struct everything, count, "count", 27, INT32),
    F_ALWAYS_MSG(struct everything, always, "always", 9, struct leaf, &leaf_type),
    F_INLINE_MSG(struct everything, source, "", 10, struct source, &source_type),
    F_CUSTOM(struct everything, hex, "hex", 11, struct hex, &hex_custom),
    F_PTR(struct everything, ps, "ps", 12, STR),
    F_PTR(struct everything, pb, "pb", 13, BOOL),
    F_PTR(struct everything, pi32, "pi32", 14, INT32),
    F_PTR(struct everything, pi64, "pi64", 15, INT64),
    F_PTR_MSG(struct everything, pleaf, "pleaf", 16, struct leaf, &leaf_type),
    F_PTR_CUSTOM(struct everything, phex, "phex", 17, struct hex, &hex_custom),
    F_PTR_MSG(struct everything, child, "child", 18, struct everything, &everything_type),
    F_LIST(struct everything, strings, "strings", 19, STR),
    F_LIST(struct everything, i32s, "i32s", 20, INT32),
    F_LIST(struct everything, i64s, "i64s", 21, INT64),
    F_LIST(struct everything, bools, "bools", 22, BOOL),
    F_LIST_MSG(struct everything, leaves, "leaves", 23, struct leaf, &leaf_type),
    F_LIST_MSG(struct everything, children, "children", 24, struct everything, &everything_type),
    F_STR_MAP(struct everything, labels, "labels", 25),
    F_MAP(struct everything, leaf_map, "leafMap", 26, struct leaf_entry, &leaf_entry_type),
    F_MAP(struct everything, limits, "limits", 3000, struct hex_entry, &hex_entry_type),
};
static const struct type everything_type = TYPE("everything", struct everything, everything_fields);

#endif
