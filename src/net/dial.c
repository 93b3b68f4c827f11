/* SPDX-License-Identifier: Apache-2.0 */
#include "net/dial.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include "net/proxy.h"
#include "net/resolve.h"

/* Delay before the next address is tried while one does not answer (RFC 8305). */
#define STAGGER (250 * NSEC_PER_MSEC)

struct attempt {
    struct loop_io io; /* io.loop NULL: not running */
    struct dial *dial;
};

enum dial_stage { DIAL_CONNECT, DIAL_PROXY_TLS, DIAL_PROXY, DIAL_TLS };

struct dial {
    struct loop *loop;
    struct dial_options options;
    dial_fn *fn;
    void *ctx;
    enum dial_stage stage;
    struct loop_timer deadline, stagger;
    struct loop_task begin;
    struct resolve *resolve;
    union resolve_address addresses[RESOLVE_MAX];
    size_t n_addresses, next; /* next: the first not tried yet */
    struct attempt attempts[RESOLVE_MAX];
    struct transport *transport;
    struct proxy proxy;
    bool proxying;
    int64_t since;  /* start of the current phase */
    struct err err; /* the last error */
};

/* Returns the duration of the phase that ends now and starts the next. */
static int64_t lap(struct dial *d)
{
    int64_t now = loop_now(d->loop), took = now - d->since;
    d->since = now;
    return took;
}

static void dial_free(struct dial *d)
{
    resolve_cancel(d->resolve);
    loop_timer_stop(&d->deadline);
    loop_timer_stop(&d->stagger);
    loop_task_cancel(d->loop, &d->begin);
    for (size_t i = 0; i < RESOLVE_MAX; i++) {
        if (!d->attempts[i].io.loop)
            continue;
        loop_io_stop(&d->attempts[i].io);
        close(d->attempts[i].io.fd);
    }
    transport_free(d->transport);
    if (d->proxying)
        proxy_release(&d->proxy);
    tls_config_unref(d->options.tls);
    tls_config_unref(d->options.proxy_tls);
    free(d);
}

void dial_cancel(struct dial *dial)
{
    if (dial)
        dial_free(dial);
}

static void finish(struct dial *d, struct transport *t)
{
    dial_fn *fn = d->fn;
    void *ctx = d->ctx;
    struct err err = d->err;
    if (t)
        d->transport = NULL;
    dial_free(d);
    fn(ctx, t, &err);
}

static void fail(struct dial *d)
{
    finish(d, NULL);
}

/* --- TLS and proxy ---------------------------------------------------------------------------- */

static void start_tls(struct dial *d, struct tls_config *config, const char *host, uint16_t port)
{
    struct tls_conn *tls;
    if (tls_conn_new_client(config, str_of(host), port, &tls, &d->err) < 0) {
        fail(d);
        return;
    }
    transport_start_tls(d->transport, tls);
}

static void start_proxy(struct dial *d)
{
    struct buf out = BUF_INIT;
    d->stage = DIAL_PROXY;
    d->proxying = true;
    proxy_init(&d->proxy, d->options.proxy, str_of(d->options.host), d->options.port, &out);
    transport_write(d->transport, out.p, out.n);
    buf_release(&out);
}

/* The connection to the target is established. */
static void tunnel_ready(struct dial *d)
{
    if (!d->options.tls) {
        finish(d, d->transport);
        return;
    }
    d->stage = DIAL_TLS;
    lap(d);
    start_tls(d, d->options.tls, d->options.host, d->options.port);
}

static void on_ready(struct transport *t)
{
    struct dial *d = t->owner;
    switch (d->stage) {
    case DIAL_CONNECT:
        if (d->options.proxy && str_eq_fold(d->options.proxy->scheme, STR("https"))) {
            char *host = str_dup(d->options.proxy->host);
            d->stage = DIAL_PROXY_TLS;
            start_tls(d, d->options.proxy_tls, host, d->options.proxy->port);
            free(host);
        } else if (d->options.proxy) {
            start_proxy(d);
        } else {
            tunnel_ready(d);
        }
        break;
    case DIAL_PROXY_TLS:
        start_proxy(d);
        break;
    case DIAL_TLS:
        if (d->options.trace)
            d->options.trace->tls = lap(d);
        finish(d, t);
        break;
    case DIAL_PROXY:
        break;
    }
}

static void on_data(struct transport *t, struct str data)
{
    struct dial *d = t->owner;
    if (d->stage != DIAL_PROXY) {
        err_set(&d->err, -EPROTO, "%s: the peer sent data before any request", d->options.host);
        fail(d);
        return;
    }
    struct buf out = BUF_INIT;
    int r = proxy_feed(&d->proxy, data, &out, &d->err);
    transport_write(t, out.p, out.n);
    buf_release(&out);
    if (r < 0)
        fail(d);
    else if (r > 0)
        tunnel_ready(d);
}

static void on_close(struct transport *t, int code, const struct err *err)
{
    struct dial *d = t->owner;
    if (err)
        d->err = *err;
    else
        err_set(&d->err, -ECONNRESET, "%s:%u: connection closed by the peer", d->options.host,
                d->options.port);
    (void)code;
    fail(d);
}

static const struct transport_ops dial_ops = {
    .on_ready = on_ready, .on_data = on_data, .on_close = on_close};

