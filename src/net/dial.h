/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial.h - from a name to a transport that is ready to be spoken on.
 *
 * Purpose:   name lookup, connecting to the addresses one after the other (the next begins when one
 *            fails or is slow), the proxy's handshake, TLS. One deadline for all of it.
 * Ownership: a dial belongs to the caller until its callback or dial_cancel. The host and proxy
 * that options point to must live as long; the configurations are referenced. Threading: the loop's
 * thread.
 */
#ifndef BERTH_NET_DIAL_H
#define BERTH_NET_DIAL_H

#include "net/transport.h"
#include "net/url.h"

/* How long the parts of a dial took, ns; 0: that part was not needed. */
struct dial_trace {
    int64_t lookup, connect, tls;
    bool looked_up;   /* the host was a name */
    char address[64]; /* the one that answered, or the last tried; "": none was */
};

struct dial_options {
    const char *host;
    uint16_t port;
    struct tls_config *tls;       /* NULL: plain */
    const struct url *proxy;      /* NULL: straight */
    struct tls_config *proxy_tls; /* for an https proxy */
    int64_t timeout;
    struct dial_trace *trace; /* filled in as it goes; NULL: not wanted */
};

struct dial;
/* t: ready, its ops and owner to be set by the callee, who owns it now. NULL: failed, see err. */
typedef void dial_fn(void *ctx, struct transport *t, const struct err *err);

/* fn is not called before this has returned. */
struct dial *dial_start(struct loop *loop, const struct dial_options *options, dial_fn *fn,
                        void *ctx);
void dial_cancel(struct dial *dial); /* NULL is fine */

#endif
