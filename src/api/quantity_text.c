/* SPDX-License-Identifier: Apache-2.0 */
#include "api/quantity_internal.h"
#include "codec/json.h"
#include "codec/proto.h"

/* --- suffixes --------------------------------------------------------------------------------- */

static const struct suffix {
    char text[3];
    uint8_t n; /* bytes of text */
    enum quantity_format format;
    int exponent; /* of 10, or of 2 */
} suffixes[] = {
    {"", 0, QUANTITY_DECIMAL_SI, 0},   {"m", 1, QUANTITY_DECIMAL_SI, -3},
    {"Mi", 2, QUANTITY_BINARY_SI, 20}, {"Gi", 2, QUANTITY_BINARY_SI, 30},
    {"Ki", 2, QUANTITY_BINARY_SI, 10}, {"k", 1, QUANTITY_DECIMAL_SI, 3},
    {"M", 1, QUANTITY_DECIMAL_SI, 6},  {"G", 1, QUANTITY_DECIMAL_SI, 9},
    {"T", 1, QUANTITY_DECIMAL_SI, 12}, {"P", 1, QUANTITY_DECIMAL_SI, 15},
    {"E", 1, QUANTITY_DECIMAL_SI, 18}, {"u", 1, QUANTITY_DECIMAL_SI, -6},
    {"n", 1, QUANTITY_DECIMAL_SI, -9}, {"Ti", 2, QUANTITY_BINARY_SI, 40},
    {"Pi", 2, QUANTITY_BINARY_SI, 50}, {"Ei", 2, QUANTITY_BINARY_SI, 60},
};

static bool read_suffix(struct str text, enum quantity_format *ret_format, int32_t *ret_exponent)
{
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (text.n == suffixes[i].n && memcmp(text.p, suffixes[i].text, text.n) == 0) {
            *ret_format = suffixes[i].format;
            *ret_exponent = suffixes[i].exponent;
            return true;
        }
    }
    if (text.n < 2 || (text.p[0] != 'e' && text.p[0] != 'E'))
        return false;
    bool plus = text.p[1] == '+';
    struct str number = str_slice(text, plus ? 2 : 1, text.n);
    int64_t exponent;
    if ((plus && str_starts(number, STR("-"))) || !str_to_i64(number, &exponent))
        return false;
    *ret_format = QUANTITY_DECIMAL_EXPONENT;
    *ret_exponent = (int32_t)(uint32_t)(uint64_t)exponent; /* upstream truncates it like this */
    return true;
}

/* An exponent without a suffix gives "", as in upstream: 1000E is written as "1". */
static const char *suffix_of(enum quantity_format format, int64_t exponent)
{
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (suffixes[i].format == format && suffixes[i].exponent == exponent)
            return suffixes[i].text;
    return "";
}

/* --- parsing ---------------------------------------------------------------------------------- */

