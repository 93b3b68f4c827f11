/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_proto.h - objects in protobuf as JSON trees, by their schema.
 *
 * Purpose:   clients of the API send built-in kinds as protobuf (codec/proto.h has the envelope).
 *            The tree is what the same object would be as JSON: Go's zero values that JSON leaves
 *            out are left out.
 * Ownership: trees live in the arena and share nothing with the bytes.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_CODEC_SCHEMA_PROTO_H
#define BERTH_CODEC_SCHEMA_PROTO_H

#include "codec/json_value.h"
#include "codec/schema.h"

/*
 * types: the table that SCHEMA_MESSAGE fields refer to; type: of the object. Unknown fields are
 * skipped; the last of several values of a field counts. -EBADMSG: malformed, or strings that are
 * not UTF-8.
 */
int schema_proto_decode(const struct schema_type *types, const struct schema_type *type,
                        struct str bytes, struct arena *a, struct json_value *ret_value,
                        struct err *reterr) MUST_CHECK;

/*
 * Appends the bytes that Go's encoder writes for the object: fields in the order of their numbers,
 * maps sorted by key, zero values of members that are no pointers. What the schema does not have is
 * left out; a value of the wrong type counts as zero.
 */
void schema_proto_encode(const struct schema_type *types, const struct schema_type *type,
                         const struct json_value *v, struct buf *out);

#endif
