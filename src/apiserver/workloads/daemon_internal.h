/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_internal.h - one look at a DaemonSet.
 *
 * Purpose:   daemon_set.c decides which nodes get or lose a pod, daemon_pod.c which nodes fit and
 *            makes the pods.
 * Ownership: in scratch memory.
 * Threading: as workloads.h.
 */
#ifndef BERTH_APISERVER_WORKLOADS_DAEMON_INTERNAL_H
#define BERTH_APISERVER_WORKLOADS_DAEMON_INTERNAL_H

#include "apiserver/workloads/nodes.h"
#include "apiserver/workloads/revisions.h"

/* A node with the pods of the DaemonSet on it, or for it. */
struct daemon_node {
    const struct node_item *node;
    bool should_run, may_stay;
    struct pod_item *pods; /* linked by next_on_node, in the order of age */
};

struct daemon_look {
    struct workloads *w;
    struct workload *o;
    struct json_value *object;
    const struct json_value *spec, *pod_spec;
    struct history history;
    struct str hash; /* of the current template */
    struct required_node_affinity affinity;
    struct toleration *tolerations;
    size_t n_tolerations;
    struct daemon_node *nodes;
    size_t n_nodes;
    int64_t min_ready, max_surge, max_unavailable, desired;
    struct pod_item **remove;
    size_t n_remove;
    const struct node_item **create;
    size_t n_create;
    int64_t next; /* when a pod becomes available */
};

/* Reads what decides about nodes. */
void daemon_read_template(struct daemon_look *d);
/* should_run and may_stay of a node. */
void daemon_match_node(const struct daemon_look *d, struct daemon_node *n);
/* The node that the pod is on or for; "" if there is none. */
struct str daemon_pod_node(struct daemon_look *d, const struct pod_item *pod);
bool daemon_pod_is_updated(const struct daemon_look *d, const struct pod_item *pod);
void daemon_create_pods(struct daemon_look *d);

#endif