struct parts {
    bool negative;
    bool plain;            /* no plus, no redundant zero, no point: possibly canonical as written */
    struct str num, denom; /* digits before and after the point; num has no leading zeros */
    bool has_digits;
    enum quantity_format format;
    int32_t exponent;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct str take_digits(struct str text, size_t *at)
{
    size_t from = *at;
    while (*at < text.n && is_digit(text.p[*at]))
        ++*at;
    return str_slice(text, from, *at);
}

/* suffix ::= letters, then optionally a signed number; its meaning is checked later. */
static bool is_suffix(struct str s)
{
    const struct str letters = STR("eEinumkKMGTP");
    size_t at = 0;
    while (at < s.n && str_find(letters, s.p[at]) < letters.n)
        at++;
    if (at < s.n && (s.p[at] == '-' || s.p[at] == '+'))
        at++;
    take_digits(s, &at);
    return at == s.n;
}

static int split(struct str text, struct parts *p, struct err *reterr)
{
    size_t at = 0;
    *p = (struct parts){.plain = true};
    if (text.n > 0 && (text.p[0] == '-' || text.p[0] == '+')) {
        p->negative = text.p[0] == '-';
        p->plain = p->negative;
        at++;
    }
    struct str num = take_digits(text, &at);
    size_t zeros = 0;
    while (zeros < num.n && num.p[zeros] == '0')
        zeros++;
    p->num = str_slice(num, zeros, num.n);
    if (at < text.n && text.p[at] == '.') {
        at++;
        p->denom = take_digits(text, &at);
        p->plain = false;
    }
    p->plain = p->plain && zeros == 0;
    p->has_digits = num.n + p->denom.n > 0; /* without any it is usually still a zero */

    struct str suffix = str_slice(text, at, text.n);
    if (text.n > 0 && read_suffix(suffix, &p->format, &p->exponent))
        return 0;
    if (text.n > 0 && is_suffix(suffix))
        return err_set(reterr, -EINVAL, "unable to parse quantity's suffix");
    return err_set(reterr, -EINVAL,
                   "quantities must match the regular expression "
                   "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

static size_t n_digits(const struct parts *p)
{
    /* Upstream inserts a 0 if there is nothing before the point, and counts it. */
    return MAX(p->num.n, 1) + p->denom.n;
}

static int64_t digits_value(struct str digits, int64_t v)
{
    for (size_t i = 0; i < digits.n; i++)
        v = v * 10 + (digits.p[i] - '0');
    return v;
}

/* Whether upstream returns the text as written instead of the canonical form. */
static bool keeps_text(const struct parts *p, int64_t value, int32_t scale)
{
    if (p->format == QUANTITY_BINARY_SI)
        return (value & 7) != 0;
    return scale % 3 == 0 && value % 1000 != 0 && p->num.n > 0;
}

/* Handles amounts that certainly fit an int64 times a power of ten. False: not handled. */
static bool parse_int(struct str text, const struct parts *p, struct arena *a, struct quantity *q)
{
    int32_t scale = 0;
    unsigned shift = 0;
    if (p->format == QUANTITY_BINARY_SI) {
        /* 2^10 is about 10^3; upstream stays below 15 digits here. */
        shift = (unsigned)p->exponent;
        if (p->denom.n > 0 || n_digits(p) + (size_t)(shift / 10) * 3 > 14)
            return false;
    } else {
        if (n_digits(p) > 18)
            return false;
        scale = (int32_t)((uint32_t)p->exponent - (uint32_t)p->denom.n);
        if (scale < -9)
            return false;
    }
    int64_t value = digits_value(p->denom, digits_value(p->num, 0));
    *q = (struct quantity){
        .lo = (p->negative ? -value : value) * ((int64_t)1 << shift),
        .scale = scale,
        .format = (uint8_t)p->format,
    };
    /* Most texts are canonical: nothing to keep. */
    if ((!p->plain || p->format == QUANTITY_DECIMAL_EXPONENT) && keeps_text(p, value, scale))
        q->text = arena_dup(a, text).p;
    return true;
}

static char digit_at(const struct parts *p, size_t i)
{
    return i < p->num.n ? p->num.p[i] : p->denom.p[i - p->num.n];
}

/*
 * Copies the digits [from, to), adds one unit of the last place if round_up, and removes trailing
 * zeros.
 */
static struct quantity_big *make_big(const struct parts *p, size_t from, size_t to, bool round_up,
                                     struct arena *a)
{
    size_t n = to - from + 1; /* a leading zero for the carry */
    struct quantity_big *b = arena_alloc(a, sizeof(*b) + n, _Alignof(struct quantity_big));
    b->digits[0] = '0';
    for (size_t i = from; i < to; i++)
        b->digits[1 + i - from] = digit_at(p, i);
    size_t last = n - 1;
    if (round_up) {
        for (; b->digits[last] == '9'; last--)
            b->digits[last] = '0';
        b->digits[last]++;
    }
    b->n = n;
    for (; b->digits[b->n - 1] == '0'; b->n--)
        b->exponent++;
    if (b->digits[0] == '0')
        memmove(b->digits, b->digits + 1, --b->n);
    return b;
}

static void parse_decimal(const struct parts *p, struct arena *a, struct quantity *q)
{
    size_t n = p->num.n + p->denom.n, first = 0;
    while (first < n && digit_at(p, first) == '0')
        first++;
    if (first == n)
        return; /* zero, with the scale as written */
    /* In nano-units: the number of zeros to append, or (negative) of digits to drop. */
    int64_t zeros = (int64_t)p->exponent - (int64_t)p->denom.n + 9;
    size_t keep = n;
    if (zeros < 0)
        keep = (uint64_t)-zeros < n - first ? n - (size_t)-zeros : first;
    bool round_up = false;
    for (size_t i = keep; i < n; i++)
        round_up = round_up || digit_at(p, i) != '0';
    zeros = MAX(zeros, 0);
    if ((int64_t)(keep - first) + zeros <= 38) {
        int128 v = 0;
        for (size_t i = first; i < keep; i++)
            v = v * 10 + (digit_at(p, i) - '0');
        if (quantity_mul_pow10(v + round_up, zeros, &v))
            quantity_set_dec(q, p->negative ? -v : v, -9);
        return;
    }
    struct quantity_big *b = make_big(p, first, keep, round_up, a);
    b->exponent += zeros - 9;
    q->kind = QUANTITY_BIG;
    q->lo = p->negative ? -1 : 1;
    q->big = b;
}

/* The digits after the point times unit, rounded up. Exact: long multiplication from the right. */
static int128 fraction_of(struct str digits, uint128 unit)
{
    uint128 carry = 0;
    bool rest = false;
    for (size_t i = digits.n; i-- > 0;) {
        carry += unit * (unsigned)(digits.p[i] - '0');
        rest = rest || carry % 10 != 0;
        carry /= 10;
    }
    return (int128)carry + rest;
}

static void parse_binary(const struct parts *p, struct quantity *q)
{
    const int128 nano = 1000000000;
    unsigned shift = (unsigned)p->exponent;
    int64_t units = p->num.n <= 18 ? digits_value(p->num, 0) : INT64_MAX;
    if (units > INT64_MAX >> shift) {
        quantity_set_dec(q, p->negative ? -INT64_MAX : INT64_MAX, 0);
        return;
    }
    int128 v = ((int128)units << shift) * nano + fraction_of(p->denom, (uint128)nano << shift);
    if (v > INT64_MAX * nano)
        v = INT64_MAX * nano;
    if (v == 0) {
        q->scale = -(int32_t)p->denom.n;
        return;
    }
    if (v < nano)
        q->format = QUANTITY_DECIMAL_SI;
    quantity_set_dec(q, p->negative ? -v : v, -9);
}

int quantity_parse(struct str text, struct arena *a, struct quantity *ret_quantity,
                   struct err *reterr)
{
    struct parts p;
    int r = split(text, &p, reterr);
    if (r < 0)
        return r;
    struct quantity q = {0};
    if (!parse_int(text, &p, a, &q)) {
        if (!p.has_digits)
            return err_set(reterr, -EINVAL, "unable to parse numeric part of quantity");
        q = (struct quantity){.kind = QUANTITY_DEC, .format = (uint8_t)p.format};
        q.scale = (int32_t)((uint32_t)p.exponent - (uint32_t)p.denom.n);
        if (p.format == QUANTITY_BINARY_SI)
            parse_binary(&p, &q);
        else
            parse_decimal(&p, a, &q);
    }
    *ret_quantity = q;
    return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_decimal(const struct quantity *q, enum quantity_format format, struct buf *out)
{
    struct decimal d;
    quantity_to_decimal(q, &d);
    if (d.negative)
        buf_add_char(out, '-');
    buf_add(out, d.digits, d.n);
    for (; d.exponent % 3 != 0; d.exponent--)
        buf_add_char(out, '0');
    if (format == QUANTITY_DECIMAL_SI)
        buf_add_cstr(out, suffix_of(format, d.exponent));
    else if (d.exponent != 0)
        buf_add_printf(out, "e%lld", (long long)d.exponent);
}

/* False if it is small or has a fraction: upstream then writes it in decimal format. */
static bool write_binary(const struct quantity *q, struct buf *out)
{
    struct quantity units = *q;
    int128 v = q->kind == QUANTITY_BIG ? 0 : quantity_unscaled(q);
    if (v == 0 || !quantity_mul_pow10(v, q->scale, &v))
        return false;
    for (int32_t scale = q->scale; scale < 0; scale++) {
        if (v % 10 != 0)
            return false;
        v /= 10;
    }
    if (v > -1024 && v < 1024)
        return false;
    int exponent = 0;
    for (; v % 1024 == 0; v /= 1024)
        exponent += 10;
    quantity_set_dec(&units, v, 0);
    struct decimal d;
    quantity_to_decimal(&units, &d);
    if (d.negative)
        buf_add_char(out, '-');
    buf_add(out, d.digits, d.n);
    for (; d.exponent > 0; d.exponent--)
        buf_add_char(out, '0');
    buf_add_cstr(out, suffix_of(QUANTITY_BINARY_SI, exponent));
    return true;
}

void quantity_write(const struct quantity *q, struct buf *out)
{
    if (quantity_is_zero(q))
        buf_add_char(out, '0');
    else if (q->kind == QUANTITY_INT && q->text)
        buf_add_cstr(out, q->text);
    else if (q->format == QUANTITY_DECIMAL_EXPONENT)
        write_decimal(q, QUANTITY_DECIMAL_EXPONENT, out);
    else if (q->format != QUANTITY_BINARY_SI || !write_binary(q, out))
        write_decimal(q, QUANTITY_DECIMAL_SI, out);
}

/* --- codecs ----------------------------------------------------------------------------------- */

static int from_json(struct str text, bool quoted, struct arena *a, void *out, struct err *reterr)
{
    return quantity_parse(quoted ? str_trim(text) : text, a, out, reterr);
}

static void to_json(const void *value, struct buf *out)
{
    buf_add_char(out, '"');
    quantity_write(value, out);
    buf_add_char(out, '"');
}

static int from_proto(struct str message, struct arena *a, void *out, struct err *reterr)
{
    struct quantity q = {0};
    for (size_t at = 0; at < message.n;) {
        uint32_t number;
        enum proto_wire wire;
        struct str text;
        if (!proto_read_tag(message, &at, &number, &wire))
            return err_set(reterr, -EBADMSG, "quantity: truncated");
        if (number != 1) {
            if (!proto_skip(message, &at, wire))
                return err_set(reterr, -EBADMSG, "quantity: truncated");
            continue;
        }
        if (wire != PROTO_BYTES || !proto_read_bytes(message, &at, &text))
            return err_set(reterr, -EBADMSG, "quantity: truncated or not a string");
        int r = quantity_parse(text, a, &q, reterr);
        if (r < 0)
            return r;
    }
    *(struct quantity *)out = q;
    return 0;
}

static void to_proto(const void *value, struct buf *out)
{
    struct buf text = BUF_INIT;
    quantity_write(value, &text);
    proto_write_bytes(out, 1, buf_str(&text));
    buf_release(&text);
}

static bool is_zero(const void *value)
{
    return quantity_is_zero(value);
}

const struct custom quantity_custom = {
    .name = "quantity",
    .size = sizeof(struct quantity),
    .align = _Alignof(struct quantity),
    .from_json = from_json,
    .to_json = to_json,
    .from_proto = from_proto,
    .to_proto = to_proto,
    .is_zero = is_zero,
};

static const struct field quantity_entry_fields[] = {
    F_ONE(struct quantity_entry, key, "key", 1, STR),
    F_ALWAYS_CUSTOM(struct quantity_entry, value, "value", 2, struct quantity, &quantity_custom),
};
const struct type quantity_entry_type =
    TYPE("quantity_entry", struct quantity_entry, quantity_entry_fields);
