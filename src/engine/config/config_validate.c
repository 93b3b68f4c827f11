/* SPDX-License-Identifier: Apache-2.0 */
/* config_validate.c - upstream: apis/config/validation and component-base's config/validation. */
#include "api/resources.h"
#include "base/map.h"
#include "base/time.h"
#include "codec/json_problems.h"
#include "engine/config/config_internal.h"
#include "engine/config/registry.h"

/* --- leader election -------------------------------------------------------------------------- */

static void add_duration_error(struct error_list *c, const char *member, int64_t ns,
                               const char *why)
{
    struct buf text = BUF_INIT;
    duration_format(ns, &text);
    error_list_add(c, "leaderElection.%s: Invalid value: \"%s\": %s", member, buf_cstr(&text), why);
    buf_release(&text);
}

static void check_leader_election(const struct leader_election_config *le, struct error_list *c)
{
    if (!*le->leader_elect)
        return;
    if (le->lease_duration <= 0)
        add_duration_error(c, "leaseDuration", le->lease_duration, "must be greater than zero");
    if (le->renew_deadline <= 0)
        add_duration_error(c, "renewDeadline", le->renew_deadline, "must be greater than zero");
    if (le->retry_period <= 0)
        add_duration_error(c, "retryPeriod", le->retry_period, "must be greater than zero");
    if (le->lease_duration <= le->renew_deadline)
        add_duration_error(c, "leaseDuration", le->renew_deadline,
                           "must be greater than `RenewDeadline`");
    if (str_empty(le->resource_lock))
        error_list_add(c, "leaderElection.resourceLock: Required value");
    if (str_empty(le->resource_namespace))
        error_list_add(c, "leaderElection.resourceNamespace: Required value");
    if (str_empty(le->resource_name))
        error_list_add(c, "leaderElection.resourceName: Required value");
    if (!str_is(le->resource_lock, "leases"))
        error_list_add(c,
                       "leaderElection.resourceLock: Invalid value: \"%.*s\": resourceLock value "
                       "must be \"leases\"",
                       STR_ARG(le->resource_lock));
}

/* --- profiles --------------------------------------------------------------------------------- */

static void check_percentage(const char *path, const int32_t *percentage, struct error_list *c)
{
    if (percentage && (*percentage < 0 || *percentage > 100))
        error_list_add(c,
                       "%spercentageOfNodesToScore: Invalid value: %d: not in valid range "
                       "[0-100]",
                       path, *percentage);
}

/* Upstream does not check multiPoint and the placement points. */
static bool is_removed(const struct profile_config *p, struct str name)
{
    return !p->older && plugin_is_removed(name);
}

#define WAS_INVALID \
    "Invalid value: \"%.*s\": was invalid in version \"v1\" (" CONFIG_KIND " is version \"%.*s\")"

static void check_sections(const struct scheduler_config *config, size_t i, struct error_list *c)
{
    const struct plugins_config *plugins = config->profiles.v[i].plugins;
    for (int point = 0; plugins && point < POINT_PLACEMENT_GENERATE; point++) {
        const struct plugin_section *s = &plugins->at[point];
        for (size_t k = 0; k < s->enabled.n; k++)
            if (is_removed(&config->profiles.v[i], s->enabled.v[k].name))
                error_list_add(c, "profiles[%zu].plugins.%s.enabled[%zu]: " WAS_INVALID, i,
                               point_table[point].section, k, STR_ARG(s->enabled.v[k].name),
                               STR_ARG(config->version));
    }
}

/* Errors of form in arguments. */
struct form {
    const struct args_kind *kind;
    const char *path;
    struct error_list *out;
    size_t found;
};

