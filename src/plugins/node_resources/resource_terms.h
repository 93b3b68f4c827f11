/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_terms.h - the resources that a score reads, with the requests of one pod.
 *
 * Purpose:   the configured resources joined with a pod once, before its nodes are scored. A term
 *            names the field of a node, so that scoring a node is arithmetic.
 * Ownership: scored_resources borrows its list. Terms borrow atoms from pods and nodes: they are
 *            valid for one attempt.
 * Threading: created on the engine's thread; any thread may read.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_TERMS_H
#define BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_TERMS_H

#include "engine/cache/node_info.h"
#include "plugins/common/extended_classes.h"
#include "plugins/common/go_math.h"
#include "plugins/dynamic_resources/devices.h"
#include "plugins/node_resources/resource_args.h"

/* The configured resources, and how the requests of a pod are counted. */
struct scored_resources {
    resource_spec_list list;
    bool nonzero; /* cpu and memory with upstream's defaults for containers without requests */
    struct resource_gates gates; /* for the pending pod */
    bool has_unknown;            /* the list has names that no node can have */
    /* Devices as extended resources; NULL: there are none in the list, or the gate is off. */
    const struct extended_classes *classes;
    struct devices *devices;
};

void scored_resources_init(struct scored_resources *r, resource_spec_list list, bool nonzero,
                           const struct resource_gates *gates);

/* For create: devices count if the list has a resource that they may provide. */
void scored_resources_use_devices(struct scored_resources *r, const struct berth_host *host,
                                  struct berth_handle *h);

enum term_source {
    TERM_CPU,
    TERM_CPU_NONZERO,
    TERM_MEMORY,
    TERM_MEMORY_NONZERO,
    TERM_EPHEMERAL_STORAGE,
    TERM_SCALAR,
};

struct score_term {
    enum term_source source;
    atom_t name; /* TERM_SCALAR */
    /* TERM_SCALAR: where the node has none, its devices of this class count. NULL: they do not. */
    const struct devices *devices;
    struct str class_name;
    int64_t request;
    int64_t weight;
};

/* In the order of the configuration, without terms that no node counts for this pod. */
struct score_terms {
    bool best_effort; /* the pod requests none of the configured resources (upstream:
                         isBestEffortPod) */
    size_t n;
    struct score_term v[];
};

/* The size of terms in bytes. */
size_t score_terms_size(const struct scored_resources *r);
/* `terms` has score_terms_size bytes. */
void score_terms_fill(struct score_terms *terms, const struct scored_resources *r,
                      const struct berth_pod *pod);
/* The same on the heap; the caller frees it. */
struct score_terms *score_terms_new(const struct scored_resources *r, const struct berth_pod *pod);

/* One resource, for sums over many nodes. False if no node can have it. */
bool score_term_init(struct score_term *term, const struct scored_resources *r, size_t i,
                     const struct intern *names);

/* Does the pod's status have resources: a resize, in progress or done? */
bool pod_status_has_resources(const struct pod *pod);

/* --- amounts of a node ------------------------------------------------------------------------ */

struct term_amounts {
    int64_t allocatable, allocated;
};

/* A term with nothing allocatable does not count on the node. */
static inline struct term_amounts node_amounts(const struct score_term *term,
                                               const struct berth_node *node)
{
    const struct resource *has = &node->allocatable, *used = &node->requested;
    switch (term->source) {
    case TERM_CPU:
        return (struct term_amounts){has->milli_cpu, used->milli_cpu};
    case TERM_CPU_NONZERO:
        return (struct term_amounts){has->milli_cpu, node->nonzero_milli_cpu};
    case TERM_MEMORY:
        return (struct term_amounts){has->memory, used->memory};
    case TERM_MEMORY_NONZERO:
        return (struct term_amounts){has->memory, node->nonzero_memory};
    case TERM_EPHEMERAL_STORAGE:
        return (struct term_amounts){has->ephemeral_storage, used->ephemeral_storage};
    case TERM_SCALAR:
        break;
    }
    int64_t there = resource_scalar(has, term->name);
    if (term->devices && there == 0) {
        struct device_count count = devices_count(term->devices, term->class_name, node->node);
        return (struct term_amounts){count.devices, count.allocated};
    }
    return (struct term_amounts){there, resource_scalar(used, term->name)};
}

/* The same amounts for all nodes, by slot. */
struct term_column {
    const int64_t *allocatable, *allocated;
};

/* The most terms that are scored over columns; with more, nodes are scored one by one. */
#define TERM_COLUMNS_MAX 4

/* False if there are too many terms, or one without columns. */
bool score_terms_columns(const struct score_terms *terms, const struct berth_columns *columns,
                         struct term_column ret_columns[TERM_COLUMNS_MAX]);

static inline struct term_amounts term_column_at(const struct term_column *column, size_t slot)
{
    return (struct term_amounts){column->allocatable[slot], column->allocated[slot]};
}

#endif
