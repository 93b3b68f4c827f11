/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_scalar.h - scalar values, one function per kind of field. Private to codec.
 *
 * Purpose:   converts tokens (json_reader.h) to C values and checks their range; returns false and
 *            sets the reader's error if a value is invalid. Plain strings, the most frequent
 *            values, are read by json_decode.c itself.
 * Ownership: bytes and strings are in the arena.
 * Threading: one thread.
 */
#ifndef BERTH_CODEC_JSON_SCALAR_H
#define BERTH_CODEC_JSON_SCALAR_H

#include "codec/json_reader.h"

/* The bytes of a base64 string, followed by a NUL. */
bool json_read_bytes(struct json_reader *r, struct arena *a, struct str *out);
bool json_read_int(struct json_reader *r, int64_t min, int64_t max, int64_t *ret_value);
bool json_read_double(struct json_reader *r, double *out);
bool json_read_bool(struct json_reader *r, bool *out);
/* Any value, kept as text. */
bool json_read_raw(struct json_reader *r, struct arena *a, struct str *out);
/*
 * A string or number that the custom type decodes. custom_err: its error; must live as long as the
 * reader's error.
 */
bool json_read_custom(struct json_reader *r, struct arena *a, const struct custom *custom,
                      void *out, struct err *custom_err);

#endif