static void on_args_problem(void *ctx, const struct json_problem *problem)
{
    struct form *f = ctx;
    struct buf path = BUF_INIT, text = BUF_INIT, hint = BUF_INIT;
    f->found++;
    buf_add_printf(&path, "%s%s%.*s", f->path, problem->path.n ? "." : "", STR_ARG(problem->path));
    buf_add_printf(&text, "%s: decoding args for plugin %s: %.*s", buf_cstr(&path), f->kind->plugin,
                   STR_ARG(problem->what));
    if (problem->suggestion.n)
        buf_add_printf(&hint, " (did you mean %.*s?)", STR_ARG(problem->suggestion));
    error_list_add_at(f->out, NULL, 0, buf_str(&text), buf_str(&hint));
    error_list_cover(f->out, buf_str(&path));
    buf_release(&path);
    buf_release(&text);
    buf_release(&hint);
}

/* Adds errors of form and returns the arguments without the invalid fields; NULL if none remain. */
static void *read_rest(struct form *f, const struct features *features,
                       const struct plugin_args *entry, struct arena *a, struct err *reterr)
{
    struct json_value tree;
    struct buf text = BUF_INIT;
    if (json_parse(entry->args, 0, a, &tree, NULL) < 0 ||
        json_take_problems(&tree, f->kind->type, 0, a, on_args_problem, f) == 0)
        return NULL;
    json_write(&tree, &text);
    struct plugin_args rest = {.name = entry->name, .args = arena_dup(a, buf_str(&text))};
    buf_release(&text);
    return config_read_args(f->kind, features, &rest, a, reterr);
}

/* path: of the arguments. */
static void check_args(const struct args_kind *kind, const struct features *features,
                       const struct plugin_args *entry, const char *path, struct error_list *c)
{
    struct arena a;
    struct err err = {0};
    struct form form = {kind, path, c, 0};
    arena_init(&a, 0);
    const void *args = config_read_args(kind, features, entry, &a, &err);
    if (!args) {
        size_t before = form.found;
        args = read_rest(&form, features, entry, &a, &err);
        if (!args && form.found == before)
            error_list_add(c, "%s: %s", path, err.msg);
    }
    if (args && kind->check && !kind->checked_late) {
        char *prefix = xasprintf("%s.", path);
        c->prefix = prefix;
        kind->check(args, c);
        c->prefix = NULL;
        free(prefix);
    }
    arena_release(&a);
}

/* The path of the entry, or of its arguments, in the file. The caller frees it. */
static char *entry_path(const struct profile_config *p, size_t i, size_t k, bool args)
{
    const struct plugin_args *entry = &p->plugin_config.v[k];
    struct str origin = args ? entry->args_origin : entry->origin;
    if (origin.n)
        return str_dup(origin);
    return xasprintf("profiles[%zu].pluginConfig[%zu]%s", i, k, args ? ".args" : "");
}

static void check_entry(const struct scheduler_config *config, size_t i, size_t k,
                        const struct config_rules *rules, struct error_list *c)
{
    const struct profile_config *p = &config->profiles.v[i];
    const struct plugin_args *entry = &p->plugin_config.v[k];
    const struct args_kind *kind = args_kind_of(rules->kinds, entry->name);
    bool removed = is_removed(p, entry->name);
    if (!kind && !removed)
        return;
    char *path = entry_path(p, i, k, !removed);
    if (removed)
        error_list_add(c, "%s: " WAS_INVALID, path, STR_ARG(entry->name), STR_ARG(config->version));
    else
        check_args(kind, rules->features, entry, path, c);
    free(path);
}

static void check_plugin_config(const struct scheduler_config *config, size_t i,
                                const struct config_rules *rules, struct error_list *c)
{
    const struct profile_config *p = &config->profiles.v[i];
    struct map names = MAP_INIT;
    for (size_t k = 0; k < p->plugin_config.n; k++) {
        struct str name = p->plugin_config.v[k].name;
        if (!config_set_add(&names, name)) {
            char *path = entry_path(p, i, k, false);
            error_list_add(c, "%s: Duplicate value: \"%.*s\"", path, STR_ARG(name));
            free(path);
        }
        check_entry(config, i, k, rules, c);
    }
    map_release(&names);
}

