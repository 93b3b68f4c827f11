/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.h - the nodes of DaemonSets.
 *
 * Purpose:   labels and taints of every node, in the order of their names. DaemonSets are looked at
 *            when one of these changes, and not after heartbeats.
 * Ownership: struct workloads has the nodes.
 * Threading: as workloads.h.
 */
#ifndef BERTH_APISERVER_WORKLOADS_NODES_H
#define BERTH_APISERVER_WORKLOADS_NODES_H

#include "api/node_selector.h"
#include "api/toleration.h"
#include "apiserver/workloads/workloads_internal.h"

struct node_item {
    struct str name;
    str_map labels;
    struct taint *taints;
    size_t n_taints;
    uint64_t hash;
    struct arena arena; /* of the above */
};

#endif
