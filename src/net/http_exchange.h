/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_exchange.h - the inside of an exchange; shared by http_server.c and http_exchange.c only.
 *
 * Purpose:   a request with its body, and the answer's way back to the stream it came on.
 * Ownership: two hold an exchange: the stream (until it leaves its connection) and the handler
 *            (from handle until it has answered). The last to let go frees it.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_HTTP_EXCHANGE_H
#define BERTH_NET_HTTP_EXCHANGE_H

#include "net/http_conn.h"
#include "net/http_server.h"

struct exchange {
    struct http_exchange pub;
    struct http_stream stream;
    struct arena arena; /* the request's texts */
    struct buf body;
    uint64_t max_body;       /* of on_body */
    http_body_fn *on_body;   /* NULL: nobody waits for the body */
    struct account *account; /* of the connection; NULL: not on one */
    size_t head_n, reported; /* bytes of the head; all that was reported */
    size_t *open;            /* counts exchanges that handlers hold; NULL: the server is gone */
    struct exchange *next, **prev; /* of those that handlers hold */
    bool on_stream;                /* the stream has not left */
    bool handled;                  /* a handler holds it */
    bool head_sent;
    int reject; /* to be answered so, without a handler; 0: none */
};

struct exchange *exchange_new(const struct http_head *head, const struct transport *t,
                              struct str remote);
/* The request's body as it arrives, and its end. */
void exchange_take(struct exchange *x, struct str data);
void exchange_complete(struct exchange *x);
/* Answers what is not for handlers: 400, 431. */
void exchange_reject(struct exchange *x);
/* The stream is no more. Frees it where no handler holds it, else tells the handler. */
void exchange_left(struct exchange *x);

#endif