/* names: of the profiles before it. */
static void check_profile(const struct scheduler_config *config, size_t i,
                          const struct config_rules *rules, struct map *names, struct error_list *c)
{
    const struct profile_config *p = &config->profiles.v[i];
    char path[64];
    snprintf(path, sizeof(path), "profiles[%zu].", i);
    if (str_empty(config_profile_name(p)))
        error_list_add(c, "%sschedulerName: Required value", path);
    check_percentage(path, p->percentage_of_nodes_to_score, c);
    check_sections(config, i, c);
    check_plugin_config(config, i, rules, c);
    if (!config_set_add(names, config_profile_name(p)))
        error_list_add(c, "%sschedulerName: Duplicate value: \"%.*s\"", path,
                       STR_ARG(config_profile_name(p)));
}

/* --- queue sort ------------------------------------------------------------------------------- */

static const struct plugin_section *queue_sort_of(const struct profile_config *p)
{
    static const struct plugin_section nothing;
    return p->plugins ? &p->plugins->at[POINT_QUEUE_SORT] : &nothing;
}

static bool refs_equal(const struct plugin_ref *a, const struct plugin_ref *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!str_eq(a[i].name, b[i].name) ||
            (a[i].weight ? *a[i].weight : 0) != (b[i].weight ? *b[i].weight : 0))
            return false;
    return true;
}

static bool sections_equal(const struct plugin_section *a, const struct plugin_section *b)
{
    return a->enabled.n == b->enabled.n && a->disabled.n == b->disabled.n &&
           refs_equal(a->enabled.v, b->enabled.v, a->enabled.n) &&
           refs_equal(a->disabled.v, b->disabled.v, a->disabled.n);
}

static void write_refs(struct buf *out, const struct plugin_ref *refs, size_t n)
{
    if (n == 0)
        buf_add_cstr(out, "null");
    for (size_t i = 0; i < n; i++)
        buf_add_printf(out, "%s{\"Name\":\"%.*s\",\"Weight\":%d}%s", i ? "," : "[",
                       STR_ARG(refs[i].name), refs[i].weight ? *refs[i].weight : 0,
                       i + 1 == n ? "]" : "");
}

static void check_queue_sort(const struct scheduler_config *config, struct error_list *c)
{
    const struct plugin_section *first = queue_sort_of(&config->profiles.v[0]);
    if (first->enabled.n > 1)
        error_list_add(c,
                       "profiles[0].plugins.queueSort.Enabled: Invalid value: %zu: only one queue "
                       "sort plugin can be enabled",
                       first->enabled.n);
    for (size_t i = 1; i < config->profiles.n; i++) {
        const struct plugin_section *s = queue_sort_of(&config->profiles.v[i]);
        if (sections_equal(first, s))
            continue;
        struct buf text = BUF_INIT;
        buf_add_cstr(&text, "{\"Enabled\":");
        write_refs(&text, s->enabled.v, s->enabled.n);
        buf_add_cstr(&text, ",\"Disabled\":");
        write_refs(&text, s->disabled.v, s->disabled.n);
        error_list_add(c,
                       "profiles[%zu].plugins.queueSort: Invalid value: %s}: must be the same for "
                       "all profiles",
                       i, buf_cstr(&text));
        buf_release(&text);
    }
}

/* --- extenders -------------------------------------------------------------------------------- */

/* managed: the names of managed resources so far. */
static void check_extender(const struct scheduler_config *config, size_t i, struct map *managed,
                           struct error_list *c)
{
    const struct extender_config *x = &config->extenders.v[i];
    if (!str_empty(x->prioritize_verb) && x->weight <= 0)
        error_list_add(c,
                       "extenders[%zu].weight: Invalid value: %lld: must have a positive weight "
                       "applied to it",
                       i, (long long)x->weight);
    for (size_t k = 0; k < x->managed_resources.n; k++) {
        struct str name = x->managed_resources.v[k].name;
        if (error_list_check_name(c, name, "extenders[%zu].managedResources[%zu].name", i, k) &&
            !resource_is_extended(name))
            error_list_add(c,
                           "extenders[%zu].managedResources[%zu].name: Invalid value: \"%.*s\": "
                           "is an invalid extended resource name",
                           i, k, STR_ARG(name));
        if (!config_set_add(managed, name))
            error_list_add(c,
                           "extenders[%zu].managedResources[%zu].name: Invalid value: \"%.*s\": "
                           "duplicate extender managed resource name",
                           i, k, STR_ARG(name));
    }
}

