/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_affinity.h - node selectors, taints and tolerations.
 *
 * Purpose:   the types; they are matched in node_selector.h and toleration.h.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_NODE_AFFINITY_H
#define BERTH_API_NODE_AFFINITY_H

#include "codec/desc.h"

/* Effects of taints. */
#define TAINT_EFFECT_NO_SCHEDULE        "NoSchedule"
#define TAINT_EFFECT_PREFER_NO_SCHEDULE "PreferNoSchedule"
#define TAINT_EFFECT_NO_EXECUTE         "NoExecute"

struct node_selector_requirement {
    struct str key;
    struct str operator;
    LIST(struct str) values;
};

/* Both lists must match; a term without any requirement matches no node. */
struct node_selector_term {
    LIST(struct node_selector_requirement) match_expressions;
    LIST(struct node_selector_requirement) match_fields;
};

/* The terms are ORed. */
struct node_selector {
    LIST(struct node_selector_term) node_selector_terms;
};

struct preferred_scheduling_term {
    struct node_selector_term preference;
    int32_t weight;
};

/* The end of the members' names is omitted: DuringSchedulingIgnoredDuringExecution. */
struct node_affinity {
    struct node_selector *required;
    LIST(struct preferred_scheduling_term) preferred;
};

struct topology_selector_label_requirement {
    struct str key;
    LIST(struct str) values;
};

/* Of a StorageClass: the topologies of its volumes. */
struct topology_selector_term {
    LIST(struct topology_selector_label_requirement) match_label_expressions;
};

/* Left out: timeAdded. */
struct taint {
    struct str key;
    struct str value;
    struct str effect;
};

/* operator: "" and Equal, Exists, Lt, Gt. Left out: tolerationSeconds. */
struct toleration {
    struct str key;
    struct str operator;
    struct str value;
    struct str effect;
};

extern const struct type node_selector_requirement_type;
extern const struct type node_selector_term_type;
extern const struct type node_selector_type;
extern const struct type preferred_scheduling_term_type;
extern const struct type node_affinity_type;
extern const struct type topology_selector_label_requirement_type;
extern const struct type topology_selector_term_type;
extern const struct type taint_type;
extern const struct type toleration_type;

#endif
