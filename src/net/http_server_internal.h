/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server_internal.h - the inside of a server; shared by http_server.c and http_room.c only.
 *
 * Purpose:   http_server.c makes connections and hands requests over; http_room.c decides which
 *            connection goes when there are too many, or too much is held for them.
 * Ownership: the server owns its connections.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_HTTP_SERVER_INTERNAL_H
#define BERTH_NET_HTTP_SERVER_INTERNAL_H

#include "net/http_exchange.h"
#include "net/listener.h"

/* How much would be lost with a connection, least first. */
enum conn_rank {
    CONN_NEW,                /* TLS, or what protocol it speaks, is not settled */
    CONN_SILENT,             /* no request has arrived on it */
    CONN_IDLE,               /* requests were answered */
    CONN_BUSY,               /* there are exchanges */
    CONN_AUTHENTICATED_IDLE, /* the same of clients that the handler has recognised */
    CONN_AUTHENTICATED_BUSY, /* is never cut off */
    CONN_RANKS
};

/* Connections of one rank; the first has had it for the longest time. */
struct conn_queue {
    struct server_conn *first, **last;
    size_t n;
};

/* Clients on this machine have room of their own. */
enum conn_side { CONN_REMOTE, CONN_LOCAL, CONN_SIDES };

struct server_conn {
    struct http_server *server;
    struct server_conn *next, **prev;
    struct transport *transport; /* until http takes it over */
    struct http_conn *http;      /* NULL: TLS or the first bytes are awaited */
    char remote[64];
    int64_t accepted;
    char first[24]; /* plain connections: bytes that may be HTTP/2's preface */
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
    size_t most_conns, most_memory; /* since memory was last given back */
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

/* http_server.c: ends the connection with all of its exchanges. */
void server_close_conn(struct server_conn *conn, int code);

void room_init(struct http_server *server);
/* Puts a new connection where it belongs; takes one away that goes. */
void room_add(struct server_conn *conn);
void room_remove(struct server_conn *conn);
/* Something has happened that may change the connection's rank. */
void room_settle(struct server_conn *conn);
/* Ends connections until there is room for one more on that side. False: nobody can go. */
bool room_make(struct http_server *server, enum conn_side side);
/* Ends the connection of least use, wherever it is from. False: nobody can go. */
bool room_cut_any(struct http_server *server);
/* Whether a client that is not authenticated has too much under way for another request. */
bool room_is_greedy(const struct server_conn *conn);
/* Ends connections while more memory is held than is allowed; conn is the one that grew. False:
 * it was conn that had to go. */
bool room_check_memory(struct server_conn *conn);
/* Gives memory back to the system after a flood. True: there is still some to be given back. */
bool room_trim(struct http_server *server);

#endif
