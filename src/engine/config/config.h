/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - KubeSchedulerConfiguration.
 *
 * Purpose:   kubescheduler.config.k8s.io/v1 as C structs, decoded strictly by one set of tables,
 *            then defaulted and validated. Older versions (v1beta1 to v1beta3) and Policy v1 are
 *            converted to the same structs with their defaults written out, so that no other code
 *            depends on the version. Errors name file, line, field and the valid values.
 * Ownership: everything is in the caller's arena; immutable after reading.
 * Threading: any thread after reading.
 */
#ifndef BERTH_ENGINE_CONFIG_CONFIG_H
#define BERTH_ENGINE_CONFIG_CONFIG_H

#include "codec/json_value.h"
#include "engine/config/extender_config.h"
#include "engine/config/point.h"

struct error_list;
struct features;
struct registry;

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
    /* Paths of the entry and its arguments in a file of an older version; empty: as in v1. */
    struct str origin, args_origin;
};

struct profile_config {
    struct str *scheduler_name;
    int32_t *percentage_of_nodes_to_score; /* NULL: that of the configuration */
    struct plugins_config *plugins;
    LIST(struct plugin_args) plugin_config;
    const struct plugins_config *given; /* as in a file of an older version; NULL: `plugins` */
    bool older;                         /* of an older version: may name plugins that v1 refuses */
    bool from_policy;
};

struct leader_election_config {
    bool *leader_elect;
    int64_t lease_duration, renew_deadline, retry_period; /* ns */
    struct str resource_lock, resource_name, resource_namespace;
};

struct client_connection_config {
    struct str kubeconfig, accept_content_types, content_type;
    double qps; /* 0: not set; then only statuses and Warning events are limited */
    int32_t burst;
};

/* An error of form; the field is left out of the configuration. */
struct config_problem {
    const char *file;
    uint32_t line;   /* 0: unknown */
    struct str text; /* "profiles[0].plugin: unknown field" */
    struct str hint; /* " (did you mean plugins?)", or empty */
    struct str path; /* of the field; empty: none */
    /* An error that would only follow from this one: the field that was meant is missing. */
    struct str missing;
};

struct scheduler_config {
    const char *file;                /* its name, for messages; NULL: none */
    const struct json_value *source; /* the file's tree, for line numbers; NULL: none */
    struct str within;               /* "ConfigMap x, key y" of the file; empty: the file itself */
    uint32_t unread_line;            /* of the second document, which is ignored; 0: none */
    struct str version;              /* the file's apiVersion */
    struct str given_kind;           /* the file's kind */
    LIST(struct config_problem) problems; /* the first ERROR_LIST_MAX */
    size_t problems_left_out;
    struct str kind, api_version; /* always those of v1 */
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

/* The configuration of an empty file: all defaults. */
void config_default(struct scheduler_config *config, struct arena *a);

/*
 * text: YAML or JSON. Finds the configuration in it (config_source.h), decodes it strictly and
 * converts it to v1; fields that are not in the file stay empty. Errors of form are listed in the
 * configuration and reported by config_check; only a text without a configuration is an error here.
 * file: for messages.
 */
int config_parse(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                 struct err *reterr) MUST_CHECK;
/* The same for the configuration under a key of a ConfigMap; empty key: the only one. */
int config_parse_key(const char *file, struct str text, struct str key, struct arena *a,
                     struct scheduler_config *ret, struct err *reterr) MUST_CHECK;
/* config_parse with defaults, not validated: flags may still change it. */
int config_load(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                struct err *reterr) MUST_CHECK;
/* Adds the problems of another file that a part of the configuration was taken from. */
void config_take_problems(struct scheduler_config *config, const struct scheduler_config *other,
                          struct arena *a);
/* Sets defaults (upstream: SetDefaults_KubeSchedulerConfiguration). */
void config_fill(struct scheduler_config *config, struct arena *a);

/*
 * Checks form, values, and whether all profiles can be built: plugins, points, arguments. As
 * upstream, it stops after the first of these steps with errors and reports the first plugin only.
 */
int config_check(const struct scheduler_config *config, const struct registry *registry,
                 const struct features *features, struct err *reterr) MUST_CHECK;
/* The same with a text of any length; false if there are errors. */
bool config_check_text(const struct scheduler_config *config, const struct registry *registry,
                       const struct features *features, struct buf *out);
/* All errors as a list. */
void config_complain(const struct scheduler_config *config, const struct registry *registry,
                     const struct features *features, struct error_list *out);
/* The line of the field of an error ("profiles[0].schedulerName: …"); 0: unknown. */
uint32_t config_line(const struct scheduler_config *config, struct str entry);

/*
 * The configuration as kube-scheduler prints it with --write-config-to: v1 with all defaults, the
 * default plugins and the arguments of every plugin. If qps and burst are not set, upstream's 50
 * and 100 are written, though berth then limits only some of its writes.
 */
void config_write(const struct scheduler_config *config, const struct registry *registry,
                  const struct features *features, struct buf *out);
/* Appends a profile as JSON, without defaults. */
void profile_config_write(const struct profile_config *profile, struct buf *out);
/* As v1 without defaults; for the result of config_parse. */
void config_write_given(const struct scheduler_config *config, bool json, struct buf *out);

#endif
