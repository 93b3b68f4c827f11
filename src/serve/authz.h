/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authz.h - may this user do that with a path of ours?
 *
 * Purpose:   upstream's delegated authorisation: groups and paths that are always allowed, and a
 *            SubjectAccessReview for everybody else, whose answers are kept for some seconds.
 * Ownership: belongs to its maker, who cancels what is under way or frees it with the rest. Options
 *            are copied, except kube, which must outlive it.
 * Threading: the loop's thread. Nothing here waits.
 */
#ifndef BERTH_SERVE_AUTHZ_H
#define BERTH_SERVE_AUTHZ_H

#include "api/authentication.h"
#include "base/metrics.h"
#include "kube/auth/client.h"
#include "net/loop.h"

struct authz;
struct authz_call;

struct authz_options {
    const struct kube_config *kube; /* NULL: what is not always allowed is forbidden */
    /* Exact, or a prefix that ends in '*'; with or without the leading '/'. */
    const struct str *always_allow_paths;
    size_t n_always_allow_paths;
    const struct str *always_allow_groups;
    size_t n_always_allow_groups;
    int64_t authorized_ttl, unauthorized_ttl; /* ns */
    int64_t timeout;                          /* of one review; 0: 10 s */
    struct metrics *metrics;                  /* NULL: nothing is counted */
};

/* -EINVAL where a path has a '*' elsewhere than at its end. */
int authz_new(struct loop *loop, const struct authz_options *options, struct authz **ret_authz,
              struct err *reterr) MUST_CHECK;
/* What is under way ends without a word. NULL is fine; returns NULL. */
struct authz *authz_free(struct authz *authz);

enum authz_verdict {
    AUTHZ_ALLOWED,
    AUTHZ_FORBIDDEN, /* nobody allows it */
    AUTHZ_DENIED,    /* somebody says no */
    AUTHZ_FAILED,    /* nobody could be asked */
    AUTHZ_BUSY,      /* too many reviews wait, or it took too long until it was this one's turn */
};

struct authz_request {
    const struct user_info *user;
    struct str from; /* the client's address without port: it tells anonymous clients apart */
    struct str verb; /* the method in lower case */
    struct str path;
};

/* why: the reason of whoever forbade it, or what failed; may be empty. Lives until it returns. */
typedef void authz_fn(void *ctx, enum authz_verdict verdict, struct str why);

/*
 * fn is called once: before this returns, which then gives NULL, or later; until then the call may
 * be cancelled. Users take turns, anonymous clients come after them (kube/reviews.h).
 */
struct authz_call *authz_check(struct authz *authz, const struct authz_request *request,
                               authz_fn *fn, void *ctx);
struct authz_call *authz_cancel(struct authz_call *call); /* NULL is fine; returns NULL */

#endif
