/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - JSON text to and from described types.
 *
 * Purpose:   one pass from text to struct, no tree in between. Bounded: depth, sizes, and UTF-8 is
 *            validated. Strict mode (configuration files) refuses unknown and duplicate fields and
 *            says where; the lenient mode (API objects) skips what the table does not know. Bytes
 *            that are not UTF-8 are refused in strict mode and read as U+FFFD in lenient mode, as
 *            Go does; so are surrogates (\ud800) that have no partner, in both.
 * Ownership: decoded text is copied into the arena, so the input may go.
 * Threading: any, one call at a time per arena.
 */
#ifndef BERTH_CODEC_JSON_H
#define BERTH_CODEC_JSON_H

#include "codec/desc.h"

#define JSON_MAX_DEPTH 200

enum json_flags {
    JSON_STRICT = 1 << 0,    /* unknown or duplicate field: an error that names its path */
    JSON_FOLD_CASE = 1 << 1, /* field names match without regard to case, as Go's decoder does */
    JSON_KEEP_DUPLICATES = 1 << 2, /* trees of YAML keep all members of a name; see schema.h */
};

/*
 * How numbers are read: a whole number field takes whole numbers within its range and refuses 1.0,
 * 1e3 and "1", as sigs.k8s.io/json does. null leaves a field as it is. A field that occurs twice in
 * lenient mode: the last counts, objects merge.
 */

/*
 * The value of type `type` in text, into out (type->size bytes, zeroed by the callee).
 * -EBADMSG with "line 3, column 7: spec.containers[0].name: expected a string" on failure.
 */
int json_decode(struct str text, const struct type *type, unsigned flags, struct arena *a,
                void *out, struct err *reterr) MUST_CHECK;

/* The line of the source that the byte at offset came from; 0: unknown. */
typedef size_t json_locate_fn(const void *ctx, size_t offset);

struct json_target {
    const struct type *type;
    unsigned flags;
    void *out;
};

/* As json_decode; with locate, errors say "line 3: ..." by it. */
int json_decode_located(struct str text, const struct json_target *target, struct arena *a,
                        json_locate_fn *locate, const void *ctx, struct err *reterr) MUST_CHECK;

/*
 * Calls fn with the name and the text of every member of the object in text, which is not checked
 * any further; false of fn ends it. Names with escapes are given as they stand there.
 */
typedef bool json_member_fn(void *ctx, struct str name, struct str value);
int json_each_member(struct str text, json_member_fn *fn, void *ctx, struct err *reterr) MUST_CHECK;

/* Appends the object as compact JSON. Zero values are left out, as Go's omitempty does. */
void json_encode(const struct type *type, const void *value, struct buf *out);

/*
 * Calls on_item with the text of every element of the array at the top-level key "items", and
 * decodes everything else into out by type (whose table has no "items"). One pass, nothing copied:
 * this is how lists of any length are read object by object. An item arrives with its brackets
 * matched and is validated by whoever decodes it. A non-zero return of on_item ends it and comes
 * back.
 */
typedef int json_item_fn(void *ctx, struct str item);
int json_decode_list(struct str text, const struct type *type, struct arena *a, void *out,
                     json_item_fn *on_item, void *ctx, struct err *reterr) MUST_CHECK;

/*
 * Where the first complete JSON value of a stream ends: its length including leading white space, 0
 * where more bytes are needed, negative where it is not JSON. For watch streams. *scan keeps the
 * state between calls so that no byte is looked at twice; start it with {0}.
 */
struct json_scan {
    size_t at;
    int depth;
    bool in_string, escaped, started, bare;
};
ssize_t json_scan_value(struct json_scan *scan, struct str bytes);

/*
 * Appends the object in text without the members that the rules name; what is left stands there as
 * it was written. For API objects that go to somebody else: their texts are not taken apart.
 */
struct json_trim_rule {
    struct str key;
    const struct json_trim_rule *inside; /* rules for the object under key; NULL: it goes whole */
    size_t n_inside;
};
int json_trim(struct str text, const struct json_trim_rule *rules, size_t n, struct buf *out,
              struct err *reterr) MUST_CHECK;

/*
 * Appends s quoted, escaped as apimachinery's serializer does it: Go's defaults, which also turn <,
 * > and & into \u003c and so on. Equal objects thus have equal bytes on both sides, and the text is
 * safe within a page. Bytes that are not UTF-8 become \ufffd.
 */
void json_write_str(struct buf *out, struct str s);

#endif
