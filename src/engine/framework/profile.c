/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - builds a profile from its plan (profile_plan.h): instances of the plugins that it
 * needs, then the list of each extension point.
 */
#include "engine/framework/profile.h"

#include "engine/config/profile_plan.h"
#include "engine/framework/call_mark.h"
#include "engine/framework/framework.h"
#include "engine/framework/setup.h"
#include "engine/framework/shared_state.h"

/* --- instances -------------------------------------------------------------------------------- */

static struct berth_handle *find_instance(const struct profile *p, struct str name)
{
    for (size_t i = 0; i < p->instances.n; i++)
        if (str_is(name, p->instances.v[i]->plugin->name))
            return p->instances.v[i];
    return NULL;
}

static struct str args_of(const struct profile_config *config, struct str name)
{
    for (size_t i = 0; i < config->plugin_config.n; i++)
        if (str_eq(config->plugin_config.v[i].name, name))
            return config->plugin_config.v[i].args;
    return STR("");
}

static void free_instance(struct berth_handle *h)
{
    plugin_calls_forget(&h->framework->calls, h);
    shared_states_drop(h);
    framework_remove_handle(h);
    arena_release(&h->arena);
    free(h->args);
    free(h);
}

/* Extenders change arguments: NodeResourcesFit ignores the resources that they manage. */
static int create(struct berth_handle *h, const struct profile_config *config, struct err *reterr)
{
    const struct scheduler_config *all = h->profile->setup->config;
    struct str name = str_of(h->plugin->name);
    struct berth_error error = {"no reason given"};
    struct arena scratch;
    arena_init(&scratch, 0);
    struct str args = extender_adjust_args(all->extenders.v, all->extenders.n, name,
                                           args_of(config, name), &scratch);
    h->args = str_dup(args);
    h->creating = true;
    struct call_mark outer = call_begin(h, "create", NULL);
    int failed = h->plugin->create
                     ? h->plugin->create(h->framework->host, h, abi_str(args), &h->self, &error)
                     : 0;
    call_end(outer);
    h->creating = false;
    arena_release(&scratch);
    error.text[sizeof(error.text) - 1] = 0;
    return failed ? err_set(reterr, -EINVAL, "initializing plugin \"%s\": %s", h->plugin->name,
                            error.text)
                  : 0;
}

static int add_instance(struct profile *p, const struct registry *registry,
                        const struct profile_config *config, struct str name, struct err *reterr)
{
    struct framework *fw = p->setup->framework;
    if (find_instance(p, name))
        return 0;
    const struct berth_plugin *plugin = registry_find(registry, name);
    if (!plugin)
        return err_set(reterr, -EINVAL, "plugin \"%.*s\" does not exist", STR_ARG(name));
    int r = registry_check(plugin, reterr);
    if (r < 0)
        return r;
    int id = framework_plugin_id(fw, str_of(plugin->name));
    if (id < 0)
        return err_set(reterr, -E2BIG, "more than %d different plugins are enabled",
                       FRAMEWORK_MAX_PLUGINS);

    struct berth_handle *h = xnew(struct berth_handle);
    *h =
        (struct berth_handle){.profile = p, .id = (uint16_t)id, .weight = 1, .placement_weight = 1};
    h->plugin = &h->code;
    plugin_copy(&h->code, plugin);
    framework_add_handle(fw, h);
    r = create(h, config, reterr);
    if (r < 0) {
        free_instance(h);
        return r;
    }
    vec_push(&p->instances, h);
    return 0;
}

/* --- points ----------------------------------------------------------------------------------- */

static void fill_point(struct profile *p, enum point point, const plan_list *planned)
{
    for (size_t i = 0; i < planned->n; i++) {
        struct berth_handle *h = find_instance(p, planned->v[i].name);
        INVARIANT(h && plugin_implements(h->plugin, point));
        if (point == POINT_SCORE)
            h->weight = planned->v[i].weight;
        else if (point == POINT_PLACEMENT_SCORE)
            h->placement_weight = planned->v[i].weight;
        vec_push(&p->at[point], h);
    }
}

int profile_new(struct setup *setup, const struct registry *registry,
                const struct profile_config *config, struct profile **ret_profile,
                struct err *reterr)
{
    struct profile_plan plan;
    int r = profile_plan_init(&plan, registry, &setup->framework->features, config, reterr);
    if (r < 0)
        return r;
    struct profile *p = xnew(struct profile);
    p->setup = setup;
    p->scheduler_name = *config->scheduler_name;
    p->percentage_of_nodes_to_score = config->percentage_of_nodes_to_score
                                          ? *config->percentage_of_nodes_to_score
                                          : *setup->config->percentage_of_nodes_to_score;
    for (size_t i = 0; r == 0 && i < plan.needed.n; i++)
        r = add_instance(p, registry, config, plan.needed.v[i], reterr);
    for (int i = 0; r == 0 && i < POINT_COUNT; i++)
        fill_point(p, (enum point)i, &plan.at[i]);
    profile_plan_release(&plan);
    if (r < 0) {
        profile_free(p);
        return r;
    }
    *ret_profile = p;
    return 0;
}

struct profile *profile_free(struct profile *p)
{
    if (!p)
        return NULL;
    for (int i = 0; i < POINT_COUNT; i++)
        vec_release(&p->at[i]);
    for (size_t i = p->instances.n; i-- > 0;) {
        struct berth_handle *h = p->instances.v[i];
        struct call_mark outer = call_begin(h, "destroy", NULL);
        if (h->plugin->destroy)
            h->plugin->destroy(h->self);
        call_end(outer);
        free_instance(h);
    }
    vec_release(&p->instances);
    free(p);
    return NULL;
}
