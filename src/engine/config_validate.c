/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream: apis/config/validation, component-base's config/validation. */
#include "api/resources.h"
#include "base/time.h"
#include "engine/args_kind.h"
#include "engine/config_internal.h"
#include "engine/profile_plan.h"

/* What plugins take, and the gates that its rules depend on; kinds NULL: not known. */
struct rules {
    const struct args_kind *const *kinds;
    const struct features *features;
};

/* --- leader election -------------------------------------------------------------------------- */

static void complain_of_duration(struct complaints *c, const char *member, int64_t ns,
                                 const char *why)
{
    struct buf text = BUF_INIT;
    duration_format(ns, &text);
    complaints_add(c, "leaderElection.%s: Invalid value: \"%s\": %s", member, buf_cstr(&text), why);
    buf_release(&text);
}

static void check_leader_election(const struct leader_election_config *le, struct complaints *c)
{
    if (!*le->leader_elect)
        return;
    if (le->lease_duration <= 0)
        complain_of_duration(c, "leaseDuration", le->lease_duration, "must be greater than zero");
    if (le->renew_deadline <= 0)
        complain_of_duration(c, "renewDeadline", le->renew_deadline, "must be greater than zero");
    if (le->retry_period <= 0)
        complain_of_duration(c, "retryPeriod", le->retry_period, "must be greater than zero");
    if (le->lease_duration <= le->renew_deadline)
        complain_of_duration(c, "leaseDuration", le->renew_deadline,
                             "must be greater than `RenewDeadline`");
    if (str_empty(le->resource_lock))
        complaints_add(c, "leaderElection.resourceLock: Required value");
    if (str_empty(le->resource_namespace))
        complaints_add(c, "leaderElection.resourceNamespace: Required value");
    if (str_empty(le->resource_name))
        complaints_add(c, "leaderElection.resourceName: Required value");
    if (!str_is(le->resource_lock, "leases"))
        complaints_add(c,
                       "leaderElection.resourceLock: Invalid value: \"%.*s\": resourceLock value "
                       "must be \"leases\"",
                       STR_ARG(le->resource_lock));
}

/* --- profiles --------------------------------------------------------------------------------- */

static void check_percentage(const char *path, const int32_t *percentage, struct complaints *c)
{
    if (percentage && (*percentage < 0 || *percentage > 100))
        complaints_add(c,
                       "%spercentageOfNodesToScore: Invalid value: %d: not in valid range "
                       "[0-100]",
                       path, *percentage);
}

/* Their work is done by NodeVolumeLimits. Upstream does not look for them in multiPoint, nor at the
 * points for placements. */
static const char *const removed[] = {"AzureDiskLimits", "CinderLimits", "EBSLimits",
                                      "GCEPDLimits"};

static bool is_removed(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(removed); i++)
        if (str_is(name, removed[i]))
            return true;
    return false;
}

#define WAS_INVALID \
    "Invalid value: \"%.*s\": was invalid in version \"v1\" (" CONFIG_KIND " is version \"%.*s\")"

static void check_sections(const struct scheduler_config *config, size_t i, struct complaints *c)
{
    const struct plugins_config *plugins = config->profiles.v[i].plugins;
    for (int point = 0; plugins && point < POINT_PLACEMENT_GENERATE; point++) {
        const struct plugin_section *s = &plugins->at[point];
        for (size_t k = 0; k < s->enabled.n; k++)
            if (is_removed(s->enabled.v[k].name))
                complaints_add(c, "profiles[%zu].plugins.%s.enabled[%zu]: " WAS_INVALID, i,
                               point_table[point].section, k, STR_ARG(s->enabled.v[k].name),
                               STR_ARG(config->version));
    }
}

static bool is_configured_before(const struct profile_config *p, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (str_eq(p->plugin_config.v[k].name, p->plugin_config.v[i].name))
            return true;
    return false;
}

/* The arguments at this place, decoded into memory of the arena; NULL where they cannot be read. */
static void *read_args(const struct args_kind *kind, const struct features *features,
                       const struct plugin_args *entry, struct arena *a, struct err *reterr)
{
    void *args = arena_alloc(a, kind->type->size, kind->type->align);
    struct str text = str_is(entry->args, "null") ? STR("") : entry->args;
    return args_read(kind, features, text, a, args, reterr) < 0 ? NULL : args;
}

/* path: of the pluginConfig entry. */
static void complain_of_form(const struct args_kind *kind, const char *path, struct str why,
                             struct complaints *c)
{
    size_t colon = str_find(why, ':');
    bool names_member = colon < why.n && str_find(why, ' ') > colon;
    if (names_member)
        complaints_add(c, "%s.args.%.*s: decoding args for plugin %s%.*s", path, (int)colon, why.p,
                       kind->plugin, STR_ARG(str_slice(why, colon, why.n)));
    else
        complaints_add(c, "%s.args: %.*s", path, STR_ARG(why));
}

