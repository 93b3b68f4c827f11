/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.h - serves HTTP/1.1 and HTTP/2 on one address, plain or over TLS.
 *
 * Purpose:   /healthz and /metrics of the scheduler, extenders and webhooks in tests, and the
 *            embedded API server with its thousands of watches. The client chooses the protocol
 *            (ALPN, or HTTP/2's preface on a plain port); handlers do not see it.
 * Ownership: the caller owns the server. An exchange belongs to its handler from the call of
 *            `handle` until the response has ended (see below).
 * Threading: the loop's thread. A handler may answer later: keep the exchange, work on another
 *            thread, return with loop_post.
 *
 * Exchanges: `handle` is called when the head has arrived. The body is not read until the handler
 * calls http_read_body: a refused request costs no more than its head. The handler answers with
 * exactly one of
 *     http_respond                                       the whole response at once
 *     http_respond_stream, http_write …, http_end        a stream
 *     http_abort                                         no response: the stream is reset
 * and does not use the exchange after http_respond, http_end or http_abort. If the client
 * disconnects before that, on_gone is called once and everything written afterwards is dropped; the
 * handler still ends the exchange as above (http_end and http_abort are valid in any state), within
 * on_gone or later, even after http_server_free.
 *
 * Limits:    the server holds at most max_connections and max_memory. When it is full, the least
 *            useful connection is closed for a new one: first those whose TLS handshake or first
 *            request is not complete, then idle ones, then busy ones, each time the one longest in
 *            that state. Connections whose client the handler has authenticated
 *            (http_authenticated) come last, and are never closed while busy. A quarter of
 *            max_connections is reserved for local clients: a flood from outside cannot lock out a
 *            local health probe.
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
    struct str path;  /* percent-encoded, begins with '/' (or is "*") */
    struct str query; /* without '?' */
    struct http_headers headers;
    bool has_body;               /* a body may follow */
    struct str body;             /* set when http_read_body succeeds */
    struct str host;             /* Host or :authority */
    struct str remote;           /* "127.0.0.1:4711"; IPv4 also on an IPv6 socket */
    struct str remote_host;      /* the same without port */
    const struct tls_peer *peer; /* NULL: no (verified) client certificate */
    int http_major;              /* 1 or 2 */
    bool tls;

    /*
     * For the handler while the exchange is open. on_drain: the queued bytes fell below
     * HTTP_LOW_WATER after exceeding HTTP_HIGH_WATER. Both may be NULL.
     */
    void *user;
    void (*on_drain)(struct http_exchange *x);
    void (*on_gone)(struct http_exchange *x);
};

#define HTTP_HIGH_WATER ((size_t)256 * 1024)
#define HTTP_LOW_WATER  ((size_t)64 * 1024)

typedef void http_handle_fn(void *ctx, struct http_exchange *x);

/* Zero means the default, which is given behind each. Times in ns. */
struct http_server_options {
    /*
     * "127.0.0.1", "::1"; "0.0.0.0" and "::" both mean every IPv4 and IPv6 address, as in Go's
     * net.Listen, if the machine has IPv6. NULL: "127.0.0.1".
     */
    const char *address;
    uint16_t port; /* 0: any free one */
    bool reuse_port;
    struct tls_config *tls; /* NULL: plain. A reference is taken. */
    bool disable_h2;

    http_handle_fn *handle;
    void *ctx;

    size_t max_connections;  /* 4096; see Limits above */
    size_t max_memory;       /* for all connections, without TLS's own: 64 MiB */
    uint32_t max_streams;    /* per HTTP/2 connection: 100 */
    size_t max_header_bytes; /* 64 KiB; more is answered 431 */
    int64_t head_timeout;  /* from connect, or the first byte of a request, to the end of its head:
                              10 s */
    int64_t body_timeout;  /* from http_read_body to the end of the body: 60 s */
    int64_t idle_timeout;  /* connections without exchanges: 120 s */
    int64_t write_timeout; /* without progress of queued data: 60 s */
};

int http_server_new(struct loop *loop, const struct http_server_options *options,
                    struct http_server **ret_server, struct err *reterr) MUST_CHECK;
uint16_t http_server_port(const struct http_server *server);
/* The listening address: "127.0.0.1:10259", "[::]:10259". */
const char *http_server_address(const struct http_server *server);
/*
 * Stops accepting, notifies clients (GOAWAY, Connection: close), waits up to `deadline` ns for open
 * exchanges and then ends the rest (on_gone). `done` is called once, after this has returned; it
 * may free the server.
 */
void http_server_shutdown(struct http_server *server, int64_t deadline, void (*done)(void *ctx),
                          void *ctx);
/* Ends everything now; on_gone is called for open exchanges. NULL is allowed. Returns NULL. */
struct http_server *http_server_free(struct http_server *server);

struct http_server_stats {
    size_t connections;
    size_t exchanges;  /* between handle and end */
    uint64_t accepted; /* connections so far */
    uint64_t requests; /* exchanges so far */
    uint64_t refused;  /* new connections closed because the server was full */
    uint64_t cut;      /* connections closed to make room for others */
    size_t memory;     /* bytes held for connections */
};
void http_server_get_stats(const struct http_server *server, struct http_server_stats *ret_stats);

/* --- request bodies --------------------------------------------------------------------------- */

/*
 * code 0: x->body is the whole body, valid as long as the exchange. -EMSGSIZE: it is longer than
 * `max` and was discarded; answer 413.
 */
typedef void http_body_fn(struct http_exchange *x, int code);
/*
 * Reads the body, up to `max` bytes; at most once. fn is called once, possibly before this returns,
 * or never if the client disconnects first (on_gone).
 */
void http_read_body(struct http_exchange *x, uint64_t max, http_body_fn *fn);
/* The client is authenticated: its connection is kept when others are closed. */
void http_authenticated(struct http_exchange *x);

/* --- responses -------------------------------------------------------------------------------- */

/*
 * Headers and body are copied. Content-Length, Connection and Transfer-Encoding are set by the
 * server.
 */
void http_respond(struct http_exchange *x, int status, const struct http_header *headers, size_t n,
                  struct str body);
/* The same with only a content type. */
void http_respond_text(struct http_exchange *x, int status, const char *content_type,
                       struct str body);

void http_respond_stream(struct http_exchange *x, int status, const struct http_header *headers,
                         size_t n);
/*
 * Queues a copy. Returns the number of queued bytes that the client has not taken: a writer that
 * sees more than HTTP_HIGH_WATER should wait for on_drain, or drop the client with http_abort. The
 * queue itself has no limit.
 */
size_t http_write(struct http_exchange *x, struct str data);
void http_end(struct http_exchange *x);
void http_abort(struct http_exchange *x);
/* Closes the connection after this response. Call before responding. */
void http_last_request(struct http_exchange *x);

#endif
