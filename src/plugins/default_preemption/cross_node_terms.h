/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cross_node_terms.h - terms through which a pod affects another node.
 *
 * Purpose:   a cross-node term relates a running pod to the nodes of its domain: a topology spread
 *            constraint of the pending pod that counts it, the pending pod's affinity or
 *            anti-affinity, or its own anti-affinity against the pending pod. A pod matters for a
 *            node if the term's topology has both in one domain. Terms are a superset (namespaces
 *            and matchLabelKeys are not exact): the filters decide.
 * Ownership: borrows the pending pod and the cluster's topologies and pods for one attempt.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_CROSS_NODE_TERMS_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_CROSS_NODE_TERMS_H

#include "engine/index/cluster.h"

#define CROSS_TERMS_MAX 64 /* of a pod; with more terms, pods on other nodes are not searched */

enum cross_node_term_kind {
    CROSS_TERM_SPREAD,   /* a spread constraint of the pod counts them */
    CROSS_TERM_ANTI,     /* the pod's anti-affinity selects them */
    CROSS_TERM_EXISTING, /* their anti-affinity selects the pod */
    CROSS_TERM_AFFINITY, /* the pod's affinity selects them: evicting them never helps */
};

struct cross_node_term {
    enum cross_node_term_kind kind;
    const struct topology *topology;
    struct selector selector;         /* CROSS_TERM_SPREAD */
    const struct affinity_term *term; /* CROSS_TERM_ANTI, CROSS_TERM_AFFINITY */
};

/* A running pod and the terms that apply to it. */
struct bound_pod {
    struct berth_pod *pod; /* no reference */
    const struct berth_node *node;
    uint64_t cross_terms; /* bits by index */
};

struct cross_node_terms {
    struct cluster *cluster;
    const struct berth_pod *pod;
    size_t n;
    struct cross_node_term
        v[CROSS_TERMS_MAX + 1]; /* the last is scratch for terms beyond the limit */
    bool too_many;
    struct arena arena;
    VEC(struct bound_pod) pods; /* of lower priority whose eviction may help some node */
};

void cross_node_terms_init(struct cross_node_terms *b, struct cluster *cluster,
                           const struct berth_pod *pod);
void cross_node_terms_release(struct cross_node_terms *b);
/* Searches the whole cluster and fills `pods`. */
void cross_node_terms_find_pods(struct cross_node_terms *b);
/* The terms that apply to a running pod. */
struct bound_pod cross_node_terms_of(struct cross_node_terms *b, struct berth_pod *pod,
                                     const struct berth_node *node);

/* May evicting a pod on another node make this node fit? */
bool cross_node_terms_matter(const struct cross_node_terms *b, const struct bound_pod *pod,
                             const struct berth_node *node);
/* May evicting it also harm: it lowers the minimum of a spread, or is a pod of required affinity?
 */
bool cross_node_terms_may_harm(const struct cross_node_terms *b, const struct bound_pod *pod,
                               const struct berth_node *node);
/* Do both have the same terms, and the same domains in these? */
bool cross_node_terms_equal(const struct cross_node_terms *b, const struct bound_pod *x,
                            const struct bound_pod *y);

#endif
