/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/addr.h"

#include "base/log.h"

static bool fail(struct buf *error, struct str in, const char *what, struct str at)
{
    buf_add_cstr(error, "ParseAddr(");
    log_quote(error, in);
    buf_add_cstr(error, "): ");
    buf_add_cstr(error, what);
    if (at.n > 0) {
        buf_add_cstr(error, " (at ");
        log_quote(error, at);
        buf_add_char(error, ')');
    }
    return false;
}

/* Four decimal fields without leading zeros. */
static bool parse4(struct str in, struct str s, uint8_t *fields, struct buf *error)
{
    int value = 0, digits = 0, field = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c >= '0' && c <= '9') {
            if (digits == 1 && value == 0)
                return fail(error, in, "IPv4 field has octet with leading zero", STR(""));
            value = value * 10 + (c - '0');
            digits++;
            if (value > 255)
                return fail(error, in, "IPv4 field has value >255", STR(""));
        } else if (c == '.') {
            if (i == 0 || i == s.n - 1 || s.p[i - 1] == '.')
                return fail(error, in, "IPv4 field must have at least one digit",
                            str_slice(s, i, s.n));
            if (field == 3)
                return fail(error, in, "IPv4 address too long", STR(""));
            fields[field++] = (uint8_t)value;
            value = digits = 0;
        } else {
            return fail(error, in, "unexpected character", str_slice(s, i, s.n));
        }
    }
    if (field < 3)
        return fail(error, in, "IPv4 address too short", STR(""));
    fields[3] = (uint8_t)value;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* What is read of an IPv6 address so far. */
struct reading {
    struct str in, rest;
    uint8_t *bytes;
    int n, gap; /* bytes read; where the :: is, -1: nowhere */
    struct buf *error;
};

/* The field at the beginning of the rest: 1 to 4 digits. Its length, or 0 after an error. */
static size_t parse_field(struct reading *r, unsigned *ret_value)
{
    unsigned value = 0;
    size_t n = 0;
    for (; n < r->rest.n && hex_digit(r->rest.p[n]) >= 0; n++) {
        value = value << 4 | (unsigned)hex_digit(r->rest.p[n]);
        if (n > 3) {
            fail(r->error, r->in, "each group must have 4 or less digits", r->rest);
            return 0;
        }
    }
    if (n == 0)
        fail(r->error, r->in, "each colon-separated field must have at least one digit", r->rest);
    *ret_value = value;
    return n;
}

static bool parse_embedded4(struct reading *r)
{
    if (r->gap < 0 && r->n != 12)
        return fail(r->error, r->in,
                    "embedded IPv4 address must replace the final 2 fields of the address",
                    r->rest);
    if (r->n + 4 > 16)
        return fail(r->error, r->in,
                    "too many hex fields to fit an embedded IPv4 at the end of the address",
                    r->rest);
    if (!parse4(r->in, r->rest, r->bytes + r->n, r->error))
        return false;
    r->rest = STR("");
    r->n += 4;
    return true;
}

/* The colon behind a field, or two. */
static bool parse_colon(struct reading *r)
{
    if (r->rest.p[0] != ':')
        return fail(r->error, r->in, "unexpected character, want colon", r->rest);
    if (r->rest.n == 1)
        return fail(r->error, r->in, "colon must be followed by more characters", r->rest);
    r->rest = str_slice(r->rest, 1, r->rest.n);
    if (r->rest.p[0] == ':') {
        if (r->gap >= 0)
            return fail(r->error, r->in, "multiple :: in address", r->rest);
        r->gap = r->n;
        r->rest = str_slice(r->rest, 1, r->rest.n);
    }
    return true;
}

static bool parse_fields(struct reading *r)
{
    while (r->n < 16) {
        unsigned value;
        size_t n = parse_field(r, &value);
        if (n == 0)
            return false;
        if (n < r->rest.n && r->rest.p[n] == '.')
            return parse_embedded4(r);
        r->bytes[r->n++] = (uint8_t)(value >> 8);
        r->bytes[r->n++] = (uint8_t)value;
        r->rest = str_slice(r->rest, n, r->rest.n);
        if (r->rest.n == 0)
            return true;
        if (!parse_colon(r))
            return false;
        if (r->rest.n == 0)
            return true;
    }
    return true;
}

static bool parse6(struct str in, struct addr *addr, struct buf *error)
{
    struct reading r = {.in = in, .rest = in, .bytes = addr->bytes, .gap = -1, .error = error};
    size_t zone = str_find(in, '%');
    if (zone < in.n) {
        r.rest = str_slice(in, 0, zone);
        addr->zone = str_slice(in, zone + 1, in.n);
        if (addr->zone.n == 0)
            return fail(error, in, "zone must be a non-empty string", STR(""));
    }
    if (str_starts(r.rest, STR("::"))) {
        r.gap = 0;
        r.rest = str_slice(r.rest, 2, r.rest.n);
        if (r.rest.n == 0)
            return true;
    }
    if (!parse_fields(&r))
        return false;
    if (r.rest.n > 0)
        return fail(error, in, "trailing garbage after address", r.rest);
    if (r.n == 16)
        return r.gap < 0 ||
               fail(error, in, "the :: must expand to at least one field of zeros", STR(""));
    if (r.gap < 0)
        return fail(error, in, "address string too short", STR(""));
    memmove(r.bytes + r.gap + (16 - r.n), r.bytes + r.gap, (size_t)(r.n - r.gap));
    memset(r.bytes + r.gap, 0, (size_t)(16 - r.n));
    return true;
}

