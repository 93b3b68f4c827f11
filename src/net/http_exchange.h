/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_exchange.h - internals of an exchange; included by http_server.c and http_exchange.c only.
 *
 * Purpose:   a request with its body, and the response to its stream.
 * Ownership: an exchange has two holders: the stream (until it leaves its connection) and the
 *            handler (from handle until it has answered). The last one frees it.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_HTTP_EXCHANGE_H
#define BERTH_NET_HTTP_EXCHANGE_H

#include "net/http_conn.h"
#include "net/http_server.h"

struct exchange {
    struct http_exchange pub;
    struct http_stream stream;
    struct arena arena; /* strings of the request */
    struct buf body;
    uint64_t max_body;       /* of on_body */
    http_body_fn *on_body;   /* NULL: the body is not requested */
    struct account *account; /* of the connection; NULL: not on one */
    size_t head_n, reported; /* bytes of the head; all reported bytes */
    size_t *open;            /* number of exchanges held by handlers; NULL: the server is gone */
    struct exchange *next, **prev; /* among those held by handlers */
    bool on_stream;                /* the stream is on its connection */
    bool handled;                  /* a handler holds it */
    bool head_sent;
    int reject; /* status to answer without a handler; 0: none */
};

struct exchange *exchange_new(const struct http_head *head, const struct transport *t,
                              struct str remote);
/* The request's body as it arrives, and its end. */
void exchange_take(struct exchange *x, struct str data);
void exchange_complete(struct exchange *x);
/* Answers requests that are not passed to handlers: 400, 431. */
void exchange_reject(struct exchange *x);
/* The stream is gone. Frees the exchange if no handler holds it, otherwise calls on_gone. */
void exchange_left(struct exchange *x);

#endif