static void check_args(const struct args_kind *kind, const struct features *features,
                       const struct plugin_args *entry, const char *path, struct complaints *c)
{
    struct arena a;
    struct err err = {0};
    arena_init(&a, 0);
    const void *args = read_args(kind, features, entry, &a, &err);
    if (!args) {
        complain_of_form(kind, path, str_of(err.msg), c);
    } else if (kind->check && !kind->checked_late) {
        char *prefix = xasprintf("%s.args.", path);
        c->prefix = prefix;
        kind->check(args, c);
        c->prefix = NULL;
        free(prefix);
    }
    arena_release(&a);
}

static void check_plugin_config(const struct scheduler_config *config, size_t i,
                                const struct rules *rules, struct complaints *c)
{
    const struct profile_config *p = &config->profiles.v[i];
    for (size_t k = 0; k < p->plugin_config.n; k++) {
        const struct plugin_args *entry = &p->plugin_config.v[k];
        const struct args_kind *kind = args_kind_of(rules->kinds, entry->name);
        char *path = xasprintf("profiles[%zu].pluginConfig[%zu]", i, k);
        if (is_configured_before(p, k))
            complaints_add(c, "%s: Duplicate value: \"%.*s\"", path, STR_ARG(entry->name));
        if (is_removed(entry->name))
            complaints_add(c, "%s: " WAS_INVALID, path, STR_ARG(entry->name),
                           STR_ARG(config->version));
        else if (kind)
            check_args(kind, rules->features, entry, path, c);
        free(path);
    }
}

static struct str name_of(const struct profile_config *p)
{
    return p->scheduler_name ? *p->scheduler_name : STR("");
}

static void check_profile(const struct scheduler_config *config, size_t i,
                          const struct rules *rules, struct complaints *c)
{
    const struct profile_config *p = &config->profiles.v[i];
    char path[64];
    snprintf(path, sizeof(path), "profiles[%zu].", i);
    if (str_empty(name_of(p)))
        complaints_add(c, "%sschedulerName: Required value", path);
    check_percentage(path, p->percentage_of_nodes_to_score, c);
    check_sections(config, i, c);
    check_plugin_config(config, i, rules, c);
    for (size_t k = i; k-- > 0;)
        if (str_eq(name_of(p), name_of(&config->profiles.v[k]))) {
            complaints_add(c, "%sschedulerName: Duplicate value: \"%.*s\"", path,
                           STR_ARG(name_of(p)));
            break;
        }
}

/* --- the queue's order: one for all profiles -------------------------------------------------- */

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

static void check_queue_sort(const struct scheduler_config *config, struct complaints *c)
{
    const struct plugin_section *first = queue_sort_of(&config->profiles.v[0]);
    if (first->enabled.n > 1)
        complaints_add(c,
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
        complaints_add(c,
                       "profiles[%zu].plugins.queueSort: Invalid value: %s}: must be the same for "
                       "all profiles",
                       i, buf_cstr(&text));
        buf_release(&text);
    }
}

/* --- extenders -------------------------------------------------------------------------------- */

static bool is_managed_before(const struct scheduler_config *config, size_t i, size_t k)
{
    for (size_t e = 0; e <= i; e++) {
        const struct extender_config *x = &config->extenders.v[e];
        for (size_t m = 0; m < (e == i ? k : x->managed_resources.n); m++)
            if (str_eq(x->managed_resources.v[m].name,
                       config->extenders.v[i].managed_resources.v[k].name))
                return true;
    }
    return false;
}

static void check_extender(const struct scheduler_config *config, size_t i, struct complaints *c)
{
    const struct extender_config *x = &config->extenders.v[i];
    if (!str_empty(x->prioritize_verb) && x->weight <= 0)
        complaints_add(c,
                       "extenders[%zu].weight: Invalid value: %lld: must have a positive weight "
                       "applied to it",
                       i, (long long)x->weight);
    for (size_t k = 0; k < x->managed_resources.n; k++) {
        struct str name = x->managed_resources.v[k].name;
        if (complaints_check_name(c, name, "extenders[%zu].managedResources[%zu].name", i, k) &&
            !resource_is_extended(name))
            complaints_add(c,
                           "extenders[%zu].managedResources[%zu].name: Invalid value: \"%.*s\": "
                           "is an invalid extended resource name",
                           i, k, STR_ARG(name));
        if (is_managed_before(config, i, k))
            complaints_add(c,
                           "extenders[%zu].managedResources[%zu].name: Invalid value: \"%.*s\": "
                           "duplicate extender managed resource name",
                           i, k, STR_ARG(name));
    }
}

