/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_value.h - JSON as a tree.
 *
 * Purpose:   for data without a table: patches, YAML before typed decoding, arguments of
 *            out-of-tree plugins, the embedded API server.
 * Ownership: the tree lives in the arena it was parsed into; immutable unless the owner says
 *            otherwise.
 * Threading: one thread while it is built, any thread for reading.
 */
#ifndef BERTH_CODEC_JSON_VALUE_H
#define BERTH_CODEC_JSON_VALUE_H

#include "codec/json.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind : 8;
    bool literal : 1; /* a string from a YAML block (|): its lines are those of the source, the
                         first one after `line` */
    uint32_t line; /* 1-based line of the source; for an object or array under a key in YAML, that
                      of the key; 0: unknown */
    union {
        bool boolean;
        struct str text; /* string content, or number as written */
        struct {
            struct json_value *items; /* array */
            size_t n;
        };
        struct {
            struct json_member *members; /* object, in order of appearance */
            size_t n_members;
        };
    };
};

struct json_member {
    struct str key;
    struct json_value value;
};

/*
 * flags: JSON_STRICT refuses duplicate keys and bytes that are not UTF-8; otherwise the last of
 * equal keys counts (at the position of the first) and such bytes become U+FFFD. Depth is limited
 * to JSON_MAX_DEPTH; a tree takes at most about twenty times the size of its text.
 */
int json_parse(struct str text, unsigned flags, struct arena *a, struct json_value *ret_value,
               struct err *reterr) MUST_CHECK;
/* Appends the tree as compact JSON, members in their order. */
void json_write(const struct json_value *v, struct buf *out);

/* The member of an object; NULL if it has none or v is not an object. */
const struct json_value *json_get(const struct json_value *v, struct str key);
/* The same if it is a string; otherwise empty. */
struct str json_get_text(const struct json_value *v, struct str key);
/*
 * Equality of JSON values: the order of members does not matter, and numbers are compared by value
 * (1.0 equals 1e0; integers are compared exactly).
 */
bool json_value_equal(const struct json_value *a, const struct json_value *b);

/* The decoder of json_decode for a tree: "line 3: spec.replicas: expected …". */
int json_value_decode(const struct json_value *v, const struct type *type, unsigned flags,
                      struct arena *a, void *out, struct err *reterr) MUST_CHECK;

#endif
