/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_selector.h - matches nodes for pods, volumes and devices.
 *
 * Purpose:   node selectors and preferred terms of the API, compiled once and matched against many
 *            nodes. The compiled form is plain data that others may translate into something
 *            faster.
 * Ownership: borrows its strings from the object it was compiled from, which must outlive it; its
 *            arrays live in the arena.
 * Threading: immutable once compiled; any thread.
 */
#ifndef BERTH_API_NODE_SELECTOR_H
#define BERTH_API_NODE_SELECTOR_H

#include "api/node_affinity.h"
#include "api/selector.h"

#define NODE_FIELD_NAME STR("metadata.name")

/* Labels and fields must both match. Terms without requirements are not compiled. */
struct node_term {
    struct selector labels;
    LIST(struct field_requirement) fields;
    int32_t weight;    /* of a preferred term */
    struct str broken; /* why it could not be compiled and matches nothing; empty: it is valid */
};

/* One matching term is enough; without terms nothing matches. */
struct node_terms {
    LIST(struct node_term) v;
};

/*
 * As upstream does for required terms of pods, an invalid term does not affect the others: it is
 * kept as broken and never matches.
 */
void node_terms_compile(const struct node_selector *ns, struct arena *a,
                        struct node_terms *ret_terms);
/* The first reason why a term is broken; empty if none is. */
struct str node_terms_fault(const struct node_terms *terms);
bool node_terms_match(const struct node_terms *terms, const str_map *labels, struct str node_name);

/*
 * Preferred terms: those of weight 0 and empty ones are skipped; an invalid term fails all with
 * -EINVAL.
 */
int node_preferences_compile(const struct node_affinity *affinity, struct arena *a,
                             struct node_terms *ret_terms, struct err *reterr) MUST_CHECK;
/* The sum of the weights of the matching terms. */
int64_t node_preferences_score(const struct node_terms *terms, const str_map *labels,
                               struct str node_name);

/* A pod's requirements on nodes: its nodeSelector and its required node affinity. */
struct required_node_affinity {
    struct selector node_selector;
    struct node_terms terms;
    bool has_terms; /* the pod has required terms, possibly an empty list */
};

void required_node_affinity_compile(const str_map *node_selector,
                                    const struct node_affinity *affinity, struct arena *a,
                                    struct required_node_affinity *ret_affinity);
bool required_node_affinity_matches(const struct required_node_affinity *affinity,
                                    const str_map *labels, struct str node_name);

#endif
