/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/config.h"

#include "api/pod.h"
#include "base/time.h"
#include "engine/config/config_internal.h"
#include "engine/config/config_source.h"
#include "engine/config/error_list.h"

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

/* Returns the last problem, which prevents reading, as an error. */
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
            for (size_t k = 0; r == 0 && k < out->profiles.n; k++)
                out->profiles.v[k].older |= !str_is(version, CONFIG_API_VERSION);
            return r < 0 ? refuse(problems, r, reterr) : 0;
        }
    return err_set(reterr, -EINVAL,
                   "line %u: expected apiVersion: " CONFIG_API_VERSION " and kind: " CONFIG_KIND
                   " (v1beta1 to v1beta3, and kind: Policy of v1, are supported as well), got "
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

/* Follows the next step of a path: a member's name or an index. NULL if there is none. */
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
    /* Fields of a Policy are case-insensitive. */
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
    /* Upstream: only a single profile has a default name. */
    if (c->profiles.n == 1)
        SET_DEFAULT(a, c->profiles.v[0].scheduler_name, STR(DEFAULT_SCHEDULER_NAME));
}

void config_fill(struct scheduler_config *c, struct arena *a)
{
    c->kind = STR(CONFIG_KIND);
    c->api_version = STR(CONFIG_API_VERSION);
    if (str_empty(c->version))
        c->version = c->api_version;
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
    config_fill(config, a);
}
