/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/utf8.h"

static bool continues(const char *p)
{
    return ((unsigned char)*p & 0xC0) == 0x80;
}

size_t utf8_length(const char *p, const char *end)
{
    size_t left = (size_t)(end - p);
    if (left == 0)
        return 0;
    unsigned char c = (unsigned char)p[0];
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4 || left < 2 || !continues(p + 1))
        return 0;
    if (c < 0xE0)
        return 2;
    /*
     * The valid range of the second byte depends on the first: excludes overlong forms, surrogates
     * and values above U+10FFFF.
     */
    unsigned char d = (unsigned char)p[1];
    if (left < 3 || !continues(p + 2))
        return 0;
    if (c < 0xF0)
        return (c == 0xE0 && d < 0xA0) || (c == 0xED && d > 0x9F) ? 0 : 3;
    if (left < 4 || !continues(p + 3))
        return 0;
    return (c == 0xF0 && d < 0x90) || (c == 0xF4 && d > 0x8F) ? 0 : 4;
}

/* The first byte at or after p that is not ASCII; end if there is none. */
static const char *skip_ascii(const char *p, const char *end)
{
    const uint64_t high = 0x8080808080808080u;
    uint64_t w[2];
    for (; end - p >= 16; p += 16) {
        memcpy(w, p, sizeof(w));
        if ((w[0] | w[1]) & high)
            break;
    }
    if (end - p >= 8) {
        memcpy(w, p, sizeof(w[0]));
        p += w[0] & high ? 0 : 8;
    }
    while (p < end && (unsigned char)*p < 0x80)
        p++;
    return p;
}

bool utf8_valid(struct str s)
{
    const char *p = s.n ? s.p : "", *end = p + s.n;
    while ((p = skip_ascii(p, end)) < end) {
        size_t n = utf8_length(p, end);
        if (n == 0)
            return false;
        p += n;
    }
    return true;
}

size_t utf8_put(char out[UTF8_MAX], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}
