/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a profile's lists come about (upstream: framework/runtime, apis/config/v1 default_plugins):
 * the user's multiPoint section is merged into the default one, plugins named at a point are put
 * there first, and multiPoint then fills every point that its plugins implement. The final order at
 * a point is: plugins named at the point that multiPoint has too, in the point's order; plugins of
 * multiPoint; the other plugins named at the point.
 */
#include "engine/framework.h"

#include "engine/internal.h"

typedef VEC(struct plugin_ref) ref_list;

static const struct plugin_ref *find_ref(const struct plugin_ref *refs, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(refs[i].name, name))
            return &refs[i];
    return NULL;
}

static bool is_disabled(const struct plugin_section *section, struct str name)
{
    return find_ref(section->disabled.v, section->disabled.n, STR("*")) ||
           find_ref(section->disabled.v, section->disabled.n, name);
}

/* Defaults minus what is disabled, those enabled again replaced in place, then the user's others.
 */
static void merge_multi_point(const struct plugin_ref *defaults, size_t n,
                              const struct plugin_section *user, ref_list *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct plugin_ref *d = &defaults[i];
        if (is_disabled(user, d->name))
            continue;
        const struct plugin_ref *own = find_ref(user->enabled.v, user->enabled.n, d->name);
        vec_push(out, own ? *own : *d);
    }
    for (size_t i = 0; i < user->enabled.n; i++) {
        const struct plugin_ref *own = &user->enabled.v[i];
        bool replaced = find_ref(defaults, n, own->name) && !is_disabled(user, own->name) &&
                        own == find_ref(user->enabled.v, user->enabled.n, own->name);
        if (!replaced)
            vec_push(out, *own);
    }
}

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

static int check_abi(const struct berth_plugin *plugin, struct err *reterr)
{
    if (plugin->abi >> 16 != BERTH_ABI_MAJOR)
        return err_set(reterr, -EINVAL, "plugin \"%s\" was built for ABI %u, this berth has %u",
                       plugin->name, plugin->abi >> 16, (unsigned)BERTH_ABI_MAJOR);
    return 0;
}

static int add_instance(struct profile *p, struct engine *engine, const struct registry *registry,
                        const struct profile_config *config, struct str name, struct err *reterr)
{
    if (find_instance(p, name))
        return 0;
    const struct berth_plugin *plugin = registry_find(registry, name);
    if (!plugin)
        return err_set(reterr, -EINVAL, "plugin \"%.*s\" does not exist", STR_ARG(name));
    int r = check_abi(plugin, reterr);
    if (r < 0)
        return r;
    int id = engine_plugin_id(engine, str_of(plugin->name));
    if (id < 0)
        return err_set(reterr, -E2BIG, "more than %d different plugins are enabled",
                       FRAMEWORK_MAX_PLUGINS);

    struct berth_handle *h = xnew(struct berth_handle);
    *h = (struct berth_handle){.plugin = plugin,
                               .engine = engine,
                               .profile = p,
                               .id = (uint16_t)id,
                               .weight = 1,
                               .placement_weight = 1};
    struct berth_error error = {"no reason given"};
    if (plugin->create &&
        plugin->create(&engine_host, h, abi_str(args_of(config, name)), &h->self, &error)) {
        free(h);
        return err_set(reterr, -EINVAL, "initializing plugin \"%s\": %s", plugin->name, error.text);
    }
    vec_push(&p->instances, h);
    return 0;
}

static int add_instances(struct profile *p, struct engine *engine, const struct registry *registry,
                         const struct profile_config *config, const ref_list *multi_point,
                         struct err *reterr)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < multi_point->n; i++)
        r = add_instance(p, engine, registry, config, multi_point->v[i].name, reterr);
    for (int point = 0; config->plugins && point < POINT_COUNT; point++) {
        const struct plugin_section *s = &config->plugins->at[point];
        for (size_t i = 0; r == 0 && i < s->enabled.n; i++)
            r = add_instance(p, engine, registry, config, s->enabled.v[i].name, reterr);
    }
    return r;
}

/* --- points ----------------------------------------------------------------------------------- */

static bool list_has(const handle_list *list, const struct berth_handle *h)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] == h)
            return true;
    return false;
}

static void set_weight(struct berth_handle *h, enum point point, const struct plugin_ref *ref)
{
    int64_t weight = ref->weight && *ref->weight > 0 ? *ref->weight : 1;
    if (point == POINT_SCORE)
        h->weight = weight;
    else if (point == POINT_PLACEMENT_SCORE)
        h->placement_weight = weight;
}

