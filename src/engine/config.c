/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config.h"

#include "api/pod.h"
#include "api/scalars.h"
#include "base/time.h"
#include "codec/yaml.h"

#define API_VERSION "kubescheduler.config.k8s.io/v1"
#define KIND        "KubeSchedulerConfiguration"

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
    TYPE(KIND, struct scheduler_config, scheduler_config_fields);

/* --- defaults --------------------------------------------------------------------------------- */

#define SET_DEFAULT(a, ptr, value)                                                  \
    do {                                                                            \
        if (!(ptr)) {                                                               \
            (ptr) = arena_alloc((a), sizeof(*(ptr)), _Alignof(__typeof__(*(ptr)))); \
            *(ptr) = (value);                                                       \
        }                                                                           \
    } while (0)

static void default_str(struct str *s, const char *value)
{
    if (str_empty(*s))
        *s = str_of(value);
}

static void default_duration(int64_t *ns, int64_t seconds)
{
    if (*ns == 0)
        *ns = seconds * NSEC_PER_SEC;
}

static void default_leader_election(struct leader_election_config *le, struct arena *a)
{
    SET_DEFAULT(a, le->leader_elect, true);
    default_duration(&le->lease_duration, 15);
    default_duration(&le->renew_deadline, 10);
    default_duration(&le->retry_period, 2);
    default_str(&le->resource_lock, "leases");
    default_str(&le->resource_name, "kube-scheduler");
    default_str(&le->resource_namespace, "kube-system");
}

static void default_profiles(struct scheduler_config *c, struct arena *a)
{
    if (c->profiles.n == 0) {
        c->profiles.v = arena_new(a, struct profile_config);
        c->profiles.n = 1;
    }
    /* One profile may go without a name; with several, each must say which it is. */
    if (c->profiles.n == 1)
        SET_DEFAULT(a, c->profiles.v[0].scheduler_name, STR(DEFAULT_SCHEDULER_NAME));
    for (size_t i = 0; i < c->profiles.n; i++)
        SET_DEFAULT(a, c->profiles.v[i].percentage_of_nodes_to_score,
                    *c->percentage_of_nodes_to_score);
}

static void fill_defaults(struct scheduler_config *c, struct arena *a)
{
    c->kind = STR(KIND);
    c->api_version = STR(API_VERSION);
    SET_DEFAULT(a, c->parallelism, 16);
    default_leader_election(&c->leader_election, a);
    default_str(&c->client_connection.content_type, "application/vnd.kubernetes.protobuf");
    SET_DEFAULT(a, c->enable_profiling, true);
    SET_DEFAULT(a, c->enable_contention_profiling, *c->enable_profiling);
    SET_DEFAULT(a, c->percentage_of_nodes_to_score, 0);
    SET_DEFAULT(a, c->pod_initial_backoff_seconds, 1);
    SET_DEFAULT(a, c->pod_max_backoff_seconds, 10);
    default_profiles(c, a);
}

void config_default(struct scheduler_config *config, struct arena *a)
{
    *config = (struct scheduler_config){0};
    fill_defaults(config, a);
}

/* --- validation ------------------------------------------------------------------------------- */

static int validate_leader_election(const struct leader_election_config *le, struct err *reterr)
{
    const char *at = "leaderElection";
    if (!*le->leader_elect)
        return 0;
    if (le->lease_duration <= 0)
        return err_set(reterr, -EINVAL, "%s.leaseDuration: must be greater than zero", at);
    if (le->renew_deadline <= 0)
        return err_set(reterr, -EINVAL, "%s.renewDeadline: must be greater than zero", at);
    if (le->retry_period <= 0)
        return err_set(reterr, -EINVAL, "%s.retryPeriod: must be greater than zero", at);
    if (le->lease_duration <= le->renew_deadline)
        return err_set(reterr, -EINVAL, "%s.leaseDuration: must be greater than renewDeadline", at);
    if (!str_is(le->resource_lock, "leases"))
        return err_set(reterr, -EINVAL,
                       "%s.resourceLock: \"%.*s\" is not supported, use \"leases\"", at,
                       STR_ARG(le->resource_lock));
    return 0;
}

