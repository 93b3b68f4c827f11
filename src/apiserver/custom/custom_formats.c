/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/custom/custom_formats.h"

#include "base/time.h"
#include "codec/base64.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_alnum(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_date_time(struct str s)
{
    struct timestamp t;

    return timestamp_parse(s, &t);
}

/* "2006-01-02" */
static bool is_date(struct str s)
{
    char text[] = "0000-00-00T00:00:00Z";

    if (s.n != 10)
        return false;
    memcpy(text, s.p, s.n);
    return is_date_time(str_of(text));
}

static bool is_byte(struct str s)
{
    char *out = xmalloc(BASE64_DECODED_MAX(s.n) + 1);
    size_t n;
    bool ok = base64_decode(s, out, &n);

    free(out);
    return ok;
}

/* Four numbers up to 255 without leading zeros. */
static bool is_ipv4(struct str s)
{
    struct str rest = s, part;
    uint64_t n;
    size_t parts = 0;

    for (; str_split(&rest, '.', &part); parts++)
        if (part.n == 0 || part.n > 3 || (part.n > 1 && part.p[0] == '0') ||
            !str_to_u64(part, &n) || n > 255)
            return false;
    return parts == 4;
}

/* Counts the 16-bit groups of a part of an address; the last may be an IPv4 address. */
static bool count_groups(struct str s, bool is_last, size_t *ret_n)
{
    struct str rest = s, group;
    size_t n = 0;

    if (s.n == 0) {
        *ret_n = 0;
        return true;
    }
    while (str_split(&rest, ':', &group)) {
        if (is_last && !rest.p && str_find(group, '.') < group.n) {
            n += 2;
            if (!is_ipv4(group))
                return false;
            continue;
        }
        if (group.n == 0 || group.n > 4)
            return false;
        for (size_t i = 0; i < group.n; i++)
            if (!is_hex(group.p[i]))
                return false;
        n++;
    }
    *ret_n = n;
    return true;
}

/* Eight groups, or fewer with one "::". */
static bool is_ipv6(struct str s)
{
    size_t gap = str_search(s, STR("::")), before = 0, after = 0;

    if (s.n > 45)
        return false;
    if (gap == s.n)
        return count_groups(s, true, &before) && before == 8;
    return count_groups(str_slice(s, 0, gap), false, &before) &&
           count_groups(str_slice(s, gap + 2, s.n), true, &after) && before + after < 8;
}

static bool is_cidr(struct str s)
{
    size_t slash = str_find(s, '/');
    struct str address = str_slice(s, 0, slash), bits = str_slice(s, slash + 1, s.n);
    uint64_t n;

    if (slash == s.n || !str_to_u64(bits, &n) || (bits.n > 1 && bits.p[0] == '0'))
        return false;
    return (is_ipv4(address) && n <= 32) || (is_ipv6(address) && n <= 128);
}

/* 8-4-4-4-12 hexadecimal digits; the dashes may be missing. */
static bool is_uuid(struct str s)
{
    static const size_t groups[] = {8, 4, 4, 4, 12};
    size_t at = 0;

    for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
        for (size_t i = 0; i < groups[g]; i++, at++)
            if (at >= s.n || !is_hex(s.p[at]))
                return false;
        if (g + 1 < ARRAY_LEN(groups) && at < s.n && s.p[at] == '-')
            at++;
    }
    return at == s.n;
}

static bool is_hostname(struct str s)
{
    struct str rest = s, label;

    if (s.n == 0 || s.n > 255)
        return false;
    while (str_split(&rest, '.', &label)) {
        if (label.n == 0 || label.n > 63 || !is_alnum(label.p[0]) ||
            !is_alnum(label.p[label.n - 1]))
            return false;
        for (size_t i = 0; i < label.n; i++)
            if (!is_alnum(label.p[i]) && label.p[i] != '-')
                return false;
    }
    return true;
}

static bool is_email(struct str s)
{
    size_t at = str_find(s, '@');

    return at > 0 && at + 1 < s.n && str_find(s, ' ') == s.n &&
           str_find(str_slice(s, at + 1, s.n), '@') == s.n - at - 1;
}

/* Six pairs of hexadecimal digits with ':' or '-' between them. */
static bool is_mac(struct str s)
{
    if (s.n != 17)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (i % 3 == 2 ? s.p[i] != s.p[2] || (s.p[i] != ':' && s.p[i] != '-') : !is_hex(s.p[i]))
            return false;
    return true;
}

static bool is_duration(struct str s)
{
    int64_t ns;

    return duration_parse(s, &ns);
}

static bool is_uri(struct str s)
{
    size_t colon = str_find(s, ':');

    if (s.n > 0 && s.p[0] == '/')
        return true;
    if (colon == 0 || colon == s.n)
        return false;
    for (size_t i = 0; i < colon; i++)
        if (!is_alnum(s.p[i]) && s.p[i] != '+' && s.p[i] != '-' && s.p[i] != '.')
            return false;
    return true;
}

bool custom_format_matches(struct str format, struct str text)
{
    static const struct {
        const char *name;
        bool (*matches)(struct str text);
    } formats[] = {
        {"date-time", is_date_time},
        {"datetime", is_date_time},
        {"date", is_date},
        {"byte", is_byte},
        {"ipv4", is_ipv4},
        {"ipv6", is_ipv6},
        {"cidr", is_cidr},
        {"uuid", is_uuid},
        {"hostname", is_hostname},
        {"email", is_email},
        {"mac", is_mac},
        {"duration", is_duration},
        {"uri", is_uri},
    };

    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (str_is(format, formats[i].name))
            return formats[i].matches(text);
    return true;
}
