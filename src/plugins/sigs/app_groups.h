/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_groups.h - AppGroups and NetworkTopologies, for the network-aware plugins.
 *
 * Purpose:   finds the objects (appgroup.diktyo.x-k8s.io/v1alpha1, networktopology.diktyo.x-k8s.io/
 *            v1alpha1), reads what plugins use of them, and knows which pods of a group have nodes.
 * Ownership: one shared state for all instances. Values live as long as the object or pod.
 * Threading: changed on the engine's thread between cycles; read in a cycle.
 */
#ifndef BERTH_PLUGINS_SIGS_APP_GROUPS_H
#define BERTH_PLUGINS_SIGS_APP_GROUPS_H

#include "api/pod.h"
#include "base/map.h"
#include "berth/plugin.h"
#include "plugins/sigs/json_fields.h"

/* A pod of a group that has a node. */
struct app_pod {
    struct object *object;
    struct str workload; /* its label */
    struct str node;
};

struct app_groups;

/* In create. */
struct app_groups *app_groups_open(const struct berth_host *host, struct berth_handle *h);

/* The label of the pod's group, and of its workload; "" if there is none. */
struct str app_group_of(const struct pod *pod);
struct str app_workload_of(const struct pod *pod);

typedef LIST(struct str) app_namespaces;

/* The object of the first namespace that has one; NULL: none. */
const struct json_value *app_groups_find(const struct app_groups *g,
                                         const app_namespaces *namespaces, struct str name);
const struct json_value *app_groups_network(const struct app_groups *g,
                                            const app_namespaces *namespaces, struct str name);
/* The pods of the group that have nodes: uid → struct app_pod; NULL: none. */
const struct map *app_groups_pods(const struct app_groups *g, struct str group);

/* The position of a workload in the group's topologyOrder; -1: none. */
int64_t app_group_order(const struct json_value *group, struct str workload);

#endif
