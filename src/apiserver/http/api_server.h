/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_server.h - the Kubernetes API over HTTP.
 *
 * Purpose:   authenticates, authorizes, routes and answers requests on one address: objects of a
 *            registry in JSON, YAML and as tables, watches, discovery, reviews, health and metrics.
 * Ownership: the caller owns the server, and the registry, rbac and issuer, which live longer. All
 *            texts of the options are copied.
 * Threading: the loop's thread.
 *
 * Writes: the owner of the store tells the server of every change (api_server_changed). The answer
 * of a write is held until `commit` has returned, at the end of the loop's iteration, so that
 * nothing is acknowledged that is not on disk. Watches see a change after its commit.
 */
#ifndef BERTH_APISERVER_HTTP_API_SERVER_H
#define BERTH_APISERVER_HTTP_API_SERVER_H

#include "apiserver/access/authorization.h"
#include "apiserver/registry/registry.h"
#include "base/err.h"
#include "base/metrics.h"
#include "net/loop.h"
#include "net/tls.h"

struct api_server;
struct token_issuer; /* token_issuer.h */

/* A bearer token that the owner has handed out. */
struct api_token {
    struct str token;
    struct api_user user;
};

/* Zero means the default, which is given behind each. */
struct api_server_options {
    struct loop *loop;
    struct registry *registry;
    struct rbac *rbac;      /* NULL: everyone may do everything */
    unsigned authorization; /* enum authorization_mode; RBAC */

    const char *address;    /* "127.0.0.1" */
    uint16_t port;          /* any free one */
    struct tls_config *tls; /* NULL: plain; a reference is taken. See pki_server_tls. */
    /* The user of requests without credentials; NULL: system:anonymous. */
    const struct api_user *default_user;
    const struct api_token *tokens;
    size_t n_tokens;
    struct token_issuer *issuer; /* of service account tokens; NULL: none are made or accepted */

    /*
     * Makes the changes durable; NULL: there is nothing to do. After an error the writes that wait
     * are answered with it (507 for -ENOSPC, otherwise 500).
     */
    int (*commit)(void *ctx, struct err *reterr);
    void *commit_ctx;
    /* Whether /readyz succeeds; *ret_why names what is missing. NULL: always. */
    bool (*ready)(void *ctx, const char **ret_why);
    void *ready_ctx;

    struct metrics *metrics;  /* of the page /metrics; borrowed; NULL: the server's own */
    size_t max_inflight;      /* requests that are not watches: 600; more get 429 */
    size_t max_watches;       /* 20,000 */
    size_t max_anonymous;     /* of max_inflight, for users without credentials: 50 */
    int64_t bookmark_period;  /* ns: one minute */
    int64_t min_watch_period; /* ns: 30 minutes; watches without timeoutSeconds end after one to
                                 two of these */
    uint64_t seed;            /* of Audit-Ids and ends of watches; the kernel's */
};

int api_server_new(const struct api_server_options *options, struct api_server **ret_server,
                   struct err *reterr) MUST_CHECK;
/* Ends all requests at once. NULL is allowed. Returns NULL. */
struct api_server *api_server_free(struct api_server *server);
/*
 * Stops accepting, ends watches, waits up to `deadline` ns for other requests. `done` is called
 * once, after this has returned; it may free the server.
 */
void api_server_shutdown(struct api_server *server, int64_t deadline, void (*done)(void *ctx),
                         void *ctx);

uint16_t api_server_port(const struct api_server *server);
/* "https://127.0.0.1:6443": for kubeconfigs and messages. */
struct str api_server_url(const struct api_server *server);

/* A change of the registry's store, from its `changed` hook. */
void api_server_changed(struct api_server *server, const struct store_event *event);

#endif
