/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - UTF-8 validation.
 *
 * Purpose:   the rules of RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
 *            ASCII, the usual case, is checked sixteen bytes at a time.
 * Ownership: nothing is kept.
 * Threading: any thread.
 */
#ifndef BERTH_CODEC_UTF8_H
#define BERTH_CODEC_UTF8_H

#include "base/str.h"

/* The longest encoding of a code point. */
#define UTF8_MAX         4
/* U+FFFD, which replaces invalid input. */
#define UTF8_REPLACEMENT 0xFFFDu

bool utf8_valid(struct str s);

/* Length (1 to 4) of the code point at the start of [p, end); 0 if the bytes are not UTF-8. */
size_t utf8_length(const char *p, const char *end);

/* Writes one code point (not a surrogate) to out and returns its length. */
size_t utf8_put(char out[UTF8_MAX], uint32_t code_point);

#endif
