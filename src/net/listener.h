/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener.h - a socket that accepts connections.
 *
 * Purpose:   chooses the address family as Go's net.Listen does, so that "0.0.0.0" and "::" accept
 *            both IPv4 and IPv6; passes accepted sockets on; neither spins nor stops when the
 *            process runs out of descriptors.
 * Ownership: embedded in its user, who closes it.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_LISTENER_H
#define BERTH_NET_LISTENER_H

#include "base/err.h"
#include "net/loop.h"
#include "net/resolve.h"

struct listener;

/* from: unmapped if it is IPv4. The callee owns fd, which is non-blocking. */
typedef void listener_fn(struct listener *listener, int fd, const union resolve_address *from);
/* No descriptor is left. Returns true if the callee has closed one. */
typedef bool listener_full_fn(struct listener *listener);

struct listener {
    struct loop_io io;
    struct loop_timer again; /* when accepting continues */
    int fd;                  /* -1: closed */
    uint16_t port;
    char address[64]; /* "127.0.0.1:10259", "[::]:10259" */
    listener_fn *on_conn;
    listener_full_fn *on_full;
};

/* port 0: any free one. On failure the listener is closed. */
int listener_open(struct listener *listener, struct loop *loop, const char *address, uint16_t port,
                  bool reuse_port, struct err *reterr) MUST_CHECK;
/* May be called twice, and from its callbacks. */
void listener_close(struct listener *listener);

#endif
