/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_request.h - the resource requests of a pending pod (upstream: preFilterState of Fit).
 *
 * Purpose:   the requests of its spec with pod-level requests, but without the status of a resize
 *            (upstream: computePodResourceRequest). Computed once in PreFilter.
 * Ownership: on the heap; holds a use of each name.
 * Threading: created and freed on the engine's thread; any thread may read.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_FIT_REQUEST_H
#define BERTH_PLUGINS_NODE_RESOURCES_FIT_REQUEST_H

#include "engine/cache/node_info.h"
#include "plugins/common/extended_classes.h"
#include "plugins/common/go_math.h"

/* No request: less than any free amount. */
#define FIT_NOTHING INT64_MIN

struct fit_scalar {
    atom_t name;
    int64_t amount;      /* > 0 */
    berth_reason reason; /* set by PreFilter */
    bool by_devices;     /* a DeviceClass provides it: fit_request_find_devices */
};

struct fit_request {
    int64_t milli_cpu, memory, ephemeral_storage; /* > 0, or FIT_NOTHING */
    struct intern *names;
    size_t n;
    struct fit_scalar scalars[];
};

/* keep: does a scalar resource of this name count? NULL: all do. */
struct fit_request *fit_request_new(const struct berth_pod *pod,
                                    bool (*keep)(const void *ctx, struct str name),
                                    const void *ctx);
struct fit_request *fit_request_free(struct fit_request *r);

/* Sets by_devices. Returns whether any resource has it. classes may be NULL. */
bool fit_request_find_devices(struct fit_request *r, const struct extended_classes *classes);
/*
 * Is the resource left to DynamicResources on a node with this much of it (upstream:
 * shouldDelegateResourceToDRA)?
 */
static inline bool fit_is_delegated(const struct fit_scalar *scalar, int64_t allocatable)
{
    return scalar->by_devices && allocatable <= 0;
}

/* --- insufficient resources ------------------------------------------------------------------- */

/* Bits in the order of upstream's reasons. */
enum fit_lack {
    LACKS_PODS = 1 << 0,
    LACKS_CPU = 1 << 1,
    LACKS_MEMORY = 1 << 2,
    LACKS_EPHEMERAL_STORAGE = 1 << 3,
    FIT_LACKS = 4, /* number of bits */
};

/* Of a node. Amounts may be out of range; differences wrap as upstream's do. */
struct fit_amounts {
    int64_t allocatable_cpu, requested_cpu;
    int64_t allocatable_memory, requested_memory;
    int64_t allocatable_ephemeral_storage, requested_ephemeral_storage;
    int64_t allowed_pods, pods;
};

/* Upstream: fitsRequest. The set of enum fit_lack. */
static inline unsigned fit_lacks(const struct fit_request *r, const struct fit_amounts *a)
{
    bool pods = a->pods >= a->allowed_pods;
    bool cpu = r->milli_cpu > go_sub(a->allocatable_cpu, a->requested_cpu);
    bool memory = r->memory > go_sub(a->allocatable_memory, a->requested_memory);
    bool storage = r->ephemeral_storage >
                   go_sub(a->allocatable_ephemeral_storage, a->requested_ephemeral_storage);
    return (unsigned)pods | (unsigned)cpu << 1 | (unsigned)memory << 2 | (unsigned)storage << 3;
}

/* Upstream: Unresolvable. Does a request exceed the whole node, so that preemption cannot help? */
static inline bool fit_is_hopeless(const struct fit_request *r, const struct fit_amounts *a,
                                   unsigned lacks)
{
    return (lacks & LACKS_CPU && r->milli_cpu > a->allocatable_cpu) ||
           (lacks & LACKS_MEMORY && r->memory > a->allocatable_memory) ||
           (lacks & LACKS_EPHEMERAL_STORAGE &&
            r->ephemeral_storage > a->allocatable_ephemeral_storage);
}

#endif
