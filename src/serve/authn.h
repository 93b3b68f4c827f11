/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authn.h - who is asking?
 *
 * Purpose:   upstream's delegated authentication, in its order: a front proxy's headers (believed
 *            where its client certificate is), a client certificate, a bearer token by TokenReview,
 *            and else system:anonymous. CAs come from files, which are read again when they change,
 *            or from the cluster's ConfigMap kube-system/extension-apiserver-authentication, which
 *            is looked at now and then.
 * Ownership: belongs to its maker, who cancels what is under way or frees it with the rest. Options
 *            are copied, except kube, which must outlive it.
 * Threading: the loop's thread. Nothing here waits.
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

/* What a front proxy may say, and who it may be. */
struct authn_proxy {
    authn_names allowed_names; /* common names; none: any that its CA has signed */
    authn_names username_headers, uid_headers, group_headers, extra_prefixes;
};

struct authn_options {
    const struct kube_config *kube;     /* NULL: tokens are not looked at, nothing is looked up */
    const char *client_ca_file;         /* NULL or "": looked up */
    const char *request_header_ca_file; /* NULL or "": looked up, with the headers' names */
    struct authn_proxy proxy;           /* of request_header_ca_file */
    bool skip_lookup;
    int64_t token_ttl;       /* how long an answer about a token holds, ns */
    int64_t timeout;         /* of one review; 0: 10 s */
    int64_t file_interval;   /* files are looked at no more often than this; 0: 2 s */
    int64_t lookup_interval; /* 0: 60 s */
    struct metrics *metrics; /* NULL: nothing is counted */
    /* Told once where the first lookup fails; NULL: that is tolerated. */
    void (*on_lookup_failed)(void *ctx, const struct err *err);
    void *ctx;
};

/* Reads the files; -errno and one line on failure. The lookup begins and goes on by itself. */
int authn_new(struct loop *loop, const struct authn_options *options, struct authn **ret_authn,
              struct err *reterr) MUST_CHECK;
/* What is under way ends without a word. NULL is fine; returns NULL. */
struct authn *authn_free(struct authn *authn);

enum authn_verdict {
    AUTHN_OK,
    AUTHN_REFUSED, /* a certificate or token that is not good: 401 */
    AUTHN_BUSY,    /* too many reviews wait, or it took too long until it was this one's turn */
};

/* user: of AUTHN_OK; lives until it returns. */
typedef void authn_fn(void *ctx, enum authn_verdict verdict, const struct user_info *user);

/*
 * fn is called once: before this returns, which then gives NULL, or later; until then the call may
 * be cancelled. x must live until then.
 */
struct authn_call *authn_check(struct authn *authn, const struct http_exchange *x, authn_fn *fn,
                               void *ctx);
struct authn_call *authn_cancel(struct authn_call *call); /* NULL is fine; returns NULL */

#endif
