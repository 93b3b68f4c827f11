/* SPDX-License-Identifier: Apache-2.0 */
#include "net/transport.h"

#include <sys/socket.h>
#include <unistd.h>

#define READ_MAX       ((size_t)64 * 1024)
#define KEEP_OUT_ROOM  ((size_t)16 * 1024)
#define KEEP_READ_ROOM ((size_t)1 << 20)
#define LINGER         NSEC_PER_SEC

static void update_interest(struct transport *t)
{
    unsigned events = t->paused ? 0 : LOOP_READ;
    if (transport_queued(t) && !t->flush.prev) /* otherwise the flush tries first */
        events |= LOOP_WRITE;
    loop_io_set(&t->io, events);
}

static void report(struct transport *t)
{
    account_report(t->account, &t->reported, t->out.cap);
}

static void closed(struct transport *t, int code, const struct err *err)
{
    if (t->dead || t->closing)
        return;
    t->closing = true;
    loop_io_set(&t->io, 0);
    t->ops->on_close(t, code, err);
}

static void closed_errno(struct transport *t, const char *what, int code)
{
    struct err err;
    err_set(&err, code, "%s: %s", what, strerror(-code));
    closed(t, code, &err);
}

/* --- output ----------------------------------------------------------------------------------- */

/* The output of tls may have to pass through a proxy's TLS as well. */
static int queue_cipher(struct transport *t, struct str data, struct err *reterr)
{
    if (t->outer && t->tls)
        return tls_conn_write(t->outer, data.p, data.n, &t->out, reterr);
    buf_add_str(&t->out, data);
    return 0;
}

/* The buffer that TLS writes to: the queue itself, unless there is an outer TLS. */
static struct buf *cipher_buf(struct transport *t)
{
    return t->outer && t->tls ? loop_scratch(t->loop, LOOP_SCRATCH_OUTER) : &t->out;
}

static int write_tls(struct transport *t, const void *data, size_t n, struct err *reterr)
{
    struct tls_conn *inner = t->tls ? t->tls : t->outer;
    struct buf *cipher = cipher_buf(t);
    int r = tls_conn_write(inner, data, n, cipher, reterr);
    if (r == 0 && cipher != &t->out)
        r = queue_cipher(t, buf_str(cipher), reterr);
    return r;
}

void transport_write(struct transport *t, const void *data, size_t n)
{
    if (t->dead || t->closing || t->finishing || n == 0)
        return;
    if (transport_queued(t) == 0)
        t->progress = loop_now(t->loop);
    struct err err = {0};
    int r = 0;
    if (t->tls || t->outer)
        r = write_tls(t, data, n, &err);
    else
        buf_add(&t->out, data, n);
    if (t->out.overflow)
        r = -ENOBUFS;
    /* An error here ends the connection; the flush reports it, outside of the caller. */
    if (r < 0)
        shutdown(t->io.fd, SHUT_RDWR);
    report(t);
    t->want_drain = true;
    loop_task_schedule(t->loop, &t->flush);
}

static void sent_all(struct transport *t)
{
    t->out_at = 0;
    /* A server has thousands of quiet connections, a client few busy ones. */
    if (t->account || t->out.cap > KEEP_OUT_ROOM)
        buf_release(&t->out);
    else
        buf_clear(&t->out);
    report(t);
}

