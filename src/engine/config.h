/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - KubeSchedulerConfiguration.
 *
 * Purpose:   kubescheduler.config.k8s.io/v1 as C structs, decoded strictly by one set of tables,
 *            then defaulted and validated. Errors name file, line, field and what would be right.
 * Ownership: everything lives in the arena that the reader was given; immutable once read.
 * Threading: any, after reading.
 */
#ifndef BERTH_ENGINE_CONFIG_H
#define BERTH_ENGINE_CONFIG_H

#include "codec/desc.h"
#include "engine/extender_config.h"
#include "engine/point.h"

struct plugin_ref {
    struct str name;
    int32_t *weight;
};

struct plugin_section {
    LIST(struct plugin_ref) enabled;
    LIST(struct plugin_ref) disabled;
};

struct plugins_config {
    struct plugin_section at[POINT_COUNT];
    struct plugin_section multi_point;
};

struct plugin_args {
    struct str name;
    struct str args; /* JSON text */
};

struct profile_config {
    struct str *scheduler_name;
    int32_t *percentage_of_nodes_to_score;
    struct plugins_config *plugins;
    LIST(struct plugin_args) plugin_config;
};

struct leader_election_config {
    bool *leader_elect;
    int64_t lease_duration, renew_deadline, retry_period; /* ns */
    struct str resource_lock, resource_name, resource_namespace;
};

struct client_connection_config {
    struct str kubeconfig, accept_content_types, content_type;
    double qps; /* 0: not set, no limit on our side */
    int32_t burst;
};

struct scheduler_config {
    const char *file; /* where it was read from, for messages; NULL: nowhere */
    struct str kind, api_version;
    int32_t *parallelism;
    struct leader_election_config leader_election;
    struct client_connection_config client_connection;
    bool *enable_profiling, *enable_contention_profiling;
    int32_t *percentage_of_nodes_to_score;
    int64_t *pod_initial_backoff_seconds, *pod_max_backoff_seconds;
    LIST(struct profile_config) profiles;
    LIST(struct extender_config) extenders;
    bool delay_cache_until_active;
};

extern const struct type scheduler_config_type;

/* The configuration of an empty file: every default filled in. */
void config_default(struct scheduler_config *config, struct arena *a);
/* text: YAML or JSON. Decodes strictly, fills in defaults, validates. file: for messages. */
int config_read(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                struct err *reterr) MUST_CHECK;
/* To be called again after command-line flags have changed something. */
int config_validate(const struct scheduler_config *config, struct err *reterr) MUST_CHECK;

#endif