static bool percentage_ok(const int32_t *p)
{
    return *p >= 0 && *p <= 100;
}

static int validate_profile(const struct scheduler_config *c, size_t i, struct err *reterr)
{
    const struct profile_config *p = &c->profiles.v[i];
    if (!p->scheduler_name || str_empty(*p->scheduler_name))
        return err_set(reterr, -EINVAL, "profiles[%zu].schedulerName: required", i);
    for (size_t j = 0; j < i; j++)
        if (str_eq(*p->scheduler_name, *c->profiles.v[j].scheduler_name))
            return err_set(reterr, -EINVAL,
                           "profiles[%zu].schedulerName: \"%.*s\" is the name of profiles[%zu] too",
                           i, STR_ARG(*p->scheduler_name), j);
    if (!percentage_ok(p->percentage_of_nodes_to_score))
        return err_set(reterr, -EINVAL,
                       "profiles[%zu].percentageOfNodesToScore: %d is not in the range 0-100", i,
                       *p->percentage_of_nodes_to_score);
    for (size_t j = 0; j < p->plugin_config.n; j++)
        for (size_t k = 0; k < j; k++)
            if (str_eq(p->plugin_config.v[j].name, p->plugin_config.v[k].name))
                return err_set(reterr, -EINVAL,
                               "profiles[%zu].pluginConfig[%zu]: repeated config "
                               "for plugin %.*s",
                               i, j, STR_ARG(p->plugin_config.v[j].name));
    return 0;
}

int config_validate(const struct scheduler_config *c, struct err *reterr)
{
    int r = validate_leader_election(&c->leader_election, reterr);
    if (r < 0)
        return r;
    if (*c->parallelism <= 0)
        return err_set(reterr, -EINVAL,
                       "parallelism: should be an integer value greater than zero");
    if (c->client_connection.burst < 0)
        return err_set(reterr, -EINVAL, "clientConnection.burst: must be non-negative");
    if (!percentage_ok(c->percentage_of_nodes_to_score))
        return err_set(reterr, -EINVAL, "percentageOfNodesToScore: %d is not in the range 0-100",
                       *c->percentage_of_nodes_to_score);
    if (*c->pod_initial_backoff_seconds <= 0)
        return err_set(reterr, -EINVAL, "podInitialBackoffSeconds: must be greater than 0");
    if (*c->pod_max_backoff_seconds < *c->pod_initial_backoff_seconds)
        return err_set(reterr, -EINVAL,
                       "podMaxBackoffSeconds: must be greater than or equal to "
                       "podInitialBackoffSeconds");
    for (size_t i = 0; r == 0 && i < c->profiles.n; i++)
        r = validate_profile(c, i, reterr);
    return r;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int check_kind(const struct json_value *doc, struct err *reterr)
{
    struct str version = json_get_text(doc, STR("apiVersion")),
               kind = json_get_text(doc, STR("kind"));
    if (!str_is(version, API_VERSION) || !str_is(kind, KIND))
        return err_set(reterr, -EINVAL,
                       "expected apiVersion: " API_VERSION " and kind: " KIND
                       ", got apiVersion: \"%.*s\" and kind: \"%.*s\"",
                       STR_ARG(version), STR_ARG(kind));
    return 0;
}

int config_read(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                struct err *reterr)
{
    struct json_value *docs;
    size_t n;
    struct scheduler_config config;
    int r = yaml_parse(text, JSON_STRICT, a, &docs, &n, reterr);
    if (r == 0 && n != 1)
        r = err_set(reterr, -EINVAL, "expected one document, found %zu", n);
    if (r == 0)
        r = check_kind(&docs[0], reterr);
    if (r == 0)
        r = json_value_decode(&docs[0], &scheduler_config_type, JSON_STRICT, a, &config, reterr);
    if (r == 0) {
        fill_defaults(&config, a);
        r = config_validate(&config, reterr);
    }
    if (r < 0)
        return err_prefix(reterr, r, "%s", file);
    config.file = arena_dup(a, str_of(file)).p;
    *ret = config;
    return 0;
}
