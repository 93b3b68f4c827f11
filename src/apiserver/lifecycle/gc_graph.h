/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gc_graph.h - which object owns which, by uid.
 *
 * Purpose:   upstream's dependency graph of the garbage collector: a node for every object, an edge
 *            for every owner reference. An owner that is referred to and does not exist has a node,
 *            too. A change of an object costs time in proportion to its owner references.
 * Ownership: the graph owns nodes and edges. A node without object and dependents is freed.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_LIFECYCLE_GC_GRAPH_H
#define BERTH_APISERVER_LIFECYCLE_GC_GRAPH_H

#include "apiserver/lifecycle/lifecycle_internal.h"

/* How often a reference to a kind that is not served is looked at. */
#define GC_UNKNOWN_PERIOD (30 * NSEC_PER_SEC)

struct gc_edge {
    struct gc_node *owner, *dependent;
    size_t at; /* in owner->dependents */
    bool blocks;
    struct str api_version, kind, name;
    char text[];
};

struct gc_node {
    struct task task;
    const struct resource *resource; /* NULL: there is no such object */
    struct str namespace, name;
    char *place; /* that both are in */
    bool deleting, foreground, orphan;
    bool reported;        /* the event about an owner in another namespace was made */
    uint64_t owners_hash; /* of the text of the references; 0: none */
    VEC(struct gc_edge *) owners, dependents;
    size_t n_blocking; /* dependents whose reference has blockOwnerDeletion */
    struct str uid;
    char text[];
};

/* What is known of a reference. */
enum gc_owner {
    GC_SOLID,      /* the owner exists and stays, or is deleted without regard to dependents */
    GC_DANGLING,   /* there is no such owner */
    GC_WAITING,    /* it waits for the deletion of its dependents */
    GC_UNKNOWN,    /* its kind is not served */
    GC_IMPOSSIBLE, /* a cluster-scoped object cannot have an owner in a namespace */
};
enum gc_owner gc_edge_owner(const struct lifecycle *l, const struct gc_edge *edge);
/* Whether the owner exists in another namespace than the dependent. */
bool gc_edge_strays(const struct gc_edge *edge);

/* Whether the node's references are those of this revision. */
bool gc_node_is_current(const struct gc_node *node, const struct revision *rev);
/* The object was added or changed. Marks what must be looked at. */
void gc_graph_put(struct lifecycle *l, const struct revision *rev, const struct life_view *view);
void gc_graph_remove(struct lifecycle *l, const struct life_view *view);
void gc_graph_release(struct lifecycle *l);

#endif
