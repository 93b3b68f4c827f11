/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_world.h - an API server on loopback and a client, for unit tests.
 *
 * Purpose:   a registry with the objects of a new cluster, rbac, a server and an HTTP client on one
 *            loop; requests wait for their answers.
 * Ownership: the caller owns the struct; api_world_stop releases everything.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_LIB_API_WORLD_H
#define BERTH_TESTS_LIB_API_WORLD_H

#include "apiserver/http/api_server.h"
#include "apiserver/http/pki.h"
#include "apiserver/http/token_issuer.h"
#include "codec/json_edit.h"
#include "net/http_client.h"

struct api_world {
    struct loop *loop;
    struct registry *registry;
    struct rbac *rbac;
    struct api_server *server;
    struct http_client *client;
    struct pki pki;
    struct token_issuer *issuer;
    struct arena arena;
    int commits, commit_result;
    bool has_pki;

    /* The last answer. */
    int status;
    struct buf body;
    struct json_value json; /* in the arena; null if the body is no JSON */
    struct str headers;     /* "name: value\n" */
    bool done;
};

struct api_world_options {
    struct api_server_options server; /* loop, registry, rbac and so on are filled in */
    bool tls;                         /* with a client certificate of user and groups */
    const char *user, *groups;        /* NULL: kubernetes-admin of system:masters */
    bool anonymous;                   /* plain: no default user */
};

void api_world_start(struct api_world *w, const struct api_world_options *options);
void api_world_stop(struct api_world *w);

/* Sends and waits. headers: "name: value", separated by newlines; NULL: none. Returns the status.
 */
int api_world_send(struct api_world *w, const char *method, const char *target, const char *headers,
                   const char *body);
static inline int api_world_get(struct api_world *w, const char *target)
{
    return api_world_send(w, "GET", target, NULL, NULL);
}
static inline int api_world_post(struct api_world *w, const char *target, const char *body)
{
    return api_world_send(w, "POST", target, "content-type: application/json", body);
}
/* The text at a path of the last answer. */
const char *api_world_text(struct api_world *w, const char *path);

/* --- streams ---------------------------------------------------------------------------------- */

struct api_stream {
    struct http_call *call;
    struct buf text;
    size_t n_lines;
    int status;
    bool done;
};
void api_stream_open(struct api_world *w, struct api_stream *s, const char *target,
                     const char *headers);
/* Steps the loop until the text has n lines, or the stream has ended. */
void api_stream_wait(struct api_world *w, struct api_stream *s, size_t lines);
/* The line, borrowed. */
struct str api_stream_line(const struct api_stream *s, size_t i);
void api_stream_close(struct api_stream *s);

#endif
