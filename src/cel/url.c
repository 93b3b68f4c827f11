/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/url.h"

#include "base/log.h"
#include "cel/addr.h"

enum mode { MODE_PATH, MODE_HOST, MODE_ZONE, MODE_USER, MODE_QUERY, MODE_FRAGMENT };

/* --- escapes ---------------------------------------------------------------------------------- */

static bool is_in(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool should_escape(char c, enum mode mode)
{
    if (is_letter_or_digit(c) || is_in(c, "-_.~"))
        return false;
    if ((mode == MODE_HOST || mode == MODE_ZONE) && is_in(c, "!$&'()*+,;=:[]<>\""))
        return false;
    if (is_in(c, "$&+,/:;=?@")) {
        switch (mode) {
        case MODE_PATH:
            return c == '?';
        case MODE_USER:
            return is_in(c, "@/?:");
        case MODE_FRAGMENT:
            return false;
        default:
            return true;
        }
    }
    return !(mode == MODE_FRAGMENT && is_in(c, "!()*"));
}

static void escape(struct str s, enum mode mode, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        if (should_escape(s.p[i], mode))
            buf_add_printf(out, "%%%02X", (unsigned char)s.p[i]);
        else
            buf_add_char(out, s.p[i]);
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool bad_escape(struct buf *error, struct str s)
{
    buf_add_cstr(error, "invalid URL escape ");
    log_quote(error, str_slice(s, 0, 3));
    return false;
}

/* Whether the escape at the beginning of s may be there; hosts have none of ASCII but %25. */
static bool check_escape(struct str s, enum mode mode, struct buf *error)
{
    if (s.n < 3 || hex_digit(s.p[1]) < 0 || hex_digit(s.p[2]) < 0)
        return bad_escape(error, s);
    bool percent = s.p[1] == '2' && s.p[2] == '5';
    if (mode == MODE_HOST && hex_digit(s.p[1]) < 8 && !percent)
        return bad_escape(error, s);
    char c = (char)(hex_digit(s.p[1]) * 16 + hex_digit(s.p[2]));
    if (mode == MODE_ZONE && !percent && c != ' ' && should_escape(c, MODE_HOST))
        return bad_escape(error, s);
    return true;
}

static bool unescape(struct str s, enum mode mode, struct arena *a, struct str *ret_text,
                     struct buf *error)
{
    char *p = arena_array(a, char, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            if (!check_escape(str_slice(s, i, s.n), mode, error))
                return false;
            p[n++] = (char)(hex_digit(s.p[i + 1]) * 16 + hex_digit(s.p[i + 2]));
            i += 2;
            continue;
        }
        if ((mode == MODE_HOST || mode == MODE_ZONE) && (unsigned char)c < 0x80 &&
            should_escape(c, mode)) {
            buf_add_cstr(error, "invalid character ");
            log_quote(error, str_slice(s, i, i + 1));
            buf_add_cstr(error, " in host name");
            return false;
        }
        p[n++] = c == '+' && mode == MODE_QUERY ? ' ' : c;
    }
    *ret_text = (struct str){p, n};
    return true;
}

bool go_url_query_unescape(struct str text, struct arena *a, struct str *ret_text)
{
    struct buf error = BUF_INIT;
    bool valid = unescape(text, MODE_QUERY, a, ret_text, &error);
    buf_release(&error);
    return valid;
}

/* --- host ------------------------------------------------------------------------------------- */

static size_t find_last(struct str s, char c)
{
    size_t i = s.n;
    while (i > 0 && s.p[i - 1] != c)
        i--;
    return i > 0 ? i - 1 : s.n;
}

static bool valid_port(struct str port)
{
    if (port.n > 0 && port.p[0] != ':')
        return false;
    for (size_t i = 1; i < port.n; i++) {
        if (port.p[i] < '0' || port.p[i] > '9')
            return false;
    }
    return true;
}

static bool fail(struct buf *error, const char *what)
{
    buf_add_cstr(error, what);
    return false;
}

static bool check_port(struct str port, struct buf *error)
{
    if (valid_port(port))
        return true;
    buf_add_cstr(error, "invalid port ");
    log_quote(error, port);
    buf_add_cstr(error, " after host");
    return false;
}

/* [IPv6]:port */
static bool parse_literal(struct str host, struct arena *a, struct str *ret_host, struct buf *error)
{
    size_t end = find_last(host, ']');
    struct str port, before, zone = {0};
    if (end == host.n)
        return fail(error, "missing ']' in host");
    port = str_slice(host, end + 1, host.n);
    if (!check_port(port, error) || !unescape(port, MODE_HOST, a, &port, error))
        return false;
    struct str name = str_slice(host, 1, end);
    size_t at = str_search(name, STR("%25"));
    if (!unescape(str_slice(name, 0, at), MODE_HOST, a, &before, error) ||
        !unescape(str_slice(name, at, name.n), MODE_ZONE, a, &zone, error))
        return false;
    struct buf full = BUF_INIT, why = BUF_INIT;
    struct addr addr;
    buf_add_char(&full, '[');
    buf_add_str(&full, before);
    buf_add_str(&full, zone);
    bool valid = addr_parse(str_slice(buf_str(&full), 1, full.n), &addr, &why);
    if (!valid) {
        buf_add_cstr(error, "invalid host: ");
        buf_add_str(error, buf_str(&why));
    } else if (addr.is4) {
        valid = fail(error, "invalid IP-literal");
    }
    buf_add_char(&full, ']');
    buf_add_str(&full, port);
    *ret_host = arena_dup(a, buf_str(&full));
    buf_release(&full);
    buf_release(&why);
    return valid;
}

static bool parse_host(struct str scheme, struct str host, struct arena *a, struct str *ret_host,
                       struct buf *error)
{
    size_t bracket = find_last(host, '['), colon = str_find(host, ':');
    if (bracket < host.n)
        return bracket > 0 ? fail(error, "invalid IP-literal")
                           : parse_literal(host, a, ret_host, error);
    if (colon < host.n) {
        /* http and https have one colon only. */
        if (!str_is(scheme, "http") && !str_is(scheme, "https"))
            colon = find_last(host, ':');
        if (!check_port(str_slice(host, colon, host.n), error))
            return false;
    }
    return unescape(host, MODE_HOST, a, ret_host, error);
}

static bool parse_user(struct str user, struct arena *a, struct go_url *url, struct buf *error)
{
    for (size_t i = 0; i < user.n; i++) {
        if (!is_letter_or_digit(user.p[i]) && !is_in(user.p[i], "-._:~!$&'()*+,;=%@"))
            return fail(error, "net/url: invalid userinfo");
    }
    size_t colon = str_find(user, ':');
    struct str name, password = {0};
    if (!unescape(str_slice(user, 0, colon), MODE_USER, a, &name, error) ||
        !unescape(str_slice(user, colon + 1, user.n), MODE_USER, a, &password, error))
        return false;
    struct buf b = BUF_INIT;
    escape(name, MODE_USER, &b);
    if (colon < user.n) {
        buf_add_char(&b, ':');
        escape(password, MODE_USER, &b);
    }
    url->user = arena_dup(a, buf_str(&b));
    url->has_user = true;
    buf_release(&b);
    return true;
}

static bool parse_authority(struct str authority, struct arena *a, struct go_url *url,
                            struct buf *error)
{
    size_t at = find_last(authority, '@');
    if (at == authority.n)
        return parse_host(url->scheme, authority, a, &url->host, error);
    return parse_host(url->scheme, str_slice(authority, at + 1, authority.n), a, &url->host,
                      error) &&
           parse_user(str_slice(authority, 0, at), a, url, error);
}

/* --- whole URLs ------------------------------------------------------------------------------- */

/* Decodes a path or fragment, and keeps what was written if it would be written differently. */
static bool set_escaped(struct str raw, enum mode mode, struct arena *a, struct str *decoded,
                        struct str *ret_raw, struct buf *error)
{
    if (!unescape(raw, mode, a, decoded, error))
        return false;
    struct buf b = BUF_INIT;
    escape(*decoded, mode, &b);
    if (!str_eq(buf_str(&b), raw))
        *ret_raw = raw;
    buf_release(&b);
    return true;
}

/* The scheme, in lower case; *rest is what follows. */
static bool parse_scheme(struct str *rest, struct arena *a, struct go_url *url, struct buf *error)
{
    for (size_t i = 0; i < rest->n; i++) {
        char c = rest->p[i];
        if (c == ':') {
            if (i == 0)
                return fail(error, "missing protocol scheme");
            url->scheme = arena_dup(a, str_slice(*rest, 0, i));
            for (size_t k = 0; k < i; k++) {
                char *p = (char *)url->scheme.p + k;
                if (*p >= 'A' && *p <= 'Z')
                    *p = (char)(*p - 'A' + 'a');
            }
            *rest = str_slice(*rest, i + 1, rest->n);
            return true;
        }
        if (!is_letter_or_digit(c) && !is_in(c, "+-."))
            return true;
        if (i == 0 && !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return true;
    }
    return true;
}

static void split_query(struct str *rest, struct go_url *url)
{
    size_t mark = str_find(*rest, '?');
    if (mark < rest->n && mark + 1 == rest->n)
        url->force_query = true;
    else
        url->raw_query = str_slice(*rest, mark + 1, rest->n);
    *rest = str_slice(*rest, 0, mark);
}

static bool parse(struct str text, bool request, struct arena *a, struct go_url *url,
                  struct buf *error)
{
    struct str rest = text;
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7F)
            return fail(error, "net/url: invalid control character in URL");
    }
    if (text.n == 0 && request)
        return fail(error, "empty url");
    if (str_is(text, "*")) {
        url->path = text;
        return true;
    }
    if (!parse_scheme(&rest, a, url, error))
        return false;
    split_query(&rest, url);
    if (!str_starts(rest, STR("/"))) {
        if (url->scheme.n > 0) {
            url->opaque = rest;
            return true;
        }
        if (request)
            return fail(error, "invalid URI for request");
        struct str segment = str_slice(rest, 0, str_find(rest, '/'));
        if (str_find(segment, ':') < segment.n)
            return fail(error, "first path segment in URL cannot contain colon");
    }
    if ((url->scheme.n > 0 || (!request && !str_starts(rest, STR("///")))) &&
        str_starts(rest, STR("//"))) {
        struct str authority = str_slice(rest, 2, rest.n);
        size_t slash = str_find(authority, '/');
        rest = str_slice(authority, slash, authority.n);
        if (!parse_authority(str_slice(authority, 0, slash), a, url, error))
            return false;
    } else if (url->scheme.n > 0 && str_starts(rest, STR("/"))) {
        url->omit_host = true;
    }
    return set_escaped(rest, MODE_PATH, a, &url->path, &url->raw_path, error);
}

