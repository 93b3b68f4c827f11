/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64.h - base64, RFC 4648 section 4.
 *
 * Purpose:   byte fields in JSON, certificates in kubeconfig files. Strict as Go's StdEncoding:
 *            padded, no other characters except line ends, which are skipped.
 * Ownership: the caller owns the output.
 * Threading: any thread.
 */
#ifndef BERTH_CODEC_BASE64_H
#define BERTH_CODEC_BASE64_H

#include "base/buf.h"

void base64_encode(struct str bytes, struct buf *out);
/* Upper bound of the bytes decoded from n characters. */
#define BASE64_DECODED_MAX(n) ((n) / 4 * 3 + 3)
/* Decodes to out, which has room for BASE64_DECODED_MAX(text.n). False if text is not base64. */
bool base64_decode(struct str text, char *out, size_t *ret_n) MUST_CHECK;

#endif
