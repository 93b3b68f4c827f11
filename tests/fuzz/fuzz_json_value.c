/* SPDX-License-Identifier: Apache-2.0 */
/* Parsed input is written as a text that parses to the same tree and is written the same again. */
#include "codec/json_value.h"
#include "codec_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a;
    arena_init(&a, 0);
    struct json_value v, w;
    struct err err;
    struct buf text = BUF_INIT, again = BUF_INIT;
    if (json_parse((struct str){(const char *)data, n}, 0, &a, &v, &err) == 0) {
        json_write(&v, &text);
        if (json_parse(buf_str(&text), JSON_STRICT, &a, &w, &err) < 0 || !json_value_equal(&v, &w))
            abort();
        json_write(&w, &again);
        if (!str_eq(buf_str(&text), buf_str(&again)))
            abort();
        /* The typed decoder returns the same for the tree and for the text. */
        struct everything x, y;
        int from_tree = json_value_decode(&v, &everything_type, 0, &a, &x, &err);
        int from_text = json_decode(buf_str(&text), &everything_type, 0, &a, &y, &err);
        if (from_tree != from_text || (from_tree == 0 && !desc_equal(&everything_type, &x, &y)))
            abort();
    }
    buf_release(&text);
    buf_release(&again);
    arena_release(&a);
    return 0;
}
