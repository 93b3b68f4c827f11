/* SPDX-License-Identifier: Apache-2.0 */
/* config_plans.c - errors that upstream finds when it builds the profiles of a valid configuration.
 */
#include "engine/config/config_internal.h"
#include "engine/config/error_list.h"
#include "engine/config/profile_plan.h"

/* Plans by their plugins: many profiles share them, and computing a plan is slow. */
struct plans {
    const struct config_rules *rules;
    bool first_only;
    struct map good; /* struct profile_plan, by the JSON of the plugins */
    VEC(char *) keys;
    struct profile_plan last; /* a plan that is not kept */
    bool has_last;
};

#define PLANS_MAX 64

static void plans_release(struct plans *plans)
{
    map_each (e, &plans->good) {
        profile_plan_release(e->value);
        free(e->value);
    }
    for (size_t i = 0; i < plans->keys.n; i++)
        free(plans->keys.v[i]);
    vec_release(&plans->keys);
    map_release(&plans->good);
    if (plans->has_last)
        profile_plan_release(&plans->last);
}

/* The plan of a profile, valid until the next call; adds its errors. */
static const struct profile_plan *plan_of(struct plans *plans, const struct profile_config *p,
                                          struct error_list *c)
{
    struct buf key = BUF_INIT;
    if (p->plugins)
        config_write_plugins(p->plugins, &key);
    struct profile_plan *plan = map_get(&plans->good, buf_str(&key));
    size_t before = c->n;
    if (plan) {
        buf_release(&key);
        return plan;
    }
    if (plans->has_last)
        profile_plan_release(&plans->last);
    profile_plan_make(&plans->last, plans->rules->registry, plans->rules->features, p, c);
    plans->has_last = true;
    if (c->n > before || plans->good.n == PLANS_MAX) {
        buf_release(&key);
        return &plans->last;
    }
    plan = xnew(struct profile_plan);
    *plan = plans->last;
    plans->has_last = false;
    struct str text = {.n = key.n};
    vec_push(&plans->keys, buf_take(&key));
    text.p = vec_last(&plans->keys);
    map_put(&plans->good, text, plan);
    return plan;
}

static bool is_needed(const struct profile_plan *plan, struct str name)
{
    for (size_t i = 0; i < plan->needed.n; i++)
        if (str_eq(plan->needed.v[i], name))
            return true;
    return false;
}

static void check_late_entry(const struct profile_config *profile, size_t i, size_t k,
                             const struct args_kind *kind, const struct config_rules *rules,
                             struct error_list *c)
{
    const struct plugin_args *entry = &profile->plugin_config.v[k];
    struct arena a;
    struct err err;
    struct error_list found = {0};
    struct buf text = BUF_INIT;
    arena_init(&a, 0);
    const void *args = config_read_args(kind, rules->features, entry, &a, &err);
    if (args)
        kind->check(args, &found);
    error_list_write(&found, &text);
    if (found.n && profile->from_policy)
        error_list_add(c, "%.*s: initializing plugin \"%s\": %s", STR_ARG(entry->args_origin),
                       kind->plugin, buf_cstr(&text));
    else if (found.n)
        error_list_add(c, "profiles[%zu]: initializing plugin \"%s\": %s", i, kind->plugin,
                       buf_cstr(&text));
    buf_release(&text);
    error_list_release(&found);
    arena_release(&a);
}

/* Arguments that upstream validates only when it creates the plugin. */
static void check_late_args(const struct profile_config *profile, size_t i,
                            const struct profile_plan *plan, const struct config_rules *rules,
                            struct error_list *c)
{
    struct map seen = MAP_INIT;
    for (size_t k = 0; k < profile->plugin_config.n; k++) {
        struct str name = profile->plugin_config.v[k].name;
        const struct args_kind *kind = args_kind_of(rules->kinds, name);
        if (kind && kind->checked_late && config_set_add(&seen, name) && is_needed(plan, name))
            check_late_entry(profile, i, k, kind, rules, c);
    }
    map_release(&seen);
}

static struct str args_of(const struct profile_config *p, struct str plugin)
{
    for (size_t i = 0; i < p->plugin_config.n; i++)
        if (str_eq(p->plugin_config.v[i].name, plugin))
            return p->plugin_config.v[i].args;
    return STR("");
}

/* Upstream: all profiles must have the same QueueSort plugin with the same arguments. */
static void check_same_sort(const struct scheduler_config *config, size_t i, struct str sort,
                            struct str first, struct error_list *c)
{
    const struct profile_config *p = &config->profiles.v[i];
    if (!str_eq(sort, first))
        error_list_add(c,
                       "profiles[%zu]: different queue sort plugins for profile \"%.*s\": "
                       "\"%.*s\", first: \"%.*s\"",
                       i, STR_ARG(config_profile_name(p)), STR_ARG(sort), STR_ARG(first));
    else if (!str_eq(args_of(p, sort), args_of(&config->profiles.v[0], sort)))
        error_list_add(c, "profiles[%zu]: different queue sort plugin args for profile \"%.*s\"", i,
                       STR_ARG(config_profile_name(p)));
}

/* Adds the errors of profile i. *first: the QueueSort plugin of the first profile. */
static void check_plan(const struct scheduler_config *config, size_t i, struct plans *plans,
                       struct str *first, struct error_list *c)
{
    const struct profile_config *profile = &config->profiles.v[i];
    struct error_list found = {0};
    const struct profile_plan *plan = plan_of(plans, profile, &found);
    size_t n = plans->first_only ? MIN(found.v.n, (size_t)1) : found.v.n;
    for (size_t k = 0; k < n; k++) {
        char *text = profile->from_policy ? xasprintf("%s", found.v.v[k].text)
                                          : xasprintf("profiles[%zu].%s", i, found.v.v[k].text);
        /* A removed plugin has an error of its own already. */
        struct str path = str_slice(str_of(text), 0, str_find(str_of(text), ':'));
        if (!error_list_has_field(c, path))
            error_list_add(c, "%s", text);
        free(text);
    }
    c->n += found.left_out;
    c->left_out += found.left_out;
    if (found.n == 0) {
        struct str sort = plan->at[POINT_QUEUE_SORT].v[0].name;
        if (!first->p)
            *first = sort;
        check_late_args(profile, i, plan, plans->rules, c);
        check_same_sort(config, i, sort, *first, c);
    }
    error_list_release(&found);
}

void config_check_plans(const struct scheduler_config *config, const struct config_rules *rules,
                        bool first_only, struct error_list *c)
{
    struct plans plans = {.rules = rules, .first_only = first_only};
    struct str first = {0};
    for (size_t i = 0; i < config->profiles.n && !(first_only && c->n); i++)
        check_plan(config, i, &plans, &first, c);
    plans_release(&plans);
}
