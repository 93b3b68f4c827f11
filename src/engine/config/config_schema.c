/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_schema.c - the tables of kubescheduler.config.k8s.io/v1, strict decoding, and errors of
 * form.
 *
 * The readers of all versions (config.c, config_v1beta.c, config_policy.c) and the validation call
 * these functions; this file calls none of them.
 */
#include "api/scalars.h"
#include "codec/json_problems.h"
#include "engine/config/config_internal.h"
#include "engine/config/error_list.h"

/* --- tables ----------------------------------------------------------------------------------- */

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

void config_write_plugins(const struct plugins_config *plugins, struct buf *out)
{
    json_encode(&plugins_config_type, plugins, out);
}

void profile_config_write(const struct profile_config *profile, struct buf *out)
{
    json_encode(&profile_config_type, profile, out);
}

/* --- problems --------------------------------------------------------------------------------- */

/* The error for a missing field beside this one. */
static struct str missing_field(struct str path, struct str name, struct arena *a)
{
    size_t dot = path.n;
    while (dot > 0 && path.p[dot - 1] != '.')
        dot--;
    return arena_printf(a, "%.*s%.*s: Required value", (int)dot, path.p, STR_ARG(name));
}

void config_problem_add(struct config_problems *p, uint32_t line, struct str path, struct str meant,
                        const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list ap;
    if (p->n == ERROR_LIST_MAX) {
        p->left_out++;
        return;
    }
    if (!p->v)
        p->v = arena_array(p->a, struct config_problem, ERROR_LIST_MAX);
    if (path.n)
        buf_add_printf(&text, "%.*s: ", STR_ARG(path));
    va_start(ap, fmt);
    buf_add_vprintf(&text, fmt, ap);
    va_end(ap);
    struct config_problem *problem = &p->v[p->n++];
    *problem = (struct config_problem){.file = p->file,
                                       .line = line,
                                       .text = arena_dup(p->a, buf_str(&text)),
                                       .path = arena_dup(p->a, path)};
    if (meant.n)
        problem->missing = missing_field(path, meant, p->a);
    config_problem_suggest(p, meant);
    buf_release(&text);
}

void config_problem_suggest(struct config_problems *p, struct str meant)
{
    if (meant.n && p->left_out == 0)
        p->v[p->n - 1].hint = arena_printf(p->a, " (did you mean %.*s?)", STR_ARG(meant));
}

void config_take_problems(struct scheduler_config *config, const struct scheduler_config *other,
                          struct arena *a)
{
    struct config_problem *v = arena_array(a, struct config_problem, ERROR_LIST_MAX);
    size_t n = 0, all = config->problems.n + other->problems.n;
    for (size_t i = 0; i < all && n < ERROR_LIST_MAX; i++)
        v[n++] = i < config->problems.n ? config->problems.v[i]
                                        : other->problems.v[i - config->problems.n];
    config->problems.v = v;
    config->problems.n = n;
    config->problems_left_out += other->problems_left_out + all - n;
}

static void on_problem(void *ctx, const struct json_problem *problem)
{
    config_problem_add(ctx, problem->line, problem->path, problem->suggestion, "%.*s",
                       STR_ARG(problem->what));
}

int config_decode(struct json_value *doc, const struct type *type, unsigned flags,
                  struct config_problems *problems, void *out)
{
    struct err err;
    int r = json_value_decode(doc, type, JSON_STRICT | flags, problems->a, out, &err);
    if (r == 0 || json_take_problems(doc, type, flags, problems->a, on_problem, problems) == 0)
        goto done;
    r = json_value_decode(doc, type, JSON_STRICT | flags, problems->a, out, &err);
done:
    if (r < 0)
        config_problem_add(problems, 0, STR(""), STR(""), "%s", err.msg);
    return r;
}

/* --- arguments -------------------------------------------------------------------------------- */

void *config_read_args(const struct args_kind *kind, const struct features *features,
                       const struct plugin_args *entry, struct arena *a, struct err *reterr)
{
    void *args = arena_alloc(a, kind->type->size, kind->type->align);
    struct str text = str_is(entry->args, "null") ? STR("") : entry->args;
    return args_read(kind, features, text, a, args, reterr) < 0 ? NULL : args;
}

/* --- plugins of a profile --------------------------------------------------------------------- */

void plugin_section_push(struct plugin_section *section, struct str name, int32_t weight,
                         struct arena *a)
{
    struct plugin_ref *ref = &section->enabled.v[section->enabled.n++];
    ref->name = name;
    if (weight) {
        ref->weight = arena_new(a, int32_t);
        *ref->weight = weight;
    }
}

struct plugins_config *plugins_without_defaults(struct arena *a)
{
    struct plugins_config *plugins = arena_new(a, struct plugins_config);
    plugins->multi_point.disabled.v = arena_new(a, struct plugin_ref);
    plugins->multi_point.disabled.v->name = STR("*");
    plugins->multi_point.disabled.n = 1;
    return plugins;
}
