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

char *str_dup(struct str s)
{
    char *p = xmalloc(s.n + 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

/*
 * The hash: 16 bytes a step, each step one 64x64->128 multiplication whose halves are folded. The
 * seed keeps API users from choosing keys that collide.
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
    uint64_t h = hash_seed[1] ^ s.n;
    const char *p = s.p;
    size_t n = s.n;
    for (; n >= 16; p += 16, n -= 16)
        h = fold(load64(p) ^ hash_seed[0] ^ h, load64(p + 8) ^ 0xe7037ed1a0b428dbu);
    if (n) {
        char tail[16] = {0};
        memcpy(tail, p, n);
        h = fold(load64(tail) ^ hash_seed[0] ^ h, load64(tail + 8) ^ 0x8ebc6af09c88c6e3u);
    }
    return hash_u64(h);
}
