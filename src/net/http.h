/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - what HTTP/1.1 and HTTP/2, client and server, have in common.
 *
 * Purpose:   header lists, their checks, status texts.
 * Ownership: headers borrow their bytes; struct http_headers owns copies in an arena of its own.
 * Threading: one thread at a time.
 */
#ifndef BERTH_NET_HTTP_H
#define BERTH_NET_HTTP_H

#include "base/arena.h"
#include "base/time.h"
#include "base/vec.h"

struct http_header {
    struct str name; /* received ones are lower-case; to be sent in any case */
    struct str value;
};

#define HTTP_HEADER(name_lit, value_str) ((struct http_header){STR(name_lit), (value_str)})

/* A received header list, in order of arrival. Pseudo headers of HTTP/2 are not in it. */
struct http_headers {
    VEC(struct http_header) list;
};

/* The first value of that name (without regard to case), or {NULL, 0}. */
struct str http_headers_get(const struct http_headers *headers, const char *name);
/* True where a header of that name holds `token` in its comma-separated list, ignoring case. */
bool http_headers_has_token(const struct http_headers *headers, const char *name,
                            const char *token);
/* The first value among those to be sent. */
struct str http_header_find(const struct http_header *headers, size_t n, const char *name);

/* "Not Found"; "" where unknown. */
const char *http_status_text(int status);

/* Appends a Date as answers carry it: "Sun, 06 Nov 1994 08:49:37 GMT". */
void http_add_date(struct buf *out, int64_t wall_ns);

/* RFC 9110: a token (names, methods); a value without controls but TAB; a request target of visible
 * ASCII that begins with '/' or is "*". */
bool http_is_token(struct str s);
bool http_is_value(struct str s);
bool http_is_target(struct str s);
/* 204, 304, 1xx and answers to HEAD have no body whatever their headers say. */
bool http_status_has_body(int status);
/* Names that describe the connection and not the message; HTTP/2 does not carry them. */
bool http_is_hop_header(struct str name);

#endif
