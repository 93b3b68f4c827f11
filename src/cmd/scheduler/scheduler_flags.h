/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_flags.h - the flags of `berth scheduler`.
 *
 * Purpose:   a table with every flag of kube-scheduler 1.36, retired flags that manifests still
 *            use, and berth's own. Values are checked here, with upstream's errors in upstream's
 *            order. loaded_config.h and scheduler_retired.h apply them to the configuration.
 * Ownership: the options own their arena; texts point into it or into argv.
 * Threading: filled at start, constant afterwards.
 */
#ifndef BERTH_CMD_SCHEDULER_SCHEDULER_FLAGS_H
#define BERTH_CMD_SCHEDULER_SCHEDULER_FLAGS_H

#include "cmd/cli/plugin_flags.h"
#include "serve/kube_version.h"

struct sni_cert_key {
    struct str cert_file, key_file;
    struct go_strings names; /* empty: those of the certificate */
};

struct sni_cert_keys {
    struct arena *arena;
    struct sni_cert_key *v;
    size_t n;
};

struct vmodule_item {
    struct str pattern; /* of file names without extension */
    int32_t level;
};

struct vmodule {
    struct arena *arena;
    struct vmodule_item *v;
    size_t n;
};

struct secure_serving_flags {
    const char *bind_address, *cert_dir, *cert_file, *key_file, *min_version;
    int64_t port, http2_max_streams;
    bool disable_http2, permit_address_sharing, permit_port_sharing;
    struct flag_strings cipher_suites;
    struct flag_int32s curve_preferences;
    struct sni_cert_keys sni;
};

struct authentication_flags {
    const char *kubeconfig, *client_ca_file, *requestheader_client_ca_file;
    bool skip_lookup, tolerate_lookup_failure;
    int64_t token_cache_ttl;
    struct flag_strings allowed_names, extra_headers_prefix, group_headers, uid_headers,
        username_headers;
};

struct authorization_flags {
    const char *kubeconfig;
    struct flag_strings always_allow_paths;
    int64_t authorized_ttl, unauthorized_ttl;
};

/* Ignored if --config is set. */
struct deprecated_flags {
    bool profiling, contention_profiling;
    int32_t burst;
    float qps;
    const char *content_type, *kubeconfig;
    int64_t max_in_unschedulable; /* always used */
};

struct leader_election_flags {
    bool elect;
    int64_t lease_duration, renew_deadline, retry_period;
    const char *lock, *name, *namespace;
};

struct metrics_flags {
    struct flag_map allow_labels;
    struct flag_strings disabled;
    const char *allow_labels_manifest, *show_hidden_for_version;
};

struct logs_flags {
    int64_t flush_frequency, verbosity;
    int64_t json_buffer, text_buffer; /* bytes */
    bool json_split_stream, text_split_stream;
    const char *format;
    struct vmodule vmodule;
};

/* Removed upstream by 1.24. */
struct retired_flags {
    const char *policy_config_file, *policy_configmap, *policy_configmap_namespace;
    bool use_legacy_policy_config;
    const char *scheduler_name, *algorithm_provider, *address;
    const char *lock_object_name, *lock_object_namespace;
    int64_t port;
    int32_t hard_pod_affinity_weight;
};

/* Flags with their own parser. */
enum scheduler_custom {
    CUSTOM_SNI,
    CUSTOM_FEATURE_GATES,
    CUSTOM_JSON_BUFFER,
    CUSTOM_TEXT_BUFFER,
    CUSTOM_VERBOSITY,
    CUSTOM_VMODULE,
    CUSTOM_VERSION,
    CUSTOM_COUNT,
};

#define SCHEDULER_FLAGS_MAX 96

struct scheduler_options {
    struct arena arena;
    bool as_upstream;        /* use kube-scheduler's error texts and exit codes */
    const char *program;     /* for usage: "berth scheduler" */
    const char *config_path; /* config_file without #KEY; NULL: none */
    const char *config_file, *master, *write_config_to, *explain_file;
    struct plugin_flags plugins;
    int64_t plugin_call_limit; /* ns; 0: none */
    struct secure_serving_flags serving;
    struct authentication_flags authentication;
    struct authorization_flags authorization;
    struct deprecated_flags deprecated;
    struct leader_election_flags leader;
    struct flag_strings emulated_version, min_compatibility_version;
    struct flag_strings feature_gates; /* as given, for scheduler_options_features */
    struct metrics_flags metrics;
    struct logs_flags logs;
    struct retired_flags retired;
    bool help;
    struct version_flag version;

    struct flag_custom custom[CUSTOM_COUNT];
    struct flag flags[SCHEDULER_FLAGS_MAX]; /* point into this struct, which must not move */
    size_t n_flags;
};

/* Sets all defaults and fills the table. */
void scheduler_options_init(struct scheduler_options *o);
void scheduler_options_release(struct scheduler_options *o);
bool scheduler_options_given(const struct scheduler_options *o, const char *flag);

/* --- checks of scheduler_options.c, to be called in this order -------------------------------- */

struct error_list;
/* Feature gates and emulated versions. */
int scheduler_options_features(const struct scheduler_options *o, struct features *ret_features,
                               struct err *reterr) MUST_CHECK;
void scheduler_options_check_logs(const struct scheduler_options *o,
                                  const struct features *features, struct error_list *out);
void scheduler_options_check(const struct scheduler_options *o, const struct features *features,
                             struct error_list *out);
/* Cipher suites, curves and TLS versions. Not checked if --secure-port is 0. */
int scheduler_options_check_tls(const struct scheduler_options *o, struct err *reterr) MUST_CHECK;

#endif
