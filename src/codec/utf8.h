/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - is it UTF-8?
 *
 * Purpose:   the rules of RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Plain
 *            ASCII, which nearly all of it is, goes sixteen bytes at a time.
 * Ownership: nothing is kept.
 * Threading: any.
 */
#ifndef BERTH_CODEC_UTF8_H
#define BERTH_CODEC_UTF8_H

#include "base/str.h"

/* The longest form of one code point. */
#define UTF8_MAX         4
/* U+FFFD, which stands for what could not be read. */
#define UTF8_REPLACEMENT 0xFFFDu

bool utf8_valid(struct str s);

/* Length (1 to 4) of the code point that [p, end) begins with; 0 where those bytes are not UTF-8.
 */
size_t utf8_length(const char *p, const char *end);

/* Writes one code point (not a surrogate) to out and gives its length. */
size_t utf8_put(char out[UTF8_MAX], uint32_t code_point);

#endif
