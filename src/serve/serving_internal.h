/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_internal.h - shared by the files of serving; private to them.
 *
 * Purpose:   requests and pages. serving.c authenticates, authorizes and routes requests;
 *            serving_health.c, serving_pages.c, serving_zpages.c, serving_debug.c and
 *            serving_profile.c answer them.
 * Ownership: a page owns its request until it calls one of the serving_respond functions, which
 *            free it.
 * Threading: the loop's thread.
 */
#ifndef BERTH_SERVE_SERVING_INTERNAL_H
#define BERTH_SERVE_SERVING_INTERNAL_H

#include "serve/resource_metrics.h"
#include "serve/serving.h"
#include "serve/serving_metrics.h"

#define PLAIN_TEXT   "text/plain; charset=utf-8"
#define HTML_TEXT    "text/html; charset=utf-8"
#define JSON_TEXT    "application/json"
#define METRICS_TEXT "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

struct serving_profile;

struct serving {
    struct loop *loop;
    struct http_server *server;
    struct serving_tls *tls;
    struct authn *authn; /* NULL: every request is allowed */
    struct authz *authz;
    struct serving_options options;
    struct serving_request *requests;
    struct metrics *slis; /* results of health checks */
    struct metric_family *sli_now, *sli_total;
    struct serving_metrics *counted;    /* NULL: none */
    bool explaining;                    /* a request to the world is in progress */
    struct serving_request *explained;  /* waits for it; NULL: it has disconnected */
    struct resource_metrics *resources; /* the page being written; NULL: none */
    int64_t started;                    /* wall clock, ns */
};

struct serving_request {
    struct serving *serving;
    struct http_exchange *x;
    struct serving_request *next, **prev;
    struct arena arena;
    struct str path;         /* decoded */
    struct str verb;         /* the method in lower case */
    char *user;              /* for messages; NULL: not authenticated yet */
    int64_t received, asked; /* start of the request, and of authn or authz; time_mono */
    void (*serve)(struct serving_request *r); /* the page; NULL: not routed yet */
    struct authn_call *authn;
    struct authz_call *authz;
    struct serving_profile *profile; /* being taken for this request; NULL: none */
    bool wants_resources;            /* waits for s->resources */
    struct str warning;              /* value of the header Warning; empty: none */
};

enum respond_flags { RESPOND_NOSNIFF = 1 };

void serving_respond(struct serving_request *r, int status, const char *type, unsigned flags,
                     struct str body);
/* A Status as upstream writes it, indented for browsers and curl. details: with "details":{}. */
void serving_respond_status(struct serving_request *r, int status, const char *reason, bool details,
                            struct str message);
/* The same as compact JSON. */
void serving_write_status(struct buf *out, int status, const char *reason, bool details,
                          struct str message);
/* Metrics as text; the headers include the start time of the process. */
void serving_respond_metrics(struct serving_request *r, struct str text);
void serving_respond_not_found(struct serving_request *r);
void serving_redirect(struct serving_request *r, const char *to);
/* Upstream's rule for indented output: curl, Wget and browsers, or the query "pretty". */
bool serving_is_person(const struct serving_request *r);
/* Indents compact JSON by two spaces. */
void serving_indent(struct str json, struct buf *out);

/* The first value of a query parameter, decoded into the request's arena; false if none. */
bool serving_query(struct serving_request *r, const char *name, struct str *ret_value);

/* --- pages ------------------------------------------------------------------------------------ */

void serving_health_init(struct serving *s);
void serve_health(struct serving_request *r);
void serve_slis(struct serving_request *r);
void serve_metrics(struct serving_request *r);
void serve_resource_metrics(struct serving_request *r);
void serve_configz(struct serving_request *r);
void serve_flagz(struct serving_request *r);
void serve_statusz(struct serving_request *r);
void serve_debug_flags(struct serving_request *r);
void serve_log_level(struct serving_request *r);
void serve_explain(struct serving_request *r);
void serve_pprof_redirect(struct serving_request *r);
void serve_pprof(struct serving_request *r);
void serve_cmdline(struct serving_request *r);
void serve_symbol(struct serving_request *r);
void serve_profile(struct serving_request *r);

/* Ends the profile without a response. NULL is allowed. */
void serving_profile_cancel(struct serving_profile *profile);
/* The paths that /statusz lists, sorted; ends with NULL. */
extern const char *const serving_listed_paths[];

#endif
