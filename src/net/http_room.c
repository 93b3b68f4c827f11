/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which connection is closed when there are too many; see Limits in http_server.h. */
#include <malloc.h>

#include "net/http_server_internal.h"

/* 1/SIDE_PART of the connections is reserved for local clients, and as much for remote ones. */
#define SIDE_PART     4
/* At most 1/NEW_PART of each side may be connections without completed TLS. */
#define NEW_PART      4
#define NEW_MIN       ((size_t)64)
/*
 * What one unauthenticated connection may hold before further requests on it are refused: heads,
 * unrequested bodies, unread responses.
 */
#define STRANGER_PART 16
#define STRANGER_MIN  ((size_t)256 * 1024)
/*
 * Peak of connections or memory after which memory is returned to the system, once a quarter is
 * left.
 */
#define FLOOD_CONNS   ((size_t)32)
#define FLOOD_MEMORY  ((size_t)2 << 20)
#define TRIM_INTERVAL (10 * NSEC_PER_SEC)

void room_init(struct http_server *server)
{
    for (size_t side = 0; side < CONN_SIDES; side++)
        for (size_t rank = 0; rank < CONN_RANKS; rank++)
            server->queues[side][rank].last = &server->queues[side][rank].first;
}

/* --- ranks ------------------------------------------------------------------------------------ */

static enum conn_rank rank_of(const struct server_conn *conn)
{
    if (!conn->http)
        return CONN_NEW;
    bool busy = conn->http->phase == HTTP_PHASE_BUSY;
    if (conn->authenticated)
        return busy ? CONN_AUTHENTICATED_BUSY : CONN_AUTHENTICATED_IDLE;
    if (!conn->asked)
        return CONN_SILENT;
    return busy ? CONN_BUSY : CONN_IDLE;
}

static void enqueue(struct server_conn *conn)
{
    struct conn_queue *q = &conn->server->queues[conn->side][conn->rank];
    conn->rank_next = NULL;
    conn->rank_prev = q->last;
    *q->last = conn;
    q->last = &conn->rank_next;
    q->n++;
}

static void dequeue(struct server_conn *conn)
{
    struct conn_queue *q = &conn->server->queues[conn->side][conn->rank];
    *conn->rank_prev = conn->rank_next;
    if (conn->rank_next)
        conn->rank_next->rank_prev = conn->rank_prev;
    else
        q->last = conn->rank_prev;
    q->n--;
}

void room_add(struct server_conn *conn)
{
    struct http_server *server = conn->server;
    server->n_conns[conn->side]++;
    server->stats.connections++;
    server->most_conns = MAX(server->most_conns, server->stats.connections);
    conn->rank = rank_of(conn);
    enqueue(conn);
}

void room_remove(struct server_conn *conn)
{
    dequeue(conn);
    conn->server->n_conns[conn->side]--;
    conn->server->stats.connections--;
}

void room_settle(struct server_conn *conn)
{
    enum conn_rank rank = rank_of(conn);
    if (rank == conn->rank)
        return;
    dequeue(conn);
    conn->rank = rank;
    enqueue(conn);
}

/* --- closing ---------------------------------------------------------------------------------- */

/*
 * The first connection of the lowest rank. Ranks are not updated on every change, so each candidate
 * is checked again: one in the wrong queue is moved, once.
 */
static struct server_conn *find_victim(struct http_server *server, enum conn_side side)
{
    for (size_t rank = 0; rank < CONN_AUTHENTICATED_BUSY; rank++) {
        struct conn_queue *q = &server->queues[side][rank];
        for (struct server_conn *conn; (conn = q->first);) {
            room_settle(conn);
            if (conn->rank == rank)
                return conn;
            if (conn->rank < rank)
                return conn; /* it is now the least useful one */
        }
    }
    return NULL;
}

static bool cut(struct http_server *server, enum conn_side side)
{
    struct server_conn *conn = find_victim(server, side);
    if (!conn)
        return false;
    server->stats.cut++;
    server_close_conn(conn, -ENOBUFS);
    return true;
}

/* A side below its share takes from the other side, otherwise from itself. */
bool room_make(struct http_server *server, enum conn_side side)
{
    enum conn_side other = side == CONN_LOCAL ? CONN_REMOTE : CONN_LOCAL;
    size_t max = server->options.max_connections;
    /* An incomplete handshake holds more memory than most requests. */
    const struct conn_queue *fresh = &server->queues[side][CONN_NEW];
    while (fresh->n >= MAX(max / NEW_PART, NEW_MIN) && fresh->first->rank == CONN_NEW)
        if (!cut(server, side) || server->dead)
            return false;
    while (!server->dead && server->stats.connections >= max) {
        bool entitled = server->n_conns[side] < MAX(max / SIDE_PART, (size_t)1);
        if (!(entitled && cut(server, other)) && !(server->dead || cut(server, side)))
            return false;
    }
    return !server->dead;
}

bool room_cut_any(struct http_server *server)
{
    /* The side that has more connections. */
    bool local = server->n_conns[CONN_LOCAL] > server->n_conns[CONN_REMOTE];
    return cut(server, local ? CONN_LOCAL : CONN_REMOTE) ||
           (!server->dead && cut(server, local ? CONN_REMOTE : CONN_LOCAL));
}

/* --- memory ----------------------------------------------------------------------------------- */

bool room_is_over_share(const struct server_conn *conn)
{
    size_t max = MAX(conn->server->options.max_memory / STRANGER_PART, STRANGER_MIN);
    return !conn->authenticated && conn->account.used > max;
}

static struct server_conn *find_largest(struct http_server *server)
{
    struct server_conn *largest = NULL;
    for (struct server_conn *conn = server->conns; conn; conn = conn->next)
        if (!conn->authenticated && (!largest || conn->account.used > largest->account.used))
            largest = conn;
    return largest;
}

bool room_check_memory(struct server_conn *conn)
{
    struct http_server *server = conn->server;
    server->most_memory = MAX(server->most_memory, server->account.used);
    while (!server->dead && server->account.used > server->options.max_memory) {
        struct server_conn *largest = find_largest(server);
        if (!largest || largest->account.used == 0)
            break; /* the rest belongs to authenticated clients */
        server->stats.cut++;
        bool self = largest == conn;
        server_close_conn(largest, -ENOBUFS);
        if (self)
            return false;
    }
    return !server->dead;
}

bool room_trim(struct http_server *server)
{
    bool many =
        server->most_conns >= FLOOD_CONNS && server->stats.connections <= server->most_conns / 4;
    bool much =
        server->most_memory >= FLOOD_MEMORY && server->account.used <= server->most_memory / 4;
    int64_t now = loop_now(server->loop);
    if (!many && !much)
        return false;
    if (server->trimmed && now - server->trimmed < TRIM_INTERVAL)
        return true;
    malloc_trim(0);
    server->trimmed = now;
    server->most_conns = server->stats.connections;
    server->most_memory = server->account.used;
    return false;
}
