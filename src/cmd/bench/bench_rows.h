/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_rows.h - the cluster and the pods that are measured.
 *
 * Purpose:   one table of rows, one kind of pod each; names and shapes are those of
 *            tests/bench/rows.json, so that the engine alone and a whole cluster are measured on
 *            the same pods; the one about preemption, tests/oracle/bench.go has as well. Nodes are
 *            alike but for their names, three zones and two kinds of disk.
 * Ownership: a bench_objects owns a reference on each of its objects.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_BENCH_BENCH_ROWS_H
#define BERTH_CMD_BENCH_BENCH_ROWS_H

#include "api/object.h"
#include "base/vec.h"

/*
 * JSON texts; in each {i} stands for the pod's number, {group} for that modulo BENCH_GROUPS,
 * {amount} for one more than that modulo BENCH_AMOUNTS.
 */
struct bench_row {
    const char *name, *title;
    const char *metadata, *spec; /* members of the pod's, each with a comma behind it */
    const char *cpu, *memory;
    bool has_owners; /* a Service and a ReplicaSet for each group */
    int residents;   /* pods of 2 CPUs and no priority that every node has from the beginning */
    int fewer;       /* only one of so many pods is placed, since each takes long; 0: all are */
};
#define BENCH_GROUPS  20
#define BENCH_AMOUNTS 4000

extern const struct bench_row bench_rows[];
extern const size_t bench_n_rows;
/* NULL: there is none of this name. */
const struct bench_row *bench_row_find(struct str name);

struct bench_objects {
    VEC(struct object *) cluster; /* nodes, their residents, and what owns the pods */
    size_t n_residents;           /* of these */
    VEC(struct object *) pods;
};

int bench_objects_init(struct bench_objects *o, const struct bench_row *row, int64_t nodes,
                       int64_t pods, struct err *reterr) MUST_CHECK;
void bench_objects_release(struct bench_objects *o);

#endif
