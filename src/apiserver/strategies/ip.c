/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/ip.h"

#include "cel/addr.h"

bool ip_parse(struct str text, struct ip *ret_ip)
{
    struct buf why = BUF_INIT;
    struct addr addr;
    bool ok = addr_parse(text, &addr, &why) && addr.zone.n == 0;

    buf_release(&why);
    if (!ok)
        return false;
    *ret_ip = (struct ip){.n = addr.is4 ? 4 : 16};
    memcpy(ret_ip->bytes, addr.bytes, ret_ip->n);
    return true;
}

static bool is_cidr(struct str text)
{
    struct buf why = BUF_INIT;
    struct addr addr;
    int bits;
    bool ok = addr_parse_prefix(text, &addr, &bits, &why);

    buf_release(&why);
    return ok;
}

bool field_check_ip(struct field_errors *errors, const struct field_path *path, struct str text)
{
    struct json_value value = json_text(text);
    struct ip ip;

    if (ip_parse(text, &ip))
        return true;
    field_error(errors, FIELD_INVALID, path, &value,
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    return false;
}

bool field_check_cidr(struct field_errors *errors, const struct field_path *path, struct str text)
{
    struct json_value value = json_text(text);

    if (is_cidr(text))
        return true;
    field_error(errors, FIELD_INVALID, path, &value,
                "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    return false;
}

static bool is_zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

void field_check_endpoint_ip(struct field_errors *errors, const struct field_path *path,
                             struct str text)
{
    struct json_value value = json_text(text);
    const unsigned char *b;
    struct ip ip;
    bool v4;

    if (!ip_parse(text, &ip)) {
        field_error(errors, FIELD_INVALID, path, &value, "must be a valid IP address");
        return;
    }
    v4 = ip.n == 4;
    b = ip.bytes;
    if (is_zero(b, ip.n))
        field_error(errors, FIELD_INVALID, path, &value, "may not be unspecified (%.*s)",
                    STR_ARG(text));
    if (v4 ? b[0] == 127 : is_zero(b, 15) && b[15] == 1)
        field_error(errors, FIELD_INVALID, path, &value,
                    "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (v4 ? b[0] == 169 && b[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
        field_error(errors, FIELD_INVALID, path, &value,
                    "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (v4 ? b[0] == 224 && b[1] == 0 && b[2] == 0 : b[0] == 0xff && (b[1] & 0x0f) == 2)
        field_error(errors, FIELD_INVALID, path, &value,
                    "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}
