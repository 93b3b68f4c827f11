/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_info.h - a pod and the data derived from it (upstream: PodInfo).
 *
 * Purpose:   computed once when the pod arrives, read by every plugin of every cycle. The ABI's
 *            struct berth_pod.
 * Ownership: refcounted, immutable; holds a ref on the API object.
 * Threading: refs are counted on the engine's thread; the pool's threads read during a cycle.
 */
#ifndef BERTH_ENGINE_CACHE_POD_INFO_H
#define BERTH_ENGINE_CACHE_POD_INFO_H

#include "api/object.h"
#include "api/pod.h"
#include "engine/cache/resource.h"
#include "engine/ports/abi.h"

/* A host port of the pod, with the defaults of address and protocol filled in. */
struct host_port {
    atom_t ip, protocol;
    int32_t port;
};

/* By port, protocol and address: the order of lists of ports. */
static inline int host_port_cmp(const struct host_port *a, const struct host_port *b)
{
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    if (a->protocol != b->protocol)
        return a->protocol < b->protocol ? -1 : 1;
    return (a->ip > b->ip) - (a->ip < b->ip);
}

/*
 * What ResourceClaims take of a pod's node besides the requests of its spec, with
 * DRANodeAllocatableResources: status.nodeAllocatableResourceClaimStatuses, or what will be written
 * there.
 */
struct claimed_resources {
    struct arena arena; /* of statuses */
    LIST(struct node_allocatable_resource_claim_status) statuses;
    /* These count on the node, instead of those of the pod. */
    struct resource requests;
    int64_t nonzero_milli_cpu, nonzero_memory;
};

struct berth_pod {
    uint32_t refs;
    int32_t priority;
    struct object *object;
    const struct pod *pod; /* its body */
    struct str node_name;  /* spec.nodeName, or the node it is assumed on */
    struct resource requests;
    /* With upstream's defaults for containers without requests: read by scores. */
    int64_t nonzero_milli_cpu, nonzero_memory;
    VEC(struct host_port) ports;   /* sorted */
    VEC(atom_t) claims;            /* "namespace/name" of PersistentVolumeClaims; sorted by atom */
    struct affinity_set *affinity; /* inter-pod affinity; NULL if none */
    bool has_affinity;             /* has at least one term */
    bool has_required_anti_affinity;
    struct claimed_resources *claimed; /* NULL: nothing */

    struct intern *names;   /* the table of the atoms above */
    struct berth_pod *base; /* of an assumed pod: owns the derived data; else NULL */
    char *assumed_node;     /* of an assumed pod: the text behind node_name; else NULL */
};

struct berth_pod *pod_info_new(struct object *pod, struct intern *names);
/* The same pod on a node: for cache_assume. */
struct berth_pod *pod_info_assume(struct berth_pod *pod, struct str node_name);
/* Sets `claimed`, to a copy. Before the pod is counted on a node. */
void pod_info_claim(struct berth_pod *pod,
                    const struct node_allocatable_resource_claim_status *statuses, size_t n);
struct berth_pod *pod_info_ref(struct berth_pod *pod);
void pod_info_unref(struct berth_pod *pod);

/* The requests that count on the pod's node. */
static inline const struct resource *pod_info_counted(const struct berth_pod *pod)
{
    return pod->claimed ? &pod->claimed->requests : &pod->requests;
}
static inline int64_t pod_info_counted_cpu(const struct berth_pod *pod)
{
    return pod->claimed ? pod->claimed->nonzero_milli_cpu : pod->nonzero_milli_cpu;
}
static inline int64_t pod_info_counted_memory(const struct berth_pod *pod)
{
    return pod->claimed ? pod->claimed->nonzero_memory : pod->nonzero_memory;
}

/* The engine identifies a pod by its UID. */
static inline struct str pod_info_key(const struct berth_pod *pod)
{
    return pod->pod->metadata.uid;
}

static inline const struct berth_object *object_abi(const struct object *o)
{
    return (const struct berth_object *)o;
}
static inline const struct object *object_of_abi(const struct berth_object *o)
{
    return (const struct object *)o;
}

#endif
