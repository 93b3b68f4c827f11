/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authorization.h - which authorizers decide about requests.
 *
 * Purpose:   the modes of kube-apiserver's --authorization-mode. RBAC grants and never refuses, so
 *            the order of modes does not matter: a request is allowed if one of them allows it.
 * Ownership: modes are bits; texts are in the caller's arena.
 * Threading: that of the rbac.
 */
#ifndef BERTH_APISERVER_ACCESS_AUTHORIZATION_H
#define BERTH_APISERVER_ACCESS_AUTHORIZATION_H

#include "apiserver/access/rbac.h"

enum authorization_mode {
    AUTHORIZATION_RBAC = 1 << 0,
    AUTHORIZATION_ALWAYS_ALLOW = 1 << 1,
    AUTHORIZATION_ALWAYS_DENY = 1 << 2, /* has no opinion but a reason */
    AUTHORIZATION_NODE = 1 << 3,        /* accepted; nodes have the rights of their roles */
};

/* Names separated by commas: "RBAC,AlwaysAllow". -EINVAL: a name is wrong, repeated or missing. */
int authorization_parse(struct str names, unsigned *ret_modes, struct err *reterr) MUST_CHECK;

/* As rbac_allows. system:masters may do everything in every mode. */
bool authorization_allows(unsigned modes, const struct rbac *rbac, const struct api_user *user,
                          const struct access_attributes *what, struct arena *a,
                          struct str *ret_why);

#endif
