/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_config.h - an entry of `extenders:` in a KubeSchedulerConfiguration.
 *
 * Purpose:   what the file says of one extender: where it is, what it is asked, whom it concerns.
 * Ownership: lives in the arena of the configuration that it is part of; immutable once read.
 * Threading: any, after reading.
 */
#ifndef BERTH_ENGINE_CONFIG_EXTENDER_CONFIG_H
#define BERTH_ENGINE_CONFIG_EXTENDER_CONFIG_H

#include "codec/desc.h"

struct extender_tls_config {
    bool insecure;
    struct str server_name;
    struct str cert_file, key_file, ca_file;
    struct str cert_data, key_data, ca_data; /* PEM; win over the files */
};

struct extender_resource {
    struct str name;
    bool ignored_by_scheduler; /* NodeResourcesFit does not look at it */
};

struct extender_config {
    struct str url_prefix;
    struct str filter_verb, preempt_verb, prioritize_verb; /* empty: not asked that */
    int64_t weight;
    struct str bind_verb;
    bool enable_https;
    struct extender_tls_config *tls_config;
    int64_t http_timeout;    /* ns; 0: EXTENDER_DEFAULT_TIMEOUT */
    bool node_cache_capable; /* is sent names of nodes, not the nodes */
    LIST(struct extender_resource) managed_resources;
    bool ignorable;
};

#define EXTENDER_DEFAULT_TIMEOUT ((int64_t)5 * 1000000000)

/* kubescheduler.config.k8s.io/v1 Extender. */
extern const struct type extender_config_type;

/*
 * A plugin's arguments (JSON text) as extenders want them: resources that one of them manages and
 * that are ignoredByScheduler stand in place of NodeResourcesFit's own ignoredResources. Everything
 * else is `args` itself. What is made is made in the arena.
 */
struct str extender_adjust_args(const struct extender_config *extenders, size_t n,
                                struct str plugin, struct str args, struct arena *a);

#endif
