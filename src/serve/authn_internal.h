/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authn_internal.h - shared by the files of authn; private to them.
 *
 * Purpose:   authn.c runs the chain of authenticators; authn_proxy.c reads the headers of a front
 *            proxy; authn_lookup.c loads and refreshes CAs and names from files and the cluster.
 * Ownership: as in authn.h.
 * Threading: the loop's thread.
 */
#ifndef BERTH_SERVE_AUTHN_INTERNAL_H
#define BERTH_SERVE_AUTHN_INTERNAL_H

#include "kube/file.h"
#include "kube/rest/rest.h"
#include "serve/authn.h"

/* A file with a bundle of CAs. */
struct authn_ca_file {
    char *path; /* NULL: not from a file */
    struct file_stamp stamp;
};

/* The CAs and proxies that are trusted now. */
struct authn_trust {
    struct loop *loop;
    struct rest_client *client; /* borrowed; NULL: no lookup */
    struct tls_trust *clients;  /* NULL: client certificates are ignored */
    struct tls_trust *proxies;  /* NULL: the headers are ignored */
    struct arena arena;         /* of proxy */
    struct authn_proxy proxy;
    struct authn_ca_file client_ca, proxy_ca;
    int64_t file_interval, next_file_check;

    struct loop_timer timer; /* the next lookup */
    struct rest_call *call;
    int64_t lookup_interval;
    bool looks_up;  /* something has to be looked up */
    bool looked_up; /* the first lookup is done, successful or not */
    bool failing;   /* the failure has been logged */
    struct metrics *metrics;
    void (*on_lookup_failed)(void *ctx, const struct err *err);
    void *ctx;
    void (*on_first)(struct authn_trust *trust); /* the first lookup is done, successful or not */
};

int authn_trust_init(struct authn_trust *trust, struct loop *loop, struct rest_client *client,
                     const struct authn_options *options, struct err *reterr) MUST_CHECK;
void authn_trust_release(struct authn_trust *trust);
/* Reloads files that have changed. */
void authn_trust_refresh(struct authn_trust *trust);

/* Copies the user in the headers into the arena; false if there is none. */
bool authn_proxy_user(const struct authn_proxy *proxy, const struct http_headers *headers,
                      struct arena *a, struct user_info *ret_user);
/* A deep copy in the arena. */
struct authn_proxy authn_proxy_copy(const struct authn_proxy *proxy, struct arena *a);
bool authn_proxy_allows(const struct authn_proxy *proxy, struct str common_name);

#endif
