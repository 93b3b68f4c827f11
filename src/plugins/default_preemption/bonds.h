/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bonds.h - pods on other nodes that have to do with where a pod may go.
 *
 * Purpose:   a bond is a reason why a pod here is news there: a topology spread constraint of the
 *            pod that counts others, its affinity to others or against them, theirs against it. A
 *            pod matters for a node if a bond's topology has both in one domain. Bonds are drawn
 *            generously (namespaces, matchLabelKeys): the filters have the last word.
 * Ownership: borrows the waiting pod, the cluster's topologies and pods: for one attempt.
 * Threading: made on the engine's thread.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_BONDS_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_BONDS_H

#include "engine/cluster.h"

#define BONDS_MAX 64 /* of a pod; with more of them nobody elsewhere is looked at */

enum bond_kind {
    BOND_SPREAD,   /* the pod's constraint counts them */
    BOND_ANTI,     /* the pod wants to be far from them */
    BOND_EXISTING, /* they want to be far from the pod */
    BOND_AFFINITY, /* the pod wants to be near them: their leaving never helps */
};

struct bond {
    enum bond_kind kind;
    const struct topology *topology;
    struct selector selector;         /* BOND_SPREAD */
    const struct affinity_term *term; /* BOND_ANTI, BOND_AFFINITY */
};

/* A pod that runs, and which bonds are about it. */
struct bound_pod {
    struct berth_pod *pod; /* no reference */
    const struct berth_node *node;
    uint64_t bonds; /* a bit each */
};

struct bonds {
    struct cluster *cluster;
    const struct berth_pod *pod;
    size_t n;
    struct bond v[BONDS_MAX + 1]; /* the last takes what is too much */
    bool too_many;
    struct arena arena;
    VEC(struct bound_pod) pods; /* of lower priority, whose leaving may help some node */
};

void bonds_init(struct bonds *b, struct cluster *cluster, const struct berth_pod *pod);
void bonds_release(struct bonds *b);
/* Looks through the whole cluster and fills pods. */
void bonds_find_pods(struct bonds *b);
struct bound_pod bonds_of(struct bonds *b, struct berth_pod *pod, const struct berth_node *node);

/* May the leaving of a pod on another node help the pod onto this one? */
bool bonds_matter(const struct bonds *b, const struct bound_pod *pod,
                  const struct berth_node *node);
/* May its leaving also stand in the way: another domain becomes the emptiest, a friend is gone? */
bool bonds_are_two_faced(const struct bonds *b, const struct bound_pod *pod,
                         const struct berth_node *node);
/* Are both in the same domains, as far as their bonds go? */
bool bonds_equal(const struct bonds *b, const struct bound_pod *x, const struct bound_pod *y);

#endif
