/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h - decodes and encodes described types as protobuf.
 *
 * Purpose:   wire reader and writer with the same tables as JSON, and the API server's envelope:
 *            the bytes "k8s\0" and a runtime.Unknown with apiVersion, kind and the raw object.
 * Ownership: decoded strings are copied into the arena; the input is not kept.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_CODEC_PROTO_H
#define BERTH_CODEC_PROTO_H

#include "codec/desc.h"

#define PROTO_MAX_DEPTH 100

/*
 * By protobuf's rules: unknown fields are skipped, the last of several scalars counts, repeated
 * messages merge, lists are concatenated, numbers may be packed or not. Strings must be UTF-8.
 * Groups, which Kubernetes never uses, are refused. Memory is limited by DECODE_EXPANSION, which
 * also covers concatenating a list in many pieces. -EBADMSG with "spec.containers: truncated at
 * byte 17" and the like on failure.
 */
int proto_decode(struct str bytes, const struct type *type, struct arena *a, void *out,
                 struct err *reterr) MUST_CHECK;
void proto_encode(const struct type *type, const void *value, struct buf *out);

/*
 * As json_decode_list: repeated field 2 ("items") is passed item by item to on_item, the rest is
 * decoded to out.
 */
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
/* Encodes value in an envelope. */
void proto_encode_envelope(struct str api_version, struct str kind, const struct type *type,
                           const void *value, struct buf *out);

/* Building blocks, for custom types and envelopes. Readers advance *at and fail on truncation. */
enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };
bool proto_read_varint(struct str bytes, size_t *at, uint64_t *ret_value) MUST_CHECK;
bool proto_read_tag(struct str bytes, size_t *at, uint32_t *ret_number,
                    enum proto_wire *ret_wire) MUST_CHECK;
bool proto_read_bytes(struct str bytes, size_t *at, struct str *ret_bytes) MUST_CHECK;
bool proto_skip(struct str bytes, size_t *at, enum proto_wire wire) MUST_CHECK;
void proto_write_varint(struct buf *out, uint32_t number, uint64_t value);
void proto_write_bytes(struct buf *out, uint32_t number, struct str bytes);
/* Makes what was written since `start` a field: its tag and length are put before it. */
void proto_close_field(struct buf *out, uint32_t number, size_t start);

#endif
