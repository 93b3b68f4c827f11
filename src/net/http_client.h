/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client.h - requests to one origin over as few connections as will do.
 *
 * Purpose:   a client stands for one origin (scheme, host, port) and the way to it (TLS, proxy). It
 *            speaks HTTP/2 where the server agrees by ALPN, else HTTP/1.1 over several connections;
 *            dials when there is something to send, and again when a connection was lost.
 * Ownership: the client belongs to its maker. A call belongs to the client and is valid until its
 *            on_done returns, or until http_call_cancel. Request texts are copied.
 * Threading: the loop's thread only. To call from elsewhere, loop_post.
 *
 * What a call's callbacks may do: anything, including cancelling this or another call, sending new
 * ones and freeing the client. None is made before http_client_send has returned.
 */
#ifndef BERTH_NET_HTTP_CLIENT_H
#define BERTH_NET_HTTP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tls.h"

struct http_client;
struct http_call;

/* Zero means the default that stands behind each. Times in nanoseconds. */
struct http_client_options {
    /* "https://10.0.0.1:6443". A path is allowed and ignored: prefixing is the caller's. */
    const char *origin;
    /* "http://…", "https://…" or "socks5://[user:password@]host:port"; NULL or "": straight. */
    const char *proxy;
    struct tls_config *tls;       /* for https; NULL: system roots. A reference is taken. */
    struct tls_config *proxy_tls; /* for an https proxy; NULL: system roots */
    bool h2_prior_knowledge;      /* http origins: speak HTTP/2 from the first byte */

    size_t
        max_connections; /* HTTP/2: 4, opened as the servers' stream limits demand; HTTP/1.1: 16 */
    size_t max_waiting;  /* calls waiting for a connection or stream: 65536; more fail -EAGAIN */
    size_t max_streams;  /* per connection, our own limit below the server's: 1000 */
    size_t max_header_bytes; /* of a response: 256 KiB */
    size_t stream_window;    /* HTTP/2 receive window of one stream: 4 MiB */

    int64_t dial_timeout;  /* name, TCP, proxy and TLS together: 30 s */
    int64_t idle_timeout;  /* an unused connection is closed after: 90 s */
    int64_t ping_interval; /* HTTP/2: silence before a PING: 30 s; negative: never */
    int64_t ping_timeout;  /* HTTP/2: no answer for so long ends the connection: 15 s */
};

int http_client_new(struct loop *loop, const struct http_client_options *options,
                    struct http_client **ret_client, struct err *reterr) MUST_CHECK;
/*
 * Ends every open call with on_done(-ECANCELED), then gives everything back. May be called from
 * within a callback; nothing may be sent from those on_done. NULL is fine; returns NULL.
 */
struct http_client *http_client_free(struct http_client *client);

/* New connections use this configuration; those in use finish their calls and are closed. */
void http_client_set_tls(struct http_client *client, struct tls_config *tls);
/* Closes unused connections now, the others once they are done: new calls dial anew. */
void http_client_close_idle(struct http_client *client);

struct http_request {
    struct str method; /* "GET" */
    struct str target; /* path and query: "/api/v1/pods?limit=500" */
    /* Not host, content-length, connection or transfer-encoding: these are the client's. */
    const struct http_header *headers;
    size_t n_headers;
    struct str body;
    bool body_lives;       /* the body is there until the call ends, and need not be copied */
    int64_t head_timeout;  /* from sending (waiting and dialling included) to the head; 0: none */
    int64_t total_timeout; /* to the end of the body; 0: none, for watches */
    uint64_t max_body; /* a longer body ends the call with -EMSGSIZE; 0: no bound, for streams */
    const char *authority; /* Host or :authority in place of the origin's; NULL: the origin's */
    /*
     * Asked when a connection is free for the call, right before it is written there. False takes
     * the call back: it is gone, without on_done. It must do nothing else to calls or the client.
     * NULL: always. ctx is the call's.
     */
    bool (*may_start)(void *ctx);
};

/*
 * on_head:  once, with the final status (1xx are skipped). headers live until it returns.
 * on_data:  any number of times.
 * on_done:  last, exactly once, except after http_call_cancel. code 0: the whole answer arrived,
 *           whatever its status. Else a negative errno and err, one line that names the origin:
 *             -ETIMEDOUT   head or total timeout, or dialling took too long
 *             -ECONNREFUSED, -EHOSTUNREACH, … as connecting met them
 *             -ECONNRESET  the connection went before the answer was complete
 *             -EMSGSIZE    head or body larger than allowed
 *             -EPROTO      the peer does not speak HTTP
 *             -EKEYREJECTED  TLS: the peer's certificate, or ours, was not accepted
 *             -EAGAIN      too many calls wait
 *             -EINVAL      the request cannot be sent as it is
 *             -ECANCELED   the client was freed
 *           retryable: the server has certainly not begun to act on it; sending it again is safe
 *           whatever the method.
 * All but on_done may be NULL.
 */
struct http_handlers {
    void (*on_head)(void *ctx, int status, const struct http_headers *headers);
    void (*on_data)(void *ctx, struct str data);
    void (*on_done)(void *ctx, int code, const struct err *err, bool retryable);
};

/* Never NULL; what is wrong is told by on_done. `handlers` must outlive the call (a static table).
 */
struct http_call *http_client_send(struct http_client *client, const struct http_request *request,
                                   const struct http_handlers *handlers, void *ctx);
/* No further callback for it; the call is gone. */
void http_call_cancel(struct http_call *call);
/*
 * Stops on_data until http_call_resume; at most one stream window (HTTP/2) or read (HTTP/1.1) is
 * held meanwhile. Other calls go on, also on the same connection. A failure of the call is told all
 * the same, by on_done, and what was held is lost with it.
 */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);

/* --- the whole answer at once ----------------------------------------------------------------- */

struct http_response {
    int status;
    struct http_headers headers;
    struct buf body;
    struct arena arena; /* holds the headers */
};

/* response: on code 0 only, and only until it returns; its body may be taken by buf_take. */
typedef void http_fetch_fn(void *ctx, int code, struct http_response *response,
                           const struct err *err, bool retryable);
/* request->max_body 0 means HTTP_FETCH_MAX here. */
#define HTTP_FETCH_MAX ((uint64_t)64 << 20)
struct http_call *http_client_fetch(struct http_client *client, const struct http_request *request,
                                    http_fetch_fn *fn, void *ctx);

/* --- what a client is doing, for tests and metrics -------------------------------------------- */

struct http_client_stats {
    size_t connections;        /* open or being dialled */
    size_t calls;              /* sent and not done, those that wait included */
    size_t waiting;            /* of those, without a stream yet */
    uint64_t dialled;          /* connections made so far */
    uint64_t sessions_resumed; /* of those, by an earlier TLS session */
    uint64_t requests;         /* handed to a connection so far */
};
void http_client_get_stats(const struct http_client *client, struct http_client_stats *ret_stats);

#endif
