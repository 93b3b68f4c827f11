/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota_view.h - the quotas as one attempt sees them (upstream: ElasticQuotaSnapshotState,
 * PreFilterState).
 *
 * Purpose:   what the pod requests, alone and with nominated pods, and the pods that a dry run adds
 *            to the ledger or removes from it. Upstream copies all quotas for each node; here a
 *            copy has the differences only.
 * Ownership: a view is data of a cycle state; requests are in the cycle's arena, the rest is its
 *            own. Borrows the ledger and the pods of the dry run.
 * Threading: one thread at a time, each dry run with its own copy.
 */
#ifndef BERTH_PLUGINS_SIGS_QUOTA_VIEW_H
#define BERTH_PLUGINS_SIGS_QUOTA_VIEW_H

#include "plugins/sigs/quotas.h"

struct quota_view {
    const struct quotas *quotas;
    struct resources request;  /* of the pod */
    struct resources in_quota; /* with more important nominated pods of its namespace */
    struct resources in_all;   /* also with those of other quotas that do not borrow */
    struct map pods;           /* by UID, to struct quota_move: added or removed */
    struct map changes;        /* by namespace, to struct quota_change */
    struct resource change;    /* the sum of these */
};

struct quota_view *quota_view_new(const struct quotas *quotas);
/* For host->state_write. */
void *quota_view_clone(const void *view);
void quota_view_free(void *view);

/* A dry run puts a pod on a node or takes it away. arena: for its request. */
void quota_view_add(struct quota_view *view, const struct pod *pod, struct arena *arena);
void quota_view_remove(struct quota_view *view, const struct pod *pod);
/* What the dry run changes of the namespace's used; NULL: nothing. */
const struct resource *quota_view_change(const struct quota_view *view, struct str namespace);

#endif