/* Returns false if the connection failed. */
static bool send_queued(struct transport *t)
{
    while (transport_queued(t)) {
        ssize_t n = send(t->io.fd, t->out.p + t->out_at, transport_queued(t), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return true;
        if (n < 0) {
            closed_errno(t, "write", -errno);
            return false;
        }
        t->out_at += (size_t)n;
        t->progress = loop_now(t->loop);
    }
    sent_all(t);
    return true;
}

static void on_linger_timeout(struct loop_timer *timer)
{
    closed(CONTAINER_OF(timer, struct transport, linger_timer), 0, NULL);
}

/* Our side has ended; further input is discarded. */
static void linger(struct transport *t)
{
    if (t->lingers)
        return;
    t->lingers = true;
    t->paused = false;
    if (shutdown(t->io.fd, SHUT_WR) < 0)
        closed(t, 0, NULL);
    else
        loop_timer_set(&t->linger_timer, LINGER);
}

static void flush(struct transport *t)
{
    if (t->dead || t->closing || !send_queued(t))
        return;
    if (transport_queued(t)) {
        /* Half of it is sent: move the rest down before the buffer grows. */
        if (t->out_at > t->out.n / 2) {
            buf_consume(&t->out, t->out_at);
            t->out_at = 0;
        }
    } else if (t->finishing) {
        linger(t);
    } else if (t->want_drain) {
        t->want_drain = false;
        if (t->ready && t->ops->on_drain)
            t->ops->on_drain(t);
    }
    if (!t->dead && !t->closing)
        update_interest(t);
}

/* --- input ------------------------------------------------------------------------------------ */

static void became_ready(struct transport *t)
{
    t->ready = true;
    if (t->ops->on_ready)
        t->ops->on_ready(t);
}

static void deliver(struct transport *t, struct str data)
{
    if (!t->dead && !t->closing && data.n)
        t->ops->on_data(t, data);
}

/* Decodes one layer of TLS and sends its replies. */
static int unwrap(struct transport *t, struct tls_conn *tls, struct str in, struct buf *plain,
                  struct err *reterr)
{
    struct buf *cipher = tls == t->tls ? cipher_buf(t) : &t->out;
    size_t before = t->out.n;
    int r = tls_conn_feed(tls, in.p, in.n, plain, cipher, reterr);
    if (cipher != &t->out && cipher->n) {
        int w = queue_cipher(t, buf_str(cipher), reterr);
        r = r < 0 ? r : w;
    }
    if (t->out.n != before) {
        report(t);
        loop_task_schedule(t->loop, &t->flush);
    }
    return r;
}

/* Processes bytes from the socket; n 0 starts a handshake. */
static void feed(struct transport *t, struct str in)
{
    struct err err = {0};
    int r = 0;
    struct buf *plain = loop_scratch(t->loop, LOOP_SCRATCH_PLAIN);
    bool was_ready = t->ready;
    if (t->outer && t->tls) {
        struct buf *middle = loop_scratch(t->loop, LOOP_SCRATCH_WRITE);
        r = in.n ? unwrap(t, t->outer, in, middle, &err) : 0;
        if (r == 0)
            r = unwrap(t, t->tls, buf_str(middle), plain, &err);
    } else {
        r = unwrap(t, t->tls ? t->tls : t->outer, in, plain, &err);
    }
    struct tls_conn *inner = t->tls ? t->tls : t->outer;
    if (!was_ready && tls_conn_ready(inner))
        became_ready(t);
    deliver(t, buf_str(plain));
    if (t->dead || t->closing)
        return;
    if (r < 0) {
        (void)send_queued(t); /* the alert, if it fits */
        closed(t, r, &err);
    } else if (tls_conn_eof(inner)) {
        closed(t, 0, NULL);
    }
    if (plain->cap > KEEP_READ_ROOM)
        buf_release(plain);
}

/*
 * The socket has ended. With TLS a regular end is announced before; anything else is a truncation.
 */
static void on_eof(struct transport *t)
{
    if (!t->tls && !t->outer) {
        closed(t, 0, NULL);
        return;
    }
    struct err err;
    err_set(&err, -ECONNRESET,
            t->ready ? "connection closed by the peer without a TLS close_notify"
                     : "connection closed by the peer during the TLS handshake");
    closed(t, -ECONNRESET, &err);
}

static void on_readable(struct transport *t)
{
    struct buf *in = loop_scratch(t->loop, LOOP_SCRATCH_READ);
    if (!buf_reserve(in, READ_MAX))
        return;
    ssize_t n = recv(t->io.fd, in->p, READ_MAX, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (t->lingers) {
        if (n <= 0)
            closed(t, 0, NULL);
        return;
    }
    if (n < 0) {
        closed_errno(t, "read", -errno);
        return;
    }
    if (n == 0) {
        on_eof(t);
        return;
    }
    in->n = (size_t)n;
    if (t->tls || t->outer)
        feed(t, buf_str(in));
    else
        deliver(t, buf_str(in));
}

static void on_io(struct loop_io *io, unsigned events)
{
    struct transport *t = CONTAINER_OF(io, struct transport, io);
    if ((events & LOOP_WRITE) && transport_queued(t))
        flush(t);
    if (t->dead || t->closing)
        return;
    if (events & LOOP_READ) {
        /* A hang-up is reported even if reading is paused: it must not spin. */
        if (t->paused && !transport_queued(t))
            closed_errno(t, "read", -ECONNRESET);
        else if (!t->paused)
            on_readable(t);
    }
}

static void on_flush(struct loop_task *task)
{
    flush(CONTAINER_OF(task, struct transport, flush));
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void on_reap(struct loop_task *task)
{
    struct transport *t = CONTAINER_OF(task, struct transport, reap);
    tls_conn_free(t->tls);
    tls_conn_free(t->outer);
    buf_release(&t->out);
    free(t);
}

static void on_start(struct loop_task *task)
{
    struct transport *t = CONTAINER_OF(task, struct transport, flush);
    t->flush.fn = on_flush;
    if (t->dead || t->closing)
        return;
    update_interest(t);
    if (t->tls && !tls_conn_is_server(t->tls))
        feed(t, (struct str){0});
    else if (!t->tls) /* a server waits for its client: a silent one costs no more memory */
        became_ready(t);
    if (!t->dead && !t->closing && transport_queued(t))
        loop_task_schedule(t->loop, &t->flush);
}

struct transport *transport_new(struct loop *loop, int fd, struct tls_conn *tls,
                                const struct transport_ops *ops, void *owner)
{
    struct transport *t = xnew(struct transport);
    t->loop = loop;
    t->ops = ops;
    t->owner = owner;
    t->tls = tls;
    loop_io_init(&t->io, loop, fd, on_io);
    loop_task_init(&t->flush, on_start);
    loop_task_init(&t->reap, on_reap);
    loop_timer_init(&t->linger_timer, loop, on_linger_timeout);
    loop_task_schedule(loop, &t->flush);
    return t;
}

struct transport *transport_free(struct transport *t)
{
    if (!t || t->dead)
        return NULL;
    /* Send what fits into the socket: a response that was written must not be lost. */
    if (!t->closing && transport_queued(t))
        (void)send(t->io.fd, t->out.p + t->out_at, transport_queued(t), MSG_NOSIGNAL);
    t->dead = true;
    account_report(t->account, &t->reported, 0);
    t->account =
        NULL; /* the memory is freed at the end of the iteration, the account possibly before */
    loop_timer_stop(&t->linger_timer);
    loop_io_stop(&t->io);
    close(t->io.fd);
    loop_task_cancel(t->loop, &t->flush);
    loop_task_schedule(t->loop, &t->reap);
    return NULL;
}

void transport_set_account(struct transport *t, struct account *account)
{
    t->account = account;
}

void transport_start_tls(struct transport *t, struct tls_conn *tls)
{
    if (t->tls)
        t->outer = TAKE(t->tls);
    t->tls = tls;
    t->ready = false;
    loop_task_cancel(t->loop, &t->flush);
    loop_task_init(&t->flush, on_start);
    loop_task_schedule(t->loop, &t->flush);
}

void transport_shutdown(struct transport *t)
{
    if (t->dead || t->closing || t->finishing)
        return;
    t->finishing = true;
    if (t->tls && t->ready && !t->outer)
        tls_conn_close(t->tls, &t->out);
    loop_task_schedule(t->loop, &t->flush);
}

void transport_pause(struct transport *t)
{
    t->paused = true;
    if (!t->dead && !t->closing)
        update_interest(t);
}

void transport_resume(struct transport *t)
{
    t->paused = false;
    if (!t->dead && !t->closing)
        update_interest(t);
}
