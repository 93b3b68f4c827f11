/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_call.h - one call of an HTTP client: its request, its timers, its callbacks.
 *
 * Purpose:   shared by http_client.c, which assigns connections, and http_call.c; included by these
 *            only.
 * Ownership: a call is in one of its client's lists. One allocation holds it and the request's
 *            strings.
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
    bool (*may_start)(void *ctx); /* NULL: always true */
    struct http_fetch *fetch;     /* of http_client_fetch; owned */
    struct loop_timer timer;
    int64_t total_at; /* 0: none */
    uint64_t max_body, received;
    bool done;    /* on_done is running */
    bool retried; /* was sent once on a connection that was already closed */
    struct http_timing timing;

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
/* Removes the call from its list. */
void call_list_remove(struct http_call *call);

/* Copies the request. The call is in no list yet. */
struct http_call *http_call_new(struct http_client *client, struct loop *loop,
                                const struct http_request *request, struct str authority);
/* Returns 0, or -EINVAL and the reason. */
int http_call_check(const struct http_call *call, struct err *reterr) MUST_CHECK;
bool http_call_has_body(const struct http_call *call);
/* GET and HEAD: sending them twice is harmless. */
bool http_call_is_safe(const struct http_call *call);
/* Calls the request's may_start. */
bool http_call_may_start(const struct http_call *call);
/* Starts the timer for the earlier of both deadlines, then for the other. */
void http_call_start_timer(struct http_call *call, const struct http_request *request);
void http_call_head_arrived(struct http_call *call);
/* Calls on_done and frees the call, which must be off its list and its connection. */
void http_call_finish(struct http_call *call, int code, const struct err *err, bool retryable);

/* In http_client.c: removes the call from its list and its connection. */
void http_client_forget(struct http_call *call);
/* The same, then finishes the call with the error, prefixed with the origin. */
void http_client_fail(struct http_call *call, int code, const struct err *err, bool retryable);

#endif