bool addr_parse(struct str text, struct addr *ret_addr, struct buf *error)
{
    *ret_addr = (struct addr){0};
    for (size_t i = 0; i < text.n; i++) {
        switch (text.p[i]) {
        case '.':
            ret_addr->is4 = true;
            return parse4(text, text, ret_addr->bytes, error);
        case ':':
            return parse6(text, ret_addr, error);
        case '%':
            return fail(error, text, "missing IPv6 address", STR(""));
        default:
            break;
        }
    }
    return fail(error, text, "unable to parse IP", STR(""));
}

bool addr_is_4_in_6(const struct addr *addr)
{
    static const uint8_t prefix[12] = {[10] = 0xFF, [11] = 0xFF};
    return !addr->is4 && memcmp(addr->bytes, prefix, sizeof(prefix)) == 0;
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
    return a->is4 == b->is4 && memcmp(a->bytes, b->bytes, 16) == 0 && str_eq(a->zone, b->zone);
}

/* The longest run of zero fields, of at least two, is written as ::. */
static void write6(const struct addr *addr, struct buf *out)
{
    size_t from = 8, to = 8;
    for (size_t i = 0; i < 8; i++) {
        size_t k = i;
        while (k < 8 && addr->bytes[2 * k] == 0 && addr->bytes[2 * k + 1] == 0)
            k++;
        if (k - i >= 2 && k - i > to - from) {
            from = i;
            to = k;
        }
    }
    for (size_t i = 0; i < 8; i++) {
        if (i == from) {
            buf_add_cstr(out, "::");
            i = to;
            if (i >= 8)
                return;
        } else if (i > 0) {
            buf_add_char(out, ':');
        }
        buf_add_printf(out, "%x", (unsigned)addr->bytes[2 * i] << 8 | addr->bytes[2 * i + 1]);
    }
}

void addr_write(const struct addr *addr, struct buf *out)
{
    const uint8_t *b = addr->bytes;
    if (addr->is4) {
        buf_add_printf(out, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
    } else {
        write6(addr, out);
        if (addr->zone.n > 0) {
            buf_add_char(out, '%');
            buf_add_str(out, addr->zone);
        }
    }
}

static bool fail_prefix(struct buf *error, struct str in, const char *what)
{
    buf_add_cstr(error, "netip.ParsePrefix(");
    log_quote(error, in);
    buf_add_cstr(error, "): ");
    buf_add_cstr(error, what);
    return false;
}

static bool fail_bits(struct buf *error, struct str in, const char *what, struct str bits)
{
    fail_prefix(error, in, what);
    log_quote(error, bits);
    return false;
}

bool addr_parse_prefix(struct str text, struct addr *ret_addr, int *ret_bits, struct buf *error)
{
    size_t slash = text.n;
    while (slash > 0 && text.p[slash - 1] != '/')
        slash--;
    if (slash == 0)
        return fail_prefix(error, text, "no '/'");
    struct buf why = BUF_INIT;
    if (!addr_parse(str_slice(text, 0, slash - 1), ret_addr, &why)) {
        fail_prefix(error, text, "");
        buf_add_str(error, buf_str(&why));
        buf_release(&why);
        return false;
    }
    buf_release(&why);
    if (ret_addr->zone.n > 0)
        return fail_prefix(error, text, "IPv6 zones cannot be present in a prefix");
    struct str bits = str_slice(text, slash, text.n);
    /* A sign or a leading zero would be accepted by the conversion. */
    if (bits.n > 1 && (bits.p[0] < '1' || bits.p[0] > '9'))
        return fail_bits(error, text, "bad bits after slash: ", bits);
    int64_t value = 0;
    bool valid = bits.n > 0;
    for (size_t i = 0; i < bits.n; i++) {
        valid = valid && bits.p[i] >= '0' && bits.p[i] <= '9' && value <= INT64_MAX / 10 - 1;
        if (valid)
            value = value * 10 + (bits.p[i] - '0');
    }
    if (!valid)
        return fail_bits(error, text, "bad bits after slash: ", bits);
    if (value > (ret_addr->is4 ? 32 : 128))
        return fail_prefix(error, text, "prefix length out of range");
    *ret_bits = (int)value;
    return true;
}

bool addr_same_prefix(const struct addr *a, const struct addr *b, int bits)
{
    for (int i = 0; bits > 0; i++, bits -= 8) {
        unsigned mask = bits >= 8 ? 0xFF : (0xFFu << (8 - bits)) & 0xFF;
        if ((a->bytes[i] ^ b->bytes[i]) & mask)
            return false;
    }
    return true;
}

void addr_mask(struct addr *addr, int bits)
{
    for (int i = 0; i < 16; i++, bits -= 8) {
        unsigned mask = bits >= 8 ? 0xFF : bits <= 0 ? 0 : (0xFFu << (8 - bits)) & 0xFF;
        addr->bytes[i] &= (uint8_t)mask;
    }
}
