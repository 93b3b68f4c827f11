/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resources.h - resources as integers, and the requests of a pod.
 *
 * Purpose:   `struct resources` is upstream's framework.Resource: the common resources as int64,
 *            the others by name. pod_requests adds up containers, sidecars, overhead, pod-level
 *            requests and a resize in progress; pod_resource_calculate converts that to integers,
 *            as NodeInfo accounts for them.
 * Ownership: results live in the given arena; names are borrowed from the pod or node.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_API_RESOURCES_H
#define BERTH_API_RESOURCES_H

#include "api/pod.h"

#define RESOURCE_CPU                       STR("cpu")
#define RESOURCE_MEMORY                    STR("memory")
#define RESOURCE_EPHEMERAL_STORAGE         STR("ephemeral-storage")
#define RESOURCE_PODS                      STR("pods")
#define RESOURCE_HUGE_PAGES_PREFIX         STR("hugepages-")
#define RESOURCE_ATTACHABLE_VOLUMES_PREFIX STR("attachable-volumes-")

/* Assumed requests of a container without any, for scoring. */
#define DEFAULT_MILLI_CPU_REQUEST ((int64_t)100)
#define DEFAULT_MEMORY_REQUEST    ((int64_t)200 * 1024 * 1024)

struct scalar_resource {
    struct str name;
    int64_t value;
};

struct resources {
    int64_t milli_cpu;
    int64_t memory;
    int64_t ephemeral_storage;
    int64_t allowed_pods;                 /* of a node */
    LIST(struct scalar_resource) scalars; /* sorted by name */
};

/* Whether it is a scalar resource: extended resources, huge pages, volumes, *kubernetes.io/. */
bool resource_is_scalar(struct str name);
/* Extended: in a domain of its own, not kubernetes.io. */
bool resource_is_extended(struct str name);

/*
 * Converts the list to integers: thousandths for cpu, units for the others, rounded up; resources
 * that are neither common nor scalar are left out.
 */
void resources_from_map(const quantity_map *map, struct arena *a, struct resources *ret_resources);
/* NULL if there is none. */
const int64_t *resources_scalar(const struct resources *r, struct str name);

/* Upstream's feature gates that decide what counts. */
struct resource_gates {
    bool in_place_pod_vertical_scaling;
    bool pod_level_resources;
    bool in_place_pod_level_resources_vertical_scaling;
    bool dra_node_allocatable_resources;
};

/* The defaults of 1.36. */
#define RESOURCE_GATES_DEFAULT                                 \
    ((struct resource_gates){                                  \
        .in_place_pod_vertical_scaling = true,                 \
        .pod_level_resources = true,                           \
        .in_place_pod_level_resources_vertical_scaling = true, \
    })

/*
 * The effective requests of the pod. non_missing: assumed for containers without a request for
 * these resources; NULL: none.
 */
void pod_requests(const struct pod *pod, const struct resource_gates *gates,
                  const quantity_map *non_missing, struct arena *a, quantity_map *ret_requests);
/* The limits of the pod's spec; a resize in progress does not count. */
void pod_limits(const struct pod *pod, struct arena *a, quantity_map *ret_limits);
/* Whether the pod has pod-level requests that count: cpu, memory, huge pages. */
bool pod_level_requests_set(const struct pod *pod);

struct pod_resource {
    struct resources requests;
    int64_t non_zero_milli_cpu; /* with the defaults above for missing requests */
    int64_t non_zero_memory;
};

void pod_resource_calculate(const struct pod *pod, const struct resource_gates *gates,
                            struct arena *a, struct pod_resource *ret_resource);

#endif
