/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authn.h - authentication of requests.
 *
 * Purpose:   upstream's delegated authentication, in upstream's order: request headers of a front
 *            proxy with a trusted client certificate, a client certificate, a bearer token by
 *            TokenReview, and otherwise system:anonymous. CAs come from files, which are reloaded
 *            when they change, or from the ConfigMap
 *            kube-system/extension-apiserver-authentication, which is polled.
 * Ownership: the caller owns authn; freeing it cancels all calls. Options are copied, except kube,
 *            which must outlive it.
 * Threading: the loop's thread. Nothing blocks.
 */
#ifndef BERTH_SERVE_AUTHN_H
#define BERTH_SERVE_AUTHN_H

#include "api/authentication.h"
#include "base/metrics.h"
#include "kube/auth/client.h"
#include "net/http_server.h"

struct authn;
struct authn_call;

typedef LIST(struct str) authn_names;

/* Front proxies: their names, and the headers that they use. */
struct authn_proxy {
    authn_names allowed_names; /* common names; empty: any that the CA has signed */
    authn_names username_headers, uid_headers, group_headers, extra_prefixes;
};

struct authn_options {
    const struct kube_config *kube;     /* NULL: no tokens and no lookup */
    const char *client_ca_file;         /* NULL or "": looked up */
    const char *request_header_ca_file; /* NULL or "": looked up, with the headers' names */
    struct authn_proxy proxy;           /* used with request_header_ca_file */
    bool skip_lookup;
    int64_t token_ttl;       /* how long a TokenReview is cached, ns; 0: not at all */
    int64_t timeout;         /* of one review, ns; 0: 10 s */
    int64_t file_interval;   /* minimum time between two checks of the files, ns; 0: 2 s */
    int64_t lookup_interval; /* ns; 0: 60 s */
    struct metrics *metrics; /* NULL: none */
    /* Called if the first lookup fails; NULL: tolerated. */
    void (*on_lookup_failed)(void *ctx, const struct err *err);
    void *ctx;
};

/* Reads the files and starts the lookup. */
int authn_new(struct loop *loop, const struct authn_options *options, struct authn **ret_authn,
              struct err *reterr) MUST_CHECK;
/* Cancels all calls. NULL is allowed; returns NULL. */
struct authn *authn_free(struct authn *authn);

enum authn_verdict {
    AUTHN_OK,
    AUTHN_REFUSED, /* an invalid certificate or token: 401 */
    AUTHN_BUSY,    /* too many reviews are waiting, or this one waited too long */
};

/* user: with AUTHN_OK only; valid until it returns. */
typedef void authn_fn(void *ctx, enum authn_verdict verdict, const struct user_info *user);

/*
 * Calls fn once: before this returns NULL, or later, unless the call is cancelled. x must live
 * until then.
 */
struct authn_call *authn_check(struct authn *authn, const struct http_exchange *x, authn_fn *fn,
                               void *ctx);
struct authn_call *authn_cancel(struct authn_call *call); /* NULL is allowed; returns NULL */

#endif
