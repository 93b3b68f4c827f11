/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - common to HTTP/1.1 and HTTP/2, client and server.
 *
 * Purpose:   header lists, their validation, status texts.
 * Ownership: a header borrows its bytes; struct http_headers owns copies in an arena of its own.
 * Threading: one thread at a time.
 */
#ifndef BERTH_NET_HTTP_H
#define BERTH_NET_HTTP_H

#include "base/arena.h"
#include "base/time.h"
#include "base/vec.h"

struct http_header {
    struct str name; /* received names are lower-case; names to send may have any case */
    struct str value;
};

#define HTTP_HEADER(name_lit, value_str) ((struct http_header){STR(name_lit), (value_str)})

/* A received header list, in order of arrival, without HTTP/2's pseudo headers. */
struct http_headers {
    VEC(struct http_header) list;
};

/* The first value of that name (case-insensitive), or {NULL, 0}. */
struct str http_headers_get(const struct http_headers *headers, const char *name);
/* True if a header of that name has `token` in its comma-separated list (case-insensitive). */
bool http_headers_has_token(const struct http_headers *headers, const char *name,
                            const char *token);
/* The first value of that name in a list to send. */
struct str http_header_find(const struct http_header *headers, size_t n, const char *name);

/* "Not Found"; "" if unknown. */
const char *http_status_text(int status);

/* Appends a Date header's value: "Sun, 06 Nov 1994 08:49:37 GMT". */
void http_add_date(struct buf *out, int64_t wall_ns);

/*
 * RFC 9110: a token (names, methods); a value without control characters except TAB; a request
 * target of visible ASCII that begins with '/' or is "*".
 */
bool http_is_token(struct str s);
bool http_is_value(struct str s);
bool http_is_target(struct str s);
/* 204, 304, 1xx and responses to HEAD have no body whatever their headers say. */
bool http_status_has_body(int status);
/* Headers that describe the connection, not the message; HTTP/2 does not have them. */
bool http_is_hop_header(struct str name);

#endif