/* Plugins that the section names, in its order. */
static int take_specific(const struct profile *p, enum point point,
                         const struct plugin_section *section, handle_list *out, struct err *reterr)
{
    for (size_t i = 0; i < section->enabled.n; i++) {
        const struct plugin_ref *ref = &section->enabled.v[i];
        struct berth_handle *h = find_instance(p, ref->name);
        if (!plugin_implements(h->plugin, point))
            return err_set(reterr, -EINVAL, "plugin \"%.*s\" does not extend %s plugin",
                           STR_ARG(ref->name), point_table[point].name);
        if (list_has(out, h))
            return err_set(reterr, -EINVAL, "plugin \"%.*s\" already registered as \"%s\"",
                           STR_ARG(ref->name), point_table[point].name);
        set_weight(h, point, ref);
        vec_push(out, h);
    }
    return 0;
}

/* Plugins of multiPoint for this point: *overriding are those that the section names as well. */
static int take_multi(const struct profile *p, enum point point,
                      const struct plugin_section *section, const ref_list *multi_point,
                      const handle_list *specific, handle_list *overriding, handle_list *expanded,
                      struct err *reterr)
{
    for (size_t i = 0; i < multi_point->n; i++) {
        const struct plugin_ref *ref = &multi_point->v[i];
        struct berth_handle *h = find_instance(p, ref->name);
        if (!plugin_implements(h->plugin, point) || is_disabled(section, ref->name))
            continue;
        if (list_has(specific, h)) {
            vec_push(overriding, h);
            continue;
        }
        if (list_has(expanded, h))
            return err_set(reterr, -EINVAL, "plugin \"%.*s\" already registered as \"%s\"",
                           STR_ARG(ref->name), point_table[point].name);
        set_weight(h, point, ref);
        vec_push(expanded, h);
    }
    return 0;
}

static int fill_point(struct profile *p, enum point point, const struct plugin_section *section,
                      const ref_list *multi_point, struct err *reterr)
{
    handle_list specific = {0}, overriding = {0}, expanded = {0};
    int r = take_specific(p, point, section, &specific, reterr);
    if (r == 0)
        r = take_multi(p, point, section, multi_point, &specific, &overriding, &expanded, reterr);
    for (size_t i = 0; r == 0 && i < specific.n; i++)
        if (list_has(&overriding, specific.v[i]))
            vec_push(&p->at[point], specific.v[i]);
    for (size_t i = 0; r == 0 && i < expanded.n; i++)
        vec_push(&p->at[point], expanded.v[i]);
    for (size_t i = 0; r == 0 && i < specific.n; i++)
        if (!list_has(&overriding, specific.v[i]))
            vec_push(&p->at[point], specific.v[i]);
    vec_release(&specific);
    vec_release(&overriding);
    vec_release(&expanded);
    return r;
}

static int check_profile(const struct profile *p, struct err *reterr)
{
    if (p->at[POINT_QUEUE_SORT].n != 1)
        return err_set(reterr, -EINVAL,
                       "only one queue sort plugin required for profile with scheduler name "
                       "\"%.*s\", but got %zu",
                       STR_ARG(p->scheduler_name), p->at[POINT_QUEUE_SORT].n);
    if (p->at[POINT_BIND].n == 0)
        return err_set(reterr, -EINVAL,
                       "at least one bind plugin is needed for profile with scheduler name "
                       "\"%.*s\"",
                       STR_ARG(p->scheduler_name));
    if (p->at[POINT_PLACEMENT_GENERATE].n > 1)
        return err_set(reterr, -EINVAL,
                       "at most one placement generate plugin is allowed for profile with "
                       "scheduler name \"%.*s\"",
                       STR_ARG(p->scheduler_name));
    return 0;
}

int profile_new(struct engine *engine, const struct registry *registry,
                const struct profile_config *config, struct profile **ret_profile,
                struct err *reterr)
{
    static const struct plugin_section nothing;
    const struct plugins_config *plugins = config->plugins;
    ref_list multi_point = {0};
    struct profile *p = xnew(struct profile);
    p->scheduler_name = *config->scheduler_name;
    p->percentage_of_nodes_to_score = *config->percentage_of_nodes_to_score;

    struct plugin_ref *defaults = xcalloc(registry->n_defaults, sizeof(*defaults));
    size_t n = registry_defaults(registry, &engine->features, defaults);
    merge_multi_point(defaults, n, plugins ? &plugins->multi_point : &nothing, &multi_point);
    free(defaults);
    int r = add_instances(p, engine, registry, config, &multi_point, reterr);
    for (int i = 0; r == 0 && i < POINT_COUNT; i++)
        r = fill_point(p, (enum point)i, plugins ? &plugins->at[i] : &nothing, &multi_point,
                       reterr);
    if (r == 0)
        r = check_profile(p, reterr);
    vec_release(&multi_point);
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
        if (h->plugin->destroy)
            h->plugin->destroy(h->self);
        free(h);
    }
    vec_release(&p->instances);
    free(p);
    return NULL;
}
