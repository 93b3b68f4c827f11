/* SPDX-License-Identifier: Apache-2.0 */
#include "net/listener.h"

#include <unistd.h>

#define BACKLOG          1024
/* Accepts per event, so that the other sockets of the loop are not starved. */
#define ACCEPTS_PER_TURN 16
/* Pause when the process is out of descriptors. */
#define ACCEPT_PAUSE     (100 * NSEC_PER_MSEC)

/* --- accepting -------------------------------------------------------------------------------- */

static bool is_exhausted(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void rest(struct listener *l)
{
    loop_io_set(&l->io, 0);
    loop_timer_set(&l->again, ACCEPT_PAUSE);
}

static void on_acceptable(struct loop_io *io, unsigned events)
{
    struct listener *l = CONTAINER_OF(io, struct listener, io);
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN && l->fd >= 0; i++) {
        union resolve_address from = {0};
        socklen_t size = sizeof(from);
        int fd = accept4(l->fd, &from.sa, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            resolve_address_unmap(&from);
            l->on_conn(l, fd, &from);
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        if (is_exhausted(errno) && !l->on_full(l)) {
            rest(l);
            return;
        }
        /* Otherwise the connection is already gone, or there is room now. */
    }
}

static void on_again(struct loop_timer *timer)
{
    struct listener *l = CONTAINER_OF(timer, struct listener, again);
    if (l->fd >= 0)
        loop_io_set(&l->io, LOOP_READ);
}

/* --- socket ----------------------------------------------------------------------------------- */

static int make_socket(const union resolve_address *address, bool reuse_port)
{
    int on = 1, off = 0;
    int fd = socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (reuse_port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (address->sa.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, &address->sa, resolve_address_size(address)) < 0 || listen(fd, BACKLOG) < 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    return fd;
}

static bool is_any_v4(const union resolve_address *address)
{
    return address->sa.sa_family == AF_INET && address->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

/* "0.0.0.0" is "::" with IPv4 included, unless the machine has no IPv6. */
static int open_socket(const union resolve_address *address, bool reuse_port)
{
    int fd = -EAFNOSUPPORT;
    if (is_any_v4(address)) {
        union resolve_address both = {.v6 = {.sin6_family = AF_INET6,
                                             .sin6_port = address->v4.sin_port,
                                             .sin6_addr = IN6ADDR_ANY_INIT}};
        fd = make_socket(&both, reuse_port);
    }
    return fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL ? make_socket(address, reuse_port) : fd;
}

int listener_open(struct listener *l, struct loop *loop, const char *address, uint16_t port,
                  bool reuse_port, struct err *reterr)
{
    union resolve_address wanted, bound = {0};
    socklen_t size = sizeof(bound);
    l->fd = -1;
    if (!resolve_literal(address, port, &wanted))
        return err_set(reterr, -EINVAL, "cannot listen on \"%s\": not an IP address", address);
    int fd = open_socket(&wanted, reuse_port);
    if (fd < 0)
        return err_set(reterr, fd, "cannot listen on %s port %u: %s", address, port, strerror(-fd));
    struct buf text = BUF_INIT;
    (void)getsockname(fd, &bound.sa, &size);
    resolve_address_format(&bound, &text);
    snprintf(l->address, sizeof(l->address), "%s", buf_cstr(&text));
    buf_release(&text);
    l->fd = fd;
    l->port = ntohs(bound.sa.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    loop_timer_init(&l->again, loop, on_again);
    loop_io_init(&l->io, loop, fd, on_acceptable);
    loop_io_set(&l->io, LOOP_READ);
    return 0;
}

void listener_close(struct listener *l)
{
    if (l->fd < 0)
        return;
    loop_io_stop(&l->io);
    loop_timer_stop(&l->again);
    close(l->fd);
    l->fd = -1;
}
