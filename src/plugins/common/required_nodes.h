/* SPDX-License-Identifier: Apache-2.0 */
/*
 * required_nodes.h - the nodes that a pod requires: nodeSelector and required node affinity.
 *
 * Purpose:   NodeAffinity rejects other nodes, PodTopologySpread does not count them.
 * Ownership: borrows from the pod.
 * Threading: pure functions; any thread.
 */
#ifndef BERTH_PLUGINS_COMMON_REQUIRED_NODES_H
#define BERTH_PLUGINS_COMMON_REQUIRED_NODES_H

#include "api/node_selector.h"
#include "api/pod.h"
#include "base/buf.h"

static inline const struct node_affinity *pod_node_affinity(const struct pod *pod)
{
    return pod->spec.affinity ? pod->spec.affinity->node_affinity : NULL;
}

static inline const struct node_selector *pod_required_nodes(const struct pod *pod)
{
    const struct node_affinity *affinity = pod_node_affinity(pod);
    return affinity ? affinity->required : NULL;
}

static inline bool pod_requires_nodes(const struct pod *pod)
{
    return pod_required_nodes(pod) || pod->spec.node_selector.n > 0;
}

static inline void required_nodes_compile(const struct pod *pod, struct arena *a,
                                          struct required_node_affinity *ret_required)
{
    required_node_affinity_compile(&pod->spec.node_selector, pod_node_affinity(pod), a,
                                   ret_required);
}

/* Parts of keys (plugin_base.h): equal for pods with equal requirements. */
void key_add_required_nodes(struct buf *key, const struct pod *pod);
void key_add_node_selector(struct buf *key, const struct node_selector *selector); /* may be NULL */
void key_add_node_term(struct buf *key, const struct node_selector_term *term);

#endif
