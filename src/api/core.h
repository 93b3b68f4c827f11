/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core.h - minor kinds of core/v1.
 *
 * Purpose:   references, bindings, and the kinds of which scheduling reads labels or a selector:
 *            Namespace, Service, ReplicationController.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_CORE_H
#define BERTH_API_CORE_H

#include "api/meta.h"

struct object_reference {
    struct str kind;
    struct str namespace;
    struct str name;
    struct str uid;
    struct str api_version;
    struct str resource_version;
    struct str field_path;
};

struct binding {
    struct object_meta metadata;
    struct object_reference target;
};

/* Left out: spec, status. */
struct namespace
{
    struct object_meta metadata;
};

/*
 * Left out: ports, clusterIP, clusterIPs, type, externalIPs, sessionAffinity, loadBalancerIP,
 * loadBalancerSourceRanges, externalName, externalTrafficPolicy, healthCheckNodePort,
 * publishNotReadyAddresses, sessionAffinityConfig, ipFamilies, ipFamilyPolicy,
 * allocateLoadBalancerNodePorts, loadBalancerClass, internalTrafficPolicy, trafficDistribution.
 */
struct service_spec {
    str_map selector;
};

/* Left out: status. */
struct service {
    struct object_meta metadata;
    struct service_spec spec;
};

/* Left out: minReadySeconds, template. */
struct replication_controller_spec {
    int32_t *replicas;
    str_map selector;
};

/* Left out: status. */
struct replication_controller {
    struct object_meta metadata;
    struct replication_controller_spec spec;
};

extern const struct type object_reference_type;
extern const struct type binding_type;
extern const struct type namespace_type;
extern const struct type service_spec_type;
extern const struct type service_type;
extern const struct type replication_controller_spec_type;
extern const struct type replication_controller_type;

#endif
