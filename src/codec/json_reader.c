/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_reader.h"

#include "codec/decode.h"
#include "codec/utf8.h"

void json_reader_locate(const struct json_reader *r, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1, column = 1;
    for (const char *p = r->start; p < r->where; p++) {
        if (*p == '\n') {
            line++;
            column = 1;
        } else {
            column += ((unsigned char)*p & 0xC0) != 0x80;
        }
    }
    *ret_line = line;
    *ret_column = column;
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Reads four hexadecimal digits at p; -1 if they are invalid. */
static int hex4(const char *p, const char *end)
{
    if (end - p < 4)
        return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* Checks and skips the escape at r->at. */
static bool check_escape(struct json_reader *r)
{
    if (r->end - r->at < 2)
        return json_fail_at(r, r->at, "unexpected end of input in a string");
    char c = r->at[1];
    if (c == 'u') {
        if (hex4(r->at + 2, r->end) < 0)
            return json_fail(r, "\\u needs four hexadecimal digits");
        r->at += 6;
        return true;
    }
    if (!strchr("\"\\/bfnrt", c) || c == '\0')
        return json_fail(r, "unknown escape in a string");
    r->at += 2;
    return true;
}

/* The rest of a string from the first special byte on. */
bool json_string_rest(struct json_reader *r, const char *begin, struct json_string *ret_string)
{
    struct json_string s = {0};
    for (;; r->at = json_plain_end(r->at, r->end)) {
        if (r->at == r->end)
            return json_fail_at(r, begin - 1, "unexpected end of input in a string");
        unsigned char c = (unsigned char)*r->at;
        if (c == '"')
            break;
        if (c == '\\') {
            s.escaped = true;
            if (!check_escape(r))
                return false;
        } else if (c < 0x20) {
            return json_fail(r, "control character in a string");
        } else {
            size_t n = utf8_length(r->at, r->end);
            if (n == 0 && (r->flags & JSON_STRICT))
                return json_fail(r, "not UTF-8");
            s.broken |= n == 0;
            r->at += MAX(n, (size_t)1);
        }
    }
    s.raw = (struct str){begin, (size_t)(r->at - begin)};
    r->at++;
    *ret_string = s;
    return true;
}

/* The code point of the \u escape at *p, with the second half of a surrogate pair. */
static uint32_t unescape_u(const char **p, const char *end)
{
    uint32_t c = (uint32_t)hex4(*p + 2, end);
    *p += 6;
    if (c < 0xD800 || c > 0xDFFF)
        return c;
    if (c < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        uint32_t low = (uint32_t)hex4(*p + 2, end);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            *p += 6;
            return 0x10000 + ((c - 0xD800) << 10 | (low - 0xDC00));
        }
    }
    return UTF8_REPLACEMENT;
}

static char unescape_one(char c)
{
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c; /* " \ / */
    }
}

struct str json_string_decoded(const struct json_string *s, struct arena *a)
{
    /* An escape is never shorter than its character; an invalid byte becomes three. */
    size_t room = s->broken ? s->raw.n * 3 : s->raw.n;
    char *out = decode_alloc(a, room + 1, 1), *to = out;
    for (const char *p = s->raw.p, *end = p + s->raw.n; p < end;) {
        if (*p == '\\' && p[1] == 'u') {
            to += utf8_put(to, unescape_u(&p, end));
        } else if (*p == '\\') {
            *to++ = unescape_one(p[1]);
            p += 2;
        } else {
            size_t n = utf8_length(p, end);
            if (n == 0)
                to += utf8_put(to, UTF8_REPLACEMENT);
            else
                to = mempcpy(to, p, n);
            p += MAX(n, (size_t)1);
        }
    }
    *to = '\0';
    /* Return the surplus to the arena. */
    if (a->at == out + room + 1)
        a->at = to + 1;
    return (struct str){out, (size_t)(to - out)};
}

/* --- other tokens ----------------------------------------------------------------------------- */

static const char *digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

bool json_number(struct json_reader *r, struct str *ret_text, bool *ret_whole)
{
    const char *begin = r->at, *end = r->end, *p = begin, *q;
    if (p < end && *p == '-')
        p++;
    q = digits(p, end);
    if (q == p || (*p == '0' && q - p > 1))
        goto bad;
    const char *whole = p = q;
    if (p < end && *p == '.') {
        q = digits(p + 1, end);
        if (q == p + 1)
            goto bad;
        p = q;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        q = digits(p, end);
        if (q == p)
            goto bad;
        p = q;
    }
    *ret_text = (struct str){begin, (size_t)(p - begin)};
    *ret_whole = p == whole;
    r->at = p;
    return true;
bad:
    return json_fail(r, q < end || p < end ? "malformed number" : "unexpected end of input");
}

bool json_word(struct json_reader *r, struct str word)
{
    if ((size_t)(r->end - r->at) < word.n || memcmp(r->at, word.p, word.n) != 0)
        return json_fail(r, "expected a value");
    r->at += word.n;
    return true;
}

bool json_finish(struct json_reader *r)
{
    if (json_peek(r) != '\0' || r->at < r->end)
        return json_fail(r, "unexpected text after the value");
    return true;
}

/* --- skipping --------------------------------------------------------------------------------- */

static bool skip_object(struct json_reader *r)
{
    if (!json_enter(r, '{', "expected an object"))
        return false;
    if (json_empty(r, '}'))
        return true;
    for (bool more = true; more;) {
        struct json_string key;
        if (!json_string(r, &key) || !json_colon(r) || !json_skip(r) || !json_next(r, '}', &more))
            return false;
    }
    return true;
}

static bool skip_array(struct json_reader *r)
{
    if (!json_enter(r, '[', "expected an array"))
        return false;
    if (json_empty(r, ']'))
        return true;
    for (bool more = true; more;)
        if (!json_skip(r) || !json_next(r, ']', &more))
            return false;
    return true;
}

bool json_skip(struct json_reader *r)
{
    struct json_string string;
    struct str number;
    bool whole;
    switch (json_peek(r)) {
    case '{':
        return skip_object(r);
    case '[':
        return skip_array(r);
    case '"':
        return json_string(r, &string);
    case 't':
        return json_word(r, STR("true"));
    case 'f':
        return json_word(r, STR("false"));
    case 'n':
        return json_word(r, STR("null"));
    default:
        if (r->at < r->end && (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')))
            return json_number(r, &number, &whole);
        return json_fail(r, "expected a value");
    }
}
