/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dynamic_resources.h - the parts of DynamicResources.
 *
 * Purpose:   pods with ResourceClaims get nodes whose devices can satisfy them, and the claims are
 *            allocated and reserved before the pod is bound. A pod without claims may request
 *            devices as extended resources; a claim is then made for it.
 *
 *              plugin.c     lifecycle, PreEnqueue
 *              shared.c     what all profiles share: claims, classes, devices
 *              hints.c      events and queueing hints
 *              pre_filter.c which claims the pod has and what remains to be allocated
 *              filter.c     Filter and Score
 *              extended.c   extended resources as requests of a claim
 *              node_allocatable.c  devices that take cpu and memory of their node
 *              reserve.c    Reserve, Unreserve, PostFilter
 *              pre_bind.c   PreBind: the writes; device_wait.c: the wait for binding conditions
 *              claim_writes.c  texts of the writes, and removal of claims
 *
 * Ownership: an instance owns its operations in PreBind. A cycle's state owns references on the
 *            pod's claims.
 * Threading: the engine's thread; Filter and Score on the pool's threads, where a state is read
 *            except for what belongs to the node.
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_H

#include <stdatomic.h>

#include "api/node_selector.h"
#include "engine/framework/framework.h"
#include "plugins/common/extended_classes.h"
#include "plugins/common/plugin_base.h"
#include "plugins/dynamic_resources/allocator.h"
#include "plugins/dynamic_resources/pod_claims.h"

/* The name of a claim for extended resources until it is created: not valid for an object. */
#define SPECIAL_CLAIM_NAME "<extended-resources>"

/* --- shared by all profiles ------------------------------------------------------------------- */

struct dra_shared {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct claim_cache claims;
    struct devices *devices;
    VEC(struct claim_removal *) removals; /* under way: claim_writes.c */
    VEC(struct claim_binding *) orphans;  /* cancelled, with a request under way: pre_bind.c */
};

extern const struct berth_shared_type dra_shared_type;
/* NULL if DynamicResourceAllocation is off. */
struct dra_shared *dra_shared(const struct berth_host *host, struct berth_handle *h);

/* --- the plugin ------------------------------------------------------------------------------- */

struct dra_gates {
    bool prioritized_list;
    bool binding_conditions; /* with device status */
    bool of_groups;          /* DRAWorkloadResourceClaims */
    bool node_allocatable;   /* DRANodeAllocatableResources */
    bool pod_level_resources;
};

enum dra_reason {
    DRA_UNAVAILABLE,
    DRA_NO_DEVICES,
    DRA_STALE_EXTENDED_CLAIM,
    DRA_CANNOT_FIT,
    DRA_INVALID_POOLS,
    DRA_REASONS,
};

struct dynamic_resources {
    const struct berth_host *host;
    struct berth_handle *handle;
    const struct engine_log *log;
    struct dra_shared *shared;
    const struct extended_classes *classes; /* NULL: DRAExtendedResource is off */
    struct dra_gates gates;
    int64_t filter_timeout; /* ns; 0: none */
    int64_t binding_timeout;
    berth_state_key key;
    berth_reason reasons[DRA_REASONS];
    VEC(struct claim_binding *) bindings; /* in PreBind: pre_bind.c */
};

/* --- a cycle's state -------------------------------------------------------------------------- */

/* A claim of the pod. */
struct used_claim {
    struct object *object; /* referenced */
    const struct resource_claim *claim;
    bool limited;          /* it is allocated, for the nodes of available_on */
    bool to_allocate;      /* it is one of the allocator's claims */
    bool named_again;      /* by a later entry; set with DRANodeAllocatableResources */
    struct str entry_name; /* in the pod's spec; text in the state's arena */
    struct node_terms available_on;
    /* Its allocation that is not written yet; NULL: it needs none, or has none yet. */
    struct allocations *owner; /* referenced */
    const struct allocation_result *allocation;
    struct resource_claim_consumer_reference consumer; /* texts in the state's arena */
    bool pending;                                      /* this pod is one of its sharers */
    atomic_bool unavailable;                           /* on at least one node, says Filter */
};

/* An extended resource that the pod requests and that a class may provide. */
struct extended_request {
    struct str resource;
    atom_t name;  /* of resource */
    bool devices; /* a class provides it */
};

