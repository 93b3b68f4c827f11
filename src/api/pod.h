/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod.h - Pod.
 *
 * Purpose:   the fields of a pod that scheduling reads.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_POD_H
#define BERTH_API_POD_H

#include "api/affinity.h"
#include "api/container.h"
#include "api/persistent_volume.h"

#define DEFAULT_SCHEDULER_NAME "default-scheduler"

#define POD_PHASE_PENDING   "Pending"
#define POD_PHASE_RUNNING   "Running"
#define POD_PHASE_SUCCEEDED "Succeeded"
#define POD_PHASE_FAILED    "Failed"

/* Condition types, and the reasons that a scheduler reads or writes. */
#define POD_SCHEDULED                      "PodScheduled"
#define POD_DISRUPTION_TARGET              "DisruptionTarget"
#define POD_RESIZE_PENDING                 "PodResizePending"
#define POD_REASON_UNSCHEDULABLE           "Unschedulable"
#define POD_REASON_SCHEDULER_ERROR         "SchedulerError"
#define POD_REASON_SCHEDULING_GATED        "SchedulingGated"
#define POD_REASON_PREEMPTION_BY_SCHEDULER "PreemptionByScheduler"
#define POD_REASON_INFEASIBLE              "Infeasible"

#define PREEMPT_NEVER          "Never"
#define PREEMPT_LOWER_PRIORITY "PreemptLowerPriority"

/* The claim is named <pod>-<volume>. */
struct ephemeral_volume_source {
    struct persistent_volume_claim_template *volume_claim_template;
};

/*
 * At most one is set; none if scheduling does not read the source. Left out: hostPath, emptyDir,
 * gitRepo, secret, nfs, glusterfs, flexVolume, cephfs, flocker, downwardAPI, fc, configMap,
 * quobyte, photonPersistentDisk, projected, scaleIO, storageos.
 */
struct volume_source {
    struct gce_persistent_disk_volume_source *gce_persistent_disk;
    struct aws_elastic_block_store_volume_source *aws_elastic_block_store;
    struct iscsi_volume_source *iscsi;
    struct persistent_volume_claim_volume_source *persistent_volume_claim;
    struct rbd_volume_source *rbd;
    struct cinder_volume_source *cinder;
    struct azure_file_volume_source *azure_file;
    struct vsphere_virtual_disk_volume_source *vsphere_volume;
    struct azure_disk_volume_source *azure_disk;
    struct portworx_volume_source *portworx_volume;
    struct csi_volume_source *csi;
    struct ephemeral_volume_source *ephemeral;
    struct image_volume_source *image;
};

struct volume {
    struct str name;
    struct volume_source source;
};

struct pod_scheduling_gate {
    struct str name;
};

struct pod_resource_claim {
    struct str name;
    struct str resource_claim_name;
    struct str resource_claim_template_name;
};

struct pod_scheduling_group {
    struct str pod_group_name;
};

/*
 * Left out: ephemeralContainers, restartPolicy, terminationGracePeriodSeconds,
 * activeDeadlineSeconds, dnsPolicy, serviceAccountName, serviceAccount,
 * automountServiceAccountToken, hostPID, hostIPC, shareProcessNamespace, securityContext,
 * imagePullSecrets, hostname, subdomain, hostAliases, dnsConfig, readinessGates,
 * enableServiceLinks, setHostnameAsFQDN, os, hostnameOverride.
 */
struct pod_spec {
    LIST(struct volume) volumes;
    LIST(struct container) init_containers;
    LIST(struct container) containers;
    str_map node_selector;
    struct str node_name;
    struct affinity *affinity;
    struct str scheduler_name;
    LIST(struct toleration) tolerations;
    struct str priority_class_name;
    int32_t *priority;             /* absent is 0 */
    struct str runtime_class_name; /* read by pod_admission.h only */
    struct str preemption_policy;  /* "": PreemptLowerPriority */
    quantity_map overhead;
    LIST(struct topology_spread_constraint) topology_spread_constraints;
    bool *host_users; /* absent is true */
    LIST(struct pod_scheduling_gate) scheduling_gates;
    LIST(struct pod_resource_claim) resource_claims;
    struct resource_requirements *resources; /* pod-level resources */
    struct pod_scheduling_group *scheduling_group;
    bool host_network;
};

/* Left out: lastProbeTime. */
struct pod_condition {
    struct str type;
    int64_t observed_generation;
    struct str status;
    struct timestamp last_transition_time;
    struct str reason;
    struct str message;
};

struct pod_resource_claim_status {
    struct str name;
    struct str resource_claim_name; /* "": no claim was needed */
};

struct container_extended_resource_request {
    struct str container_name;
    struct str resource_name;
    struct str request_name;
};

struct pod_extended_resource_claim_status {
    LIST(struct container_extended_resource_request) request_mappings;
    struct str resource_claim_name;
};

struct node_allocatable_resource_claim_status {
    struct str resource_claim_name;
    LIST(struct str) containers;
    quantity_map resources;
};

/* Left out: message, reason, hostIP, hostIPs, podIP, podIPs, ephemeralContainerStatuses. */
struct pod_status {
    int64_t observed_generation;
    struct str phase;
    LIST(struct pod_condition) conditions;
    struct str nominated_node_name;
    struct timestamp start_time;
    LIST(struct container_status) init_container_statuses;
    LIST(struct container_status) container_statuses;
    struct str qos_class;
    struct str resize;
    LIST(struct pod_resource_claim_status) resource_claim_statuses;
    struct pod_extended_resource_claim_status *extended_resource_claim_status;
    quantity_map allocated_resources;
    struct resource_requirements *resources;
    LIST(struct node_allocatable_resource_claim_status) node_allocatable_resource_claim_statuses;
};

struct pod {
    struct object_meta metadata;
    struct pod_spec spec;
    struct pod_status status;
};

extern const struct type ephemeral_volume_source_type;
extern const struct type volume_source_type;
extern const struct type volume_type;
extern const struct type pod_scheduling_gate_type;
extern const struct type pod_resource_claim_type;
extern const struct type pod_scheduling_group_type;
extern const struct type pod_spec_type;
extern const struct type pod_condition_type;
extern const struct type pod_resource_claim_status_type;
extern const struct type container_extended_resource_request_type;
extern const struct type pod_extended_resource_claim_status_type;
extern const struct type node_allocatable_resource_claim_status_type;
extern const struct type pod_status_type;
extern const struct type pod_type;

/* Has it ended, in success or failure? */
static inline bool pod_is_terminal(const struct pod *pod)
{
    return str_is(pod->status.phase, POD_PHASE_SUCCEEDED) ||
           str_is(pod->status.phase, POD_PHASE_FAILED);
}

#endif
