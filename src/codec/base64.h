/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64.h - bytes as text, RFC 4648 section 4.
 *
 * Purpose:   byte fields in JSON, certificates in kubeconfig files. Strict as Go's StdEncoding is:
 *            padded, no other characters but line ends, which are skipped.
 * Ownership: the output is the caller's.
 * Threading: any.
 */
#ifndef BERTH_CODEC_BASE64_H
#define BERTH_CODEC_BASE64_H

#include "base/buf.h"

void base64_encode(struct str bytes, struct buf *out);
/* Room that decoding n characters may take. */
#define BASE64_DECODED_MAX(n) ((n) / 4 * 3 + 3)
/* Into out, which has room for BASE64_DECODED_MAX(text.n). False where text is not base64. */
bool base64_decode(struct str text, char *out, size_t *ret_n) MUST_CHECK;

#endif