/* status.nodeAllocatableResourceClaimStatuses of a pod; sorted by claim. */
struct node_claims {
    struct node_allocatable_resource_claim_status *v;
    size_t n;
    bool mapped; /* some device has mappings, even if none applies */
};

struct claims_state {
    struct dynamic_resources *plugin;
    struct arena arena;
    struct used_claim *v;
    size_t n;
    bool has_extended; /* the last one is for extended resources */
    size_t n_unallocated, n_allocated;

    struct allocator *allocator; /* NULL: nothing to allocate */
    const struct resource_claim **to_allocate;
    size_t n_to_allocate;              /* claims of `allocator` */
    bool allocates_extended;           /* the last of them is for extended resources */
    bool scores;                       /* a claim has alternatives */
    int64_t fixed_score;               /* of the claims that are allocated */
    bool takes_of_node;                /* devices may take cpu and memory of their node */
    struct extended_request *extended; /* sorted by name */
    size_t n_extended;
    /* What Filter found out about nodes, by slot. */
    _Atomic uint64_t *allocatable; /* a set: everything can be allocated; NULL: nothing has to be */
    int64_t *points;               /* of a node of the set: its score; NULL: 0 */
    size_t n_nodes;

    /* Of the last Reserve; kept for the next one on the same node. */
    char *reserved_node;
    struct allocations *reserved;
    struct allocation_result *results; /* one for each of to_allocate */
    const struct container_extended_resource_request *mappings;
    size_t n_mappings;
    struct node_claims node_claims;
    bool wrote_node_claims;   /* to the pod's status, or tried to */
    struct str extended_spec; /* JSON of the spec of the claim to be created */
    struct str initial_uid;   /* of the extended claim in PreFilter */
};

/* NULL if PreFilter did not run; without claims `n` is 0. */
struct claims_state *dra_state(const struct dynamic_resources *self,
                               const struct berth_cycle *cycle);
/* NULL if there is none. */
static inline struct used_claim *dra_extended_claim(const struct claims_state *s)
{
    return s->has_extended ? &s->v[s->n - 1] : NULL;
}
/* Did Filter find out that everything can be allocated on the node? */
static inline bool dra_is_allocatable(const struct claims_state *s, size_t slot)
{
    return slot < s->n_nodes &&
           atomic_load_explicit(&s->allocatable[slot / 64], memory_order_relaxed) >> (slot % 64) &
               1;
}
static inline bool claim_is_special(const struct resource_claim *claim)
{
    return str_is(claim->metadata.name, SPECIAL_CLAIM_NAME);
}
static inline struct pod_claim_rules dra_rules(const struct dynamic_resources *self)
{
    return (struct pod_claim_rules){&self->shared->claims, self->gates.of_groups};
}
int64_t dra_fixed_score(const struct claims_state *s);
/* Replaces the object of a claim. */
void used_claim_set(struct used_claim *c, struct object *claim);

/* --- extension points ------------------------------------------------------------------------- */

void dra_events(void *ctx, struct berth_registrar *r);
enum berth_code dra_pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_status *status);
enum berth_code dra_filter(void *ctx, const struct berth_cycle *cycle, const struct berth_pod *pod,
                           const struct berth_node *node, struct berth_status *status);
enum berth_code dra_filter_many(void *ctx, const struct berth_cycle *cycle,
                                const struct berth_pod *pod, struct berth_filter_batch *batch,
                                struct berth_status *status);
enum berth_code dra_score(void *ctx, const struct berth_cycle *cycle, const struct berth_pod *pod,
                          const struct berth_node *node, int64_t *ret_score,
                          struct berth_status *status);
enum berth_code dra_score_many(void *ctx, const struct berth_cycle *cycle,
                               const struct berth_pod *pod, struct berth_score_batch *batch,
                               struct berth_status *status);
enum berth_code dra_post_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_status *status);
enum berth_code dra_reserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_str node_name, struct berth_status *status);
void dra_unreserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                   struct berth_str node_name);
enum berth_code dra_pre_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                             struct berth_str node_name, berth_op op, struct berth_status *status);
void dra_pre_bind_cancel(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                         berth_op op);
/* Both free operations that have not ended. */
void dra_drop_bindings(struct dynamic_resources *self);
void dra_drop_orphans(struct dra_shared *shared);

/* --- extended resources: extended.c ----------------------------------------------------------- */

