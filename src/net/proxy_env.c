/* SPDX-License-Identifier: Apache-2.0 */
#include "net/proxy_env.h"

#include <arpa/inet.h>

/* An address of either family; IPv4 is mapped into IPv6. */
struct address {
    unsigned char bytes[16];
};

#define V4_PREFIX 96

static bool parse_address(struct str text, struct address *ret_address, bool *ret_v4)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[INET6_ADDRSTRLEN];
    if (text.n == 0 || text.n >= sizeof(copy))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    memcpy(ret_address->bytes, mapped, sizeof(mapped));
    *ret_v4 = inet_pton(AF_INET, copy, ret_address->bytes + sizeof(mapped)) == 1;
    if (*ret_v4 || inet_pton(AF_INET6, copy, ret_address->bytes) != 1)
        return *ret_v4;
    *ret_v4 = memcmp(ret_address->bytes, mapped, sizeof(mapped)) == 0;
    return true;
}

static bool same_network(const struct address *a, const struct address *b, size_t bits)
{
    size_t whole = bits / 8, rest = bits % 8;
    if (memcmp(a->bytes, b->bytes, whole) != 0)
        return false;
    return rest == 0 || (a->bytes[whole] ^ b->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_loopback(const struct address *a, bool v4)
{
    static const struct address v6 = {.bytes = {[15] = 1}};
    return v4 ? a->bytes[12] == 127 : same_network(a, &v6, 128);
}

/* "10.0.0.0/8" */
static bool in_range(struct str range, const struct address *address)
{
    struct address network;
    uint64_t bits;
    bool v4;
    size_t slash = str_find(range, '/');
    if (slash == range.n || !parse_address(str_slice(range, 0, slash), &network, &v4) ||
        !str_to_u64(str_slice(range, slash + 1, range.n), &bits) || bits > (v4 ? 32 : 128))
        return false;
    return same_network(address, &network, (size_t)bits + (v4 ? V4_PREFIX : 0));
}

/* Splits "host:port" and "[::1]:port"; *ret_port is empty if there is no port. */
static struct str split_port(struct str entry, struct str *ret_port)
{
    bool brackets = str_starts(entry, STR("["));
    size_t close = str_find(entry, ']'), colon = brackets ? close + 1 : str_find(entry, ':');
    struct str rest = str_slice(entry, colon + 1, entry.n);
    *ret_port = (struct str){0};
    if (colon >= entry.n || entry.p[colon] != ':' || str_find(rest, ':') < rest.n)
        return entry; /* no port, or an IPv6 address */
    *ret_port = rest;
    return brackets ? str_slice(entry, 1, close) : str_slice(entry, 0, colon);
}

static bool fits_name(struct str pattern, struct str host)
{
    if (str_starts(pattern, STR("*.")))
        pattern = str_slice(pattern, 1, pattern.n);
    bool below_only = pattern.p[0] == '.';
    if (!below_only && str_eq_fold(pattern, host))
        return true;
    size_t dot = below_only ? 0 : 1;
    if (host.n <= pattern.n + dot || (dot && host.p[host.n - pattern.n - 1] != '.'))
        return false;
    return str_eq_fold(str_slice(host, host.n - pattern.n, host.n), pattern);
}

struct target {
    struct str host;
    uint16_t port;
    struct address address;
    bool is_address;
};

static bool is_exempt(struct str entry, const struct target *t)
{
    struct str port, host = split_port(entry, &port);
    struct address address;
    uint64_t number;
    bool v4;
    if (str_find(entry, '/') < entry.n)
        return t->is_address && in_range(entry, &t->address);
    if (host.n == 0 || (port.n && (!str_to_u64(port, &number) || number != t->port)))
        return false;
    if (parse_address(host, &address, &v4))
        return t->is_address && same_network(&address, &t->address, 128);
    return !t->is_address && fits_name(host, t->host);
}

bool proxy_env_applies(struct str no_proxy, struct str host, uint16_t port)
{
    struct target t = {.host = host, .port = port};
    struct str rest = no_proxy, entry;
    bool v4 = false;
    t.is_address = parse_address(host, &t.address, &v4);
    if (str_is(host, "localhost") || (t.is_address && is_loopback(&t.address, v4)))
        return false;
    while (str_split(&rest, ',', &entry)) {
        entry = str_trim(entry);
        if (str_is(entry, "*") || (entry.n && is_exempt(entry, &t)))
            return false;
    }
    return true;
}

static struct str variable(const char *upper, const char *lower)
{
    const char *value = getenv(upper);
    if (!value || !*value)
        value = getenv(lower);
    return str_of(value ? value : "");
}

bool proxy_env_find(const struct url *server, struct buf *out)
{
    bool https = str_eq_fold(server->scheme, STR("https"));
    struct str proxy =
        https ? variable("HTTPS_PROXY", "https_proxy") : variable("HTTP_PROXY", "http_proxy");
    if (!proxy.n ||
        !proxy_env_applies(variable("NO_PROXY", "no_proxy"), server->host, server->port))
        return false;
    if (str_search(proxy, STR("://")) == proxy.n)
        buf_add_cstr(out, "http://"); /* "proxy:3128" */
    buf_add_str(out, proxy);
    return true;
}
