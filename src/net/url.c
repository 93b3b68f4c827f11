/* SPDX-License-Identifier: Apache-2.0 */
#include "net/url.h"

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool is_escape(struct str s, size_t i)
{
    return i + 2 < s.n && hex_value(s.p[i + 1]) >= 0 && hex_value(s.p[i + 2]) >= 0;
}

static bool has_only_url_characters(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c == 0x7f || (c == '%' && !is_escape(s, i)))
            return false;
    }
    return true;
}

static bool is_scheme(struct str s)
{
    if (s.n == 0 || !is_alpha(s.p[0]))
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!is_alpha(s.p[i]) && !is_digit(s.p[i]) && !strchr("+-.", s.p[i]))
            return false;
    return true;
}

uint16_t url_default_port(struct str scheme)
{
    static const struct {
        struct str scheme;
        uint16_t port;
    } ports[] = {
        {STR_INIT("https"), 443}, {STR_INIT("http"), 80},     {STR_INIT("wss"), 443},
        {STR_INIT("ws"), 80},     {STR_INIT("socks5"), 1080}, {STR_INIT("socks5h"), 1080},
    };
    for (size_t i = 0; i < ARRAY_LEN(ports); i++)
        if (str_eq_fold(scheme, ports[i].scheme))
            return ports[i].port;
    return 0;
}

static bool parse_port(struct str text, struct url *url)
{
    uint64_t port;
    if (!str_to_u64(text, &port) || port > UINT16_MAX)
        return false;
    url->port = (uint16_t)port;
    url->port_given = true;
    return true;
}

/* A host name or IPv4 address: characters that could be delimiters are not allowed. */
static bool is_host(struct str s, bool ipv6)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool ok = ipv6 ? hex_value(c) >= 0 || c == ':' || c == '.'
                       : is_alpha(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
        if (!ok)
            return false;
    }
    return s.n > 0 && s.n <= 255;
}

/* host[:port] or [v6][:port] */
static bool parse_host(struct str text, struct url *url)
{
    struct str rest;
    if (text.n && text.p[0] == '[') {
        size_t close = str_find(text, ']');
        if (close == text.n)
            return false;
        url->host = str_slice(text, 1, close);
        url->host_is_ipv6 = true;
        rest = str_slice(text, close + 1, text.n);
    } else {
        size_t colon = str_find(text, ':');
        url->host = str_slice(text, 0, colon);
        rest = str_slice(text, colon, text.n);
    }
    if (!is_host(url->host, url->host_is_ipv6))
        return false;
    if (rest.n == 0)
        return true;
    return rest.p[0] == ':' && parse_port(str_slice(rest, 1, rest.n), url);
}

static bool parse_authority(struct str text, struct url *url)
{
    size_t at = text.n;
    while (at > 0 && text.p[at - 1] != '@')
        at--;
    if (at > 0) {
        struct str info = str_slice(text, 0, at - 1);
        size_t colon = str_find(info, ':');
        url->user = str_slice(info, 0, colon);
        url->password = str_slice(info, colon + 1, info.n);
    }
    return parse_host(str_slice(text, at, text.n), url);
}

int url_parse(struct str text, struct url *ret_url, struct err *reterr)
{
    struct url url = {0};
    size_t sep = str_search(text, STR("://"));
    if (!has_only_url_characters(text))
        return err_set(reterr, -EINVAL,
                       "\"%.*s\": not a URL: contains a blank, a control character or a bad escape",
                       STR_ARG(str_slice(text, 0, 200)));
    url.scheme = str_slice(text, 0, sep);
    if (sep == text.n || !is_scheme(url.scheme))
        return err_set(reterr, -EINVAL,
                       "\"%.*s\": not a URL: must begin with a scheme, as in https://host",
                       STR_ARG(str_slice(text, 0, 200)));
    struct str rest = str_slice(text, sep + 3, text.n);
    size_t hash = str_find(rest, '#');
    url.fragment = str_slice(rest, hash + 1, rest.n);
    rest = str_slice(rest, 0, hash);
    size_t mark = str_find(rest, '?');
    url.query = str_slice(rest, mark + 1, rest.n);
    rest = str_slice(rest, 0, mark);
    size_t slash = str_find(rest, '/');
    url.path = str_slice(rest, slash, rest.n);
    if (!parse_authority(str_slice(rest, 0, slash), &url))
        return err_set(reterr, -EINVAL, "\"%.*s\": bad host or port in URL",
                       STR_ARG(str_slice(text, 0, 200)));
    if (!url.port_given)
        url.port = url_default_port(url.scheme);
    *ret_url = url;
    return 0;
}

void url_add_authority(struct buf *out, struct str host, uint16_t port)
{
    bool brackets = str_find(host, ':') < host.n;
    buf_add_printf(out, brackets ? "[%.*s]:%u" : "%.*s:%u", STR_ARG(host), port);
}

void url_add_segment(struct buf *out, struct str text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
            buf_add_char(out, c);
        } else {
            buf_add_char(out, '%');
            buf_add_char(out, hex[(unsigned char)c >> 4]);
            buf_add_char(out, hex[(unsigned char)c & 15]);
        }
    }
}

void url_add_query(struct buf *out, struct str text)
{
    url_add_segment(out, text);
}

int url_decode(struct str text, bool plus_is_blank, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '%') {
            if (!is_escape(text, i))
                return -EINVAL;
            c = (char)(hex_value(text.p[i + 1]) * 16 + hex_value(text.p[i + 2]));
            i += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        buf_add_char(out, c);
    }
    return 0;
}

bool url_query_next(struct str *rest, struct str *ret_key, struct str *ret_value)
{
    while (rest->n) {
        size_t amp = str_find(*rest, '&');
        struct str pair = str_slice(*rest, 0, amp);
        *rest = str_slice(*rest, amp + 1, rest->n);
        if (pair.n == 0)
            continue;
        size_t eq = str_find(pair, '=');
        *ret_key = str_slice(pair, 0, eq);
        *ret_value = str_slice(pair, eq + 1, pair.n);
        return true;
    }
    return false;
}
