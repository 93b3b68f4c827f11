/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server_internal.h - internals of a server; included by http_server.c and http_room.c only.
 *
 * Purpose:   http_server.c accepts connections and passes requests on; http_room.c decides which
 *            connection is closed when there are too many, or too much memory is held for them.
 * Ownership: the server owns its connections.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_HTTP_SERVER_INTERNAL_H
#define BERTH_NET_HTTP_SERVER_INTERNAL_H

#include "net/http_exchange.h"
#include "net/listener.h"

/* The value of a connection, least first. */
enum conn_rank {
    CONN_NEW,                /* TLS handshake, or detection of the protocol, is not complete */
    CONN_SILENT,             /* no request has arrived */
    CONN_IDLE,               /* all requests were answered */
    CONN_BUSY,               /* has exchanges */
    CONN_AUTHENTICATED_IDLE, /* the same for authenticated clients */
    CONN_AUTHENTICATED_BUSY, /* is never closed */
    CONN_RANKS
};

/* Connections of one rank, by the time they have had it, the longest first. */
struct conn_queue {
    struct server_conn *first, **last;
    size_t n;
};

/* Local clients have room of their own. */
enum conn_side { CONN_REMOTE, CONN_LOCAL, CONN_SIDES };

struct server_conn {
    struct http_server *server;
    struct server_conn *next, **prev;
    struct transport *transport; /* until http takes it over */
    struct http_conn *http;      /* NULL: waiting for TLS or the first bytes */
    char remote[64];
    int64_t accepted;
    char first[24]; /* plain connections: possibly HTTP/2's preface */
    size_t n_first;

    struct account account; /* memory held for it */
    enum conn_side side;
    enum conn_rank rank;
    struct server_conn *rank_next, **rank_prev;
    bool asked; /* a request has arrived */
    bool authenticated;
};

struct http_server {
    struct loop *loop;
    struct http_server_options options;
    struct tls_config *tls;
    struct listener listener;
    struct server_conn *conns;
    struct conn_queue queues[CONN_SIDES][CONN_RANKS];
    size_t n_conns[CONN_SIDES];
    struct account account;         /* memory held for all connections */
    size_t most_conns, most_memory; /* since memory was last returned to the system */
    int64_t trimmed;                /* when that was */
    struct exchange *held;          /* by handlers */
    struct loop_timer sweep, deadline;
    struct loop_task reap;
    int64_t sweep_interval;
    struct http_server_stats stats;
    bool stopping, dead;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* http_server.c: ends the connection and all its exchanges. */
void server_close_conn(struct server_conn *conn, int code);

void room_init(struct http_server *server);
/* Adds a new connection to its queue; removes a closed one. */
void room_add(struct server_conn *conn);
void room_remove(struct server_conn *conn);
/* Updates the connection's rank after an event that may change it. */
void room_settle(struct server_conn *conn);
/* Closes connections until there is room for one more on that side. False: none can be closed. */
bool room_make(struct http_server *server, enum conn_side side);
/* Closes the least useful connection of any side. False: none can be closed. */
bool room_cut_any(struct http_server *server);
/* Whether an unauthenticated client holds too much for another request. */
bool room_is_over_share(const struct server_conn *conn);
/*
 * Closes connections while more than max_memory is held; conn is the one that grew. False: conn was
 * closed.
 */
bool room_check_memory(struct server_conn *conn);
/* Returns memory to the system after a flood. True: there is more to return. */
bool room_trim(struct http_server *server);

#endif
