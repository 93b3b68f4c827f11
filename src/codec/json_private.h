/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_private.h - shared by the JSON files. Private to codec.
 *
 * Purpose:   a tree is decoded by writing it as text and decoding that, so that there is only one
 *            typed decoder. Errors have the position in the source: the caller translates an offset
 *            of the text into a line.
 * Ownership: as in json.h.
 * Threading: as in json.h.
 */
#ifndef BERTH_CODEC_JSON_PRIVATE_H
#define BERTH_CODEC_JSON_PRIVATE_H

#include "base/vec.h"
#include "codec/json_value.h"

/* The members of an object sorted by key; the caller frees the array. */
struct json_member **json_sorted_members(const struct json_value *v);
/* Keeps the last value of every key. With refuse: returns the first duplicate, or NULL. */
const struct json_member *json_drop_duplicates(struct json_value *v, bool refuse);

/* Calls fn for every member whose key occurred before, key by key. */
typedef void json_duplicate_fn(void *ctx, const struct json_member *first,
                               const struct json_member *again);
void json_each_duplicate(const struct json_value *v, json_duplicate_fn *fn, void *ctx);

/* Appends the shortest number that reads back as value. */
void json_write_double(struct buf *out, double value);

/* The source line of a tree's text from offset on. */
struct json_mark {
    size_t offset;
    uint32_t line;
};
struct json_marks {
    VEC(struct json_mark) v;
};
/* As json_write; also records where every line begins in out. */
void json_write_marked(const struct json_value *v, struct buf *out, struct json_marks *marks);
/* A json_locate_fn; ctx: the marks. */
size_t json_marks_line(const void *ctx, size_t offset);

#endif
