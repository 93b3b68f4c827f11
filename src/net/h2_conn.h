/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_conn.h - internals of an HTTP/2 connection; included by h2_conn.c and h2_session.c only.
 *
 * Purpose:   h2_session.c has the callbacks of nghttp2: heads, data, ends of streams, bodies to
 *            send. h2_conn.c has everything else: requests, responses, the transport, keepalive.
 * Ownership: as in http_conn.h.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_H2_CONN_H
#define BERTH_NET_H2_CONN_H

#include <nghttp2/nghttp2.h>

#include "net/http_conn.h"

struct h2_conn {
    struct http_conn base;
    nghttp2_session *session;
    struct loop_task flush, reap;
    struct loop_timer ping;
    int64_t last_read, ping_sent;      /* ping_sent 0: none in flight */
    VEC(struct http_stream *) resumed; /* held data to be delivered by the flush task */
    VEC(nghttp2_nv) nv;                /* buffer for building heads */

    /* The head that is arriving: HTTP/2 does not interleave them. */
    struct arena head_arena;
    struct http_headers headers;
    struct http_head head;
    size_t head_bytes;
};

/* Creates c->session for the role and limits of c->base. */
void h2_session_make(struct h2_conn *c);
/* The body of a request or response, read by nghttp2. */
extern const nghttp2_data_provider h2_session_body;

/* Sends nghttp2's output at the end of this loop iteration. */
void h2_want_flush(struct h2_conn *c);
/* Removes the stream from the connection; data that still arrives for it is discarded. */
void h2_forget(struct h2_conn *c, struct http_stream *s);
void h2_reset(struct h2_conn *c, int32_t id, uint32_t code);
/* The user has consumed n bytes of the stream: the peer may send as many again. */
void h2_consumed(struct h2_conn *c, int32_t id, size_t n);
/* Reports what the stream holds to the connection's account. */
void h2_report(struct h2_conn *c, struct http_stream *s);
/* The peer's message is complete and was delivered completely. */
void h2_remote_end(struct h2_conn *c, struct http_stream *s);

static inline struct loop *h2_loop(const struct h2_conn *c)
{
    return c->base.transport->loop;
}

#endif
