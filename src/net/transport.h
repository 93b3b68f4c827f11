/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.h - a connected socket, with or without TLS, as a stream of plain bytes.
 *
 * Purpose:   reads when data is available, passes plain bytes up, queues writes and sends them once
 *            per loop iteration, so that many small writes become one record and one system call.
 * Ownership: owns the socket and the TLS connections. transport_free closes the socket at once; the
 *            memory is freed at the end of the loop iteration, so it may be called from any
 *            callback.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_TRANSPORT_H
#define BERTH_NET_TRANSPORT_H

#include "net/account.h"
#include "net/loop.h"
#include "net/tls.h"

struct transport;

/*
 * on_ready: TLS is up (plain sockets: at once, from a task). on_data: received bytes; all must be
 * consumed. on_drain: the kernel has taken everything queued. on_close: last; the socket is
 * unusable and the owner calls transport_free. code 0: the peer ended the stream normally,
 * otherwise a negative errno with err. No callback follows transport_free.
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
    struct buf out;         /* not yet taken by the kernel from out_at on */
    size_t out_at;
    int64_t progress;               /* when the kernel last took data, or the queue began to fill */
    struct account *account;        /* of the connection's memory; NULL: not counted */
    size_t reported;                /* size of `out` */
    struct loop_timer linger_timer; /* limit of waiting for the peer's end, once ours was sent */
    bool ready, paused, want_drain, lingers;
    bool finishing, closing, dead; /* shutdown requested, on_close called, freed */
};

/* Takes over fd (non-blocking) and tls (may be NULL). ops may be changed later. */
struct transport *transport_new(struct loop *loop, int fd, struct tls_conn *tls,
                                const struct transport_ops *ops, void *owner);
struct transport *transport_free(struct transport *t); /* NULL is allowed; returns NULL */
/* Counts the queued bytes, and those of the connection above. Call before the first write. */
void transport_set_account(struct transport *t, struct account *account);

/*
 * Client, on a ready transport: starts TLS (inside the existing one, if any); on_ready follows
 * again. Takes over tls.
 */
void transport_start_tls(struct transport *t, struct tls_conn *tls);

/* Queues a copy. Errors are reported later by on_close. */
void transport_write(struct transport *t, const void *data, size_t n);
static inline size_t transport_queued(const struct transport *t)
{
    return t->out.n - t->out_at;
}
/*
 * Sends what is queued, then closes, with close_notify if there is TLS. on_close follows when the
 * peer has closed its side, too, or a second later: closing a socket with unread input would reset
 * it and discard what the peer has not read yet.
 */
void transport_shutdown(struct transport *t);
/* Stops reading until resumed. */
void transport_pause(struct transport *t);
void transport_resume(struct transport *t);

#endif