/* Requests of a claim that provides extended resources, and which container uses which. */
struct extended_claim {
    LIST(struct device_request) requests;
    LIST(struct container_extended_resource_request) mappings;
};

/* Fills state->extended; returns false if no class provides any of the pod's resources. */
bool extended_requests_find(struct claims_state *s, const struct pod *pod);
/* The requests for those resources that the node does not provide itself; node NULL: for all. */
void extended_claim_make(const struct claims_state *s, const struct pod *pod,
                         const struct berth_node *node, struct arena *a,
                         struct extended_claim *ret);
/* Allocatable of a scalar resource; *ret_exists: the node lists it. */
int64_t node_scalar(const struct berth_node *node, atom_t name, bool *ret_exists);

/* --- resources of the node: node_allocatable.c ------------------------------------------------ */

/*
 * What the claims take of their node. results: one per claim of the allocator. -1 with the reason
 * in *why if a device is gone or does not say how much.
 */
int node_claims_collect(const struct claims_state *s, const struct pod *pod,
                        const struct allocation_result *results, struct arena *a,
                        struct node_claims *ret, struct buf *why);
/* Does the node have that, besides the pod's requests? Any thread. */
enum berth_code node_claims_check(const struct claims_state *s, const struct pod *pod,
                                  const struct berth_node *node,
                                  const struct allocation_result *results, struct arena *a,
                                  struct berth_status *status);
/* A claim that is allocated may be used by one pod of the node only, if it takes of the node. */
enum berth_code node_claims_check_sharing(const struct claims_state *s, const struct pod *pod,
                                          const struct berth_node *node,
                                          const struct used_claim *claim,
                                          struct berth_status *status);
/* struct berth_cycle.claim: finds the devices of the node, which Reserve then takes. */
void dra_claim(struct berth_cycle *cycle, void *ctx, struct berth_pod *assumed);

/* --- binding conditions: binding_conditions.c ------------------------------------------------- */

enum claim_readiness { CLAIM_READY, CLAIM_NOT_READY, CLAIM_BINDING_FAILED };
/* CLAIM_BINDING_FAILED appends upstream's text to *why; NULL is allowed. */
enum claim_readiness claim_readiness(const struct resource_claim *claim, struct buf *why);
bool claim_has_binding_conditions(const struct resource_claim *claim);
bool claim_binding_timed_out(const struct dynamic_resources *self,
                             const struct resource_claim *claim);

/* --- writes: claim_writes.c ------------------------------------------------------------------- */

#define RESOURCE_API "resource.k8s.io/v1"

/* PATCH of a claim; subresource empty: of the claim itself. done NULL: errors are logged. */
uint64_t claim_patch(struct dra_shared *shared, const struct object_meta *claim,
                     struct str subresource, enum berth_patch type, struct str body,
                     berth_api_done_fn *done, void *ctx);
uint64_t claim_read(struct dra_shared *shared, const struct object_meta *claim,
                    berth_api_done_fn *done, void *ctx);
/* PATCH of the status of a pod; done NULL: errors are logged. */
uint64_t dra_patch_pod(struct dra_shared *shared, const struct object_meta *pod, struct str body,
                       berth_api_done_fn *done, void *ctx);
/* Upstream: clearNodeAllocatableResourceClaimStatus. */
void pod_clear_node_claims(struct dra_shared *shared, const struct object_meta *pod);
bool claim_has_finalizer(const struct resource_claim *claim);
/* Removes one entry of reservedFor, without knowing the latest claim, as upstream does. */
void claim_unreserve(struct dra_shared *shared, const struct object_meta *claim, struct str uid);
/* Upstream: deallocation in PostFilter. */
void claim_deallocate(struct dra_shared *shared, const struct resource_claim *claim);
/* Removes the finalizer, then deletes the claim; tries again after a conflict. */
void claim_remove(struct dra_shared *shared, struct object *claim);
void claim_removals_release(struct dra_shared *shared);

/* Bodies of patches. */
void claim_finalizer_body(const struct resource_claim *claim, bool with, struct buf *out);
struct claim_status_change {
    const struct allocation_result *allocation; /* NULL: unchanged */
    struct timestamp allocation_timestamp;      /* not set: unchanged */
    const struct resource_claim_consumer_reference *consumer;
};
/* Returns the type of the patch. */
enum berth_patch claim_status_body(const struct resource_claim *claim,
                                   const struct claim_status_change *change, struct buf *out);

#endif
