/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.h - what is known of nodes.
 *
 * Purpose:   shared by the controllers of nodes and of the pods on them.
 * Ownership: a state belongs to the node's task.
 * Threading: as lifecycle.h.
 */
#ifndef BERTH_APISERVER_LIFECYCLE_NODES_H
#define BERTH_APISERVER_LIFECYCLE_NODES_H

#include "apiserver/lifecycle/pods.h"

struct node_state {
    bool seen;
    bool not_ready;         /* the condition Ready is there and not True */
    int64_t probe;          /* the last sign of life of its kubelet */
    uint64_t heartbeat;     /* a hash of the time in the condition Ready */
    uint64_t lease_version; /* of the last renewal that was seen */
    uint64_t taints;        /* a hash of the NoExecute taints; 0: none */
};

/* NULL: there is no such node. */
struct node_state *node_state_find(struct lifecycle *l, struct str name);

#endif
