/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url.h - absolute URLs taken apart, and text made safe to stand in them.
 *
 * Purpose:   server addresses, proxies, webhook and extender URLs; building paths and queries.
 * Ownership: struct url borrows from the text it was parsed from.
 * Threading: any.
 */
#ifndef BERTH_NET_URL_H
#define BERTH_NET_URL_H

#include "base/buf.h"
#include "base/err.h"

struct url {
    struct str scheme;   /* as written; compare with str_eq_fold */
    struct str user;     /* still percent-encoded; empty where absent */
    struct str password; /* still percent-encoded; empty where absent */
    struct str host;     /* without brackets: "::1", "10.0.0.1", "example.com" */
    uint16_t port;       /* as written, or the scheme's default, or 0 */
    bool port_given;
    bool host_is_ipv6;   /* was written in brackets */
    struct str path;     /* "" or from the first '/' on, up to '?' or '#' */
    struct str query;    /* behind '?', without it */
    struct str fragment; /* behind '#', without it */
};

/*
 * scheme://[user[:password]@]host[:port][/path][?query][#fragment]. The host is not empty, no
 * character is a blank or a control, percent signs come with two hexadecimal digits.
 */
int url_parse(struct str text, struct url *ret_url, struct err *reterr) MUST_CHECK;

/* 443 for https and wss, 80 for http and ws, 1080 for socks5 and socks5h; 0 for others. */
uint16_t url_default_port(struct str scheme);

/* "host:port", an IPv6 host in brackets. */
void url_add_authority(struct buf *out, struct str host, uint16_t port);

/* Percent-encodes all but RFC 3986's unreserved characters. A blank becomes %20, never '+'. */
void url_add_segment(struct buf *out, struct str text);
/* The same, for one key or value of a query. */
void url_add_query(struct buf *out, struct str text);

/* Undoes percent-encoding; plus_is_blank as in queries. -EINVAL on a broken escape. */
int url_decode(struct str text, bool plus_is_blank, struct buf *out) MUST_CHECK;

/*
 * The next key and value of a query, both still encoded. False at its end.
 * for (struct str rest = query; url_query_next(&rest, &key, &value);)
 */
bool url_query_next(struct str *rest, struct str *ret_key, struct str *ret_value);

#endif
