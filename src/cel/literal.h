/* SPDX-License-Identifier: Apache-2.0 */
/*
 * literal.h - the values of literals.
 *
 * Purpose:   numbers, strings and bytes from their text in the source.
 * Ownership: texts are in the given arena.
 * Threading: any thread.
 */
#ifndef BERTH_CEL_LITERAL_H
#define BERTH_CEL_LITERAL_H

#include "cel/value.h"

/* text with its prefix and quotes. Returns NULL, or what is wrong. */
const char *cel_unquote(struct arena *a, struct str text, bool bytes, struct str *ret);

/* 12, -12, 0xff; 12u, 0xffu; 1.5e3. False if out of range. */
bool cel_parse_int(struct str text, bool negative, int64_t *ret) MUST_CHECK;
bool cel_parse_uint(struct str text, uint64_t *ret) MUST_CHECK;
bool cel_parse_double(struct str text, double *ret) MUST_CHECK;
/* What Go's ParseFloat reads: also .5, 5., +1, inf, NaN, 0x1p-2. False if it does not. */
bool cel_parse_go_float(struct str text, double *ret) MUST_CHECK;

#endif
