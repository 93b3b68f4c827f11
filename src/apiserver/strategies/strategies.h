/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategies.h - the arrays of strategies, one per file.
 *
 * Purpose:   strategies.c looks resources up in these. Each array ends with an empty plural.
 * Ownership: constant data.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_STRATEGIES_H
#define BERTH_APISERVER_STRATEGIES_STRATEGIES_H

#include "apiserver/strategies/strategy.h"

extern const struct strategy pod_strategies[];
extern const struct strategy config_strategies[]; /* config maps, secrets, service accounts */
extern const struct strategy namespace_strategies[];
extern const struct strategy node_strategies[];
extern const struct strategy quota_strategies[]; /* limit ranges, resource quotas */
extern const struct strategy service_strategies[];
extern const struct strategy endpoint_strategies[];    /* endpoints, events */
extern const struct strategy volume_strategies[];      /* persistent volumes and claims */
extern const struct strategy definition_strategies[];  /* CustomResourceDefinition */
extern const struct strategy replication_strategies[]; /* pod templates, replication controllers */
extern const struct strategy apps_strategies[];        /* Deployments, ReplicaSets, DaemonSets */
extern const struct strategy stateful_set_strategies[];
extern const struct strategy job_strategies[];
extern const struct strategy cron_job_strategies[];
extern const struct strategy rbac_strategies[];         /* roles and bindings */
extern const struct strategy scheduling_strategies[];   /* priority classes */
extern const struct strategy policy_strategies[];       /* disruption budgets */
extern const struct strategy coordination_strategies[]; /* leases */
extern const struct strategy storage_class_strategies[];
extern const struct strategy endpoint_slice_strategies[];
extern const struct strategy ingress_strategies[]; /* Ingresses and IngressClasses */
extern const struct strategy network_policy_strategies[];
extern const struct strategy service_ip_strategies[]; /* IPAddresses and ServiceCIDRs */
extern const struct strategy pod_group_strategies[];  /* PodGroups and Workloads */
extern const struct strategy runtime_class_strategies[];
extern const struct strategy csi_strategies[]; /* drivers, nodes, capacities, attachments */
extern const struct strategy autoscaler_strategies[];
extern const struct strategy device_class_strategies[];   /* DeviceClasses and DeviceTaintRules */
extern const struct strategy resource_claim_strategies[]; /* ResourceClaims and their templates */
extern const struct strategy resource_slice_strategies[];

#endif
