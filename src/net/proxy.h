/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy.h - asking a proxy for a tunnel: HTTP CONNECT and SOCKS5.
 *
 * Purpose:   a handshake as a transformation of bytes; who moves them is not its business. Names
 *            are resolved by the proxy, as Go's client does.
 * Ownership: the caller owns the struct; user and password are borrowed from the URL's text.
 * Threading: one thread at a time.
 */
#ifndef BERTH_NET_PROXY_H
#define BERTH_NET_PROXY_H

#include "net/url.h"

enum proxy_state {
    PROXY_CONNECT_REPLY,
    PROXY_SOCKS_METHOD,
    PROXY_SOCKS_AUTH,
    PROXY_SOCKS_REPLY,
    PROXY_DONE,
};

struct proxy {
    const struct url *url; /* the proxy's */
    struct str host;       /* where to */
    uint16_t port;
    enum proxy_state state;
    struct buf in; /* an answer not yet complete; bounded */
};

bool proxy_scheme_known(struct str scheme);
/* Appends the first message to out. */
void proxy_init(struct proxy *p, const struct url *url, struct str host, uint16_t port,
                struct buf *out);
void proxy_release(struct proxy *p);
/* Takes the proxy's bytes, appends what to send. 1: the tunnel stands; 0: not yet; negative: no. */
int proxy_feed(struct proxy *p, struct str data, struct buf *out, struct err *reterr) MUST_CHECK;

#endif
