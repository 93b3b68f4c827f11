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

#include "base/vec.h"
#include "codec/json_value.h"

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

/* Which line of the source the text of a tree from offset on came from. */
struct json_mark {
    size_t offset;
    uint32_t line;
};
struct json_marks {
    VEC(struct json_mark) v;
};
/* As json_write, and notes where every line begins in out. */
void json_write_marked(const struct json_value *v, struct buf *out, struct json_marks *marks);
/* A json_locate_fn; ctx: the marks. */
size_t json_marks_line(const void *ctx, size_t offset);

#endif