/* --- TCP -------------------------------------------------------------------------------------- */

static void start_attempt(struct dial *d);

static void note_address(struct dial *d, size_t i)
{
    struct dial_trace *trace = d->options.trace;
    struct buf name = BUF_INIT;
    if (!trace)
        return;
    resolve_address_format(&d->addresses[i], &name);
    snprintf(trace->address, sizeof(trace->address), "%s", buf_cstr(&name));
    buf_release(&name);
    trace->connect = lap(d);
}

static void attempt_failed(struct dial *d, size_t i, int code)
{
    struct buf name = BUF_INIT;
    note_address(d, i);
    resolve_address_format(&d->addresses[i], &name);
    err_set(&d->err, code, "connect to %s: %s", buf_cstr(&name), strerror(-code));
    buf_release(&name);
}

static size_t running(const struct dial *d)
{
    size_t n = 0;
    for (size_t i = 0; i < RESOLVE_MAX; i++)
        n += d->attempts[i].io.loop != NULL;
    return n;
}

static void connected(struct dial *d, int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    for (size_t i = 0; i < RESOLVE_MAX; i++) {
        if (!d->attempts[i].io.loop)
            continue;
        loop_io_stop(&d->attempts[i].io);
        close(d->attempts[i].io.fd);
    }
    loop_timer_stop(&d->stagger);
    d->transport = transport_new(d->loop, fd, NULL, &dial_ops, d);
}

static void on_attempt(struct loop_io *io, unsigned events)
{
    struct attempt *a = CONTAINER_OF(io, struct attempt, io);
    struct dial *d = a->dial;
    int e = 0, fd = io->fd;
    socklen_t size = sizeof(e);
    (void)events;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &size);
    loop_io_stop(io);
    if (e == 0) {
        note_address(d, (size_t)(a - d->attempts));
        connected(d, fd);
        return;
    }
    close(fd);
    attempt_failed(d, (size_t)(a - d->attempts), -e);
    start_attempt(d);
}

/* Tries the next address that can be tried. Fails if none is left or in progress. */
static void start_attempt(struct dial *d)
{
    while (d->next < d->n_addresses) {
        size_t i = d->next++;
        const union resolve_address *address = &d->addresses[i];
        int fd = socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            attempt_failed(d, i, -errno);
            continue;
        }
        if (connect(fd, &address->sa, resolve_address_size(address)) < 0 && errno != EINPROGRESS) {
            attempt_failed(d, i, -errno);
            close(fd);
            continue;
        }
        d->attempts[i].dial = d;
        loop_io_init(&d->attempts[i].io, d->loop, fd, on_attempt);
        loop_io_set(&d->attempts[i].io, LOOP_WRITE);
        if (d->next < d->n_addresses)
            loop_timer_set(&d->stagger, STAGGER);
        return;
    }
    if (running(d) == 0)
        fail(d);
}

static void on_stagger(struct loop_timer *timer)
{
    struct dial *d = CONTAINER_OF(timer, struct dial, stagger);
    start_attempt(d);
}

static void on_addresses(void *ctx, const union resolve_address *addresses, size_t n,
                         const struct err *err)
{
    struct dial *d = ctx;
    d->resolve = NULL;
    if (d->options.trace) {
        d->options.trace->looked_up = n > 0;
        d->options.trace->lookup = lap(d);
    }
    if (n == 0) {
        d->err = *err;
        fail(d);
        return;
    }
    memcpy(d->addresses, addresses, n * sizeof(addresses[0]));
    d->n_addresses = n;
    start_attempt(d);
}

static void on_begin(struct loop_task *task)
{
    struct dial *d = CONTAINER_OF(task, struct dial, begin);
    const struct dial_options *o = &d->options;
    char *host = o->proxy ? str_dup(o->proxy->host) : xstrdup(o->host);
    uint16_t port = o->proxy ? o->proxy->port : o->port;
    d->since = loop_now(d->loop);
    if (resolve_literal(host, port, &d->addresses[0])) {
        d->n_addresses = 1;
        start_attempt(d);
    } else {
        d->resolve = resolve_start(d->loop, host, port, on_addresses, d);
    }
    free(host);
}

static void on_deadline(struct loop_timer *timer)
{
    struct dial *d = CONTAINER_OF(timer, struct dial, deadline);
    static const char *const what[] = {"connecting", "TLS handshake with the proxy",
                                       "waiting for the proxy", "TLS handshake"};
    err_set(&d->err, -ETIMEDOUT, "%s:%u: %s timed out", d->options.host, d->options.port,
            d->resolve ? "name lookup" : what[d->stage]);
    fail(d);
}

struct dial *dial_start(struct loop *loop, const struct dial_options *options, dial_fn *fn,
                        void *ctx)
{
    struct dial *d = xnew(struct dial);
    d->loop = loop;
    d->options = *options;
    if (options->tls)
        tls_config_ref(options->tls);
    if (options->proxy_tls)
        tls_config_ref(options->proxy_tls);
    d->fn = fn;
    d->ctx = ctx;
    loop_timer_init(&d->deadline, loop, on_deadline);
    loop_timer_init(&d->stagger, loop, on_stagger);
    loop_timer_set(&d->deadline, options->timeout);
    loop_task_init(&d->begin, on_begin);
    loop_task_schedule(loop, &d->begin);
    return d;
}
