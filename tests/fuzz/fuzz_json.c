/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded input encodes to a text that decodes to the same; strict accepts a subset of lenient. */
#include "codec/json.h"
#include "codec_schema.h"

static void check_again(const struct everything *v, struct arena *a)
{
    struct buf text = BUF_INIT, again = BUF_INIT;
    struct everything w;
    struct err err;
    json_encode(&everything_type, v, &text);
    if (json_decode(buf_str(&text), &everything_type, JSON_STRICT, a, &w, &err) < 0)
        abort();
    json_encode(&everything_type, &w, &again);
    if (!str_eq(buf_str(&text), buf_str(&again)) || !desc_equal(&everything_type, v, &w))
        abort();
    buf_release(&text);
    buf_release(&again);
}

static int on_item(void *ctx, struct str item)
{
    (void)ctx, (void)item;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n};
    struct arena a;
    arena_init(&a, 0);
    struct everything v, w;
    struct meta meta;
    struct err err;
    int lenient = json_decode(text, &everything_type, 0, &a, &v, &err);
    int strict = json_decode(text, &everything_type, JSON_STRICT, &a, &w, &err);
    if (strict == 0 && lenient < 0)
        abort();
    /* A deep object may exceed the limit in its shorter text: only shallow ones must round-trip. */
    if (lenient == 0 && n < 4096)
        check_again(&v, &a);
    if (json_decode_list(text, &meta_type, &a, &meta, on_item, NULL, &err) < 0 && !err.msg[0])
        abort();
    struct json_scan scan = {0};
    if (json_scan_value(&scan, text) > (ssize_t)n)
        abort();
    arena_release(&a);
    return 0;
}
