/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_conn.h - the inside of an HTTP/2 connection; shared by h2_conn.c and h2_session.c only.
 *
 * Purpose:   h2_session.c is what nghttp2 calls: heads, data, ends of streams, bodies to be sent.
 *            h2_conn.c is what everybody else calls: requests, answers, the transport, keepalive.
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
    int64_t last_read, ping_sent;      /* ping_sent 0: none on its way */
    VEC(struct http_stream *) resumed; /* held data to be handed out by the flush task */
    VEC(nghttp2_nv) nv;                /* room for building heads */

    /* The head that is arriving: HTTP/2 does not interleave them. */
    struct arena head_arena;
    struct http_headers headers;
    struct http_head head;
    size_t head_bytes;
};

/* Makes c->session for the role and limits of c->base. */
void h2_session_make(struct h2_conn *c);
/* Where nghttp2 gets the body of a request or an answer from. */
extern const nghttp2_data_provider h2_session_body;

/* Sends what nghttp2 has to send, at the end of this round. */
void h2_want_flush(struct h2_conn *c);
/* The connection forgets the stream; what still arrives for it is thrown away. */
void h2_forget(struct h2_conn *c, struct http_stream *s);
void h2_reset(struct h2_conn *c, int32_t id, uint32_t code);
/* The user has taken n bytes of the stream: the peer may send as many again. */
void h2_consumed(struct h2_conn *c, int32_t id, size_t n);
/* Counts what the stream holds. */
void h2_report(struct h2_conn *c, struct http_stream *s);
/* The peer's message is complete and everything of it was handed out. */
void h2_remote_end(struct h2_conn *c, struct http_stream *s);

static inline struct loop *h2_loop(const struct h2_conn *c)
{
    return c->base.transport->loop;
}

#endif
