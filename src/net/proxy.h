/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy.h - requests a tunnel from a proxy: HTTP CONNECT and SOCKS5.
 *
 * Purpose:   the handshake as a transformation of bytes; the caller moves them. The proxy resolves
 *            names, as with Go's client.
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
    struct str host;       /* target */
    uint16_t port;
    enum proxy_state state;
    struct buf in; /* an incomplete response; limited */
};

bool proxy_scheme_known(struct str scheme);
/* Appends the first message to out. */
void proxy_init(struct proxy *p, const struct url *url, struct str host, uint16_t port,
                struct buf *out);
void proxy_release(struct proxy *p);
/*
 * Takes the proxy's bytes and appends what to send. Returns 1: the tunnel is up; 0: not yet;
 * negative: failed.
 */
int proxy_feed(struct proxy *p, struct str data, struct buf *out, struct err *reterr) MUST_CHECK;

#endif
