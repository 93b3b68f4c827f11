/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/extender_config.h"

#include "api/scalars.h"

static const struct field tls_fields[] = {
    F_ONE(struct extender_tls_config, insecure, "insecure", 0, BOOL),
    F_ONE(struct extender_tls_config, server_name, "serverName", 0, STR),
    F_ONE(struct extender_tls_config, cert_file, "certFile", 0, STR),
    F_ONE(struct extender_tls_config, key_file, "keyFile", 0, STR),
    F_ONE(struct extender_tls_config, ca_file, "caFile", 0, STR),
    F_ONE(struct extender_tls_config, cert_data, "certData", 0, BYTES),
    F_ONE(struct extender_tls_config, key_data, "keyData", 0, BYTES),
    F_ONE(struct extender_tls_config, ca_data, "caData", 0, BYTES),
};
static const struct type tls_type =
    TYPE("ExtenderTLSConfig", struct extender_tls_config, tls_fields);

static const struct field resource_fields[] = {
    F_ALWAYS(struct extender_resource, name, "name", 0, STR),
    F_ONE(struct extender_resource, ignored_by_scheduler, "ignoredByScheduler", 0, BOOL),
};
static const struct type resource_type =
    TYPE("ExtenderManagedResource", struct extender_resource, resource_fields);

static const struct field extender_fields[] = {
    F_ALWAYS(struct extender_config, url_prefix, "urlPrefix", 0, STR),
    F_ONE(struct extender_config, filter_verb, "filterVerb", 0, STR),
    F_ONE(struct extender_config, preempt_verb, "preemptVerb", 0, STR),
    F_ONE(struct extender_config, prioritize_verb, "prioritizeVerb", 0, STR),
    F_ONE(struct extender_config, weight, "weight", 0, INT64),
    F_ONE(struct extender_config, bind_verb, "bindVerb", 0, STR),
    F_ONE(struct extender_config, enable_https, "enableHTTPS", 0, BOOL),
    F_PTR_MSG(struct extender_config, tls_config, "tlsConfig", 0, struct extender_tls_config,
              &tls_type),
    F_ALWAYS_CUSTOM(struct extender_config, http_timeout, "httpTimeout", 0, int64_t,
                    &duration_custom),
    F_ONE(struct extender_config, node_cache_capable, "nodeCacheCapable", 0, BOOL),
    F_LIST_MSG(struct extender_config, managed_resources, "managedResources", 0,
               struct extender_resource, &resource_type),
    F_ONE(struct extender_config, ignorable, "ignorable", 0, BOOL),
};
const struct type extender_config_type = TYPE("Extender", struct extender_config, extender_fields);
