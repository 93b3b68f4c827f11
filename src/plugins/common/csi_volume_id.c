/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/csi_volume_id.h"

#include <ctype.h>

#include "base/vec.h"

/* --- EBS: a URL as net/url of Go reads it ----------------------------------------------------- */

/* A quoted text of an error. Names of disks are printable; other bytes are escaped. */
static void add_quoted(struct buf *out, struct str s)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\')
            buf_add_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\t' || c == '\r')
            buf_add_printf(out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
        else if (c < 0x20 || c == 0x7f)
            buf_add_printf(out, "\\x%02x", c);
        else
            buf_add_char(out, (char)c);
    }
    buf_add_char(out, '"');
}

static unsigned hex_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(tolower(c) - 'a') + 10;
}

static bool is_host_char(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 ||
           strchr("-_.~!$&'()*+,;=:[]<>\"", c);
}

/* Replaces %XX. host: only bytes beyond ASCII, and %, may be written like this. */
static bool unescape(struct str s, bool host, struct buf *out, struct buf *why)
{
    for (size_t i = 0; i < s.n; i++) {
        struct str three = str_slice(s, i, i + 3);
        if (s.p[i] == '%') {
            bool valid = three.n == 3 && isxdigit((unsigned char)three.p[1]) &&
                         isxdigit((unsigned char)three.p[2]);
            if (!valid || (host && hex_value(three.p[1]) < 8 && !str_is(three, "%25"))) {
                buf_add_cstr(why, "invalid URL escape ");
                add_quoted(why, three);
                return false;
            }
            buf_add_char(out, (char)(hex_value(three.p[1]) << 4 | hex_value(three.p[2])));
            i += 2;
        } else if (host && !is_host_char(s.p[i])) {
            buf_add_cstr(why, "invalid character ");
            add_quoted(why, str_slice(s, i, i + 1));
            buf_add_cstr(why, " in host name");
            return false;
        } else {
            buf_add_char(out, s.p[i]);
        }
    }
    return true;
}

static bool check_port(struct str host, struct buf *why)
{
    size_t colon = host.n;
    while (colon > 0 && host.p[colon - 1] != ':')
        colon--;
    for (size_t i = colon; colon && i < host.n; i++)
        if (!isdigit((unsigned char)host.p[i])) {
            buf_add_cstr(why, "invalid port ");
            add_quoted(why, str_slice(host, colon - 1, host.n));
            buf_add_cstr(why, " after host");
            return false;
        }
    return true;
}

/* The path of "aws://HOST/PATH?QUERY#FRAGMENT", unescaped. */
static bool url_path(struct str url, struct buf *path, struct buf *why)
{
    struct buf host = BUF_INIT;
    struct str rest = str_slice(url, strlen("aws://"), url.n);
    rest = str_slice(rest, 0, str_find(rest, '#'));
    for (size_t i = 0; i < rest.n; i++)
        if ((unsigned char)rest.p[i] < 0x20 || rest.p[i] == 0x7f) {
            buf_add_cstr(why, "net/url: invalid control character in URL");
            return false;
        }
    rest = str_slice(rest, 0, str_find(rest, '?'));
    size_t slash = str_find(rest, '/');
    struct str authority = str_slice(rest, 0, slash);
    bool ok = check_port(authority, why) && unescape(authority, true, &host, why) &&
              unescape(str_slice(rest, slash, rest.n), false, path, why);
    buf_release(&host);
    return ok;
}

static struct str trim_slashes(struct str s)
{
    while (s.n && s.p[0] == '/')
        s = str_slice(s, 1, s.n);
    while (s.n && s.p[s.n - 1] == '/')
        s.n--;
    return s;
}

bool ebs_volume_id(struct str id, struct buf *out, struct buf *why)
{
    if (!str_starts(id, STR("aws://"))) {
        buf_add_str(out, id);
        return true;
    }
    struct buf path = BUF_INIT, reason = BUF_INIT;
    bool ok = url_path(id, &path, &reason);
    struct str name = trim_slashes(buf_str(&path));
    if (!ok) {
        buf_add_printf(why, "Invalid disk name (%.*s): parse ", STR_ARG(id));
        add_quoted(why, id);
        buf_add_printf(why, ": %.*s", STR_ARG(buf_str(&reason)));
    } else if (!str_starts(name, STR("vol-")) || str_find(name, '/') < name.n) {
        buf_add_printf(why, "Invalid format for AWS volume (%.*s)", STR_ARG(id));
        ok = false;
    } else {
        buf_add_str(out, name);
    }
    buf_release(&path);
    buf_release(&reason);
    return ok;
}

/* --- Azure and GCE ---------------------------------------------------------------------------- */

/* The longest match of azure-storage-account-(.+)-secret anywhere in the name; no line breaks. */
struct str azure_storage_account(struct str secret)
{
    const struct str before = STR("azure-storage-account-"), after = STR("-secret");
    size_t at = str_search(secret, before), from = at + before.n;
    if (at >= secret.n)
        return secret;
    for (size_t end = secret.n; end >= from + 1 + after.n; end--)
        if (str_ends(str_slice(secret, 0, end), after))
            return str_slice(secret, from, end - after.n);
    return secret;
}

static bool add_region(struct str zone, void *list, struct buf *why)
{
    VEC(struct str) *regions = list;
    size_t first = str_find(zone, '-');
    size_t second = first + 1 + str_find(str_slice(zone, first + 1, zone.n), '-');
    struct str last = str_slice(zone, second + 1, zone.n);
    if (first >= zone.n || second >= zone.n || str_find(last, '-') < last.n) {
        buf_add_printf(why,
                       "zone in unexpected format, expected: {locale}-{region}-{zone}, got: %.*s",
                       STR_ARG(zone));
        return false;
    }
    struct str region = str_slice(zone, 0, second);
    size_t at = 0;
    while (at < regions->n && str_cmp(regions->v[at], region) < 0)
        at++;
    if (at == regions->n || !str_eq(regions->v[at], region))
        vec_insert(regions, at, region);
    return true;
}

bool gce_region_of_zones(struct str zones, struct str *ret_region, struct buf *why)
{
    VEC(struct str) regions = {0};
    struct str rest = zones;
    bool ok = true;
    size_t start = why->n;
    buf_add_cstr(why, "failed to get region from zones: ");
    for (size_t at; ok; rest = str_slice(rest, at + strlen(ZONE_DELIMITER), rest.n)) {
        at = str_search(rest, STR(ZONE_DELIMITER));
        ok = add_region(str_slice(rest, 0, at), &regions, why);
        if (at >= rest.n)
            break;
    }
    if (ok && regions.n != 1) {
        buf_add_cstr(why, "multiple or no regions gotten from zones, got: map[");
        for (size_t i = 0; i < regions.n; i++)
            buf_add_printf(why, "%s%.*s:{}", i ? " " : "", STR_ARG(regions.v[i]));
        buf_add_char(why, ']');
        ok = false;
    }
    if (ok) {
        *ret_region = regions.v[0];
        why->n = start;
    }
    vec_release(&regions);
    return ok;
}
