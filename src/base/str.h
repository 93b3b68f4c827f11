/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.h - a borrowed string: pointer and length.
 *
 * Purpose:   the one way in which berth passes text. A `struct str` borrows its bytes; it need not
 *            be NUL-terminated and may contain NUL bytes.
 * Ownership: never owns. The bytes are in an arena, a kept wire buffer, or the program text.
 * Threading: plain values; any thread as long as the bytes are valid.
 */
#ifndef BERTH_BASE_STR_H
#define BERTH_BASE_STR_H

#include "base/base.h"

struct str {
    const char *p;
    size_t n;
};

/* A string literal as a value, and as a constant initialiser. */
#define STR(lit)      ((struct str){(lit), sizeof(lit) - 1})
#define STR_INIT(lit) {(lit), sizeof(lit) - 1}

/* printf("%.*s", STR_ARG(s)) */
#define STR_ARG(s) (int)(s).n, (s).p ? (s).p : ""

static inline struct str str_of(const char *cstr)
{
    return (struct str){cstr, cstr ? strlen(cstr) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *cstr)
{
    return str_eq(a, str_of(cstr));
}

static inline bool str_empty(struct str s)
{
    return s.n == 0;
}

/* The part [from, to) of s; both are clamped to its length. */
static inline struct str str_slice(struct str s, size_t from, size_t to)
{
    from = MIN(from, s.n);
    to = MIN(MAX(to, from), s.n);
    return (struct str){s.p ? s.p + from : NULL, to - from};
}

/* Bytewise order, as Go compares strings. */
int str_cmp(struct str a, struct str b);
/* Whether s is in v, which must be sorted by str_cmp. */
bool str_sorted_has(const struct str *v, size_t n, struct str s);
/* Equality, ignoring case of ASCII letters. */
bool str_eq_fold(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
/* Index of the first such byte or string; s.n if there is none. */
size_t str_find(struct str s, char c);
size_t str_search(struct str s, struct str needle);
/* Removes ASCII white space at both ends. */
struct str str_trim(struct str s);
/*
 * Splits at the first `sep`: *ret_head is the part before it, *rest becomes the part after it.
 * Returns false if *rest was exhausted before the call (rest->p == NULL).
 */
bool str_split(struct str *rest, char sep, struct str *ret_head);

/* Decimal integers, strict: an optional '-', digits, nothing else. */
bool str_to_i64(struct str s, int64_t *ret_value) MUST_CHECK;
/* As Go's ParseBool: true, false, 1, 0, t, f, also capitalized or in capitals. */
bool str_to_bool(struct str s, bool *ret_value) MUST_CHECK;
bool str_to_u64(struct str s, uint64_t *ret_value) MUST_CHECK;

/*
 * Removes the first UTF-8 character from *rest, which must not be empty, and returns it. An invalid
 * byte is removed alone and returns STR_BAD_RUNE; overlong forms, surrogates and values above
 * U+10FFFF are invalid.
 */
#define STR_BAD_RUNE UINT32_MAX
uint32_t str_next_rune(struct str *rest);

/* A NUL-terminated copy on the heap; the caller frees it. */
char *str_dup(struct str s) __attribute__((returns_nonnull));

/* A hash with a random seed per process, so that keys from outside cannot force collisions. */
uint64_t str_hash(struct str s);
uint64_t hash_u64(uint64_t v);

#endif
