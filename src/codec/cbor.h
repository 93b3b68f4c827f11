/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cbor.h - writes a JSON tree as CBOR (RFC 8949).
 *
 * Purpose:   application/cbor as Kubernetes' serializer writes it: enclosed in the self-described
 *            tag 55799, strings and keys as byte strings, integers as integers, other numbers in
 *            the shortest exact float, keys in the bytewise order of RFC 8949 section 4.2.1. Equal
 *            trees have equal bytes.
 * Ownership: appends to the caller's buffer; keeps nothing.
 * Threading: any thread.
 */
#ifndef BERTH_CODEC_CBOR_H
#define BERTH_CODEC_CBOR_H

#include "codec/json_value.h"

/*
 * -ERANGE if a number exceeds the range of a double; the buffer then holds a part of the value. The
 * depth is that of the tree, which json_parse and yaml_parse limit.
 */
int cbor_write(const struct json_value *v, struct buf *out) MUST_CHECK;
/* The same without the tag. */
int cbor_write_item(const struct json_value *v, struct buf *out) MUST_CHECK;

#endif
