/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial.h - from a host name to a connected transport.
 *
 * Purpose:   name lookup, TCP connections to the addresses one after the other (the next starts
 *            when one fails or is slow), the proxy's handshake, TLS. One deadline covers all of it.
 * Ownership: the caller owns a dial until its callback or dial_cancel. The host and proxy that
 *            options point to must live as long; the TLS configurations are referenced.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_DIAL_H
#define BERTH_NET_DIAL_H

#include "net/transport.h"
#include "net/url.h"

/* Duration of each phase in ns; 0: not needed. */
struct dial_trace {
    int64_t lookup, connect, tls;
    bool looked_up;   /* the host was a name */
    char address[64]; /* the one that was connected, or the last tried; "": none */
};

struct dial_options {
    const char *host;
    uint16_t port;
    struct tls_config *tls;       /* NULL: plain */
    const struct url *proxy;      /* NULL: direct */
    struct tls_config *proxy_tls; /* for an https proxy */
    int64_t timeout;
    struct dial_trace *trace; /* filled in as the dial proceeds; NULL: not needed */
};

struct dial;
/* t: ready; the callee owns it and sets its ops and owner. NULL: failed, see err. */
typedef void dial_fn(void *ctx, struct transport *t, const struct err *err);

/* fn is not called before this has returned. */
struct dial *dial_start(struct loop *loop, const struct dial_options *options, dial_fn *fn,
                        void *ctx);
void dial_cancel(struct dial *dial); /* NULL is allowed */

#endif
