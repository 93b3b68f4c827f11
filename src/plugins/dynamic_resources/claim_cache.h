/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_cache.h - ResourceClaims as this scheduler knows them (upstream: the claim tracker).
 *
 * Purpose:   the claims of the watch, replaced by newer ones that this scheduler has written and
 *            the watch has not shown yet; and allocations that are decided but not written. Both
 *            are what makes a device used. Claims made for the extended resources of a pod are
 *            found by their pod.
 * Ownership: holds a reference on each claim and each pending allocation.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_CACHE_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_CACHE_H

#include "api/object.h"
#include "api/resource_claim.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

/* Memory of allocations that were decided together; refcounted. */
struct allocations {
    uint32_t refs;
    struct arena arena;
};

struct allocations *allocations_new(void);
struct allocations *allocations_ref(struct allocations *a);
/* NULL is allowed. Returns NULL. */
struct allocations *allocations_unref(struct allocations *a);

/* A claim whose allocation is decided, but not written. */
struct pending_allocation {
    char *uid; /* of the claim */
    struct allocations *owner;
    const struct allocation_result *result; /* in there */
    uint32_t sharers;                       /* pods that wait for it */
    /* By a member of the group that is being tried: other members may share it. */
    bool by_group;
};

/* What an allocation means for devices: sign 1, it counts; -1, it does no longer. */
typedef void allocation_fn(void *ctx, const struct allocation_result *allocation, int sign);

/* Waits for a change of one claim; part of what waits. */
struct claim_watcher {
    void (*fn)(struct claim_watcher *w); /* the claim was changed, added or deleted */
    struct claim_watchers *list;         /* where it waits; NULL: nowhere */
    size_t index;
};

struct claim_cache {
    struct map by_name;  /* "namespace/name", to struct claim_entry */
    struct map extended; /* UID of the pod, to struct claim_entry: see claim_cache_extended */
    struct map pending;  /* UID of the claim, to struct pending_allocation */
    allocation_fn *on_allocation;
    void *ctx;
    struct map watchers; /* "namespace/name", to struct claim_watchers */
    struct buf key;      /* scratch */
};

/* on_allocation is called for each allocation that begins or ends to count; NULL is allowed. */
void claim_cache_init(struct claim_cache *c, allocation_fn *on_allocation, void *ctx);
void claim_cache_release(struct claim_cache *c);

/* The watch: before NULL, an addition; after NULL, a deletion. An older version is ignored. */
void claim_cache_changed(struct claim_cache *c, struct object *before, struct object *after);

/* NULL if there is none. Borrowed. */
struct object *claim_cache_get(struct claim_cache *c, struct str namespace, struct str name);
/* The claim made for the extended resources of the pod; NULL if none (upstream:
 * findExtendedResourceClaim). */
struct object *claim_cache_extended(const struct claim_cache *c, const struct object_meta *pod);

/*
 * The claim as it was written: it counts until the watch shows this or a newer version. -ENOENT:
 * the watch has not shown the claim; -ESTALE: the watch shows a newer one (upstream: Assume).
 */
int claim_cache_assume(struct claim_cache *c, struct object *claim) MUST_CHECK;
/* Back to the version of the watch. */
void claim_cache_restore(struct claim_cache *c, struct str namespace, struct str name);

/* NULL if none. */
struct pending_allocation *claim_cache_pending(const struct claim_cache *c, struct str uid);
/* Takes a reference on the owner. If the claim is pending already, this pod shares it. */
void claim_cache_add_pending(struct claim_cache *c, struct str uid, struct allocations *owner,
                             const struct allocation_result *result, bool by_group);
/* One pod less waits; with `all`, none does. Returns whether it is no longer pending. */
bool claim_cache_drop_pending(struct claim_cache *c, struct str uid, bool all);

/* Calls w->fn once, at the next change of the claim, which need not exist. */
void claim_cache_watch(struct claim_cache *c, struct claim_watcher *w, struct str namespace,
                       struct str name);
void claim_cache_unwatch(struct claim_cache *c, struct claim_watcher *w);

#endif
