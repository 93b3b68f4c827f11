/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h - protobuf to and from described types.
 *
 * Purpose:   wire reader and writer on the same tables as JSON, plus the envelope in which the API
 *            server wraps protobuf: the bytes "k8s\0" and a runtime.Unknown with apiVersion, kind
 *            and the raw object.
 * Ownership: decoded text is copied into the arena, so the input may go.
 * Threading: any, one call at a time per arena.
 */
#ifndef BERTH_CODEC_PROTO_H
#define BERTH_CODEC_PROTO_H

#include "codec/desc.h"

#define PROTO_MAX_DEPTH 100

/*
 * As protobuf demands: unknown fields are skipped, the last of several scalars counts, messages
 * that come twice merge, lists join, numbers may be packed or not. Strings must be UTF-8. Groups,
 * which Kubernetes has never used, are refused. Memory is bounded by DECODE_EXPANSION, which also
 * pays for joining a list that comes in many pieces.
 *
 * -EBADMSG with "spec.containers: truncated at byte 17" and the like on failure.
 */
int proto_decode(struct str bytes, const struct type *type, struct arena *a, void *out,
                 struct err *reterr) MUST_CHECK;
void proto_encode(const struct type *type, const void *value, struct buf *out);

/* As json_decode_list: repeated field 2 ("items") goes item by item to on_item, the rest to out. */
typedef int proto_item_fn(void *ctx, struct str item);
int proto_decode_list(struct str bytes, const struct type *type, struct arena *a, void *out,
                      proto_item_fn *on_item, void *ctx, struct err *reterr) MUST_CHECK;

/* The envelope. The parts point into bytes. */
struct proto_envelope {
    struct str api_version, kind;
    struct str raw;
    struct str content_type;
};
int proto_open_envelope(struct str bytes, struct proto_envelope *ret_envelope,
                        struct err *reterr) MUST_CHECK;
/* Wraps what the type's table makes of value. */
void proto_encode_envelope(struct str api_version, struct str kind, const struct type *type,
                           const void *value, struct buf *out);

/* Building blocks, for customs and envelopes. Readers advance *at and fail on truncation. */
enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };
bool proto_read_varint(struct str bytes, size_t *at, uint64_t *ret_value) MUST_CHECK;
bool proto_read_tag(struct str bytes, size_t *at, uint32_t *ret_number,
                    enum proto_wire *ret_wire) MUST_CHECK;
bool proto_read_bytes(struct str bytes, size_t *at, struct str *ret_bytes) MUST_CHECK;
bool proto_skip(struct str bytes, size_t *at, enum proto_wire wire) MUST_CHECK;
void proto_write_varint(struct buf *out, uint32_t number, uint64_t value);
void proto_write_bytes(struct buf *out, uint32_t number, struct str bytes);

#endif
