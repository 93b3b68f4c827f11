/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quotas.h - ElasticQuotas and what the pods of their namespaces use (upstream: ElasticQuotaInfos).
 *
 * Purpose:   the ledger of CapacityScheduling: min, max and used of each namespace with an
 *            ElasticQuota, and the sums of min and used over all of them. It learns of quotas and
 *            of assigned pods from the watch, and of others by Reserve and Unreserve. One for all
 *            profiles.
 * Ownership: owns copies of amounts and references on the ElasticQuotas.
 * Threading: changed by the engine's thread between cycles; any thread may read during one.
 */
#ifndef BERTH_PLUGINS_SIGS_QUOTAS_H
#define BERTH_PLUGINS_SIGS_QUOTAS_H

#include "engine/framework/framework.h"

/* Of quota_status.h. */
struct quota_status {
    struct quotas *quotas;
    bool dirty;    /* status.used may be out of date */
    bool failed;   /* the last write did */
    uint64_t call; /* the write under way; 0: none */
};

/* The ledger of a namespace. */
struct quota {
    struct str namespace;
    VEC(const struct berth_object *) objects; /* the oldest counts */
    struct arena arena;                       /* of max */
    struct resource min, used;
    struct resources max;    /* a scalar that is not listed is not limited */
    struct map pods;         /* by UID, to struct quota_pod: those that are part of used */
    bool uncounted;          /* pods that ran before the quota was seen are not part of used yet */
    struct resource running; /* of these, what pods use whose phase is Running */
    struct quota_status status; /* of the writes of status.used */
};

struct quotas {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct berth_lister *lister; /* of ElasticQuotas */
    struct cache *cache;
    struct intern *names;    /* of scalar resources */
    struct map by_namespace; /* to struct quota */
    struct resource min, used;
    bool uncounted; /* a quota is */
    uint64_t timer; /* until statuses are written; 0: none */
};

/* The ledger as state that instances of the plugin share; data is a struct quotas. */
extern const struct berth_shared_type quotas_type;

/* For pre_filter: counts the pods of quotas that are new. */
void quotas_refresh(struct quotas *quotas);
/* The quota of the namespace; NULL: it has none. */
const struct quota *quotas_find(const struct quotas *quotas, struct str namespace);
/* Reserve and Unreserve. Adding a pod that counts already, or removing another one, does nothing.
 */
void quotas_add_pod(struct quotas *quotas, const struct pod *pod);
void quotas_remove_pod(struct quotas *quotas, const struct pod *pod);
/* The ElasticQuota that counts. */
const struct berth_object *quota_object(const struct quota *quota);
/* What a pod counts with; NULL: it does not count. */
const struct resource *quota_pod_amounts(const struct quota *quota, struct str uid);

/*
 * What a pod requests from its quota: of each resource the sum of its containers or the largest
 * init container, and the overhead. Unlike its request of a node, a sidecar counts as an init
 * container. Upstream rounds each container up.
 */
void quota_request(const struct pod *pod, struct arena *a, struct resources *ret_request);
/* *sum += more; the list is in the arena. */
void quota_request_add(struct resources *sum, const struct resources *more, struct arena *a);

/*
 * A list of amounts in an ElasticQuota, "spec.min", sorted; keys are the object's. False: it has no
 * such list. An amount that cannot be read is logged and left out.
 */
bool quota_read_list(const struct quotas *quotas, const struct berth_object *object,
                     const char *path, struct arena *a, quantity_map *ret_list);

/* --- comparisons ------------------------------------------------------------------------------ */

/* "change" is added to what is used: of a dry run; NULL: none. Scalars have the ledger's names. */

/* Does used + request exceed max or min? Of scalars, only those that are requested count. */
bool quota_exceeds_max(const struct quotas *quotas, const struct quota *quota,
                       const struct resource *change, const struct resources *request);
bool quota_exceeds_min(const struct quotas *quotas, const struct quota *quota,
                       const struct resource *change, const struct resources *request);
/* Does it use more than its min: does it borrow? */
bool quota_borrows(const struct quotas *quotas, const struct quota *quota,
                   const struct resource *change);
/* Do all quotas together, with the request, use more than the sum of their mins? */
bool quotas_exceed_min(const struct quotas *quotas, const struct resource *change,
                       const struct resources *request);

#endif
