/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_conn.h - a connection that carries exchanges, for any version of HTTP.
 *
 * Purpose:   the interface between the protocols (h1_conn.c, h2_conn.c) and their users
 *            (http_client.c, http_server.c), which do not know the protocol.
 * Ownership: a connection owns its transport. Streams are embedded in their users' structs: a
 *            stream is on a connection (stream->conn is set) from http_conn_request or on_request
 *            until on_close or http_stream_detach, and its memory must live as long.
 * Threading: the loop's thread.
 *
 * Every function may be called from every event. http_conn_free closes at once; the memory is freed
 * at the end of the loop iteration.
 */
#ifndef BERTH_NET_HTTP_CONN_H
#define BERTH_NET_HTTP_CONN_H

#include "net/http.h"
#include "net/transport.h"

struct http_conn;

struct http_stream {
    struct http_conn *conn;           /* NULL: not on a connection */
    struct http_stream *next, **prev; /* in conn->streams */
    int32_t id;                       /* HTTP/2 stream ID */
    bool paused;                      /* no on_data, see http_stream_pause */
    bool expects_continue;            /* server: the client waits for 100 before its body */
    bool head_seen;                   /* client: on_head was called */
    bool remote_end;                  /* the peer's message is complete */
    bool out_end;                     /* nothing follows `out` */
    bool filled;                      /* more than HTTP_HIGH_WATER was queued: on_drain is due */
    bool head_request;                /* server: a HEAD request, no body is sent */
    struct str body; /* client: the rest of the request's body, in the user's memory */
    struct buf out;  /* server, HTTP/2: not yet framed from out_at on */
    size_t out_at;
    struct buf held;  /* received while paused */
    int64_t progress; /* server: when the peer last took data, or the stream began */
    size_t reported;  /* size of out and held, as reported to the connection's account */
};

/* A received head; borrowed until the event returns. */
struct http_head {
    int status;                           /* responses */
    struct str method, target, authority; /* requests */
    const struct http_headers *headers;
    bool too_large; /* requests: headers were dropped for their size; answer 431 */
    bool has_body;  /* requests: a body may follow */
    int http_major;
};

struct http_conn_events {
    /* Server: a request's head. Returns the stream to use for it; NULL refuses it. */
    struct http_stream *(*on_request)(struct http_conn *conn, const struct http_head *head);
    /*
     * Server: follows on_request; the stream is on the connection and may be answered. If a body
     * follows, the stream is paused: nothing of it is read until http_stream_resume.
     */
    void (*on_accepted)(struct http_stream *stream);
    /* Client: the response's head, once. */
    void (*on_head)(struct http_stream *stream, const struct http_head *head);
    void (*on_data)(struct http_stream *stream, struct str data);
    /* Server: the request's body is complete. Not called if there is none (remote_end). */
    void (*on_end)(struct http_stream *stream);
    /* The stream has left the connection. code 0: both sides are complete. */
    void (*on_close)(struct http_stream *stream, int code, const struct err *err, bool retryable);
    /* Server: the queued bytes fell below HTTP_LOW_WATER after exceeding HTTP_HIGH_WATER. */
    void (*on_drain)(struct http_stream *stream);
    /* Client: http_conn_room may have grown. */
    void (*on_room)(struct http_conn *conn);
    /* Called last, after all streams were closed. The owner calls http_conn_free. */
    void (*on_conn_close)(struct http_conn *conn, int code, const struct err *err);
};

struct http_conn_limits {
    size_t max_header_bytes;
    uint32_t max_streams;     /* server: announced. client: our own limit below the server's */
    uint32_t assumed_streams; /* HTTP/2 client: the server's limit until its SETTINGS arrive */
    uint32_t stream_window;   /* HTTP/2 */
    int64_t ping_interval, ping_timeout; /* HTTP/2 client; interval <= 0: never */
};

enum http_phase {
    HTTP_PHASE_IDLE, /* no exchange */
    HTTP_PHASE_HEAD, /* a head is arriving */
    HTTP_PHASE_BUSY, /* anything else */
};

struct http_out_request {
    struct str method, target, scheme, authority;
    const struct http_header *headers;
    size_t n_headers;
    bool has_body; /* has a Content-Length, also for 0 bytes */
};

