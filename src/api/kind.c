/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kind.h"

#include <pthread.h>
#include <stdatomic.h>

#include "api/apps.h"
#include "api/coordination.h"
#include "api/core.h"
#include "api/custom.h"
#include "api/device_taint_rule.h"
#include "api/events.h"
#include "api/node.h"
#include "api/persistent_volume.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "api/scheduling.h"
#include "api/status.h"
#include "api/storage.h"

/* The group and version of a kind. */
#define CORE         .group = STR_INIT(""), .version = STR_INIT("v1"), .api_version = STR_INIT("v1")
#define GROUP(g, v)  .group = STR_INIT(g), .version = STR_INIT(v), .api_version = STR_INIT(g "/" v)
#define APPS         GROUP("apps", "v1")
#define POLICY       GROUP("policy", "v1")
#define SCHEDULING   GROUP("scheduling.k8s.io", "v1")
#define STORAGE      GROUP("storage.k8s.io", "v1")
#define RESOURCE     GROUP("resource.k8s.io", "v1")
#define TAINT_RULES  GROUP("resource.k8s.io", "v1beta2")
#define WORKLOADS    GROUP("scheduling.k8s.io", "v1alpha2")
#define COORDINATION GROUP("coordination.k8s.io", "v1")
#define CANDIDATES   GROUP("coordination.k8s.io", "v1beta1")
#define EVENTS       GROUP("events.k8s.io", "v1")

#define NAMED(k, r) .kind = STR_INIT(k), .list_kind = STR_INIT(k "List"), .resource = STR_INIT(r)

/* A kind with metadata; C is its struct, which begins with the metadata. */
#define KIND(i, where, scope, k, r, C, t)                          \
    [i] = {where,                                                  \
           NAMED(k, r),                                            \
           .id = (i),                                              \
           .namespaced = (scope),                                  \
           .has_metadata = true,                                   \
           .type = (t) +                                           \
                   BUILD_ASSERT_ZERO(offsetof(C, metadata) == 0 && \
                                     sizeof(((C *)NULL)->metadata) == sizeof(struct object_meta))}

enum { CLUSTER = false, NAMESPACED = true };

static const struct kind kinds[KIND_COUNT] = {
    KIND(KIND_POD, CORE, NAMESPACED, "Pod", "pods", struct pod, &pod_type),
    KIND(KIND_NODE, CORE, CLUSTER, "Node", "nodes", struct node, &node_type),
    KIND(KIND_NAMESPACE, CORE, CLUSTER, "Namespace", "namespaces", struct namespace,
         &namespace_type),
    KIND(KIND_PERSISTENT_VOLUME, CORE, CLUSTER, "PersistentVolume", "persistentvolumes",
         struct persistent_volume, &persistent_volume_type),
    KIND(KIND_PERSISTENT_VOLUME_CLAIM, CORE, NAMESPACED, "PersistentVolumeClaim",
         "persistentvolumeclaims", struct persistent_volume_claim, &persistent_volume_claim_type),
    KIND(KIND_SERVICE, CORE, NAMESPACED, "Service", "services", struct service, &service_type),
    KIND(KIND_REPLICATION_CONTROLLER, CORE, NAMESPACED, "ReplicationController",
         "replicationcontrollers", struct replication_controller, &replication_controller_type),
    KIND(KIND_REPLICA_SET, APPS, NAMESPACED, "ReplicaSet", "replicasets", struct replica_set,
         &replica_set_type),
    KIND(KIND_STATEFUL_SET, APPS, NAMESPACED, "StatefulSet", "statefulsets", struct stateful_set,
         &stateful_set_type),
    KIND(KIND_POD_DISRUPTION_BUDGET, POLICY, NAMESPACED, "PodDisruptionBudget",
         "poddisruptionbudgets", struct pod_disruption_budget, &pod_disruption_budget_type),
    KIND(KIND_PRIORITY_CLASS, SCHEDULING, CLUSTER, "PriorityClass", "priorityclasses",
         struct priority_class, &priority_class_type),
    KIND(KIND_STORAGE_CLASS, STORAGE, CLUSTER, "StorageClass", "storageclasses",
         struct storage_class, &storage_class_type),
    KIND(KIND_CSI_NODE, STORAGE, CLUSTER, "CSINode", "csinodes", struct csi_node, &csi_node_type),
    KIND(KIND_CSI_DRIVER, STORAGE, CLUSTER, "CSIDriver", "csidrivers", struct csi_driver,
         &csi_driver_type),
    KIND(KIND_CSI_STORAGE_CAPACITY, STORAGE, NAMESPACED, "CSIStorageCapacity",
         "csistoragecapacities", struct csi_storage_capacity, &csi_storage_capacity_type),
    KIND(KIND_VOLUME_ATTACHMENT, STORAGE, CLUSTER, "VolumeAttachment", "volumeattachments",
         struct volume_attachment, &volume_attachment_type),
    KIND(KIND_RESOURCE_CLAIM, RESOURCE, NAMESPACED, "ResourceClaim", "resourceclaims",
         struct resource_claim, &resource_claim_type),
    KIND(KIND_RESOURCE_CLAIM_TEMPLATE, RESOURCE, NAMESPACED, "ResourceClaimTemplate",
         "resourceclaimtemplates", struct resource_claim_template, &resource_claim_template_type),
    KIND(KIND_RESOURCE_SLICE, RESOURCE, CLUSTER, "ResourceSlice", "resourceslices",
         struct resource_slice, &resource_slice_type),
    KIND(KIND_DEVICE_CLASS, RESOURCE, CLUSTER, "DeviceClass", "deviceclasses", struct device_class,
         &device_class_type),
    KIND(KIND_DEVICE_TAINT_RULE, TAINT_RULES, CLUSTER, "DeviceTaintRule", "devicetaintrules",
         struct device_taint_rule, &device_taint_rule_type),
    KIND(KIND_POD_GROUP, WORKLOADS, NAMESPACED, "PodGroup", "podgroups", struct pod_group,
         &pod_group_type),
    KIND(KIND_WORKLOAD, WORKLOADS, NAMESPACED, "Workload", "workloads", struct workload,
         &workload_type),
    KIND(KIND_LEASE, COORDINATION, NAMESPACED, "Lease", "leases", struct lease, &lease_type),
    KIND(KIND_LEASE_CANDIDATE, CANDIDATES, NAMESPACED, "LeaseCandidate", "leasecandidates",
         struct lease_candidate, &lease_candidate_type),
    KIND(KIND_EVENT, EVENTS, NAMESPACED, "Event", "events", struct event, &event_type),
    KIND(KIND_CORE_EVENT, CORE, NAMESPACED, "Event", "events", struct core_event, &core_event_type),
    KIND(KIND_BINDING, CORE, NAMESPACED, "Binding", "bindings", struct binding, &binding_type),
    [KIND_STATUS] = {CORE, NAMED("Status", ""), .id = KIND_STATUS, .type = &status_type},
    [KIND_DELETE_OPTIONS] = {CORE, NAMED("DeleteOptions", ""), .id = KIND_DELETE_OPTIONS,
                             .type = &delete_options_type},
};

