/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_value.h - JSON as a tree.
 *
 * Purpose:   for what has no table: patches, YAML on its way to a typed decoder, arguments of
 *            plugins nobody here wrote, the embedded API server.
 * Ownership: the tree lives in the arena it was parsed into; immutable unless the owner says so.
 * Threading: one thread while it is built, any for reading.
 */
#ifndef BERTH_CODEC_JSON_VALUE_H
#define BERTH_CODEC_JSON_VALUE_H

#include "codec/json.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind : 8;
    bool literal : 1; /* a string that YAML had in a block (|): its lines are those of the source,
                         and the first is the one after `line` */
    uint32_t line;    /* 1-based, where it stood in the source; of an object or array that YAML has
                         under a key, where the key stood; 0: unknown */
    union {
        bool boolean;
        struct str text; /* string content; number as written */
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
 * equal keys counts (at the place of the first) and such bytes become U+FFFD. Depth is bounded by
 * JSON_MAX_DEPTH; a tree takes at most some twenty times the size of its text.
 */
int json_parse(struct str text, unsigned flags, struct arena *a, struct json_value *ret_value,
               struct err *reterr) MUST_CHECK;
/* Appends it as compact JSON, members in their order. */
void json_write(const struct json_value *v, struct buf *out);

/* The member of an object; NULL where it has none or v is not an object. */
const struct json_value *json_get(const struct json_value *v, struct str key);
/* The same where it is a string; empty where there is none. */
struct str json_get_text(const struct json_value *v, struct str key);
/*
 * Equal as JSON: the order of members does not matter, and numbers are equal where their values are
 * (1.0 and 1e0; whole numbers are compared exactly).
 */
bool json_value_equal(const struct json_value *a, const struct json_value *b);

/* The same decoder as json_decode, over a tree: "line 3: spec.replicas: expected …". */
int json_value_decode(const struct json_value *v, const struct type *type, unsigned flags,
                      struct arena *a, void *out, struct err *reterr) MUST_CHECK;

#endif
