/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config.h"

#include "api/scalars.h"
#include "codec/yaml.h"
#include "engine/args_kind.h"
#include "engine/config_internal.h"

static const struct field plugin_ref_fields[] = {
    F_ALWAYS(struct plugin_ref, name, "name", 0, STR),
    F_PTR(struct plugin_ref, weight, "weight", 0, INT32),
};
static const struct type plugin_ref_type = TYPE("Plugin", struct plugin_ref, plugin_ref_fields);

static const struct field plugin_section_fields[] = {
    F_LIST_MSG(struct plugin_section, enabled, "enabled", 0, struct plugin_ref, &plugin_ref_type),
    F_LIST_MSG(struct plugin_section, disabled, "disabled", 0, struct plugin_ref, &plugin_ref_type),
};
static const struct type plugin_section_type =
    TYPE("PluginSet", struct plugin_section, plugin_section_fields);

#define SECTION(point, json) \
    F_MSG(struct plugins_config, at[point], json, 0, struct plugin_section, &plugin_section_type)
static const struct field plugins_config_fields[] = {
    SECTION(POINT_PRE_ENQUEUE, "preEnqueue"),
    SECTION(POINT_QUEUE_SORT, "queueSort"),
    SECTION(POINT_PRE_FILTER, "preFilter"),
    SECTION(POINT_FILTER, "filter"),
    SECTION(POINT_POST_FILTER, "postFilter"),
    SECTION(POINT_PRE_SCORE, "preScore"),
    SECTION(POINT_SCORE, "score"),
    SECTION(POINT_RESERVE, "reserve"),
    SECTION(POINT_PERMIT, "permit"),
    SECTION(POINT_PRE_BIND, "preBind"),
    SECTION(POINT_BIND, "bind"),
    SECTION(POINT_POST_BIND, "postBind"),
    F_MSG(struct plugins_config, multi_point, "multiPoint", 0, struct plugin_section,
          &plugin_section_type),
    SECTION(POINT_PLACEMENT_GENERATE, "placementGenerate"),
    SECTION(POINT_PLACEMENT_SCORE, "placementScore"),
};
static const struct type plugins_config_type =
    TYPE("Plugins", struct plugins_config, plugins_config_fields);

static const struct field plugin_args_fields[] = {
    F_ALWAYS(struct plugin_args, name, "name", 0, STR),
    F_ONE(struct plugin_args, args, "args", 0, RAW),
};
static const struct type plugin_args_type =
    TYPE("PluginConfig", struct plugin_args, plugin_args_fields);

static const struct field profile_config_fields[] = {
    F_PTR(struct profile_config, scheduler_name, "schedulerName", 0, STR),
    F_PTR(struct profile_config, percentage_of_nodes_to_score, "percentageOfNodesToScore", 0,
          INT32),
    F_PTR_MSG(struct profile_config, plugins, "plugins", 0, struct plugins_config,
              &plugins_config_type),
    F_LIST_MSG(struct profile_config, plugin_config, "pluginConfig", 0, struct plugin_args,
               &plugin_args_type),
};
static const struct type profile_config_type =
    TYPE("KubeSchedulerProfile", struct profile_config, profile_config_fields);

static const struct field leader_election_fields[] = {
    F_PTR(struct leader_election_config, leader_elect, "leaderElect", 0, BOOL),
    F_CUSTOM(struct leader_election_config, lease_duration, "leaseDuration", 0, int64_t,
             &duration_custom),
    F_CUSTOM(struct leader_election_config, renew_deadline, "renewDeadline", 0, int64_t,
             &duration_custom),
    F_CUSTOM(struct leader_election_config, retry_period, "retryPeriod", 0, int64_t,
             &duration_custom),
    F_ONE(struct leader_election_config, resource_lock, "resourceLock", 0, STR),
    F_ONE(struct leader_election_config, resource_name, "resourceName", 0, STR),
    F_ONE(struct leader_election_config, resource_namespace, "resourceNamespace", 0, STR),
};
static const struct type leader_election_type =
    TYPE("LeaderElectionConfiguration", struct leader_election_config, leader_election_fields);

static const struct field client_connection_fields[] = {
    F_ONE(struct client_connection_config, kubeconfig, "kubeconfig", 0, STR),
    F_ONE(struct client_connection_config, accept_content_types, "acceptContentTypes", 0, STR),
    F_ONE(struct client_connection_config, content_type, "contentType", 0, STR),
    F_ONE(struct client_connection_config, qps, "qps", 0, DOUBLE),
    F_ONE(struct client_connection_config, burst, "burst", 0, INT32),
};
static const struct type client_connection_type = TYPE(
    "ClientConnectionConfiguration", struct client_connection_config, client_connection_fields);

