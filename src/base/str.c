/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <sys/random.h>

int str_cmp(struct str a, struct str b)
{
    size_t n = MIN(a.n, b.n);
    int c = n ? memcmp(a.p, b.p, n) : 0;
    if (c)
        return c;
    return (a.n > b.n) - (a.n < b.n);
}

bool str_sorted_has(const struct str *v, size_t n, struct str s)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = str_cmp(v[mid], s);
        if (c == 0)
            return true;
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return false;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool str_eq_fold(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq(str_slice(s, 0, prefix.n), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq(str_slice(s, s.n - suffix.n, s.n), suffix);
}

size_t str_find(struct str s, char c)
{
    const char *at = s.n ? memchr(s.p, c, s.n) : NULL;
    return at ? (size_t)(at - s.p) : s.n;
}

size_t str_search(struct str s, struct str needle)
{
    if (needle.n == 0)
        return 0;
    const char *at = s.n ? memmem(s.p, s.n, needle.p, needle.n) : NULL;
    return at ? (size_t)(at - s.p) : s.n;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    size_t from = 0, to = s.n;
    while (from < to && is_space(s.p[from]))
        from++;
    while (to > from && is_space(s.p[to - 1]))
        to--;
    return str_slice(s, from, to);
}

bool str_split(struct str *rest, char sep, struct str *ret_head)
{
    if (!rest->p)
        return false;
    size_t at = str_find(*rest, sep);
    *ret_head = str_slice(*rest, 0, at);
    if (at < rest->n)
        *rest = str_slice(*rest, at + 1, rest->n);
    else
        *rest = (struct str){NULL, 0};
    return true;
}

bool str_to_u64(struct str s, uint64_t *ret_value)
{
    uint64_t v = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *ret_value = v;
    return true;
}

bool str_to_i64(struct str s, int64_t *ret_value)
{
    bool negative = s.n && s.p[0] == '-';
    uint64_t v;
    if (!str_to_u64(str_slice(s, negative, s.n), &v))
        return false;
    if (v > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_value = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* The length of a character that begins with this byte, and its payload bits; 0: invalid. */
static size_t rune_bytes(unsigned char first, uint32_t *ret_bits)
{
    static const struct {
        unsigned char from, to, bits;
    } kinds[] = {{0x00, 0x7f, 0x7f}, {0xc2, 0xdf, 0x1f}, {0xe0, 0xef, 0x0f}, {0xf0, 0xf4, 0x07}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (first >= kinds[i].from && first <= kinds[i].to) {
            *ret_bits = first & kinds[i].bits;
            return i + 1;
        }
    }
    return 0;
}

uint32_t str_next_rune(struct str *rest)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    struct str s = *rest;
    uint32_t rune;
    size_t n = rune_bytes((unsigned char)s.p[0], &rune);
    *rest = str_slice(s, 1, s.n);
    if (n == 0 || n > s.n)
        return STR_BAD_RUNE;
    for (size_t i = 1; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c & 0xc0) != 0x80)
            return STR_BAD_RUNE;
        rune = rune << 6 | (c & 0x3f);
    }
    if (rune < least[n] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
        return STR_BAD_RUNE;
    *rest = str_slice(s, n, s.n);
    return rune;
}

char *str_dup(struct str s)
{
    char *p = xmalloc(s.n + 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

/*
 * The hash: 16 bytes per step, each one a 64x64->128 multiplication whose halves are folded. Both
 * factors include a secret: if one could be made zero, any two keys could be made to collide.
 */
static uint64_t hash_seed[2];

__attribute__((constructor)) static void draw_seed(void)
{
    if (getrandom(hash_seed, sizeof(hash_seed), GRND_NONBLOCK) != (ssize_t)sizeof(hash_seed)) {
        hash_seed[0] = (uint64_t)(uintptr_t)&hash_seed;
        hash_seed[1] = 0x9e3779b97f4a7c15u;
    }
    hash_seed[0] |= 1;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 m = (unsigned __int128)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

uint64_t hash_u64(uint64_t v)
{
    return fold(v ^ hash_seed[0], 0xa0761d6478bd642fu ^ hash_seed[1]);
}

uint64_t str_hash(struct str s)
{
    uint64_t h = 0xe7037ed1a0b428dbu ^ s.n;
    const char *p = s.p;
    size_t n = s.n;
    for (; n >= 16; p += 16, n -= 16)
        h = fold(load64(p) ^ hash_seed[0] ^ h, load64(p + 8) ^ hash_seed[1]);
    if (n) {
        char tail[16] = {0};
        memcpy(tail, p, n);
        h = fold(load64(tail) ^ hash_seed[0] ^ h, load64(tail + 8) ^ hash_seed[1]);
    }
    return hash_u64(h);
}

bool str_to_bool(struct str s, bool *ret_value)
{
    static const char *const yes[] = {"true", "1", "t", "T", "TRUE", "True"};
    static const char *const no[] = {"false", "0", "f", "F", "FALSE", "False"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (str_is(s, yes[i]) || str_is(s, no[i])) {
            *ret_value = str_is(s, yes[i]);
            return true;
        }
    return false;
}
