/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url.h - parses absolute URLs, and encodes text for them.
 *
 * Purpose:   server addresses, proxies, webhook and extender URLs; building paths and queries.
 * Ownership: struct url borrows from the parsed text.
 * Threading: any thread.
 */
#ifndef BERTH_NET_URL_H
#define BERTH_NET_URL_H

#include "base/buf.h"
#include "base/err.h"

struct url {
    struct str scheme;   /* as written; compare with str_eq_fold */
    struct str user;     /* percent-encoded; empty if absent */
    struct str password; /* percent-encoded; empty if absent */
    struct str host;     /* without brackets: "::1", "10.0.0.1", "example.com" */
    uint16_t port;       /* as written, or the scheme's default, or 0 */
    bool port_given;
    bool host_is_ipv6;   /* it was in brackets */
    struct str path;     /* "" or from the first '/' up to '?' or '#' */
    struct str query;    /* without '?' */
    struct str fragment; /* without '#' */
};

/*
 * scheme://[user[:password]@]host[:port][/path][?query][#fragment]. The host must not be empty.
 * Blanks and control characters are not allowed; a percent sign must be followed by two hexadecimal
 * digits.
 */
int url_parse(struct str text, struct url *ret_url, struct err *reterr) MUST_CHECK;

/* 443 for https and wss, 80 for http and ws, 1080 for socks5 and socks5h; 0 for others. */
uint16_t url_default_port(struct str scheme);

/* "host:port", with an IPv6 host in brackets. */
void url_add_authority(struct buf *out, struct str host, uint16_t port);

/* Percent-encodes all but RFC 3986's unreserved characters. A blank becomes %20, not '+'. */
void url_add_segment(struct buf *out, struct str text);
/* The same, for one key or value of a query. */
void url_add_query(struct buf *out, struct str text);

/* Decodes percent-encoding; plus_is_blank: as in queries. -EINVAL for a malformed escape. */
int url_decode(struct str text, bool plus_is_blank, struct buf *out) MUST_CHECK;

/*
 * Returns the next key and value of a query, both encoded. False at the end.
 *     for (struct str rest = query; url_query_next(&rest, &key, &value);)
 */
bool url_query_next(struct str *rest, struct str *ret_key, struct str *ret_value);

#endif
