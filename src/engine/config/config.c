/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/config.h"

#include "api/scalars.h"
#include "codec/json_problems.h"
#include "engine/config/config_internal.h"
#include "engine/config/config_source.h"
#include "engine/config/error_list.h"

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

/* What is said where the object of this field lacks another one. */
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

/* --- reading ---------------------------------------------------------------------------------- */

static int from_v1(struct json_value *doc, struct scheduler_config *out,
                   struct config_problems *problems)
{
    return config_decode(doc, &scheduler_config_type, 0, problems, out);
}

static const struct {
    const char *version, *kind;
    int (*read)(struct json_value *doc, struct scheduler_config *out,
                struct config_problems *problems);
} versions[] = {
    {CONFIG_API_VERSION, CONFIG_KIND, from_v1},
    {CONFIG_GROUP "/v1beta3", CONFIG_KIND, config_from_v1beta3},
    {CONFIG_GROUP "/v1beta2", CONFIG_KIND, config_from_v1beta2},
    {CONFIG_GROUP "/v1beta1", CONFIG_KIND, config_from_v1beta1},
    {"v1", "Policy", config_from_policy},
};

/* What a problem that nothing can be read beyond says. */
static int refuse(const struct config_problems *problems, int r, struct err *reterr)
{
    const struct config_problem *last = &problems->v[problems->n - 1];
    return err_set(reterr, r, "%.*s", STR_ARG(last->text));
}

static int read_version(struct json_value *doc, struct config_problems *problems,
                        struct scheduler_config *out, struct err *reterr)
{
    struct str version = json_get_text(doc, STR("apiVersion")),
               kind = json_get_text(doc, STR("kind"));
    for (size_t i = 0; i < ARRAY_LEN(versions); i++)
        if (str_is(version, versions[i].version) && str_is(kind, versions[i].kind)) {
            int r = versions[i].read(doc, out, problems);
            out->version = version;
            out->given_kind = kind;
            return r < 0 ? refuse(problems, r, reterr) : 0;
        }
    return err_set(reterr, -EINVAL,
                   "line %u: expected apiVersion: " CONFIG_API_VERSION " and kind: " CONFIG_KIND
                   " (v1beta1 to v1beta3, and kind: Policy of v1, are read as well), got "
                   "apiVersion: \"%.*s\" and kind: \"%.*s\"",
                   doc->line, STR_ARG(version), STR_ARG(kind));
}

static void add_twice(const struct config_source *source, struct config_problems *problems)
{
    for (size_t i = 0; i < source->n_twice; i++) {
        const struct config_twice *twice = &source->twice[i];
        config_problem_add(problems, twice->line, STR(""), STR(""),
                           "key \"%.*s\" is already set on line %u",
                           (int)MIN(twice->key.n, (size_t)80), twice->key.p, twice->first_line);
    }
}

int config_parse_key(const char *file, struct str text, struct str key, struct arena *a,
                     struct scheduler_config *ret, struct err *reterr)
{
    struct config_source source;
    struct config_problems problems = {.a = a, .file = arena_dup(a, str_of(file)).p};
    struct scheduler_config config = {0};
    int r = config_source_find(text, key, a, &source, reterr);
    if (r == 0) {
        add_twice(&source, &problems);
        r = read_version(source.doc, &problems, &config, reterr);
    }
    if (r < 0)
        return err_prefix(reterr, r, "%s", file);
    config.file = problems.file;
    config.source = source.doc;
    config.within = source.within;
    config.unread_line = source.unread_line;
    config.problems.v = problems.v;
    config.problems.n = problems.n;
    config.problems_left_out = problems.left_out;
    for (size_t i = 0; i < problems.n; i++)
        if (!problems.v[i].line)
            problems.v[i].line = config_line(&config, problems.v[i].text);
    *ret = config;
    return 0;
}

int config_parse(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                 struct err *reterr)
{
    return config_parse_key(file, text, STR(""), a, ret, reterr);
}

int config_load(const char *file, struct str text, struct arena *a, struct scheduler_config *ret,
                struct err *reterr)
{
    int r = config_parse(file, text, a, ret, reterr);
    if (r == 0)
        config_fill(ret, a);
    return r;
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
    const struct json_value *member = json_get(v, name);
    /* A Policy may write its fields in any case. */
    for (size_t i = 0; !member && v->kind == JSON_OBJECT && i < v->n_members; i++)
        if (str_eq_fold(v->members[i].key, name))
            member = &v->members[i].value;
    return member;
}

uint32_t config_line(const struct scheduler_config *config, struct str entry)
{
    const struct json_value *at = config->source;
    struct str path = str_slice(entry, 0, str_find(entry, ':'));
    uint32_t line = at ? at->line : 0;
    while (at && path.n && str_find(path, ' ') == path.n) {
        at = step(at, &path);
        if (at && at->line)
            line = at->line;
    }
    return line;
}
