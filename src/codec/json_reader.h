/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reader.h - the grammar of JSON, token by token. Private to codec.
 *
 * Purpose:   shared by the typed decoder, the tree parser and the skipping of unknown fields.
 *            Functions return false on an error and set `problem` to its text and `where` to its
 *            position; no message is built until it is needed.
 * Ownership: borrows the text.
 * Threading: one thread.
 */
#ifndef BERTH_CODEC_JSON_READER_H
#define BERTH_CODEC_JSON_READER_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "codec/json.h"

struct json_reader {
    const char *at, *end;
    const char *start;
    unsigned flags;
    int depth;
    const char *problem, *where;
};

static inline void json_reader_init(struct json_reader *r, struct str text, unsigned flags)
{
    const char *p = text.n ? text.p : "";
    *r = (struct json_reader){.at = p, .end = p + text.n, .start = p, .flags = flags};
}

/* Line and column (of characters, both from 1) of r->where. */
void json_reader_locate(const struct json_reader *r, size_t *ret_line, size_t *ret_column);

static inline bool json_fail_at(struct json_reader *r, const char *where, const char *problem)
{
    r->problem = problem;
    r->where = where;
    return false;
}

static inline bool json_fail(struct json_reader *r, const char *problem)
{
    return json_fail_at(r, r->at, r->at < r->end ? problem : "unexpected end of input");
}

static inline bool json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline void json_space(struct json_reader *r)
{
    /* The API server writes no white space: one comparison in the usual case. */
    while (r->at < r->end && UNLIKELY((unsigned char)*r->at <= ' ') && json_is_space(*r->at))
        r->at++;
}

/*
 * The next character after white space; NUL at the end (a NUL in the text matches no grammar rule).
 */
static inline char json_peek(struct json_reader *r)
{
    json_space(r);
    return LIKELY(r->at < r->end) ? *r->at : '\0';
}

static inline bool json_accept(struct json_reader *r, char c)
{
    if (json_peek(r) != c)
        return false;
    r->at++;
    return true;
}

/* Consumes the opening bracket and counts the depth. */
static inline bool json_enter(struct json_reader *r, char open, const char *problem)
{
    if (UNLIKELY(json_peek(r) != open))
        return json_fail(r, problem);
    if (UNLIKELY(++r->depth > JSON_MAX_DEPTH))
        return json_fail(r, "nested too deeply");
    r->at++;
    return true;
}

/* After an element: consumes a comma or the closing bracket; *ret_more: it was a comma. */
static inline bool json_next(struct json_reader *r, char close, bool *ret_more)
{
    char c = json_peek(r);
    *ret_more = c == ',';
    if (UNLIKELY(c != ',' && c != close))
        return json_fail(r, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    r->depth -= c != ',';
    r->at++;
    return true;
}

/* After the opening bracket: consumes the closing one and returns true if it follows at once. */
static inline bool json_empty(struct json_reader *r, char close)
{
    if (!json_accept(r, close))
        return false;
    r->depth--;
    return true;
}

static inline bool json_colon(struct json_reader *r)
{
    if (UNLIKELY(!json_accept(r, ':')))
        return json_fail(r, "expected ':'");
    return true;
}

/* The first byte of [p, end) that is special within a string: a quote, \, control, not ASCII. */
static inline const char *json_plain_end(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        /* Bytes from 0x80 are negative, so one comparison finds them and the controls. */
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)),
                                   _mm_cmplt_epi8(v, space));
        int mask = _mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20 &&
           (unsigned char)*p < 0x80)
        p++;
    return p;
}

/* A string as it is between its quotes, and what decoding it requires. */
struct json_string {
    struct str raw;
    bool escaped; /* contains escapes */
    bool broken;  /* contains bytes that are not UTF-8 (lenient mode only) */
};
#define JSON_STRING_INIT {.raw = STR_INIT("")}

bool json_string_rest(struct json_reader *r, const char *begin, struct json_string *ret_string);
/* Reads the string at r->at. */
static inline bool json_string(struct json_reader *r, struct json_string *ret_string)
{
    if (UNLIKELY(json_peek(r) != '"'))
        return json_fail(r, "expected a string");
    const char *begin = r->at + 1, *p = json_plain_end(begin, r->end);
    if (UNLIKELY(p == r->end || *p != '"')) {
        r->at = p;
        return json_string_rest(r, begin, ret_string);
    }
    *ret_string = (struct json_string){.raw = {begin, (size_t)(p - begin)}};
    r->at = p + 1;
    return true;
}
struct str json_string_decoded(const struct json_string *s, struct arena *a);
/* The decoded string: the raw bytes if they need no decoding, otherwise in the arena. */
static inline struct str json_string_text(const struct json_string *s, struct arena *a)
{
    return LIKELY(!s->escaped && !s->broken) ? s->raw : json_string_decoded(s, a);
}

/* The characters of a number. *ret_whole: it has neither fraction nor exponent. */
bool json_number(struct json_reader *r, struct str *ret_text, bool *ret_whole);
/* true, false or null, in full at r->at. */
bool json_word(struct json_reader *r, struct str word);
/* Validates and skips any value. */
bool json_skip(struct json_reader *r);
/* Fails unless only white space is left. */
bool json_finish(struct json_reader *r);

#endif
