/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbac.h - who may do what: roles and bindings, evaluated as upstream does.
 *
 * Purpose:   answers whether a user may make a request, from Roles, ClusterRoles (aggregated ones
 *            too) and their bindings in the store; the rules of a user for SelfSubjectRulesReview;
 *            escalation and bind checks; the roles and bindings that a new cluster begins with.
 * Ownership: keeps what it needs of the objects that it is told of.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_ACCESS_RBAC_H
#define BERTH_APISERVER_ACCESS_RBAC_H

#include "apiserver/store/store.h"

struct api_user {
    struct str name, uid;
    const struct str *groups;
    size_t n_groups;
    struct str extra; /* JSON object of lists; "": none */
};

struct access_attributes {
    struct str verb; /* "get", "deletecollection", "bind", … */
    struct str group, version, resource, subresource, namespace, name;
    struct str path; /* of a request for no resource: "/healthz" */
};

struct rbac;

struct rbac *rbac_new(void) __attribute__((returns_nonnull));
struct rbac *rbac_free(struct rbac *rbac);
/* A change of the store; those of other resources are ignored. */
void rbac_changed(struct rbac *rbac, const struct store_event *event);

/* system:masters may do everything. why, in the arena: the reason of a refusal or grant. */
bool rbac_allows(const struct rbac *rbac, const struct api_user *user,
                 const struct access_attributes *what, struct arena *a, struct str *ret_why);

#endif
