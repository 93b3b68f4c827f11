/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/extender_config.h"

#include "api/scalars.h"
#include "codec/json_value.h"

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

/* --- managed resources ------------------------------------------------------------------------ */

static struct json_value ignored_resources(const struct extender_config *extenders, size_t n,
                                           struct arena *a)
{
    struct json_value list = {.kind = JSON_ARRAY};
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += extenders[i].managed_resources.n;
    list.items = arena_array(a, struct json_value, all);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < extenders[i].managed_resources.n; k++) {
            const struct extender_resource *resource = &extenders[i].managed_resources.v[k];
            if (resource->ignored_by_scheduler)
                list.items[list.n++] =
                    (struct json_value){.kind = JSON_STRING, .text = resource->name};
        }
    return list;
}

/* The object with the member added or replaced. */
static struct json_value with_member(const struct json_value *object, struct json_member member,
                                     struct arena *a)
{
    struct json_value copy = {.kind = JSON_OBJECT};
    copy.members = arena_array(a, struct json_member, object->n_members + 1);
    for (size_t i = 0; i < object->n_members; i++)
        if (!str_eq(object->members[i].key, member.key))
            copy.members[copy.n_members++] = object->members[i];
    copy.members[copy.n_members++] = member;
    return copy;
}

struct str extender_adjust_args(const struct extender_config *extenders, size_t n,
                                struct str plugin, struct str args, struct arena *a)
{
    struct json_value object = {.kind = JSON_OBJECT};
    struct json_value list = ignored_resources(extenders, n, a);
    if (!str_is(plugin, "NodeResourcesFit") || list.n == 0)
        return args;
    /* The plugin reports arguments that are not an object. */
    if (args.n && (json_parse(args, 0, a, &object, NULL) < 0 || object.kind != JSON_OBJECT))
        return args;
    struct json_value adjusted = with_member(
        &object, (struct json_member){.key = STR("ignoredResources"), .value = list}, a);
    struct buf text = BUF_INIT;
    json_write(&adjusted, &text);
    struct str copy = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return copy;
}
