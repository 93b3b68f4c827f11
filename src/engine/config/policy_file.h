/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_file.h - Policy v1.
 *
 * Purpose:   the configuration of releases up to 1.22: predicates and priorities by name. Only
 *            config_policy.c uses it, for conversion.
 * Ownership: in the reader's arena.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_CONFIG_POLICY_FILE_H
#define BERTH_ENGINE_CONFIG_POLICY_FILE_H

#include "codec/desc.h"

struct policy_service_affinity {
    LIST(struct str) labels;
};
struct policy_labels_presence {
    LIST(struct str) labels;
    bool presence;
};
struct policy_predicate_argument {
    struct policy_service_affinity *service_affinity;
    struct policy_labels_presence *labels_presence;
};
struct policy_predicate {
    struct str name;
    struct policy_predicate_argument *argument;
};

struct policy_service_anti_affinity {
    struct str label;
};
struct policy_label_preference {
    struct str label;
    bool presence;
};
struct policy_ratio_point {
    int32_t utilization, score;
};
struct policy_ratio_resource {
    struct str name;
    int64_t weight;
};
struct policy_ratio {
    LIST(struct policy_ratio_point) shape;
    LIST(struct policy_ratio_resource) resources;
};
struct policy_priority_argument {
    struct policy_service_anti_affinity *service_anti_affinity;
    struct policy_label_preference *label_preference;
    struct policy_ratio *ratio;
};
struct policy_priority {
    struct str name;
    int64_t weight;
    struct policy_priority_argument *argument;
};

/* The extender of v1, except that its timeout is a number. */
struct policy_extender {
    struct str url_prefix, filter_verb, preempt_verb, prioritize_verb, bind_verb;
    int64_t weight, http_timeout; /* ns */
    bool enable_https, node_cache_capable, ignorable;
    struct str tls_config;              /* JSON */
    LIST(struct str) managed_resources; /* JSON */
};

struct policy {
    struct str kind, api_version;
    LIST(struct policy_predicate) predicates;
    LIST(struct policy_priority) priorities;
    LIST(struct policy_extender) extenders;
    int32_t hard_pod_affinity_symmetric_weight;
    bool always_check_all_predicates;
};

extern const struct type policy_type;
extern const struct type policy_ratio_type; /* struct policy_ratio */

#endif
