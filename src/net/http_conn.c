/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_conn.h"

void http_stream_attach(struct http_conn *conn, struct http_stream *stream)
{
    stream->conn = conn;
    stream->next = conn->streams;
    stream->prev = &conn->streams;
    if (conn->streams)
        conn->streams->prev = &stream->next;
    conn->streams = stream;
}

void http_stream_leave(struct http_stream *stream)
{
    struct http_conn *conn = stream->conn;
    if (!conn)
        return;
    if (conn->server)
        http_stream_release(stream);
    account_report(conn->transport->account, &stream->reported, 0);
    *stream->prev = stream->next;
    if (stream->next)
        stream->next->prev = stream->prev;
    stream->conn = NULL;
    stream->next = NULL;
    stream->prev = NULL;
}

void http_stream_release(struct http_stream *stream)
{
    buf_release(&stream->out);
    buf_release(&stream->held);
}

void http_conn_set_phase(struct http_conn *conn, enum http_phase phase)
{
    if (conn->phase == phase)
        return;
    conn->phase = phase;
    conn->since = loop_now(conn->transport->loop);
}

void http_conn_closed(struct http_conn *conn, int code, const struct err *err)
{
    struct err text;
    conn->draining = true;
    if (code == 0 && conn->streams) {
        code = err_set(&text, -ECONNRESET, "connection closed by the peer before its response");
        err = &text;
    }
    while (!conn->dead && conn->streams) {
        struct http_stream *stream = conn->streams;
        http_stream_leave(stream);
        conn->events->on_close(stream, code, err, false);
    }
    if (!conn->dead)
        conn->events->on_conn_close(conn, code, err);
}
