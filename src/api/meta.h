/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.h - common parts of all API objects.
 *
 * Purpose:   object and list metadata, owner references, label selectors, conditions, delete
 *            options. C types and members of the API have upstream's names in snake_case. A comment
 *            on each type lists upstream's fields that are left out because scheduling never reads
 *            them. A string that upstream holds by pointer, and for which empty is not a value, is
 *            a plain struct str here, empty if absent.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_META_H
#define BERTH_API_META_H

#include "api/scalars.h"

struct owner_reference {
    struct str api_version;
    struct str kind;
    struct str name;
    struct str uid;
    bool controller; /* this owner is the managing controller */
    bool block_owner_deletion;
};

/* Left out: selfLink, deletionGracePeriodSeconds, managedFields. */
struct object_meta {
    struct str name;
    struct str generate_name;
    struct str namespace;
    struct str uid;
    struct str resource_version;
    int64_t generation;
    struct timestamp creation_timestamp;
    struct timestamp deletion_timestamp;
    str_map labels;
    str_map annotations;
    LIST(struct owner_reference) owner_references;
    LIST(struct str) finalizers;
};

/* Left out: selfLink, shardInfo. */
struct list_meta {
    struct str resource_version;
    struct str continue_token;
    int64_t *remaining_item_count;
};

struct label_selector_requirement {
    struct str key;
    struct str operator;
    LIST(struct str) values;
};

/* NULL matches nothing, an empty one everything. */
struct label_selector {
    str_map match_labels;
    LIST(struct label_selector_requirement) match_expressions;
};

/* A condition of the kinds newer than core/v1. */
struct condition {
    struct str type;
    struct str status;
    int64_t observed_generation;
    struct timestamp last_transition_time;
    struct str reason;
    struct str message;
};

struct preconditions {
    struct str *uid;
    struct str *resource_version;
};

/* Left out: orphanDependents, ignoreStoreReadErrorWithClusterBreakingPotential. */
struct delete_options {
    int64_t *grace_period_seconds;
    struct preconditions *preconditions;
    struct str propagation_policy;
    LIST(struct str) dry_run;
};

/* The owner reference with controller: true; NULL if there is none. */
const struct owner_reference *object_meta_controller(const struct object_meta *meta);

extern const struct type owner_reference_type;
extern const struct type object_meta_type;
extern const struct type list_meta_type;
extern const struct type label_selector_requirement_type;
extern const struct type label_selector_type;
extern const struct type condition_type;
extern const struct type preconditions_type;
extern const struct type delete_options_type;

#endif
