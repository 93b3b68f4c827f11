/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_config.h - an entry of `extenders:` in a KubeSchedulerConfiguration.
 *
 * Purpose:   one extender of the file: its URL, verbs and managed resources.
 * Ownership: in the arena of its configuration; immutable after reading.
 * Threading: any thread after reading.
 */
#ifndef BERTH_ENGINE_CONFIG_EXTENDER_CONFIG_H
#define BERTH_ENGINE_CONFIG_EXTENDER_CONFIG_H

#include "codec/desc.h"

struct extender_tls_config {
    bool insecure;
    struct str server_name;
    struct str cert_file, key_file, ca_file;
    struct str cert_data, key_data, ca_data; /* PEM; take precedence over the files */
};

struct extender_resource {
    struct str name;
    bool ignored_by_scheduler; /* NodeResourcesFit ignores it */
};

struct extender_config {
    struct str url_prefix;
    struct str filter_verb, preempt_verb, prioritize_verb; /* empty: not called */
    int64_t weight;
    struct str bind_verb;
    bool enable_https;
    struct extender_tls_config *tls_config;
    int64_t http_timeout;    /* ns; 0: EXTENDER_DEFAULT_TIMEOUT */
    bool node_cache_capable; /* gets names of nodes instead of nodes */
    LIST(struct extender_resource) managed_resources;
    bool ignorable;
};

#define EXTENDER_DEFAULT_TIMEOUT ((int64_t)5 * 1000000000)

/* kubescheduler.config.k8s.io/v1 Extender. */
extern const struct type extender_config_type;

/*
 * Adjusts the arguments (JSON text) of NodeResourcesFit: its ignoredResources are replaced by the
 * managed resources of extenders that are ignoredByScheduler, as upstream does. Returns `args` for
 * all other plugins; a changed text is in the arena.
 */
struct str extender_adjust_args(const struct extender_config *extenders, size_t n,
                                struct str plugin, struct str args, struct arena *a);

#endif
