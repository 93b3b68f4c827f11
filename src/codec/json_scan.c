/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the end of a value: brackets are counted, strings are skipped, nothing else is checked.
 * With SSE2, the inner part of long values is processed in blocks of 64 bytes as bit masks, the end
 * byte by byte.
 */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "codec/json.h"

#define BLOCK ((size_t)64)

#ifdef __SSE2__
struct masks {
    uint64_t quote, slash, open, close;
};

static inline uint64_t equal_to(const __m128i v[4], char c)
{
    const __m128i want = _mm_set1_epi8(c);
    uint64_t mask = 0;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        mask |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], want)) << (16 * i);
    return mask;
}

static inline struct masks classify(const char *p)
{
    __m128i v[4], folded[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + (ptrdiff_t)16 * i));
        /* [ and { differ in one bit only, and so do ] and }. */
        folded[i] = _mm_or_si128(v[i], _mm_set1_epi8(0x20));
    }
    return (struct masks){equal_to(v, '"'), equal_to(v, '\\'), equal_to(folded, '{'),
                          equal_to(folded, '}')};
}

/* Bit i of the result: the number of set bits at or below i is odd. */
static uint64_t prefix_parity(uint64_t x)
{
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    return x ^ x << 32;
}

static int count_bits(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (int)(x * 0x0101010101010101u >> 56);
}

/*
 * Returns the bytes that are escaped by a backslash. In a run of backslashes every second one is
 * escaped itself: adding the run's first bit to bits at odd positions carries through the run, and
 * the result shows whether its length is odd. *escaped: whether the first byte is escaped, then
 * whether the first of the next block is.
 */
static uint64_t find_escaped(uint64_t slash, bool *escaped)
{
    const uint64_t odd = 0xAAAAAAAAAAAAAAAAu;
    uint64_t first = *escaped;
    uint64_t starts = slash & ~first;
    uint64_t codes = (((starts << 1) | odd) - starts) ^ odd;
    *escaped = (codes & slash) >> 63;
    return codes ^ (slash | first);
}

/* Skips a block in which the value certainly does not end. False: check its bytes one by one. */
static bool pass_block(struct json_scan *s, const char *p)
{
    struct masks m = classify(p);
    bool escaped = s->escaped;
    if (m.slash || escaped)
        m.quote &= ~find_escaped(m.slash, &escaped);
    uint64_t inside = prefix_parity(m.quote) ^ (s->in_string ? ~(uint64_t)0 : 0);
    m.open &= ~inside;
    m.close &= ~inside;
    if (m.open | m.close) {
        int opened = count_bits(m.open), closed = count_bits(m.close);
        if (closed >= s->depth)
            return false;
        s->depth += opened - closed;
    }
    s->escaped = escaped;
    s->in_string = inside >> 63;
    s->at += BLOCK;
    return true;
}
#else
static bool pass_block(struct json_scan *s, const char *p)
{
    (void)s, (void)p;
    return false;
}
#endif

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* One byte within an object, array or string. Returns true if the value ends with it. */
static bool pass_byte(struct json_scan *s, char c)
{
    s->at++;
    if (s->in_string) {
        if (s->escaped)
            s->escaped = false;
        else if (c == '\\')
            s->escaped = true;
        else if (c == '"')
            s->in_string = false;
        return !s->in_string && s->depth == 0;
    }
    if (c == '"')
        s->in_string = true;
    else if (c == '{' || c == '[')
        s->depth++;
    else if (c == '}' || c == ']')
        s->depth--;
    return s->depth == 0 && !s->in_string;
}

/* true, 12, …: ends before the first byte that cannot belong to it. */
static ssize_t pass_bare(struct json_scan *s, struct str bytes)
{
    for (; s->at < bytes.n; s->at++) {
        char c = bytes.p[s->at];
        if (is_space(c) || strchr("{}[],:\"", c))
            return c == '\0' ? -EBADMSG : (ssize_t)s->at;
    }
    return 0;
}

ssize_t json_scan_value(struct json_scan *s, struct str bytes)
{
    while (!s->started && s->at < bytes.n && is_space(bytes.p[s->at]))
        s->at++;
    if (s->at == bytes.n)
        return 0;
    char c = bytes.p[s->at];
    if (!s->started) {
        bool digit = c >= '0' && c <= '9';
        if (!digit && (c == '\0' || !strchr("{[\"-tfn", c)))
            return -EBADMSG;
        s->started = true;
        s->bare = c != '{' && c != '[' && c != '"';
    }
    if (s->bare)
        return pass_bare(s, bytes);
    while (s->at < bytes.n) {
        if (bytes.n - s->at >= BLOCK && s->depth > 0 && pass_block(s, bytes.p + s->at))
            continue;
        size_t stop = MIN(bytes.n, s->at + BLOCK);
        while (s->at < stop)
            if (pass_byte(s, bytes.p[s->at]))
                return (ssize_t)s->at;
    }
    return 0;
}
