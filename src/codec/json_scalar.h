/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_scalar.h - values without parts, one function for each kind of field. Private to codec.
 *
 * Purpose:   takes what the grammar gives (json_reader.h) and makes a C value of it, within its
 *            range; false and the reader's fault where it is not one. Plain strings, which are most
 *            of what an object holds, json_decode.c reads itself.
 * Ownership: bytes and texts are made in the arena.
 * Threading: one thread.
 */
#ifndef BERTH_CODEC_JSON_SCALAR_H
#define BERTH_CODEC_JSON_SCALAR_H

#include "codec/json_reader.h"

/* The bytes that a string has as base64; a NUL follows them. */
bool json_read_bytes(struct json_reader *r, struct arena *a, struct str *out);
bool json_read_int(struct json_reader *r, int64_t min, int64_t max, int64_t *ret_value);
bool json_read_double(struct json_reader *r, double *out);
bool json_read_bool(struct json_reader *r, bool *out);
/* Any value, as it stands. */
bool json_read_raw(struct json_reader *r, struct arena *a, struct str *out);
/* A string or number that the custom reads. said: what it had to say; lives as long as the fault.
 */
bool json_read_custom(struct json_reader *r, struct arena *a, const struct custom *custom,
                      void *out, struct err *said);

#endif
