/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_table.h - the measured load of the nodes.
 *
 * Purpose:   reads the answers of a load watcher, of Prometheus and of the metrics server, and
 *            keeps what plugins use of them: averages and deviations of CPU and memory, in percent.
 * Ownership: the table owns its texts. Initialize with {0}.
 * Threading: filled by one thread; any thread may read it afterwards.
 */
#ifndef BERTH_PLUGINS_SIGS_LOAD_TABLE_H
#define BERTH_PLUGINS_SIGS_LOAD_TABLE_H

#include "base/err.h"
#include "base/map.h"
#include "codec/json_value.h"

enum load_resource { LOAD_CPU, LOAD_MEMORY, LOAD_RESOURCES };
enum load_operator { LOAD_AVERAGE, LOAD_DEVIATION, LOAD_LATEST };

/* Percent of the node's capacity; never negative. */
struct load_usage {
    double average;   /* or the latest value if there is no average */
    double deviation; /* 0 if it was not measured */
    double last;      /* the average or latest value that was listed last */
    bool found;       /* something is known about this resource */
    bool has_average, has_last;
};

struct node_load {
    struct load_usage usage[LOAD_RESOURCES];
    bool any; /* anything was measured on the node */
    char name[];
};

struct load_table {
    struct map nodes;   /* by name → struct node_load */
    bool filled;        /* there was an answer */
    int64_t window_end; /* of the measurements, s since 1970 */
};

void load_table_release(struct load_table *t);
/* NULL: nothing is known about the node. */
const struct node_load *load_table_node(const struct load_table *t, struct str node);

/* The answer of a load watcher to GET /watcher. On failure the table is incomplete. */
int load_table_read_watcher(struct load_table *t, struct str body, struct err *reterr) MUST_CHECK;
/*
 * The answer of Prometheus to a query whose result is a vector of ratios by the label "instance",
 * the node's name.
 */
int load_table_read_prometheus(struct load_table *t, struct str body, enum load_resource resource,
                               enum load_operator op, struct err *reterr) MUST_CHECK;

/* A node's capacity: cpu in thousandths, memory in bytes. */
struct load_capacity {
    int64_t amount[LOAD_RESOURCES];
};
/* False if there is no such node. */
typedef bool load_capacity_fn(void *ctx, struct str node, struct load_capacity *ret_capacity);
/* A NodeMetricsList of metrics.k8s.io. Nodes of unknown capacity are ignored. */
int load_table_read_node_metrics(struct load_table *t, const struct json_value *list,
                                 load_capacity_fn *capacity, void *ctx,
                                 struct err *reterr) MUST_CHECK;

#endif