struct http_conn_ops {
    size_t (*room)(const struct http_conn *conn);
    void (*request)(struct http_conn *conn, struct http_stream *stream,
                    const struct http_out_request *request);
    void (*respond)(struct http_stream *stream, int status, const struct http_header *headers,
                    size_t n, int64_t content_length);
    void (*write)(struct http_stream *stream, struct str data);
    void (*end)(struct http_stream *stream);
    size_t (*queued)(const struct http_stream *stream);
    void (*detach)(struct http_stream *stream);
    void (*resume)(struct http_stream *stream);
    void (*drain)(struct http_conn *conn);
    void (*free)(struct http_conn *conn);
};

struct http_conn {
    const struct http_conn_ops *ops;
    const struct http_conn_events *events;
    struct transport *transport;
    void *owner; /* of events */
    struct http_conn_limits limits;
    bool server;
    bool draining;         /* no further exchanges */
    bool dead;             /* freed; no further events */
    uint32_t peer_streams; /* HTTP/2 client: the server's announced limit; 0: not yet */
    bool reused;           /* client, HTTP/1.1: a response was received on it before */
    size_t n_streams;      /* counted against limits; HTTP/2: includes detached ones until closed */
    struct http_stream *streams;
    enum http_phase phase;
    int64_t since; /* start of the phase */
};

/*
 * Both take over the transport, which is ready. A caller that has read bytes from it passes them on
 * through its on_data.
 */
struct http_conn *h1_conn_new(struct transport *t, bool server,
                              const struct http_conn_events *events, void *owner,
                              const struct http_conn_limits *limits);
struct http_conn *h2_conn_new(struct transport *t, bool server,
                              const struct http_conn_events *events, void *owner,
                              const struct http_conn_limits *limits);

/* Number of requests that it accepts now. */
static inline size_t http_conn_room(const struct http_conn *conn)
{
    return conn->dead || conn->draining ? 0 : conn->ops->room(conn);
}
/* Client. stream->body is sent from the user's memory. */
static inline void http_conn_request(struct http_conn *conn, struct http_stream *stream,
                                     const struct http_out_request *request)
{
    conn->ops->request(conn, stream, request);
}
/* Accepts no new exchanges; on_conn_close follows when the running ones are done. */
static inline void http_conn_drain(struct http_conn *conn)
{
    if (!conn->dead)
        conn->ops->drain(conn);
}
/* Streams still on it are detached without on_close. */
static inline void http_conn_free(struct http_conn *conn)
{
    if (!conn->dead)
        conn->ops->free(conn);
}

/*
 * Server. content_length negative: unknown, a stream. The body is dropped if the status or HEAD
 * forbid it.
 */
static inline void http_stream_respond(struct http_stream *stream, int status,
                                       const struct http_header *headers, size_t n,
                                       int64_t content_length)
{
    stream->conn->ops->respond(stream, status, headers, n, content_length);
}
static inline void http_stream_write(struct http_stream *stream, struct str data)
{
    stream->conn->ops->write(stream, data);
}
/* on_close follows when everything is sent, possibly before this returns. */
static inline void http_stream_end(struct http_stream *stream)
{
    stream->conn->ops->end(stream);
}
static inline size_t http_stream_queued(const struct http_stream *stream)
{
    return stream->conn ? stream->conn->ops->queued(stream) : 0;
}
/*
 * Abandons the stream: reset (HTTP/2), or the connection is closed (HTTP/1.1). No on_close follows.
 */
static inline void http_stream_detach(struct http_stream *stream)
{
    if (stream->conn)
        stream->conn->ops->detach(stream);
}
static inline void http_stream_pause(struct http_stream *stream)
{
    stream->paused = true;
}
/* Held data is delivered later, from the loop. Server: asks the client for the body. */
static inline void http_stream_resume(struct http_stream *stream)
{
    if (!stream->paused)
        return;
    stream->paused = false;
    if (stream->conn)
        stream->conn->ops->resume(stream);
}

/* For the protocols: adds a stream to the connection's list, removes it. */
void http_stream_attach(struct http_conn *conn, struct http_stream *stream);
void http_stream_leave(struct http_stream *stream);
/* Ends all streams, then the connection, through its events. */
void http_conn_closed(struct http_conn *conn, int code, const struct err *err);
void http_conn_set_phase(struct http_conn *conn, enum http_phase phase);

void http_stream_release(struct http_stream *stream); /* frees its buffers */

#endif
