/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_life.h - a random cluster: nodes and pods are added, changed and deleted, writes succeed
 * or fail, time passes, pods are scheduled.
 *
 * Purpose:   tests that run the same events twice, under conditions that must make no difference,
 *            and compare the output byte for byte.
 * Ownership: the test makes the fixture and the random generator; life_begin and life_end bracket
 *            the rest.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_CLUSTER_LIFE_H
#define BERTH_TESTS_CLUSTER_LIFE_H

#include "base/rand.h"
#include "engine_fixture.h"

struct life_pod {
    uint64_t shape; /* as drawn */
    char node[8];   /* as answered; empty if none */
    bool gone;
    bool opened; /* was updated once */
};

/* The shapes of nodes and pods. */
struct life_kind {
    size_t max_nodes, max_pods;
    int n_shapes;        /* of nodes: 1 … n_shapes */
    uint64_t one_leaves; /* one in this many changes of a node deletes it */
    struct object *(*node)(size_t i, int shape);
    uint64_t (*draw)(struct rand *r);                            /* a pod's shape */
    struct object *(*pod)(const struct life_pod *pod, size_t i); /* named p0, p1, … */
    bool pods_change; /* some pods without a node are changed instead of deleted */
};

struct life {
    const struct life_kind *kind;
    struct fixture f; /* made and released by the test */
    struct rand r;    /* seeded by the test */
    int *node_state;  /* 0: no such node; else the number of its shape */
    struct life_pod *pods;
    size_t n_pods;
};

/* Adds half of the nodes; f and r must be set. */
void life_begin(struct life *l, const struct life_kind *kind);
void life_step(struct life *l);
/* All decisions and writes, in order. */
void life_write(const struct life *l, struct buf *out);
void life_end(struct life *l);

#endif
