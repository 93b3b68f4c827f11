/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_terms.h - what a score looks at, for one pod: which resources, and how much it asks for.
 *
 * Purpose:   the configured resources joined with a pod once, before its nodes are scored. A term
 *            knows where a node keeps its amount, so that scoring a node is arithmetic.
 * Ownership: scored_resources borrows its list. Terms borrow atoms from the pods and nodes that are
 *            there while the pod is being scored; they are not kept beyond that.
 * Threading: made on the engine's thread, read by any.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_TERMS_H
#define BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_TERMS_H

#include "engine/cache/node_info.h"
#include "plugins/common/go_math.h"
#include "plugins/node_resources/resource_args.h"

/* The configured resources, and how a pod's requests for them are counted. */
struct scored_resources {
    resource_spec_list list;
    bool nonzero; /* cpu and memory: with defaults for containers that ask for none */
    struct resource_gates gates; /* of the pod to be placed */
    bool has_unknown;            /* of names that no node can have */
};

void scored_resources_init(struct scored_resources *r, resource_spec_list list, bool nonzero,
                           const struct resource_gates *gates);

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
    int64_t request;
    int64_t weight;
};

/* In the order of the configuration, without those that no node can count for this pod. */
struct score_terms {
    bool best_effort; /* the pod asks for none of the configured resources */
    size_t n;
    struct score_term v[];
};

/* Room that terms need. */
size_t score_terms_size(const struct scored_resources *r);
/* Fills terms, which has that room. */
void score_terms_fill(struct score_terms *terms, const struct scored_resources *r,
                      const struct berth_pod *pod);
/* The same on the heap; the caller frees it. */
struct score_terms *score_terms_new(const struct scored_resources *r, const struct berth_pod *pod);

/* One resource, for sums over many nodes. False where no node can have it. */
bool score_term_init(struct score_term *term, const struct scored_resources *r, size_t i,
                     const struct intern *names);

/* Signs what scores depend on. */
void score_terms_sign(const struct score_terms *terms, const struct berth_host *host,
                      const struct intern *names, struct berth_signature *s);

/* Whether the pod's status says anything of resources: a resize, under way or done. */
bool pod_status_has_resources(const struct pod *pod);

/* --- amounts of a node ------------------------------------------------------------------------ */

struct term_amounts {
    int64_t allocatable, allocated;
};

/* Where there is nothing allocatable, the term does not count on this node. */
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
    return (struct term_amounts){resource_scalar(has, term->name),
                                 resource_scalar(used, term->name)};
}

/* The same amounts of all nodes, by slot. */
struct term_column {
    const int64_t *allocatable, *allocated;
};

/* As many terms as are scored over columns; who configures more has his nodes looked at one by one.
 */
#define TERM_COLUMNS_MAX 4

/* False where there are too many, or one that has no columns. */
bool score_terms_columns(const struct score_terms *terms, const struct berth_columns *columns,
                         struct term_column ret_columns[TERM_COLUMNS_MAX]);

static inline struct term_amounts term_column_at(const struct term_column *column, size_t slot)
{
    return (struct term_amounts){column->allocatable[slot], column->allocated[slot]};
}

#endif
