/* SPDX-License-Identifier: Apache-2.0 */
#include "net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size}, key, value;
    struct buf out = BUF_INIT, back = BUF_INIT;
    struct url url;
    struct err err;
    if (url_parse(text, &url, &err) == 0) {
        if (url.host.n == 0)
            abort();
        for (struct str rest = url.query; url_query_next(&rest, &key, &value);)
            if (url_decode(value, true, &out) < 0)
                abort(); /* url_parse accepted an invalid escape */
    } else if (!err.msg[0]) {
        abort();
    }
    buf_clear(&out);
    url_add_query(&out, text);
    if (url_decode(buf_str(&out), true, &back) < 0 || !str_eq(buf_str(&back), text))
        abort();
    buf_release(&out);
    buf_release(&back);
    return 0;
}
