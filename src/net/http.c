/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http.h"

#include <time.h>

struct str http_header_find(const struct http_header *headers, size_t n, const char *name)
{
    struct str want = str_of(name);
    for (size_t i = 0; i < n; i++)
        if (str_eq_fold(headers[i].name, want))
            return headers[i].value;
    return (struct str){0};
}

struct str http_headers_get(const struct http_headers *headers, const char *name)
{
    return http_header_find(headers->list.v, headers->list.n, name);
}

bool http_headers_has_token(const struct http_headers *headers, const char *name, const char *token)
{
    struct str want = str_of(name), item;
    for (size_t i = 0; i < headers->list.n; i++) {
        if (!str_eq_fold(headers->list.v[i].name, want))
            continue;
        struct str rest = headers->list.v[i].value;
        while (str_split(&rest, ',', &item))
            if (str_eq_fold(str_trim(item), str_of(token)))
                return true;
    }
    return false;
}

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        {100, "Continue"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Request Entity Too Large"},
        {414, "Request URI Too Long"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Entity"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "";
}

void http_add_date(struct buf *out, int64_t wall_ns)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
    struct tm t;
    gmtime_r(&seconds, &t);
    buf_add_printf(out, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.tm_wday], t.tm_mday,
                   months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

bool http_is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c))
            return false;
    }
    return s.n > 0;
}

bool http_is_value(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

bool http_is_target(struct str s)
{
    if (s.n == 0 || (s.p[0] != '/' && !str_is(s, "*")))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c >= 0x7f)
            return false;
    }
    return true;
}

bool http_status_has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

bool http_is_hop_header(struct str name)
{
    static const struct str names[] = {
        STR_INIT("connection"), STR_INIT("keep-alive"),        STR_INIT("proxy-connection"),
        STR_INIT("upgrade"),    STR_INIT("transfer-encoding"),
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq_fold(name, names[i]))
            return true;
    return false;
}