static const struct field scheduler_config_fields[] = {
    F_ALWAYS(struct scheduler_config, kind, "kind", 0, STR),
    F_ALWAYS(struct scheduler_config, api_version, "apiVersion", 0, STR),
    F_PTR(struct scheduler_config, parallelism, "parallelism", 0, INT32),
    F_MSG(struct scheduler_config, leader_election, "leaderElection", 0,
          struct leader_election_config, &leader_election_type),
    F_MSG(struct scheduler_config, client_connection, "clientConnection", 0,
          struct client_connection_config, &client_connection_type),
    F_PTR(struct scheduler_config, enable_profiling, "enableProfiling", 0, BOOL),
    F_PTR(struct scheduler_config, enable_contention_profiling, "enableContentionProfiling", 0,
          BOOL),
    F_PTR(struct scheduler_config, percentage_of_nodes_to_score, "percentageOfNodesToScore", 0,
          INT32),
    F_PTR(struct scheduler_config, pod_initial_backoff_seconds, "podInitialBackoffSeconds", 0,
          INT64),
    F_PTR(struct scheduler_config, pod_max_backoff_seconds, "podMaxBackoffSeconds", 0, INT64),
    F_LIST_MSG(struct scheduler_config, profiles, "profiles", 0, struct profile_config,
               &profile_config_type),
    F_LIST_MSG(struct scheduler_config, extenders, "extenders", 0, struct extender_config,
               &extender_config_type),
    F_ONE(struct scheduler_config, delay_cache_until_active, "delayCacheUntilActive", 0, BOOL),
};
const struct type scheduler_config_type =
    TYPE(CONFIG_KIND, struct scheduler_config, scheduler_config_fields);

/* --- reading ---------------------------------------------------------------------------------- */

static int from_v1(struct json_value *doc, struct arena *a, struct scheduler_config *out,
                   struct err *reterr)
{
    return json_value_decode(doc, &scheduler_config_type, JSON_STRICT, a, out, reterr);
}

static const struct {
    const char *version, *kind;
    int (*read)(struct json_value *doc, struct arena *a, struct scheduler_config *out,
                struct err *reterr);
} versions[] = {
    {CONFIG_API_VERSION, CONFIG_KIND, from_v1},
    {CONFIG_GROUP "/v1beta3", CONFIG_KIND, config_from_v1beta3},
    {CONFIG_GROUP "/v1beta2", CONFIG_KIND, config_from_v1beta2},
    {CONFIG_GROUP "/v1beta1", CONFIG_KIND, config_from_v1beta1},
    {"v1", "Policy", config_from_policy},
};

static int read_version(struct json_value *doc, struct arena *a, struct scheduler_config *out,
                        struct err *reterr)
{
    struct str version = json_get_text(doc, STR("apiVersion")),
               kind = json_get_text(doc, STR("kind"));
    for (size_t i = 0; i < ARRAY_LEN(versions); i++)
        if (str_is(version, versions[i].version) && str_is(kind, versions[i].kind)) {
            int r = versions[i].read(doc, a, out, reterr);
            out->version = version;
            return r;
        }
    return err_set(reterr, -EINVAL,
                   "expected apiVersion: " CONFIG_API_VERSION " and kind: " CONFIG_KIND
                   " (v1beta1 to v1beta3, and kind: Policy of v1, are read as well), got "
                   "apiVersion: \"%.*s\" and kind: \"%.*s\"",
                   STR_ARG(version), STR_ARG(kind));
}

int config_parse(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                 struct err *reterr)
{
    struct json_value *docs;
    size_t n;
    struct scheduler_config config = {0};
    int r = yaml_parse(text, JSON_STRICT, a, &docs, &n, reterr);
    if (r == 0 && n == 0)
        r = err_set(reterr, -EINVAL, "the file is empty: expected kind: " CONFIG_KIND);
    if (r == 0)
        r = read_version(&docs[0], a, &config, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "%s", file);
    config.file = arena_dup(a, str_of(file)).p;
    config.source = &docs[0];
    config.unread_line = n > 1 ? docs[1].line : 0;
    *ret = config;
    return 0;
}

int config_load(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                struct err *reterr)
{
    int r = config_parse(file, text, a, ret, reterr);
    if (r == 0)
        config_fill(ret, a);
    return r;
}

int config_read(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                struct err *reterr)
{
    struct scheduler_config config;
    int r = config_load(file, text, a, &config, reterr);
    if (r < 0)
        return r;
    r = config_validate(&config, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "%s", file);
    *ret = config;
    return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The next step of a path: a member's name or an index. False at its end. */
static const struct json_value *step(const struct json_value *v, struct str *path)
{
    size_t end;
    if (path->n && path->p[0] == '[') {
        end = str_find(*path, ']');
        uint64_t i;
        struct str text = str_slice(*path, 1, end);
        *path = str_slice(*path, end + 1, path->n);
        bool there = str_to_u64(text, &i) && v->kind == JSON_ARRAY && i < v->n;
        return there ? &v->items[i] : NULL;
    }
    if (path->n && path->p[0] == '.')
        *path = str_slice(*path, 1, path->n);
    end = 0;
    while (end < path->n && path->p[end] != '.' && path->p[end] != '[')
        end++;
    struct str name = str_slice(*path, 0, end);
    *path = str_slice(*path, end, path->n);
    return json_get(v, name);
}

uint32_t config_line(const struct scheduler_config *config, struct str complaint)
{
    const struct json_value *at = config->source;
    struct str path = str_slice(complaint, 0, str_find(complaint, ':'));
    uint32_t line = at ? at->line : 0;
    while (at && path.n && str_find(path, ' ') == path.n) {
        at = step(at, &path);
        if (at && at->line)
            line = at->line;
    }
    return line;
}
