/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cbor.h - a JSON tree as CBOR (RFC 8949).
 *
 * Purpose:   writes application/cbor as Kubernetes' serializer does: enclosed in the
 *            self-described tag 55799, strings and keys as byte strings, whole numbers as integers,
 *            other numbers in the shortest float that holds them, keys in the bytewise order of
 *            RFC 8949 section 4.2.1. Equal trees have equal bytes.
 * Ownership: appends to the caller's buffer; keeps nothing.
 * Threading: any.
 */
#ifndef BERTH_CODEC_CBOR_H
#define BERTH_CODEC_CBOR_H

#include "codec/json_value.h"

/*
 * -ERANGE where a number is beyond a double's range; the buffer then holds a part of the value.
 * Depth is that of the tree, which json_parse and yaml_parse bound.
 */
int cbor_write(const struct json_value *v, struct buf *out) MUST_CHECK;
/* The same without the tag. */
int cbor_write_item(const struct json_value *v, struct buf *out) MUST_CHECK;

#endif
