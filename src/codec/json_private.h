/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_private.h - what the JSON files know of each other. Private to codec.
 *
 * Purpose:   a tree is decoded by writing it out and reading the text, so that there is one typed
 *            decoder and not two that must agree. Faults are reported where the source had
 *            them: the caller translates an offset of the text into a line.
 * Ownership: as json.h.
 * Threading: as json.h.
 */
#ifndef BERTH_CODEC_JSON_PRIVATE_H
#define BERTH_CODEC_JSON_PRIVATE_H

#include "codec/json_value.h"

struct json_target {
    const struct type *type;
    unsigned flags;
    void *out;
};

/* The members of an object in order of their keys; the caller frees the array. */
struct json_member **json_sorted_members(const struct json_value *v);
/* Leaves the last value of every key. With refuse: gives the first second one, or NULL. */
const struct json_member *json_drop_duplicates(struct json_value *v, bool refuse);

/* Calls fn for every member whose key an earlier one has, key by key. */
typedef void json_duplicate_fn(void *ctx, const struct json_member *first,
                               const struct json_member *again);
void json_each_duplicate(const struct json_value *v, json_duplicate_fn *fn, void *ctx);

/* Appends the shortest number that reads back as value. */
void json_write_double(struct buf *out, double value);

/* The line of the source that the byte at offset came from; 0: unknown. */
typedef size_t json_locate_fn(const void *ctx, size_t offset);

/* As json_decode; with locate, errors say "line 3: ..." by it. */
int json_decode_located(struct str text, const struct json_target *target, struct arena *a,
                        json_locate_fn *locate, const void *ctx, struct err *reterr) MUST_CHECK;

#endif
