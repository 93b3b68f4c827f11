/* SPDX-License-Identifier: Apache-2.0 */
/* Parsed input is written as YAML that parses to the same tree. */
#include "codec/yaml.h"

static void check_again(const struct json_value *v, struct arena *a)
{
    struct buf text = BUF_INIT;
    struct json_value *docs;
    size_t n;
    struct err err;
    yaml_write(v, &text);
    if (text.overflow || yaml_parse(buf_str(&text), JSON_STRICT, a, &docs, &n, &err) < 0 ||
        n != 1 || !json_value_equal(v, &docs[0]))
        abort();
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a;
    arena_init(&a, 0);
    struct json_value *docs;
    size_t n_docs;
    struct err err;
    if (yaml_parse((struct str){(const char *)data, n}, n & 1 ? JSON_STRICT : 0, &a, &docs, &n_docs,
                   &err) == 0)
        for (size_t i = 0; i < n_docs && n < 4096; i++)
            check_again(&docs[i], &a);
    arena_release(&a);
    return 0;
}
