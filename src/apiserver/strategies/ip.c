/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/ip.h"

#include <arpa/inet.h>

bool ip_parse(struct str text, struct ip *ret_ip)
{
    char copy[INET6_ADDRSTRLEN + 1];
    struct ip ip = {0};

    if (text.n == 0 || text.n >= sizeof(copy) || memchr(text.p, 0, text.n))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    if (inet_pton(AF_INET, copy, ip.bytes) == 1)
        ip.n = 4;
    else if (inet_pton(AF_INET6, copy, ip.bytes) == 1)
        ip.n = 16;
    else
        return false;
    *ret_ip = ip;
    return true;
}

bool cidr_parse(struct str text, struct ip *ret_ip, unsigned *ret_bits)
{
    size_t slash = str_find(text, '/');
    uint64_t bits;
    struct ip ip;

    if (slash >= text.n || !ip_parse(str_slice(text, 0, slash), &ip) ||
        !str_to_u64(str_slice(text, slash + 1, text.n), &bits) || bits > ip.n * 8)
        return false;
    *ret_ip = ip;
    *ret_bits = (unsigned)bits;
    return true;
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
    struct ip ip;
    unsigned bits;

    if (cidr_parse(text, &ip, &bits))
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
