/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_scalar.h"

#include "codec/base64.h"
#include "codec/decode.h"
#include "codec/utf8.h"

static bool at_number(struct json_reader *r)
{
    char c = json_peek(r);
    return c == '-' || (c >= '0' && c <= '9');
}

bool json_read_bytes(struct json_reader *r, struct arena *a, struct str *out)
{
    const char *where = r->at;
    struct json_string s = JSON_STRING_INIT;
    if (!json_string(r, &s))
        return false;
    struct str text = json_string_text(&s, a);
    char *bytes = decode_alloc(a, BASE64_DECODED_MAX(text.n) + 1, 1);
    size_t n;
    if (!base64_decode(text, bytes, &n))
        return json_fail_at(r, where, "expected base64");
    bytes[n] = '\0';
    *out = (struct str){bytes, n};
    return true;
}

bool json_read_int(struct json_reader *r, int64_t min, int64_t max, int64_t *ret_value)
{
    if (!at_number(r))
        return json_fail(r, "expected a whole number");
    const char *where = r->at;
    struct str text;
    bool whole;
    if (!json_number(r, &text, &whole))
        return false;
    if (!whole)
        return json_fail_at(r, where, "expected a whole number");
    int64_t value;
    if (!str_to_i64(text, &value) || value < min || value > max)
        return json_fail_at(r, where, "number out of range");
    *ret_value = value;
    return true;
}

bool json_read_double(struct json_reader *r, double *out)
{
    if (!at_number(r))
        return json_fail(r, "expected a number");
    const char *where = r->at;
    struct str text;
    bool whole;
    if (!json_number(r, &text, &whole))
        return false;
    char number[64]; /* NUL-terminated, for strtod */
    if (text.n >= sizeof(number))
        return json_fail_at(r, where, "number with too many digits");
    memcpy(number, text.p, text.n);
    number[text.n] = '\0';
    double value = strtod(number, NULL);
    if (value > __DBL_MAX__ || value < -__DBL_MAX__)
        return json_fail_at(r, where, "number out of range");
    *out = value;
    return true;
}

bool json_read_bool(struct json_reader *r, bool *out)
{
    char c = json_peek(r);
    if (c != 't' && c != 'f')
        return json_fail(r, "expected true or false");
    *out = c == 't';
    return json_word(r, c == 't' ? STR("true") : STR("false"));
}

bool json_read_raw(struct json_reader *r, struct arena *a, struct str *out)
{
    json_space(r);
    const char *begin = r->at;
    if (!json_skip(r))
        return false;
    struct str text = {begin, (size_t)(r->at - begin)};
    /* The text is kept and written again later, so it must be valid. */
    if (!utf8_valid(text))
        return json_fail_at(r, begin, "not UTF-8");
    *out = decode_dup(a, text);
    return true;
}

bool json_read_custom(struct json_reader *r, struct arena *a, const struct custom *custom,
                      void *out, struct err *custom_err)
{
    bool quoted = json_peek(r) == '"', whole;
    const char *where = r->at;
    struct json_string s = JSON_STRING_INIT;
    struct str text;
    if (quoted) {
        if (!json_string(r, &s))
            return false;
        text = json_string_text(&s, a);
    } else {
        if (!at_number(r))
            return json_fail(r, "expected a string or number");
        if (!json_number(r, &text, &whole))
            return false;
    }
    if (custom->from_json(text, quoted, a, out, custom_err) < 0)
        return json_fail_at(r, where, custom_err->msg);
    return true;
}
