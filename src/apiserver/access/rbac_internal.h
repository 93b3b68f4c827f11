/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbac_internal.h - roles and bindings as rbac.c keeps them; for rbac.c and escalation.c only.
 *
 * Purpose:   the structs, and what a decision and an escalation check share.
 * Ownership: each role and binding has an arena of its own.
 * Threading: as rbac.h.
 */
#ifndef BERTH_APISERVER_ACCESS_RBAC_INTERNAL_H
#define BERTH_APISERVER_ACCESS_RBAC_INTERNAL_H

#include "api/selector.h"
#include "apiserver/access/rbac.h"
#include "base/vec.h"

struct role {
    struct arena arena;
    struct str key; /* "NAMESPACE/NAME"; "/NAME": a ClusterRole */
    struct str name;
    str_map labels;
    struct rbac_rules own; /* as stored */
    struct selector *selectors;
    size_t n_selectors;
    bool aggregated;
    /* Of an aggregated role: the rules of the roles that it selects; borrowed from these. */
    bool stale;
    VEC(const struct rbac_rule *) gathered;
    uint64_t visited; /* by which walk */
};

struct subject {
    struct str kind, name, namespace;
    struct str key; /* in rbac.subjects; empty: the subject is never anyone */
};

struct binding {
    struct arena arena;
    struct str key; /* "NAMESPACE/NAME"; "/NAME": a ClusterRoleBinding */
    struct str namespace, name;
    struct str role_kind, role_name;
    struct subject *subjects;
    size_t n_subjects;
};

/* The bindings that name one subject, in one namespace or ("") cluster-wide. */
struct subject_bindings {
    VEC(struct binding *) bindings;
    struct str key;
    char text[];
};

struct rbac {
    struct map roles, bindings; /* key → struct role, struct binding */
    VEC(struct role *) aggregated;
    struct map subjects; /* key → struct subject_bindings */
    struct arena scratch;
    uint64_t walk;
};

/* NULL if there is none. */
struct role *rbac_role(const struct rbac *rbac, struct str kind, struct str namespace,
                       struct str name);
/* The rules in force. */
struct rbac_rules rbac_role_rules(const struct rbac *rbac, struct role *role);

#endif
