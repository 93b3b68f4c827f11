/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cross_node_terms.h - pods on other nodes that have to do with where a pod may go.
 *
 * Purpose:   a cross_term is a reason why a pod here is news there: a topology spread constraint of
 * the pod that counts others, its affinity to others or against them, theirs against it. A pod
 * matters for a node if a cross_term's topology has both in one domain. Cross-node terms are drawn
 *            generously (namespaces, matchLabelKeys): the filters have the last word.
 * Ownership: borrows the waiting pod, the cluster's topologies and pods: for one attempt.
 * Threading: made on the engine's thread.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_CROSS_NODE_TERMS_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_CROSS_NODE_TERMS_H

#include "engine/index/cluster.h"

#define BONDS_MAX 64 /* of a pod; with more of them nobody elsewhere is looked at */

enum cross_node_term_kind {
    CROSS_TERM_SPREAD,   /* the pod's constraint counts them */
    CROSS_TERM_ANTI,     /* the pod wants to be far from them */
    CROSS_TERM_EXISTING, /* they want to be far from the pod */
    CROSS_TERM_AFFINITY, /* the pod wants to be near them: their leaving never helps */
};

struct cross_node_term {
    enum cross_node_term_kind kind;
    const struct topology *topology;
    struct selector selector;         /* CROSS_TERM_SPREAD */
    const struct affinity_term *term; /* CROSS_TERM_ANTI, CROSS_TERM_AFFINITY */
};

/* A pod that runs, and which cross_terms are about it. */
struct bound_pod {
    struct berth_pod *pod; /* no reference */
    const struct berth_node *node;
    uint64_t cross_terms; /* a bit each */
};

struct cross_node_terms {
    struct cluster *cluster;
    const struct berth_pod *pod;
    size_t n;
    struct cross_node_term v[BONDS_MAX + 1]; /* the last takes what is too much */
    bool too_many;
    struct arena arena;
    VEC(struct bound_pod) pods; /* of lower priority, whose leaving may help some node */
};

void cross_node_terms_init(struct cross_node_terms *b, struct cluster *cluster,
                           const struct berth_pod *pod);
void cross_node_terms_release(struct cross_node_terms *b);
/* Looks through the whole cluster and fills pods. */
void cross_node_terms_find_pods(struct cross_node_terms *b);
struct bound_pod cross_node_terms_of(struct cross_node_terms *b, struct berth_pod *pod,
                                     const struct berth_node *node);

/* May the leaving of a pod on another node help the pod onto this one? */
bool cross_node_terms_matter(const struct cross_node_terms *b, const struct bound_pod *pod,
                             const struct berth_node *node);
/* May its leaving also stand in the way: another domain becomes the emptiest, a friend is gone? */
bool cross_node_terms_are_two_faced(const struct cross_node_terms *b, const struct bound_pod *pod,
                                    const struct berth_node *node);
/* Are both in the same domains, as far as their cross_terms go? */
bool cross_node_terms_equal(const struct cross_node_terms *b, const struct bound_pod *x,
                            const struct bound_pod *y);

#endif
