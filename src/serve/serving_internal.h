/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_internal.h - what the files of serving share; nobody else includes it.
 *
 * Purpose:   a request that may be answered, and the pages. serving.c lets requests in;
 *            serving_health.c, serving_pages.c and serving_debug.c answer them.
 * Ownership: a request belongs to the page from its call on until one of the serving_respond
 *            functions, which frees it.
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
    struct authn *authn; /* NULL: everybody may do everything */
    struct authz *authz;
    struct serving_options options;
    struct serving_request *requests;
    struct metrics *slis; /* results of health checks */
    struct metric_family *sli_now, *sli_total;
    struct serving_metrics *counted;    /* NULL: nothing is */
    bool explaining;                    /* the world has been asked */
    struct serving_request *explained;  /* by whom; NULL: it has gone meanwhile */
    struct resource_metrics *resources; /* are being written; NULL: nobody asks */
    int64_t started;                    /* wall clock, ns */
};

struct serving_request {
    struct serving *serving;
    struct http_exchange *x;
    struct serving_request *next, **prev;
    struct arena arena;
    struct str path;         /* decoded */
    struct str verb;         /* the method in lower case */
    char *user;              /* for messages; NULL: nobody yet */
    int64_t received, asked; /* when it came, and when authn or authz were asked; time_mono */
    void (*serve)(struct serving_request *r); /* the page, once it is known */
    struct authn_call *authn;
    struct authz_call *authz;
    struct serving_profile *profile; /* is taken for this one */
    bool wants_resources;            /* gets the page that is being written */
    struct str warning;              /* of the header Warning; empty: none */
};

enum respond_flags { RESPOND_NOSNIFF = 1 };

void serving_respond(struct serving_request *r, int status, const char *type, unsigned flags,
                     struct str body);
/* A Status as upstream's API machinery writes it: indented for browsers and curl. details: writes
 * "details":{} as well. */
void serving_respond_status(struct serving_request *r, int status, const char *reason, bool details,
                            struct str message);
/* The same as compact JSON. */
void serving_write_status(struct buf *out, int status, const char *reason, bool details,
                          struct str message);
/* Metrics as text; the head says since when they count. */
void serving_respond_metrics(struct serving_request *r, struct str text);
void serving_respond_not_found(struct serving_request *r);
void serving_redirect(struct serving_request *r, const char *to);
/* Is the answer for a person: curl, Wget, a browser? The query "pretty" overrides it. */
bool serving_is_person(const struct serving_request *r);
/* Indents compact JSON by two blanks. */
void serving_indent(struct str json, struct buf *out);

/* The first value of a parameter of the query, decoded into the request's arena; false: none. */
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

/* Ends the profile without an answer. NULL is fine. */
void serving_profile_cancel(struct serving_profile *profile);
/* Folders of the paths that are listed, sorted; NULL-ended. */
extern const char *const serving_listed_paths[];

#endif
