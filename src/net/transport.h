/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.h - a connected socket, with or without TLS, as a stream of plain bytes.
 *
 * Purpose:   reads when there is something, hands plain bytes up, queues what is written and sends
 *            it once per round of the loop, so that many small writes are one record and one
 *            system call.
 * Ownership: owns the socket and the TLS connections. transport_free closes the socket at once; the
 *            memory goes at the end of the round, so it may be called from any of its callbacks.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_TRANSPORT_H
#define BERTH_NET_TRANSPORT_H

#include "net/account.h"
#include "net/loop.h"
#include "net/tls.h"

struct transport;

/*
 * on_ready: TLS is up (plain sockets: right away, from a task). on_data: bytes; all of them must be
 * taken. on_drain: everything queued has gone to the kernel. on_close: last; the socket is of no
 * use any more and the owner calls transport_free. code 0: the peer ended the stream in good order,
 * else a negative errno with err. No callback after transport_free.
 */
struct transport_ops {
    void (*on_ready)(struct transport *t);
    void (*on_data)(struct transport *t, struct str data);
    void (*on_drain)(struct transport *t);
    void (*on_close)(struct transport *t, int code, const struct err *err);
};

struct transport {
    struct loop *loop;
    const struct transport_ops *ops;
    void *owner; /* for ops */
    struct loop_io io;
    struct loop_task flush, reap;
    struct tls_conn *outer; /* TLS to a proxy; NULL: none */
    struct tls_conn *tls;   /* TLS to the peer; NULL: none */
    struct buf out;         /* from out_at on not yet taken by the kernel */
    size_t out_at;
    int64_t progress;        /* when the kernel last took something, or the queue began to fill */
    struct account *account; /* of the connection's memory; NULL: it is not counted */
    size_t reported;         /* of `out` */
    struct loop_timer patience; /* for the peer's end, once ours has been sent */
    bool ready, paused, want_drain, lingers;
    bool finishing, closing, dead; /* shutdown asked for, on_close told, freed */
};

/* Takes over fd (non-blocking) and tls (may be NULL). ops may be changed later. */
struct transport *transport_new(struct loop *loop, int fd, struct tls_conn *tls,
                                const struct transport_ops *ops, void *owner);
struct transport *transport_free(struct transport *t); /* NULL is fine; returns NULL */
/* Counts what is queued, and what the connection above holds. Before anything is written. */
void transport_set_account(struct transport *t, struct account *account);

/* Client side, on a transport that is ready: begins TLS (inside the present one where there is
 * one); on_ready comes again. Takes over tls. */
void transport_start_tls(struct transport *t, struct tls_conn *tls);

/* Queues a copy. What goes wrong is told by on_close, later. */
void transport_write(struct transport *t, const void *data, size_t n);
static inline size_t transport_queued(const struct transport *t)
{
    return t->out.n - t->out_at;
}
/*
 * Sends what is queued, then closes: with close_notify where there is TLS. on_close follows when
 * the peer has ended its side, too, or a second later: a socket that is closed while there is
 * something to be read takes back what the peer has not read yet.
 */
void transport_shutdown(struct transport *t);
/* No reading until resumed. */
void transport_pause(struct transport *t);
void transport_resume(struct transport *t);

#endif
