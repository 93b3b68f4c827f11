/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_claims.h - the ResourceClaims that a pod names (upstream: resourceclaim.Name, IsForPod,
 * IsReservedForPod, BindTo).
 *
 * Purpose:   finds the claims of a pod's spec, also those generated from templates, and checks that
 *            they can be used; and for whom a claim is reserved.
 * Ownership: results are borrowed.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_POD_CLAIMS_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_POD_CLAIMS_H

#include "api/pod.h"
#include "api/scheduling.h"
#include "plugins/dynamic_resources/claim_cache.h"

#define SCHEDULING_GROUP "scheduling.k8s.io"

typedef void pod_claim_fn(void *ctx, const struct pod_resource_claim *entry, struct object *claim);

struct pod_claim_rules {
    struct claim_cache *claims;
    bool of_groups; /* DRAWorkloadResourceClaims */
};

/*
 * Calls fn (NULL is allowed) for the claims of the pod in the order of its spec. Returns false and
 * appends the reason to *why if one does not exist, is being deleted, or belongs to another pod; fn
 * may have been called for others before.
 */
bool pod_claims_each(const struct pod_claim_rules *rules, const struct pod *pod, pod_claim_fn *fn,
                     void *ctx, struct buf *why);

/* by_group: a reservation for the pod's PodGroup counts, too. */
bool claim_is_reserved_for(const struct resource_claim *claim, const struct pod *pod,
                           bool by_group);

/*
 * For whom the claim is reserved when the pod is bound: the pod, or its group if that has the same
 * claim. group NULL: the pod has none. Returns false and appends to *why if the group is not valid.
 */
bool pod_claim_consumer(const struct pod *pod, const struct pod_group *group,
                        const struct pod_resource_claim *entry,
                        struct resource_claim_consumer_reference *ret, struct buf *why);
/* The i-th claim of the group's spec; NULL if it does not exist or is of another owner. */
struct object *pod_group_claim(struct claim_cache *claims, const struct pod_group *group, size_t i);
void pod_as_consumer(const struct pod *pod, struct resource_claim_consumer_reference *ret);

#endif