/* --- custom kinds ----------------------------------------------------------------------------- */

/* Entries below n_custom are constant; the lock is held while one is added. */
static struct kind custom[KIND_MAX_CUSTOM];
static atomic_size_t n_custom;
static pthread_mutex_t custom_lock = PTHREAD_MUTEX_INITIALIZER;

static void add_custom(struct kind *k, const struct kind_names *names, size_t i)
{
    k->api_version = str_of(str_dup(names->api_version));
    size_t slash = str_find(k->api_version, '/');
    bool core = slash == k->api_version.n;
    k->group = core ? STR("") : str_slice(k->api_version, 0, slash);
    k->version = core ? k->api_version : str_slice(k->api_version, slash + 1, k->api_version.n);
    k->kind = str_of(str_dup(names->kind));
    k->list_kind = str_of(xasprintf("%.*sList", STR_ARG(names->kind)));
    k->resource = str_of(str_dup(names->resource));
    k->id = (enum kind_id)(KIND_COUNT + i);
    k->namespaced = names->namespaced;
    k->has_metadata = true;
    k->type = &custom_object_type;
}

const struct kind *kind_custom(const struct kind_names *names)
{
    if (str_empty(names->api_version) || str_empty(names->kind) || str_empty(names->resource))
        return NULL;
    pthread_mutex_lock(&custom_lock);
    const struct kind *found = kind_find(names->api_version, names->kind);
    size_t n = atomic_load(&n_custom);
    if (!found && n < KIND_MAX_CUSTOM) {
        add_custom(&custom[n], names, n);
        found = &custom[n];
        atomic_store(&n_custom, n + 1);
    }
    pthread_mutex_unlock(&custom_lock);
    return found;
}

/* --- lookup ----------------------------------------------------------------------------------- */

const struct kind *kind_get(enum kind_id id)
{
    if ((unsigned)id < KIND_COUNT)
        return &kinds[id];
    assert((size_t)id - KIND_COUNT < atomic_load(&n_custom));
    return &custom[(size_t)id - KIND_COUNT];
}

static size_t n_kinds(void)
{
    return KIND_COUNT + atomic_load(&n_custom);
}

const struct kind *kind_find(struct str api_version, struct str kind)
{
    for (size_t i = 0; i < n_kinds(); i++) {
        const struct kind *k = kind_get((enum kind_id)i);
        if (str_eq(k->kind, kind) && str_eq(k->api_version, api_version))
            return k;
    }
    return NULL;
}

const struct kind *kind_find_resource(struct str group, struct str resource)
{
    for (size_t i = 0; !str_empty(resource) && i < n_kinds(); i++) {
        const struct kind *k = kind_get((enum kind_id)i);
        if (str_eq(k->resource, resource) && str_eq(k->group, group))
            return k;
    }
    return NULL;
}
