/* SPDX-License-Identifier: Apache-2.0 */
/*
 * required_nodes.h - which nodes a pod demands by their labels: nodeSelector and required node
 * affinity.
 *
 * Purpose:   NodeAffinity refuses the others, PodTopologySpread does not count them.
 * Ownership: borrows the pod's.
 * Threading: pure functions.
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

static inline bool pod_demands_nodes(const struct pod *pod)
{
    return pod_required_nodes(pod) || pod->spec.node_selector.n > 0;
}

static inline void required_nodes_compile(const struct pod *pod, struct arena *a,
                                          struct required_node_affinity *ret_demands)
{
    required_node_affinity_compile(&pod->spec.node_selector, pod_node_affinity(pod), a,
                                   ret_demands);
}

/* Parts of keys (plugin_base.h): pods that demand the same have the same. */
void key_add_required_nodes(struct buf *key, const struct pod *pod);
void key_add_node_selector(struct buf *key, const struct node_selector *selector); /* may be NULL */
void key_add_node_term(struct buf *key, const struct node_selector_term *term);

#endif
