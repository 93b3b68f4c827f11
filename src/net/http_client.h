/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client.h - requests to one origin over as few connections as possible.
 *
 * Purpose:   a client stands for one origin (scheme, host, port) and the route to it (TLS, proxy).
 *            It uses HTTP/2 if the server agrees by ALPN, otherwise HTTP/1.1 over several
 *            connections. It dials when there is something to send, and again when a connection was
 *            lost.
 * Ownership: the caller owns the client. A call belongs to the client and is valid until its
 *            on_done returns or http_call_cancel. Strings of the request are copied.
 * Threading: the loop's thread. From other threads: loop_post.
 *
 * Callbacks may do anything, including cancelling any call, sending new ones and freeing the
 * client. No callback is made before http_client_send has returned.
 */
#ifndef BERTH_NET_HTTP_CLIENT_H
#define BERTH_NET_HTTP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "net/dial.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tls.h"

struct http_client;
struct http_call;

/* Zero means the default, which is given behind each. Times in ns. */
struct http_client_options {
    /* "https://10.0.0.1:6443". A path is allowed and ignored: callers add prefixes themselves. */
    const char *origin;
    /* "http://…", "https://…" or "socks5://[user:password@]host:port"; NULL or "": no proxy. */
    const char *proxy;
    struct tls_config *tls;       /* for https; NULL: system roots. A reference is taken. */
    struct tls_config *proxy_tls; /* for an https proxy; NULL: system roots */
    bool h2_prior_knowledge;      /* http origins: use HTTP/2 without negotiation */

    size_t
        max_connections; /* HTTP/2: 4, opened as the server's stream limit requires; HTTP/1.1: 16 */
    size_t max_waiting;  /* calls waiting for a connection or stream: 65536; further ones fail with
                            -EAGAIN */
    size_t max_streams;  /* per connection, our own limit below the server's: 1000 */
    size_t max_header_bytes; /* of a response: 256 KiB */
    size_t stream_window;    /* HTTP/2 receive window of one stream: 4 MiB */

    int64_t dial_timeout;  /* name, TCP, proxy and TLS together: 30 s */
    int64_t idle_timeout;  /* an unused connection is closed after: 90 s */
    int64_t ping_interval; /* HTTP/2: silence before a PING: 30 s; negative: never */
    int64_t
        ping_timeout; /* HTTP/2: without a response for this long the connection is closed: 15 s */
};

int http_client_new(struct loop *loop, const struct http_client_options *options,
                    struct http_client **ret_client, struct err *reterr) MUST_CHECK;
/*
 * Ends every open call with on_done(-ECANCELED), then frees the client. May be called from a
 * callback; those on_done must not send. NULL is allowed. Returns NULL.
 */
struct http_client *http_client_free(struct http_client *client);

/* New connections use this configuration; existing ones finish their calls and are closed. */
void http_client_set_tls(struct http_client *client, struct tls_config *tls);
/* Closes unused connections now, and the others when their calls are done: new calls dial again. */
void http_client_close_idle(struct http_client *client);

struct http_request {
    struct str method; /* "GET" */
    struct str target; /* path and query: "/api/v1/pods?limit=500" */
    /* Without host, content-length, connection and transfer-encoding, which the client sets. */
    const struct http_header *headers;
    size_t n_headers;
    struct str body;
    bool body_lives;      /* the body is valid until the call ends and is not copied */
    int64_t head_timeout; /* from sending (waiting and dialling included) to the response's head; 0:
                             none */
    int64_t total_timeout; /* to the end of the body; 0: none, for watches */
    uint64_t max_body; /* a longer body ends the call with -EMSGSIZE; 0: no limit, for streams */
    const char *authority; /* Host or :authority instead of the origin's; NULL: the origin's */
    /*
     * Called with the call's ctx when a connection is free for the call, right before it is
     * written. False withdraws the call: it is freed without on_done. Must not use calls or the
     * client. NULL: always true.
     */
    bool (*may_start)(void *ctx);
};

/*
 *   on_head:  once, with the final status (1xx are skipped). headers are valid until it returns.
 *   on_data:  any number of times.
 *   on_done:  last, exactly once, except after http_call_cancel. code 0: the response is complete,
 *             whatever its status. Otherwise a negative errno and err, one line with the origin:
 *               -ETIMEDOUT     head, total or dial timeout
 *               -ECONNREFUSED, -EHOSTUNREACH, … from connecting
 *               -ECONNRESET    the connection closed before the response was complete
 *               -EMSGSIZE      head or body larger than the limit
 *               -EPROTO        the peer does not speak HTTP
 *               -EKEYREJECTED  TLS: the peer's certificate, or ours, was not accepted
 *               -EAGAIN        too many calls are waiting
 *               -EINVAL        the request is invalid
 *               -ECANCELED     the client was freed
 *             retryable: the server has certainly not processed the request; sending it again is
 *             safe whatever the method.
 * All but on_done may be NULL.
 */
struct http_handlers {
    void (*on_head)(void *ctx, int status, const struct http_headers *headers);
    void (*on_data)(void *ctx, struct str data);
    void (*on_done)(void *ctx, int code, const struct err *err, bool retryable);
};

/*
 * Never returns NULL; errors are reported by on_done. `handlers` must outlive the call (a static
 * table).
 */
struct http_call *http_client_send(struct http_client *client, const struct http_request *request,
                                   const struct http_handlers *handlers, void *ctx);
/* Times of a call, by loop_now; 0: not yet. */
struct http_timing {
    int64_t sent;            /* http_client_send */
    int64_t started;         /* given to a connection */
    int64_t answered;        /* the response's head arrived */
    bool reused;             /* the connection had carried other calls */
    struct dial_trace trace; /* of the connection, or of the dial that failed */
};
const struct http_timing *http_call_timing(const struct http_call *call);

/* Frees the call; no callback follows. */
void http_call_cancel(struct http_call *call);
/*
 * Stops on_data until http_call_resume. Meanwhile at most one stream window (HTTP/2) or one read
 * (HTTP/1.1) is held. Other calls continue, also on the same connection. A failure is still
 * reported by on_done and discards the held data.
 */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);

/* --- whole responses -------------------------------------------------------------------------- */

struct http_response {
    int status;
    struct http_headers headers;
    struct buf body;
    struct arena arena; /* holds the headers */
};

/*
 * response: set only if code is 0, valid until this returns; its body may be taken with buf_take.
 */
typedef void http_fetch_fn(void *ctx, int code, struct http_response *response,
                           const struct err *err, bool retryable);
/* request->max_body 0 means HTTP_FETCH_MAX here. */
#define HTTP_FETCH_MAX ((uint64_t)64 << 20)
struct http_call *http_client_fetch(struct http_client *client, const struct http_request *request,
                                    http_fetch_fn *fn, void *ctx);

/* --- statistics, for tests and metrics -------------------------------------------------------- */

struct http_client_stats {
    size_t connections;        /* open or dialling */
    size_t calls;              /* sent and not done, including waiting ones */
    size_t waiting;            /* of those, without a stream yet */
    uint64_t dialled;          /* connections dialled so far */
    uint64_t sessions_resumed; /* of those, with a resumed TLS session */
    uint64_t requests;         /* given to a connection so far */
};
void http_client_get_stats(const struct http_client *client, struct http_client_stats *ret_stats);

#endif
