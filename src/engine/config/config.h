/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - KubeSchedulerConfiguration.
 *
 * Purpose:   kubescheduler.config.k8s.io/v1 as C structs, decoded strictly by one set of tables,
 *            then defaulted and validated. Older versions (v1beta1 to v1beta3) and Policy v1 are
 *            read into the same structs: what their defaults were is written out, so that nobody
 *            further on needs to know which version it was. Errors name file, line, field and what
 *            would be right.
 * Ownership: everything lives in the arena that the reader was given; immutable once read.
 * Threading: any, after reading.
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
    /* Where a file of an older version has the entry and its arguments; empty: here. */
    struct str origin, args_origin;
};

struct profile_config {
    struct str *scheduler_name;
    int32_t *percentage_of_nodes_to_score; /* NULL: that of the whole configuration */
    struct plugins_config *plugins;
    LIST(struct plugin_args) plugin_config;
    const struct plugins_config *given; /* a file's of an older version; NULL: plugins are */
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

/* Something that is wrong with the form of a file; what it is about is not in the configuration. */
struct config_problem {
    const char *file;
    uint32_t line;   /* 0: unknown */
    struct str text; /* "profiles[0].plugin: unknown field" */
    struct str hint; /* " (did you mean plugins?)", or empty */
    struct str path; /* of the field; empty: none */
    /* What would be complained of because this is not the field that it should be; or empty. */
    struct str missing;
};

struct scheduler_config {
    const char *file;                /* where it was read from, for messages; NULL: nowhere */
    const struct json_value *source; /* the file's tree, for lines in messages; NULL: none */
    struct str within;               /* "ConfigMap x, key y" of the file; empty: the file itself */
    uint32_t unread_line;            /* where a second document begins; 0: there is none */
    struct str version;              /* the apiVersion that the file named */
    struct str given_kind;           /* the kind that it named */
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

/* The configuration of an empty file: every default filled in. */
void config_default(struct scheduler_config *config, struct arena *a);

/*
 * text: YAML or JSON. Finds the configuration in it (config_source.h), decodes it strictly and
 * brings it to v1; fields that the file does not have stay empty. What is wrong with its form is
 * listed in the configuration and told by those who check it; only what is no configuration at all
 * is refused. file: for messages.
 */
int config_parse(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                 struct err *reterr) MUST_CHECK;
/* The same of the configuration under a key of a ConfigMap; an empty key: there is no choice. */
int config_parse_key(const char *file, struct str text, struct str key, struct arena *a,
                     struct scheduler_config *ret, struct err *reterr) MUST_CHECK;
/* As config_parse with defaults filled in, not checked: flags may yet change something. */
int config_load(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                struct err *reterr) MUST_CHECK;
/* Adds the problems of another file, from which a part of the configuration was taken. */
void config_take_problems(struct scheduler_config *config, const struct scheduler_config *other,
                          struct arena *a);
/* Fills in what is not set. */
void config_fill(struct scheduler_config *config, struct arena *a);

/*
 * Its form, its values, and whether all profiles can be made: plugins, their places, their
 * arguments. Upstream stops where one of these is wrong and names the first plugin only; this says
 * the same.
 */
int config_check(const struct scheduler_config *config, const struct registry *registry,
                 const struct features *features, struct err *reterr) MUST_CHECK;
/* The same with a text of any length; false where something is wrong. */
bool config_check_text(const struct scheduler_config *config, const struct registry *registry,
                       const struct features *features, struct buf *out);
/* All of it as a list. */
void config_complain(const struct scheduler_config *config, const struct registry *registry,
                     const struct features *features, struct error_list *out);
/* The line of the file that a complaint ("profiles[0].schedulerName: …") is about; 0: unknown. */
uint32_t config_line(const struct scheduler_config *config, struct str entry);

/*
 * The configuration as kube-scheduler prints it with --write-config-to: v1, all defaults filled
 * in, the default plugins and the arguments of every plugin written out. Where qps and burst are
 * not set, upstream's 50 and 100 are written, though berth limits only some of its writes then.
 */
void config_write(const struct scheduler_config *config, const struct registry *registry,
                  const struct features *features, struct buf *out);
/* Appends a profile as JSON, with nothing but what it says. */
void profile_config_write(const struct profile_config *profile, struct buf *out);
/* As v1 without anything that the file did not say; of config_parse. */
void config_write_given(const struct scheduler_config *config, bool json, struct buf *out);

/* Plugins that a profile names or has by default and that berth does not have, once each. */
typedef void config_absent_fn(void *ctx, const char *name, const char *noticed_by);
void config_each_absent(const struct scheduler_config *config, const struct registry *registry,
                        const struct features *features, config_absent_fn *fn, void *ctx);

#endif
