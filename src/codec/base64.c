/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/base64.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct str bytes, struct buf *out)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    size_t n = bytes.n;
    if (n / 3 >= SIZE_MAX / 8 || !buf_reserve(out, (n + 2) / 3 * 4))
        return;
    for (; n >= 3; p += 3, n -= 3) {
        uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        buf_add_char(out, letters[v >> 18]);
        buf_add_char(out, letters[v >> 12 & 63]);
        buf_add_char(out, letters[v >> 6 & 63]);
        buf_add_char(out, letters[v & 63]);
    }
    if (n == 0)
        return;
    uint32_t v = (uint32_t)p[0] << 16 | (n == 2 ? (uint32_t)p[1] << 8 : 0);
    buf_add_char(out, letters[v >> 18]);
    buf_add_char(out, letters[v >> 12 & 63]);
    buf_add_char(out, n == 2 ? letters[v >> 6 & 63] : '=');
    buf_add_char(out, '=');
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct str text, char *out, size_t *ret_n)
{
    uint32_t v = 0;
    size_t n = 0;
    int got = 0, padding = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\n' || c == '\r')
            continue;
        if (c == '=') {
            /* Only the last two of a quartet may be padding, and nothing may follow it. */
            if (got + padding < 2 || got + padding > 3)
                return false;
            padding++;
            continue;
        }
        int bits = value_of(c);
        if (bits < 0 || padding)
            return false;
        v = v << 6 | (uint32_t)bits;
        if (++got == 4) {
            out[n++] = (char)(v >> 16);
            out[n++] = (char)(v >> 8);
            out[n++] = (char)v;
            got = 0;
        }
    }
    if (got + padding != (got ? 4 : 0))
        return false;
    if (got >= 2)
        out[n++] = (char)(got == 3 ? v >> 10 : v >> 4);
    if (got == 3)
        out[n++] = (char)(v >> 2);
    *ret_n = n;
    return true;
}