static void check_extenders(const struct scheduler_config *config, struct error_list *c)
{
    size_t binders = 0;
    struct map managed = MAP_INIT;
    for (size_t i = 0; i < config->extenders.n; i++) {
        check_extender(config, i, &managed, c);
        binders += !str_empty(config->extenders.v[i].bind_verb);
    }
    map_release(&managed);
    if (binders > 1)
        error_list_add(c,
                       "extenders: Invalid value: \"found %zu extenders implementing bind\": only "
                       "one extender can implement bind",
                       binders);
}

/* --- values ----------------------------------------------------------------------------------- */

static void check_values(const struct scheduler_config *config, const struct config_rules *rules,
                         struct error_list *c)
{
    if (config->client_connection.burst < 0)
        error_list_add(c, "clientConnection.burst: Invalid value: %d: must be non-negative",
                       config->client_connection.burst);
    check_leader_election(&config->leader_election, c);
    if (*config->parallelism <= 0)
        error_list_add(c,
                       "parallelism: Invalid value: %d: should be an integer value greater than "
                       "zero",
                       *config->parallelism);
    struct map names = MAP_INIT;
    for (size_t i = 0; i < config->profiles.n; i++)
        check_profile(config, i, rules, &names, c);
    map_release(&names);
    check_queue_sort(config, c);
    check_percentage("", config->percentage_of_nodes_to_score, c);
    int64_t initial = *config->pod_initial_backoff_seconds, max = *config->pod_max_backoff_seconds;
    if (initial <= 0)
        error_list_add(c, "podInitialBackoffSeconds: Invalid value: %lld: must be greater than 0",
                       (long long)initial);
    if (max < initial)
        error_list_add(c,
                       "podMaxBackoffSeconds: Invalid value: %lld: must be greater than or equal "
                       "to PodInitialBackoffSeconds",
                       (long long)max);
    check_extenders(config, c);
}

/* --- configuration ---------------------------------------------------------------------------- */

/* Adds errors of form, and suppresses errors that would only follow from them. */
static void add_problems(const struct scheduler_config *config, struct error_list *out)
{
    for (size_t i = 0; i < config->problems.n; i++) {
        const struct config_problem *p = &config->problems.v[i];
        error_list_add_at(out, p->file, p->line, p->text, p->hint);
        error_list_cover(out, p->path);
        error_list_cover(out, p->missing);
    }
    out->n += config->problems_left_out;
    out->left_out += config->problems_left_out;
}

void config_complain(const struct scheduler_config *config, const struct registry *registry,
                     const struct features *features, struct error_list *out)
{
    struct config_rules rules = {registry, registry->args, features};
    add_problems(config, out);
    if (config->problems_left_out)
        return;
    check_values(config, &rules, out);
    config_check_plans(config, &rules, false, out);
}

bool config_check_text(const struct scheduler_config *config, const struct registry *registry,
                       const struct features *features, struct buf *out)
{
    struct config_rules rules = {registry, registry->args, features};
    struct error_list c = {0};
    add_problems(config, &c);
    if (c.n == 0)
        check_values(config, &rules, &c);
    if (c.n == 0)
        config_check_plans(config, &rules, true, &c);
    bool ok = c.n == 0;
    error_list_write(&c, out);
    error_list_release(&c);
    return ok;
}

int config_check(const struct scheduler_config *config, const struct registry *registry,
                 const struct features *features, struct err *reterr)
{
    struct buf text = BUF_INIT;
    bool ok = config_check_text(config, registry, features, &text);
    int r = ok ? 0 : err_set(reterr, -EINVAL, "%s", buf_cstr(&text));
    buf_release(&text);
    return r;
}
