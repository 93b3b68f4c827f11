/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authn_internal.h - what the files of authn share; nobody else includes it.
 *
 * Purpose:   authn.c goes through the ways to authenticate; authn_proxy.c reads a front proxy's
 *            headers; authn_lookup.c keeps CAs and names fresh from files and the cluster.
 * Ownership: as in authn.h.
 * Threading: the loop's thread.
 */
#ifndef BERTH_SERVE_AUTHN_INTERNAL_H
#define BERTH_SERVE_AUTHN_INTERNAL_H

#include "kube/file.h"
#include "kube/rest/rest.h"
#include "serve/authn.h"

/* A bundle of CAs from a file. */
struct authn_ca_file {
    char *path; /* NULL: not from a file */
    struct file_stamp stamp;
};

/* Whom to believe now. */
struct authn_trust {
    struct loop *loop;
    struct rest_client *client; /* borrowed; NULL: no lookup */
    struct tls_trust *clients;  /* NULL: client certificates are not looked at */
    struct tls_trust *proxies;  /* NULL: the headers are not looked at */
    struct arena arena;         /* of proxy */
    struct authn_proxy proxy;
    struct authn_ca_file client_ca, proxy_ca;
    int64_t file_interval, next_file_check;

    struct loop_timer timer; /* the next lookup */
    struct rest_call *call;
    int64_t lookup_interval;
    bool looks_up, looked_up; /* there is something to look up; it has been tried */
    bool failing;             /* told already */
    struct metrics *metrics;
    void (*on_lookup_failed)(void *ctx, const struct err *err);
    void *ctx;
    void (*on_first)(struct authn_trust *trust); /* the first lookup is over, one way or another */
};

int authn_trust_init(struct authn_trust *trust, struct loop *loop, struct rest_client *client,
                     const struct authn_options *options, struct err *reterr) MUST_CHECK;
void authn_trust_release(struct authn_trust *trust);
/* Reads files again that have changed. */
void authn_trust_refresh(struct authn_trust *trust);

/* The user that the headers name, into the arena; false where they name none. */
bool authn_proxy_user(const struct authn_proxy *proxy, const struct http_headers *headers,
                      struct arena *a, struct user_info *ret_user);
/* Copies everything into the arena. */
struct authn_proxy authn_proxy_copy(const struct authn_proxy *proxy, struct arena *a);
bool authn_proxy_allows(const struct authn_proxy *proxy, struct str common_name);

#endif
