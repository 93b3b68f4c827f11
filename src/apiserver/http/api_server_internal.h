/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_server_internal.h - what the files of the API server share.
 *
 * Purpose:   one struct call per request, from its head to its answer, and one struct watch per
 *            open watch. A call is authenticated (authn.c), authorized and dispatched (call.c),
 *            served by the registry or a page, held until the next commit if something is not yet
 *            on disk (api_server.c), and answered (answer.c).
 * Ownership: a call owns its arena and ends with its answer; a watch takes over its exchange.
 * Threading: the loop's thread.
 */
#ifndef BERTH_APISERVER_HTTP_API_SERVER_INTERNAL_H
#define BERTH_APISERVER_HTTP_API_SERVER_INTERNAL_H

#include "apiserver/http/api_server.h"
#include "apiserver/http/form.h"
#include "apiserver/http/route.h"
#include "apiserver/http/token_issuer.h"
#include "base/map.h"
#include "base/vec.h"
#include "net/http_server.h"

#define MAX_BODY ((uint64_t)3 * 1024 * 1024)

struct api_server;
struct watches;

struct call {
    struct api_server *server;
    struct http_exchange *x; /* NULL: the client is gone */
    struct call *next;       /* of those that are held */
    struct arena arena;
    struct api_query query;
    struct api_route route;
    struct api_user user;
    bool anonymous;
    bool writes; /* changes the store: it fails if the commit does */
    bool held, inflight;
    struct str audit_id;
    int64_t now; /* wall clock, ns */

    const struct resource *resource;
    struct api_form form;
    struct api_request request;
    struct api_response response;
    struct str content_type; /* of a text that is the answer: pages */
    struct str etag;         /* of a page; "": none */
    int code;
    struct buf body; /* the answer, if it is not an object or a list */

    /* A list that is being written. */
    size_t at;
    struct json_indent indent;
};

struct api_server {
    struct api_server_options options;
    struct loop *loop;
    struct registry *registry;
    struct store *store;
    struct resources *resources;
    struct http_server *http;
    struct rand rand;
    struct arena kept; /* tokens, users, address */
    struct str url, host;
    struct loop_task flush;
    bool dirty; /* something is not committed */
    struct call *held, **held_end;
    size_t n_inflight, n_anonymous, n_watches;
    struct watches *watches;
    struct metrics *metrics, *own_metrics;
    struct metric_family *families[8];
    struct map tokens;    /* token → struct api_token */
    struct map documents; /* of OpenAPI, by path */
};

/* --- api_server.c ----------------------------------------------------------------------------- */

/* Commits, answers what is held and tells the watches, before the loop waits again. */
static inline void server_flush_soon(struct api_server *s)
{
    loop_task_schedule(s->loop, &s->flush);
}

/* --- call.c ----------------------------------------------------------------------------------- */

/* A random one. */
struct str make_uuid(struct rand *rand, struct arena *a);
struct call *call_new(struct api_server *s, struct http_exchange *x);
/* Ends the call; its exchange has ended or belongs to a watch. */
void call_free(struct call *c);
/* The call has its answer: it is sent now, or after the next commit. */
void call_finish(struct call *c);
/* Sends the answer: the last step. failure: of the commit; NULL: none. */
void call_answer(struct call *c, const struct api_status *failure);
/* The status of the response is the answer. */
void call_refuse(struct call *c);
/* The answer is this tree. */
void call_answer_tree(struct call *c, struct json_value *tree, int code);
/* 404 or 405 of a path that no resource has. */
void call_refuse_path(struct call *c, int code);
/* 404 page not found. */
void call_refuse_page(struct call *c);
/* Whether the user may do this. */
bool call_allows(struct call *c, const struct api_user *user, const struct access_attributes *what,
                 struct str *ret_why);

/* --- dispatch.c ------------------------------------------------------------------------------- */

http_handle_fn call_handle;

/* --- authn.c ---------------------------------------------------------------------------------- */

/* Sets the user. False: the response has a status of 401. */
bool call_authenticate(struct call *c);
/* Impersonation: replaces the user. False: the response has a status. */
bool call_impersonate(struct call *c);
/* The user of a token; false with upstream's reason. */
bool server_check_token(struct api_server *s, struct str token, struct arena *a,
                        struct api_user *ret_user, struct str *ret_why);
struct api_user *user_copy(const struct api_user *user, struct arena *a);

/* --- answer.c --------------------------------------------------------------------------------- */

/* Headers and body at once. */
void answer_text(struct call *c, int code, struct str content_type, struct str body);
void answer_status(struct call *c, const struct api_status *status);
void answer_object(struct call *c);
void answer_list(struct call *c);
/* Content-Type and the headers that every answer has; at most ANSWER_HEADERS. */
#define ANSWER_HEADERS 40
size_t answer_headers(struct call *c, struct str content_type, struct http_header *headers);
/* Negotiates the form with the header Accept. False: 406. */
bool call_negotiate(struct call *c, bool watch);

/* --- body.c ----------------------------------------------------------------------------------- */

/* The body is there, or there is none: reads it and the options, serves and finishes the call. */
void call_serve_body(struct call *c);

/* --- pages.c ---------------------------------------------------------------------------------- */

/* Everything that is no resource. */
void call_page(struct call *c);

/* --- openapi_pages.c -------------------------------------------------------------------------- */

/* path: behind /openapi/. */
void call_openapi(struct call *c, struct str path);
/* A CustomResourceDefinition has changed. */
void openapi_forget(struct api_server *s);

/* --- virtual.c -------------------------------------------------------------------------------- */

typedef void virtual_fn(struct call *c);
/* Resources that are not stored; NULL: it is stored. */
virtual_fn *virtual_find(const struct call *c);
/* Whether it has no body to read: exec, proxy. */
bool virtual_streams(const struct call *c);

/* --- reviews.c, token_request.c --------------------------------------------------------------- */

virtual_fn serve_access_review, serve_rules_review, serve_token_review, serve_self_review;
/* username, uid, groups and extra; what is empty is missing. */
struct json_value user_info(const struct api_user *user, struct arena *a);
virtual_fn serve_token_request;

/* --- watch.c ---------------------------------------------------------------------------------- */

struct watches *watches_new(struct api_server *s);
struct watches *watches_free(struct watches *w);
/* Makes a watch of the call. */
void watches_start(struct watches *w, struct call *c);
/* There may be events of this resource. */
void watches_changed(struct watches *w, const struct resource *stored);
/* Sends what is committed. */
void watches_deliver(struct watches *w);
void watches_end(struct watches *w);

/* --- server_metrics.c ------------------------------------------------------------------------- */

void server_metrics_init(struct api_server *s);
void server_metrics_count(const struct call *c, int code);
void server_metrics_update(struct api_server *s);

#endif
