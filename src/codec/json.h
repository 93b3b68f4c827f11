/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - decodes and encodes described types as JSON.
 *
 * Purpose:   one pass from text to struct, without a tree. Depth and sizes are limited, and UTF-8
 *            is validated. Strict mode (configuration files) refuses unknown and duplicate fields
 *            and reports their position; lenient mode (API objects) skips fields that the table
 *            does not have. Bytes that are not UTF-8 are refused in strict mode and read as U+FFFD
 *            in lenient mode, as in Go; unpaired surrogates (\ud800) are read as U+FFFD in both.
 * Ownership: decoded strings are copied into the arena; the input is not kept.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_CODEC_JSON_H
#define BERTH_CODEC_JSON_H

#include "codec/desc.h"

#define JSON_MAX_DEPTH 200

enum json_flags {
    JSON_STRICT = 1 << 0,          /* unknown or duplicate field: an error with its path */
    JSON_FOLD_CASE = 1 << 1,       /* field names are case-insensitive, as in Go's decoder */
    JSON_KEEP_DUPLICATES = 1 << 2, /* YAML trees keep all members of a name; see schema.h */
};

/*
 * Numbers: an integer field accepts integers within its range and refuses 1.0, 1e3 and "1", as
 * sigs.k8s.io/json does. null leaves a field unchanged. If a field occurs twice in lenient mode,
 * the last one counts and objects merge.
 */

/*
 * Decodes the value of type `type` in text to out (type->size bytes, zeroed by the callee).
 * -EBADMSG with "line 3, column 7: spec.containers[0].name: expected a string" on failure.
 */
int json_decode(struct str text, const struct type *type, unsigned flags, struct arena *a,
                void *out, struct err *reterr) MUST_CHECK;

/* The source line of the byte at offset; 0: unknown. */
typedef size_t json_locate_fn(const void *ctx, size_t offset);

struct json_target {
    const struct type *type;
    unsigned flags;
    void *out;
};

/* As json_decode; with locate, errors have its line: "line 3: ...". */
int json_decode_located(struct str text, const struct json_target *target, struct arena *a,
                        json_locate_fn *locate, const void *ctx, struct err *reterr) MUST_CHECK;

/*
 * Calls fn with the name and the text of every member of the object in text, which is not checked
 * further; fn returns false to stop. Names with escapes are passed unchanged.
 */
typedef bool json_member_fn(void *ctx, struct str name, struct str value);
int json_each_member(struct str text, json_member_fn *fn, void *ctx, struct err *reterr) MUST_CHECK;

/* Appends the object as compact JSON. Zero values are omitted, as with Go's omitempty. */
void json_encode(const struct type *type, const void *value, struct buf *out);

/*
 * Calls on_item with the text of every element of the array at the top-level key "items", and
 * decodes everything else into out by type (whose table has no "items"). One pass without copies:
 * lists of any length are read object by object. Only the brackets of an item are checked; its
 * decoder validates it. A non-zero return of on_item stops and is returned.
 */
typedef int json_item_fn(void *ctx, struct str item);
int json_decode_list(struct str text, const struct type *type, struct arena *a, void *out,
                     json_item_fn *on_item, void *ctx, struct err *reterr) MUST_CHECK;

/*
 * Finds the end of the first complete JSON value of a stream. Returns its length including leading
 * white space, 0 if more bytes are needed, negative if it is not JSON. For watch streams. *scan
 * keeps the state between calls so that no byte is read twice; initialise it with {0}.
 */
struct json_scan {
    size_t at;
    int depth;
    bool in_string, escaped, started, bare;
};
ssize_t json_scan_value(struct json_scan *scan, struct str bytes);

/*
 * Appends the object in text without the members that the rules name; the rest is unchanged. For
 * API objects that are passed on without decoding.
 */
struct json_trim_rule {
    struct str key;
    const struct json_trim_rule *inside; /* rules for the object under key; NULL: remove it */
    size_t n_inside;
};
int json_trim(struct str text, const struct json_trim_rule *rules, size_t n, struct buf *out,
              struct err *reterr) MUST_CHECK;

/*
 * Appends s quoted and escaped as apimachinery's serializer does: Go's defaults, which also escape
 * <, > and & as \u003c and so on. Equal objects thus have equal bytes on both sides, and the text
 * is safe within HTML. Bytes that are not UTF-8 become \ufffd.
 */
void json_write_str(struct buf *out, struct str s);

#endif
