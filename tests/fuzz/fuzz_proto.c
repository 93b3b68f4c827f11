/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded input encodes to bytes that decode to the same; also envelopes and lists. */
#include "codec/proto.h"
#include "codec_schema.h"

static int on_item(void *ctx, struct str item)
{
    (void)ctx, (void)item;
    return 0;
}

/* By their bytes: a NaN does not equal itself. */
static void check_again(const struct everything *v, struct arena *a)
{
    struct buf bytes = BUF_INIT, again = BUF_INIT;
    struct everything w;
    struct err err;
    proto_encode(&everything_type, v, &bytes);
    if (proto_decode(buf_str(&bytes), &everything_type, a, &w, &err) < 0)
        abort();
    proto_encode(&everything_type, &w, &again);
    if (!str_eq(buf_str(&bytes), buf_str(&again)))
        abort();
    buf_release(&bytes);
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = {(const char *)data, n};
    struct arena a;
    arena_init(&a, 0);
    struct everything v;
    struct leaf leaf;
    struct err err;
    struct proto_envelope envelope;
    if (proto_decode(bytes, &everything_type, &a, &v, &err) == 0 && n < 1024)
        check_again(&v, &a);
    int listed = proto_decode_list(bytes, &leaf_type, &a, &leaf, on_item, NULL, &err);
    if (proto_open_envelope(bytes, &envelope, &err) == 0 && envelope.raw.n > n)
        abort();
    arena_release(&a);
    return listed > 0;
}
