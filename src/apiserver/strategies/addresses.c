/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/addresses.h"

/* Without the leading zeros of decimal numbers: "010.01.0.1" is "10.1.0.1". */
static struct str without_zeros(struct str text, char *out)
{
    size_t n = 0;
    bool start = true;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool more = i + 1 < text.n && text.p[i + 1] >= '0' && text.p[i + 1] <= '9';

        if (start && c == '0' && more)
            continue;
        out[n++] = c;
        start = c == '.' || c == ':' || c == '/';
    }
    return (struct str){out, n};
}

#define MAX_TEXT 64

bool ip_parse_sloppy(struct str text, struct addr *ret_addr)
{
    char out[MAX_TEXT];
    struct buf error = BUF_INIT;
    bool ok;

    if (text.n > MAX_TEXT)
        return false;
    ok = addr_parse(text, ret_addr, &error);
    if (!ok && str_find(text, '.') < text.n)
        ok = addr_parse(without_zeros(text, out), ret_addr, &error);
    buf_release(&error);
    return ok && str_empty(ret_addr->zone);
}

bool cidr_parse_sloppy(struct str text, struct addr *ret_addr, int *ret_bits)
{
    char out[MAX_TEXT];
    struct buf error = BUF_INIT;
    bool ok;

    if (text.n > MAX_TEXT)
        return false;
    ok = addr_parse_prefix(text, ret_addr, ret_bits, &error);
    if (!ok)
        ok = addr_parse_prefix(without_zeros(text, out), ret_addr, ret_bits, &error);
    buf_release(&error);
    return ok;
}

static bool invalid(struct field_errors *errors, const struct field_path *path, struct str text,
                    const char *detail)
{
    struct json_value value = json_text(text);

    field_error(errors, FIELD_INVALID, path, &value, "%s", detail);
    return false;
}

static bool check_canonical(struct field_errors *errors, const struct field_path *path,
                            struct str text, const struct buf *form)
{
    struct json_value value = json_text(text);

    if (str_eq(text, buf_str(form)))
        return true;
    field_error(errors, FIELD_INVALID, path, &value, "must be in canonical form (\"%.*s\")",
                STR_ARG(buf_str(form)));
    return false;
}

bool field_check_ip(struct field_errors *errors, const struct field_path *path, struct str text,
                    bool canonical)
{
    struct addr addr, strict;
    struct buf text_form = BUF_INIT, error = BUF_INIT;
    bool ok = false;

    if (!ip_parse_sloppy(text, &addr)) {
        invalid(errors, path, text,
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    } else if (!addr_parse(text, &strict, &error)) {
        invalid(errors, path, text, "must not have leading 0s");
    } else if (addr_is_4_in_6(&addr)) {
        invalid(errors, path, text, "must not be an IPv4-mapped IPv6 address");
    } else {
        addr_write(&addr, &text_form);
        ok = !canonical || check_canonical(errors, path, text, &text_form);
    }
    buf_release(&text_form);
    buf_release(&error);
    return ok;
}

bool field_check_cidr(struct field_errors *errors, const struct field_path *path, struct str text,
                      bool canonical)
{
    struct addr addr, masked;
    struct buf form = BUF_INIT, error = BUF_INIT;
    int bits;
    bool ok = false;

    if (!cidr_parse_sloppy(text, &addr, &bits)) {
        invalid(errors, path, text,
                "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
        goto out;
    }
    masked = addr;
    addr_mask(&masked, bits);
    if (!addr_parse_prefix(text, &addr, &bits, &error)) {
        invalid(errors, path, text, "must not have leading 0s in IP or prefix length");
    } else if (addr_is_4_in_6(&addr)) {
        invalid(errors, path, text, "must not have an IPv4-mapped IPv6 address");
    } else if (!addr_equal(&addr, &masked)) {
        invalid(errors, path, text, "must not have bits set beyond the prefix length");
    } else {
        addr_write(&masked, &form);
        buf_add_printf(&form, "/%d", bits);
        ok = !canonical || check_canonical(errors, path, text, &form);
    }
out:
    buf_release(&form);
    buf_release(&error);
    return ok;
}

bool field_check_interface_address(struct field_errors *errors, const struct field_path *path,
                                   struct str text)
{
    struct addr addr;
    struct buf form = BUF_INIT;
    int bits;
    bool ok;

    if (!cidr_parse_sloppy(text, &addr, &bits))
        return invalid(errors, path, text,
                       "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or "
                       "2001:db8::1/64)");
    addr_write(&addr, &form);
    buf_add_printf(&form, "/%d", bits);
    ok = check_canonical(errors, path, text, &form);
    buf_release(&form);
    return ok;
}

static bool in_range(const struct addr *addr, const char *network)
{
    struct addr other;
    int bits;

    return cidr_parse_sloppy(str_of(network), &other, &bits) && other.is4 == addr->is4 &&
           addr_same_prefix(addr, &other, bits);
}

void field_check_endpoint_ip(struct field_errors *errors, const struct field_path *path,
                             struct str text)
{
    struct json_value value = json_text(text);
    struct addr addr;

    if (!ip_parse_sloppy(text, &addr)) {
        invalid(errors, path, text, "must be a valid IP address");
        return;
    }
    if (in_range(&addr, "0.0.0.0/32") || in_range(&addr, "::/128"))
        field_error(errors, FIELD_INVALID, path, &value, "may not be unspecified (%.*s)",
                    STR_ARG(text));
    if (in_range(&addr, "127.0.0.0/8") || in_range(&addr, "::1/128"))
        invalid(errors, path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (in_range(&addr, "169.254.0.0/16") || in_range(&addr, "fe80::/10"))
        invalid(errors, path, text,
                "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (in_range(&addr, "224.0.0.0/24") || in_range(&addr, "ff02::/16"))
        invalid(errors, path, text,
                "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}
