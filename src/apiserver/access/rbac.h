/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbac.h - who may do what: roles and bindings, evaluated as upstream does.
 *
 * Purpose:   answers whether a user may make a request, from Roles, ClusterRoles (aggregated ones
 *            too) and their bindings in the store; the rules of a user for SelfSubjectRulesReview;
 *            escalation and bind checks. Bindings are indexed by subject, so that a decision reads
 *            only those of the user and its groups. The roles and bindings that a new cluster
 *            begins with are in bootstrap.h.
 * Ownership: keeps what it needs of the objects that it is told of.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_ACCESS_RBAC_H
#define BERTH_APISERVER_ACCESS_RBAC_H

#include "apiserver/store/store.h"
#include "codec/json_value.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

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

bool api_user_in_group(const struct api_user *user, struct str group);

struct rbac;

struct rbac *rbac_new(void) __attribute__((returns_nonnull));
struct rbac *rbac_free(struct rbac *rbac);
/* A change of the store; those of other resources are ignored. */
void rbac_changed(struct rbac *rbac, const struct store_event *event);

/*
 * system:masters may do everything. ret_why, in the arena, may be NULL: the reason of a grant, or
 * what was wrong with the roles of a refused user; empty if there is no reason.
 */
bool rbac_allows(const struct rbac *rbac, const struct api_user *user,
                 const struct access_attributes *what, struct arena *a, struct str *ret_why);

/* "User "x" cannot list resource "pods" in API group "" in the namespace "y"", and the reason. */
struct str access_forbidden_text(const struct api_user *user, const struct access_attributes *what,
                                 struct str why, struct arena *a);

/* --- rules ------------------------------------------------------------------------------------ */

struct rbac_list {
    const struct str *v;
    size_t n;
};

/* One rule of a role. */
struct rbac_rule {
    struct rbac_list verbs, groups, resources, names, urls;
    unsigned verb_mask; /* the usual verbs, to leave quickly; private */
    uint64_t hash;      /* of everything; private */
};

struct rbac_rules {
    const struct rbac_rule *const *v;
    size_t n;
};

/* Reads a PolicyRule; texts are copied into the arena. Members of other types count as empty. */
void rbac_rule_read(const struct json_value *v, struct arena *a, struct rbac_rule *ret_rule);
void rbac_rule_write(const struct rbac_rule *rule, struct buf *out);
bool rbac_rule_allows(const struct rbac_rule *rule, const struct access_attributes *what);
bool rbac_rule_equal(const struct rbac_rule *a, const struct rbac_rule *b);
/*
 * The rules of `servant` that no rule of `owner` covers, broken down to one group, resource, verb
 * and name each. -E2BIG if that makes too many.
 */
int rbac_uncovered(struct rbac_rules owner, struct rbac_rules servant, struct arena *a,
                   struct rbac_rules *ret_missing) MUST_CHECK;

/*
 * All rules of a user in a namespace; "": those of ClusterRoleBindings only. Borrowed until the
 * next change; the array is in the arena. ret_error: roles that do not exist; "": none.
 */
void rbac_rules_for(const struct rbac *rbac, const struct api_user *user, struct str namespace,
                    struct arena *a, struct rbac_rules *ret_rules, struct str *ret_error);

/* --- escalation ------------------------------------------------------------------------------- */

/* A create or update of a Role, ClusterRole, RoleBinding or ClusterRoleBinding. */
struct rbac_write {
    struct str resource;             /* "roles", … */
    struct str namespace;            /* of the request */
    struct str name;                 /* in the URL; "": a create */
    const struct json_value *object; /* as it will be stored */
    const struct json_value *old;    /* NULL: a create */
};

/*
 * Nobody grants rights that they do not have, unless they may "escalate" the role or "bind" it.
 * Returns 0, or the code of HTTP and in *ret_why the reason: 403, for which the caller makes a
 * Forbidden status, or 404 with the whole message: the bound role does not exist.
 */
int rbac_check_write(const struct rbac *rbac, const struct api_user *user,
                     const struct rbac_write *write, struct arena *a, struct str *ret_why);

/* --- aggregation ------------------------------------------------------------------------------ */

/*
 * A ClusterRole with an aggregationRule has the rules of the ClusterRoles that it selects, and
 * decisions use these at once. A controller writes them to the object: this returns the first
 * role whose stored rules differ, by name, and its rules as a JSON array; false if there is none.
 */
bool rbac_stale_role(const struct rbac *rbac, struct arena *a, struct str *ret_name,
                     struct str *ret_rules);

#endif
