/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.h - finds devices for the claims of a pod on one node.
 *
 * Purpose:   the search of upstream's structured allocator, in its order: claims, requests,
 *            subrequests, devices by pool (driver and name; pools with binding conditions last),
 *            slice and position; the first solution counts. Which of upstream's variants is
 *            followed (stable, incubating, experimental) depends on the features, as there. Where
 *            the order of upstream is random (stable: pools and slices), it is by name here.
 * Ownership: an allocator borrows the devices and the claims, which must outlive it; it holds
 *            references on classes and selectors. Results are in the caller's arena and refer to
 *            the claims (tolerations, configuration) and to classes (configuration); everything
 *            else is copied.
 * Threading: made and freed by the engine's thread; allocator_allocate runs for several nodes on
 *            several threads at once. Objects may change between calls: each call sees the devices
 *            as they are.
 *
 * In a plugin: PreFilter makes the allocator for the claims without allocation, Filter asks
 * for a verdict (arena NULL: nothing is built, which is cheap) or for the result, Reserve takes the
 * result with devices_take.
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_ALLOCATOR_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_ALLOCATOR_H

#include "api/node.h"
#include "plugins/dynamic_resources/devices.h"

/* More results per claim are refused: AllocationResultsMaxSize. */
#define ALLOCATION_RESULTS_MAX 32

/* Points of the first alternative (upstream: FirstAvailableDeviceRequestMaxSize). */
#define ALLOCATION_POINTS_MAX 8

/* What an alternative of a request adds to the score of a node. */
static inline int64_t allocation_points(size_t alternative)
{
    return ALLOCATION_POINTS_MAX - (int64_t)alternative;
}

enum allocation_verdict {
    ALLOCATION_FOUND,
    /* The node does not have the devices: "cannot allocate all claims". */
    ALLOCATION_NONE,
    /* The same, with a reason of this node only in `error` (ErrFailedAllocationOnNode). */
    ALLOCATION_FAILED_ON_NODE,
    /* Something is wrong with a claim, class or slice; `error` says what. Ends the attempt. */
    ALLOCATION_ERROR,
    /* `cancelled` returned true. */
    ALLOCATION_CANCELLED,
};

struct allocation {
    /* Set by the caller; everything may be 0. */
    struct arena *arena;               /* for results and error; NULL: only the verdict is wanted */
    const struct resource_claim *last; /* replaces the last claim; see allocator_allocate */
    bool (*cancelled)(void *ctx);      /* asked at every step of the search */
    /* Writes a new UUID, for shares of devices; NULL: share_id is left empty. */
    void (*new_share_id)(void *ctx, char uuid[37]);
    void *ctx;
    /* Set by allocator_allocate. */
    struct allocation_result *results; /* one per claim if found; without allocation_timestamp */
    size_t n;
    int64_t score;    /* if found: points of the alternatives that are used */
    struct str error; /* upstream's text */
};

struct allocator;

/* Calls devices_refresh. The claims: those of the pod without an allocation, in its order. */
struct allocator *allocator_new(struct devices *d, const struct resource_claim *const *claims,
                                size_t n);
/* NULL is allowed. Returns NULL. */
struct allocator *allocator_free(struct allocator *a);

/*
 * Searches on one node. `last` is for the claim of extended resources, which may differ from node
 * to node: it may only use classes that `a` was made with, and its requests have no selectors.
 */
enum allocation_verdict allocator_allocate(const struct allocator *a, const struct node *node,
                                           struct allocation *allocation);
/* 64 nodes; sets are by their index. */
struct recalled {
    /* Set by the caller. */
    uint64_t asked;
    const struct node *nodes[64];
    size_t first; /* a small number of the first node, the next one's is one more: for speed */
    /* Results: subsets of `asked` for each verdict, and the score of `found`. */
    uint64_t found, none, failed;
    int64_t scores[64];
};

/* What searches on the nodes would find, as far as it is known without one. Engine's thread. */
void allocator_recall(const struct allocator *a, struct recalled *r);

#endif
