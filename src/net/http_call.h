/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_call.h - one call of a client: its request, its timer, its way back to the caller.
 *
 * Purpose:   shared by http_client.c (which finds it a connection) and http_call.c; nobody else
 *            includes it.
 * Ownership: a call belongs to its client's list. One allocation holds it with the request's texts.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_HTTP_CALL_H
#define BERTH_NET_HTTP_CALL_H

#include "net/http_client.h"
#include "net/http_conn.h"

struct client_conn;
struct http_fetch;
struct call_list;

struct http_call {
    struct http_stream stream;
    struct http_client *client;
    struct client_conn *conn; /* NULL: waiting */
    struct call_list *list;   /* of the client: waiting, running or refused */
    struct http_call *next, **prev;
    const struct http_handlers *handlers;
    void *ctx;
    bool (*may_start)(void *ctx); /* NULL: always */
    struct http_fetch *fetch;     /* of http_client_fetch; ours */
    struct loop_timer timer;
    int64_t total_at; /* 0: none */
    uint64_t max_body, received;
    bool done;    /* on_done runs */
    bool retried; /* sent once before on a connection that was already gone */

    struct str method, target, authority, body;
    struct http_header *headers;
    size_t n_headers;
    char text[];
};

struct call_list {
    struct http_call *first, **last;
    size_t n;
};

void call_list_init(struct call_list *list);
void call_list_append(struct call_list *list, struct http_call *call);
void call_list_prepend(struct call_list *list, struct http_call *call);
/* Off the list that it is on. */
void call_list_remove(struct http_call *call);

/* Copies the request. Not yet on any list. */
struct http_call *http_call_new(struct http_client *client, struct loop *loop,
                                const struct http_request *request, struct str authority);
/* 0, or -EINVAL with what is wrong with it. */
int http_call_check(const struct http_call *call, struct err *reterr) MUST_CHECK;
bool http_call_has_body(const struct http_call *call);
/* GET and HEAD: sending them twice does no harm. */
bool http_call_is_safe(const struct http_call *call);
/* What the request's may_start says. */
bool http_call_may_start(const struct http_call *call);
/* The timer for the first of both deadlines, then for the second. */
void http_call_start_timer(struct http_call *call, const struct http_request *request);
void http_call_head_arrived(struct http_call *call);
/* Tells on_done and frees; the call must be off its list and off its connection. */
void http_call_finish(struct http_call *call, int code, const struct err *err, bool retryable);

/* For http_call.c, by http_client.c: takes it off its list and its connection. */
void http_client_forget(struct http_call *call);
/* The same, then tells why; adds the origin's name to the reason. */
void http_client_fail(struct http_call *call, int code, const struct err *err, bool retryable);

#endif
