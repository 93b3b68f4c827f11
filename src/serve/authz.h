/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authz.h - authorization of requests.
 *
 * Purpose:   upstream's delegated authorization: some groups and paths are always allowed; all
 *            other requests need a SubjectAccessReview, which is cached for some seconds.
 * Ownership: the caller owns authz; freeing it cancels all calls. Options are copied, except kube,
 *            which must outlive it.
 * Threading: the loop's thread. Nothing blocks.
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
    const struct kube_config *kube; /* NULL: everything that is not always allowed is forbidden */
    /* A path, or a prefix followed by '*'; with or without the leading '/'. */
    const struct str *always_allow_paths;
    size_t n_always_allow_paths;
    const struct str *always_allow_groups;
    size_t n_always_allow_groups;
    int64_t authorized_ttl, unauthorized_ttl; /* ns */
    int64_t timeout;                          /* of one review, ns; 0: 10 s */
    struct metrics *metrics;                  /* NULL: none */
};

/* -EINVAL if a path has a '*' that is not its last character. */
int authz_new(struct loop *loop, const struct authz_options *options, struct authz **ret_authz,
              struct err *reterr) MUST_CHECK;
/* Cancels all calls. NULL is allowed; returns NULL. */
struct authz *authz_free(struct authz *authz);

enum authz_verdict {
    AUTHZ_ALLOWED,
    AUTHZ_FORBIDDEN, /* no authorizer allows it */
    AUTHZ_DENIED,    /* an authorizer denies it */
    AUTHZ_FAILED,    /* the review failed */
    AUTHZ_BUSY,      /* too many reviews are waiting, or this one waited too long */
};

struct authz_request {
    const struct user_info *user;
    struct str from; /* the client's address without port; identifies anonymous clients */
    struct str verb; /* the method in lower case */
    struct str path;
};

/* why: the authorizer's reason, or the error; may be empty. Valid until it returns. */
typedef void authz_fn(void *ctx, enum authz_verdict verdict, struct str why);

/*
 * Calls fn once: before this returns NULL, or later, unless the call is cancelled. Users take
 * turns; anonymous clients come after them (reviews.h).
 */
struct authz_call *authz_check(struct authz *authz, const struct authz_request *request,
                               authz_fn *fn, void *ctx);
struct authz_call *authz_cancel(struct authz_call *call); /* NULL is allowed; returns NULL */

#endif
