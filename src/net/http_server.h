/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.h - answers HTTP/1.1 and HTTP/2 on one address, plain or over TLS.
 *
 * Purpose:   /healthz and /metrics of the scheduler, extenders and webhooks in tests, and the
 *            embedded API server with its thousands of watches. The protocol is the client's choice
 *            (ALPN, or HTTP/2's preface on a plain port); handlers do not see it.
 * Ownership: the server belongs to its maker; an exchange belongs to its handler from the call of
 *            `handle` until it is answered to the end (see below).
 * Threading: the loop's thread only. A handler may answer later: keep the exchange, work elsewhere,
 *            come back by loop_post.
 *
 * The life of an exchange. `handle` is called when the head has arrived. Nothing of a body is read
 * until the handler asks for it (http_read_body): a request that is refused costs no more than its
 * head. The handler answers by exactly one of
 *     http_respond                                       the whole answer at once
 *     http_respond_stream, http_write …, http_end        a stream
 *     http_abort                                         none: the stream is reset
 * and after http_respond, http_end or http_abort does not touch it again. Where the client goes
 * away before that, on_gone is told once and everything written afterwards is dropped; the handler
 * still ends the exchange as above (http_end or http_abort do for any state), within on_gone or
 * later. That holds also beyond http_server_free.
 *
 * Clients that take too much. The server holds no more than max_connections and max_memory. When it
 * is full, the connection that is of least use makes room for a new one: first those whose TLS or
 * first request has not arrived, then idle ones, then busy ones, each time the one that has been so
 * for the longest time. Connections on which the handler has recognised the client
 * (http_authenticated) come last, and never while they are busy. Clients on this machine always get
 * a quarter of max_connections: no flood from outside keeps a local health probe out.
 */
#ifndef BERTH_NET_HTTP_SERVER_H
#define BERTH_NET_HTTP_SERVER_H

#include "base/buf.h"
#include "base/err.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tls.h"

struct http_server;

struct http_exchange {
    struct str method;
    struct str path;  /* still percent-encoded, begins with '/' (or is "*") */
    struct str query; /* behind '?', without it */
    struct http_headers headers;
    bool has_body;               /* one may follow */
    struct str body;             /* once http_read_body has told so */
    struct str host;             /* Host or :authority */
    struct str remote;           /* "127.0.0.1:4711"; IPv4 also where the socket is IPv6's */
    struct str remote_host;      /* the same without port */
    const struct tls_peer *peer; /* NULL: no (verified) client certificate */
    int http_major;              /* 1 or 2 */
    bool tls;

    /* For the handler's use while the exchange is open. on_drain: what is queued has fallen below
     * HTTP_LOW_WATER after having been above HTTP_HIGH_WATER. Both may stay NULL. */
    void *user;
    void (*on_drain)(struct http_exchange *x);
    void (*on_gone)(struct http_exchange *x);
};

#define HTTP_HIGH_WATER ((size_t)256 * 1024)
#define HTTP_LOW_WATER  ((size_t)64 * 1024)

typedef void http_handle_fn(void *ctx, struct http_exchange *x);

/* Zero means the default that stands behind each. Times in nanoseconds. */
struct http_server_options {
    /* "127.0.0.1", "::1"; "0.0.0.0" and "::" both mean every address of both kinds, as with Go's
     * listeners, where the machine has IPv6. NULL: "127.0.0.1". */
    const char *address;
    uint16_t port; /* 0: any free one */
    bool reuse_port;
    struct tls_config *tls; /* NULL: plain. A reference is taken. */
    bool disable_h2;

    http_handle_fn *handle;
    void *ctx;

    size_t max_connections;  /* 4096; beyond it see above */
    size_t max_memory;       /* held for all connections, beyond TLS's own: 64 MiB */
    uint32_t max_streams;    /* per HTTP/2 connection: 100 */
    size_t max_header_bytes; /* 64 KiB; more is answered 431 */
    int64_t head_timeout;    /* from connect, or the first byte of a request, to its head: 10 s */
    int64_t body_timeout;    /* from http_read_body to the end of the body: 60 s */
    int64_t idle_timeout;    /* connections without exchanges: 120 s */
    int64_t write_timeout;   /* a client that takes nothing of what is queued: 60 s */
};

int http_server_new(struct loop *loop, const struct http_server_options *options,
                    struct http_server **ret_server, struct err *reterr) MUST_CHECK;
uint16_t http_server_port(const struct http_server *server);
/* What it listens on: "127.0.0.1:10259", "[::]:10259". */
const char *http_server_address(const struct http_server *server);
/*
 * Stops accepting, lets the clients know (GOAWAY, Connection: close), waits for open exchanges up
 * to `deadline` nanoseconds and then ends the rest (on_gone). `done` is called once, never from
 * within this call; it may free the server.
 */
void http_server_shutdown(struct http_server *server, int64_t deadline, void (*done)(void *ctx),
                          void *ctx);
/* Ends everything now; on_gone is called for open exchanges. NULL is fine; returns NULL. */
struct http_server *http_server_free(struct http_server *server);

struct http_server_stats {
    size_t connections;
    size_t exchanges;  /* between handle and end */
    uint64_t accepted; /* connections so far */
    uint64_t requests; /* exchanges so far */
    uint64_t refused;  /* new connections closed for want of room */
    uint64_t cut;      /* connections ended to make room for others */
    size_t memory;     /* bytes held for connections */
};
void http_server_get_stats(const struct http_server *server, struct http_server_stats *ret_stats);

/* --- the request's body ----------------------------------------------------------------------- */

/*
 * code 0: x->body is the whole body, for as long as the exchange. -EMSGSIZE: it is longer than was
 * asked for, and nothing of it is kept; answer 413.
 */
typedef void http_body_fn(struct http_exchange *x, int code);
/*
 * Reads the body, up to `max` bytes; at most once. fn is called once, maybe before this returns,
 * or never where the client goes away before (on_gone).
 */
void http_read_body(struct http_exchange *x, uint64_t max, http_body_fn *fn);
/* The client is known: its connection is kept when others have to go. */
void http_authenticated(struct http_exchange *x);

/* --- answering -------------------------------------------------------------------------------- */

/* Headers and body are copied. Not content-length, connection, transfer-encoding: they are ours. */
void http_respond(struct http_exchange *x, int status, const struct http_header *headers, size_t n,
                  struct str body);
/* The same with one content type; nothing else. */
void http_respond_text(struct http_exchange *x, int status, const char *content_type,
                       struct str body);

void http_respond_stream(struct http_exchange *x, int status, const struct http_header *headers,
                         size_t n);
/*
 * Queues a copy. Gives the number of bytes queued and not yet taken by the client: a writer that
 * sees more than HTTP_HIGH_WATER waits for on_drain, or drops the client by http_abort. Nothing is
 * refused: what is queued is bounded by the writer's manners.
 */
size_t http_write(struct http_exchange *x, struct str data);
void http_end(struct http_exchange *x);
void http_abort(struct http_exchange *x);
/* The connection takes no further request once this one is answered. Before answering. */
void http_last_request(struct http_exchange *x);

#endif
