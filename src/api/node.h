/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.h - Node.
 *
 * Purpose:   the fields of a node that scheduling reads.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_NODE_H
#define BERTH_API_NODE_H

#include "api/meta.h"
#include "api/node_affinity.h"
#include "api/quantity.h"

/* Labels of nodes. */
#define LABEL_HOSTNAME        "kubernetes.io/hostname"
#define LABEL_TOPOLOGY_ZONE   "topology.kubernetes.io/zone"
#define LABEL_TOPOLOGY_REGION "topology.kubernetes.io/region"
#define LABEL_BETA_ZONE       "failure-domain.beta.kubernetes.io/zone"
#define LABEL_BETA_REGION     "failure-domain.beta.kubernetes.io/region"

/* Keys of taints that Kubernetes itself sets. */
#define TAINT_NODE_UNSCHEDULABLE       "node.kubernetes.io/unschedulable"
#define TAINT_NODE_NOT_READY           "node.kubernetes.io/not-ready"
#define TAINT_NODE_UNREACHABLE         "node.kubernetes.io/unreachable"
#define TAINT_NODE_MEMORY_PRESSURE     "node.kubernetes.io/memory-pressure"
#define TAINT_NODE_DISK_PRESSURE       "node.kubernetes.io/disk-pressure"
#define TAINT_NODE_PID_PRESSURE        "node.kubernetes.io/pid-pressure"
#define TAINT_NODE_NETWORK_UNAVAILABLE "node.kubernetes.io/network-unavailable"
#define TAINT_NODE_OUT_OF_SERVICE      "node.kubernetes.io/out-of-service"

/* Left out: podCIDR, podCIDRs, providerID, configSource, externalID. */
struct node_spec {
    LIST(struct taint) taints;
    bool unschedulable;
};

/* Left out: lastHeartbeatTime, lastTransitionTime, reason, message. */
struct node_condition {
    struct str type;
    struct str status;
};

struct container_image {
    LIST(struct str) names;
    int64_t size_bytes;
};

/*
 * Left out: phase, addresses, daemonEndpoints, nodeInfo, volumesInUse, volumesAttached, config,
 * runtimeHandlers, features.
 */
struct node_status {
    quantity_map capacity;
    quantity_map allocatable;
    LIST(struct node_condition) conditions;
    LIST(struct container_image) images;
    LIST(struct str) declared_features;
};

struct node {
    struct object_meta metadata;
    struct node_spec spec;
    struct node_status status;
};

extern const struct type node_spec_type;
extern const struct type node_condition_type;
extern const struct type container_image_type;
extern const struct type node_status_type;
extern const struct type node_type;

#endif