bool go_url_parse(struct str text, bool request, struct arena *a, struct go_url *ret_url,
                  struct buf *error)
{
    size_t hash = request ? text.n : str_find(text, '#');
    struct str before = str_slice(text, 0, hash), shown = before;
    struct buf why = BUF_INIT;
    *ret_url = (struct go_url){0};
    bool valid = parse(before, request, a, ret_url, &why);
    if (valid && hash < text.n) {
        shown = text;
        valid = set_escaped(str_slice(text, hash + 1, text.n), MODE_FRAGMENT, a, &ret_url->fragment,
                            &ret_url->raw_fragment, &why);
    }
    if (!valid) {
        buf_add_cstr(error, "parse ");
        log_quote(error, shown);
        buf_add_cstr(error, ": ");
        buf_add_str(error, buf_str(&why));
    }
    buf_release(&why);
    return valid;
}

/* What was written, if it is valid and means the same; else a new escaping. */
static struct str escaped(struct str raw, struct str decoded, enum mode mode, struct arena *a)
{
    bool valid = raw.n > 0;
    for (size_t i = 0; i < raw.n; i++)
        valid = valid && (is_in(raw.p[i], "!$&'()*+,;=:@[]%") || !should_escape(raw.p[i], mode));
    if (valid)
        return raw;
    if (mode == MODE_PATH && str_is(decoded, "*"))
        return decoded;
    struct buf b = BUF_INIT;
    escape(decoded, mode, &b);
    struct str text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

struct str go_url_escaped_path(const struct go_url *url, struct arena *a)
{
    return escaped(url->raw_path, url->path, MODE_PATH, a);
}

void go_url_split_host(const struct go_url *url, struct str *ret_name, struct str *ret_port)
{
    struct str host = url->host;
    size_t colon = find_last(host, ':');
    *ret_port = STR("");
    if (colon < host.n && valid_port(str_slice(host, colon, host.n))) {
        *ret_port = str_slice(host, colon + 1, host.n);
        host = str_slice(host, 0, colon);
    }
    if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        host = str_slice(host, 1, host.n - 1);
    *ret_name = host;
}

static void write_hierarchy(const struct go_url *url, struct arena *a, struct buf *out)
{
    bool has_host = url->host.n > 0 || url->has_user;
    if ((url->scheme.n > 0 || has_host) && !(url->omit_host && !has_host)) {
        if (has_host || url->path.n > 0)
            buf_add_cstr(out, "//");
        if (url->has_user) {
            buf_add_str(out, url->user);
            buf_add_char(out, '@');
        }
        escape(url->host, MODE_HOST, out);
    }
    struct str path = go_url_escaped_path(url, a);
    if (path.n > 0 && path.p[0] != '/' && url->host.n > 0)
        buf_add_char(out, '/');
    struct str segment = str_slice(path, 0, str_find(path, '/'));
    if (out->n == 0 && str_find(segment, ':') < segment.n)
        buf_add_cstr(out, "./");
    buf_add_str(out, path);
}

void go_url_write(const struct go_url *url, struct arena *a, struct buf *out)
{
    if (url->scheme.n > 0) {
        buf_add_str(out, url->scheme);
        buf_add_char(out, ':');
    }
    if (url->opaque.n > 0)
        buf_add_str(out, url->opaque);
    else
        write_hierarchy(url, a, out);
    if (url->force_query || url->raw_query.n > 0) {
        buf_add_char(out, '?');
        buf_add_str(out, url->raw_query);
    }
    if (url->fragment.n > 0) {
        buf_add_char(out, '#');
        buf_add_str(out, escaped(url->raw_fragment, url->fragment, MODE_FRAGMENT, a));
    }
}
