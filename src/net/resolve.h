/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.h - resolves host names without blocking the loop.
 *
 * Purpose:   getaddrinfo blocks and cannot be interrupted, so each lookup runs on a thread of its
 *            own that posts its result.
 * Ownership: the caller owns a lookup until the callback or resolve_cancel. The thread keeps what
 *            it needs and may outlive both the caller and the loop.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_RESOLVE_H
#define BERTH_NET_RESOLVE_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/err.h"
#include "net/loop.h"

#define RESOLVE_MAX 8

union resolve_address {
    struct sockaddr sa;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};
socklen_t resolve_address_size(const union resolve_address *address);
/* "127.0.0.1:80", "[::1]:80" */
void resolve_address_format(const union resolve_address *address, struct buf *out);

/* Converts an IPv4-mapped IPv6 address ("::ffff:10.0.0.1") to IPv4. */
void resolve_address_unmap(union resolve_address *address);
/* Compares the addresses without the ports. */
bool resolve_address_same_host(const union resolve_address *a, const union resolve_address *b);
bool resolve_address_is_loopback(const union resolve_address *address);

/* Parses an IPv4 or IPv6 address; false if it is neither. */
bool resolve_literal(const char *host, uint16_t port, union resolve_address *ret_address);

struct resolve;
/* n 0: failed, see err. */
typedef void resolve_fn(void *ctx, const union resolve_address *addresses, size_t n,
                        const struct err *err);

struct resolve *resolve_start(struct loop *loop, const char *host, uint16_t port, resolve_fn *fn,
                              void *ctx);
void resolve_cancel(struct resolve *resolve); /* NULL is allowed */

#endif