static void check_extenders(const struct scheduler_config *config, struct complaints *c)
{
    size_t binders = 0;
    for (size_t i = 0; i < config->extenders.n; i++) {
        check_extender(config, i, c);
        binders += !str_empty(config->extenders.v[i].bind_verb);
    }
    if (binders > 1)
        complaints_add(c,
                       "extenders: Invalid value: \"found %zu extenders implementing bind\": only "
                       "one extender can implement bind",
                       binders);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void check_values(const struct scheduler_config *config, const struct rules *rules,
                         struct complaints *c)
{
    if (config->client_connection.burst < 0)
        complaints_add(c, "clientConnection.burst: Invalid value: %d: must be non-negative",
                       config->client_connection.burst);
    check_leader_election(&config->leader_election, c);
    if (*config->parallelism <= 0)
        complaints_add(c,
                       "parallelism: Invalid value: %d: should be an integer value greater than "
                       "zero",
                       *config->parallelism);
    for (size_t i = 0; i < config->profiles.n; i++)
        check_profile(config, i, rules, c);
    check_queue_sort(config, c);
    check_percentage("", config->percentage_of_nodes_to_score, c);
    int64_t initial = *config->pod_initial_backoff_seconds, max = *config->pod_max_backoff_seconds;
    if (initial <= 0)
        complaints_add(c, "podInitialBackoffSeconds: Invalid value: %lld: must be greater than 0",
                       (long long)initial);
    if (max < initial)
        complaints_add(c,
                       "podMaxBackoffSeconds: Invalid value: %lld: must be greater than or equal "
                       "to PodInitialBackoffSeconds",
                       (long long)max);
    check_extenders(config, c);
}

/* What upstream finds out when it makes the plugins of a profile. */
static void check_late_args(const struct profile_config *profile, const struct profile_plan *plan,
                            const struct rules *rules, struct complaints *c)
{
    for (size_t i = 0; i < profile->plugin_config.n; i++) {
        const struct plugin_args *entry = &profile->plugin_config.v[i];
        const struct args_kind *kind = args_kind_of(rules->kinds, entry->name);
        bool needed = false;
        for (size_t k = 0; k < plan->needed.n && !needed; k++)
            needed = str_eq(plan->needed.v[k], entry->name);
        if (!kind || !kind->checked_late || !needed)
            continue;
        struct arena a;
        struct err err;
        struct complaints found = {0};
        struct buf text = BUF_INIT;
        arena_init(&a, 0);
        kind->check(read_args(kind, rules->features, entry, &a, &err), &found);
        complaints_write(&found, &text);
        if (found.n)
            complaints_add(c, "initializing plugin \"%s\": %s", kind->plugin, buf_cstr(&text));
        buf_release(&text);
        complaints_release(&found);
        arena_release(&a);
    }
}

static struct str args_of(const struct profile_config *p, struct str plugin)
{
    for (size_t i = 0; i < p->plugin_config.n; i++)
        if (str_eq(p->plugin_config.v[i].name, plugin))
            return p->plugin_config.v[i].args;
    return STR("");
}

/* Profile i sorts the queue as the first does. */
static void check_same_sort(const struct scheduler_config *config, size_t i, struct str sort,
                            struct str first, struct complaints *c)
{
    const struct profile_config *p = &config->profiles.v[i];
    if (!str_eq(sort, first))
        complaints_add(
            c, "different queue sort plugins for profile \"%.*s\": \"%.*s\", first: \"%.*s\"",
            STR_ARG(name_of(p)), STR_ARG(sort), STR_ARG(first));
    else if (!str_eq(args_of(p, sort), args_of(&config->profiles.v[0], sort)))
        complaints_add(c, "different queue sort plugin args for profile \"%.*s\"",
                       STR_ARG(name_of(p)));
}

/* *first: the plugin that sorts the queue in the first profile. */
static void check_plan(const struct scheduler_config *config, size_t i,
                       const struct registry *registry, const struct rules *rules,
                       struct str *first, struct complaints *c)
{
    const struct profile_config *profile = &config->profiles.v[i];
    struct profile_plan plan;
    struct err err;
    if (profile_plan_init(&plan, registry, rules->features, profile, &err) < 0) {
        complaints_add(c, "profiles[%zu].%s: %s", i, plan.fault, err.msg);
        return;
    }
    char *prefix = xasprintf("profiles[%zu]: ", i);
    struct str sort = plan.at[POINT_QUEUE_SORT].v[0].name;
    if (i == 0)
        *first = sort;
    c->prefix = prefix;
    check_late_args(profile, &plan, rules, c);
    check_same_sort(config, i, sort, *first, c);
    c->prefix = NULL;
    free(prefix);
    profile_plan_release(&plan);
}

void config_complain(const struct scheduler_config *config, const struct registry *registry,
                     const struct features *features, struct complaints *out)
{
    struct str first = STR("");
    struct rules rules = {registry->args, features};
    check_values(config, &rules, out);
    for (size_t i = 0; out->n == 0 && i < config->profiles.n; i++)
        check_plan(config, i, registry, &rules, &first, out);
}

/* Gives the list back. */
static int finish(struct complaints *c, struct err *reterr)
{
    struct buf text = BUF_INIT;
    bool ok = c->n == 0;
    complaints_write(c, &text);
    complaints_release(c);
    int r = ok ? 0 : err_set(reterr, -EINVAL, "%s", buf_cstr(&text));
    buf_release(&text);
    return r;
}

int config_validate(const struct scheduler_config *config, struct err *reterr)
{
    struct complaints c = {0};
    struct rules none = {0};
    check_values(config, &none, &c);
    return finish(&c, reterr);
}

int config_check(const struct scheduler_config *config, const struct registry *registry,
                 const struct features *features, struct err *reterr)
{
    struct complaints c = {0};
    config_complain(config, registry, features, &c);
    return finish(&c, reterr);
}
