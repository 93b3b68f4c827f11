/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_rows.h - the clusters and pods that are measured.
 *
 * Purpose:   a table of rows, one kind of pod each. Names and pods are those of
 *            tests/bench/rows.json, so that the engine alone and a whole cluster are measured with
 *            the same pods; preemption is the row of tests/oracle/bench.go. Nodes differ in names,
 *            three zones and two kinds of disk.
 * Ownership: a bench_objects holds a reference on each of its objects.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_BENCH_BENCH_ROWS_H
#define BERTH_CMD_BENCH_BENCH_ROWS_H

#include "api/object.h"
#include "base/vec.h"

/* What a row needs besides nodes and pods: one object for each of them, or one. */
struct bench_extra {
    enum kind_id kind;
    enum { EACH_POD, EACH_NODE, EACH_RUN } each;
    const char *text; /* "{}": the devices of a slice */
    int devices;      /* of a slice: name, NUMA node (two, in turn), model and memory */
};

/*
 * Texts are JSON with placeholders: {i} is the index of the pod or node, {group} is i %
 * BENCH_GROUPS, {amount} is i % BENCH_AMOUNTS + 1, {node} is node- and i in five digits.
 */
struct bench_row {
    const char *name, *title;
    const char *metadata, *spec; /* members, each followed by a comma */
    const char *cpu, *memory;
    bool has_owners; /* a Service and a ReplicaSet for each group */
    int residents;   /* pods with 2 CPUs and priority 0 that every node has from the start */
    int fewer;       /* divides the number of pods, for slow rows; 0: all pods */
    struct bench_extra extras[4]; /* up to the first without text */
};
#define BENCH_GROUPS  20
#define BENCH_AMOUNTS 4000

extern const struct bench_row bench_rows[];
extern const size_t bench_n_rows;
/* NULL if none. */
const struct bench_row *bench_row_find(struct str name);

struct bench_objects {
    VEC(struct object *) cluster; /* nodes, residents, and what pods refer to */
    size_t n_residents;
    VEC(struct object *) pods;
};

int bench_objects_init(struct bench_objects *o, const struct bench_row *row, int64_t nodes,
                       int64_t pods, struct err *reterr) MUST_CHECK;
void bench_objects_release(struct bench_objects *o);

#endif
