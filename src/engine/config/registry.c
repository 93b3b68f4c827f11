/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/registry.h"

/* A copy of a plugin, in registry.owned. */
struct registered_plugin {
    struct registered_plugin *next;
    struct berth_plugin plugin;
};

/* The number of plugins without the final NULL. */
static size_t count(const struct berth_plugin *const *plugins)
{
    size_t n = 0;
    while (plugins[n])
        n++;
    return n;
}

/* The list for writing, with room for n plugins and the NULL. */
static const struct berth_plugin **make_room(struct registry *r, size_t n)
{
    const struct berth_plugin **list =
        xreallocarray((void *)(uintptr_t)r->plugins, n + 1, sizeof(*list));
    r->plugins = list;
    return list;
}

void registry_init(struct registry *r, const struct registry *base)
{
    size_t n = count(base->plugins);
    *r = *base;
    r->plugins = NULL;
    r->owned = NULL;
    memcpy(make_room(r, n), base->plugins, (n + 1) * sizeof(*base->plugins));
}

void registry_release(struct registry *r)
{
    free((void *)(uintptr_t)r->plugins);
    while (r->owned) {
        struct registered_plugin *p = r->owned;
        r->owned = p->next;
        free(p);
    }
    *r = (struct registry){0};
}

/* The index of the final NULL if there is none of this name. */
static size_t index_of(const struct registry *r, struct str name)
{
    size_t i = 0;
    while (r->plugins[i] && !str_is(name, r->plugins[i]->name))
        i++;
    return i;
}

const struct berth_plugin *registry_find(const struct registry *r, struct str name)
{
    return r->plugins[index_of(r, name)];
}

static bool is_shut(const struct registry *r, const struct features *features, struct str name)
{
    for (size_t i = 0; i < r->n_gated; i++)
        if (str_eq(r->gated[i].name, name))
            return !features->on[r->gated[i].gate];
    return false;
}

unsigned plugin_points(const struct registry *r, struct str name)
{
    const struct berth_plugin *plugin = registry_find(r, name);
    if (!plugin)
        return PLUGIN_UNKNOWN;
    unsigned points = 0;
    for (int point = 0; point < POINT_COUNT; point++)
        points |= (unsigned)plugin_implements(plugin, (enum point)point) << point;
    return points;
}

bool plugin_extends(const struct registry *r, struct str name, enum point point)
{
    unsigned points = plugin_points(r, name);
    return points != PLUGIN_UNKNOWN && points >> point & 1;
}

bool plugin_is_legacy(struct str name)
{
    static const char *const names[] = {
        "NodeLabel",
        "NodePreferAvoidPods",
        "NodeResourcesLeastAllocated",
        "NodeResourcesMostAllocated",
        "RequestedToCapacityRatio",
        "SelectorSpread",
        "ServiceAffinity",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

size_t registry_defaults(const struct registry *r, const struct features *features,
                         struct plugin_ref *ret_defaults)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_defaults; i++)
        if (!is_shut(r, features, r->defaults[i].name))
            ret_defaults[n++] = r->defaults[i];
    return n;
}

/* What tells what a plugin is: every header had these members. */
#define SMALLEST_PLUGIN offsetof(struct berth_plugin, create)

int registry_check(const struct berth_plugin *plugin, struct err *reterr)
{
    if (plugin->abi >> 16 != BERTH_ABI_MAJOR)
        return err_set(reterr, -EINVAL,
                       "plugin \"%s\" was built for ABI %u, this berth has ABI %u: build it with "
                       "this berth's header",
                       plugin->abi && plugin->name ? plugin->name : "?", plugin->abi >> 16,
                       (unsigned)BERTH_ABI_MAJOR);
    if (!plugin->name || !*plugin->name)
        return err_set(reterr, -EINVAL, "a plugin needs a name");
    if (plugin->struct_size < SMALLEST_PLUGIN)
        return err_set(reterr, -EINVAL,
                       "plugin \"%s\": its struct_size is %zu, at least %zu is required: use "
                       "BERTH_PLUGIN_HEAD",
                       plugin->name, plugin->struct_size, SMALLEST_PLUGIN);
    return 0;
}

int registry_register(struct registry *r, const struct berth_plugin *plugin, struct err *reterr)
{
    int error = registry_check(plugin, reterr);
    if (error < 0)
        return error;
    size_t i = index_of(r, str_of(plugin->name));
    if (r->plugins[i])
        return err_set(reterr, -EEXIST, "a plugin named %s already exists", plugin->name);
    struct registered_plugin *copy = xnew(struct registered_plugin);
    plugin_copy(&copy->plugin, plugin);
    copy->next = r->owned;
    r->owned = copy;
    const struct berth_plugin **list = make_room(r, i + 1);
    list[i] = &copy->plugin;
    list[i + 1] = NULL;
    return 0;
}

int registry_unregister(struct registry *r, struct str name, struct err *reterr)
{
    size_t n = count(r->plugins), i = index_of(r, name);
    if (i == n)
        return err_set(reterr, -ENOENT, "no plugin named %.*s exists", STR_ARG(name));
    const struct berth_plugin **list = make_room(r, n);
    memmove(list + i, list + i + 1, (n - i) * sizeof(*list));
    return 0;
}

int registry_merge(struct registry *r, const struct berth_plugin *const *plugins,
                   struct err *reterr)
{
    size_t n = count(r->plugins);
    for (size_t i = 0; plugins[i]; i++) {
        int error = registry_register(r, plugins[i], reterr);
        if (error < 0) {
            make_room(r, n)[n] = NULL;
            return error;
        }
    }
    return 0;
}

bool plugin_is_removed(struct str name)
{
    return str_is(name, "AzureDiskLimits") || str_is(name, "CinderLimits") ||
           str_is(name, "EBSLimits") || str_is(name, "GCEPDLimits");
}
