/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_write.c - a configuration as text.
 *
 * Upstream prints the configuration with all defaults: the default plugins in multiPoint, and the
 * arguments of each enabled plugin with their defaults, sorted by name.
 */
#include "codec/yaml.h"
#include "engine/config/args_kind.h"
#include "engine/config/config_internal.h"
#include "engine/config/profile_plan.h"

#define UPSTREAM_QPS   50
#define UPSTREAM_BURST 100

/* --- plugins that v1 refuses ------------------------------------------------------------------ */

/* NodeVolumeLimits counts the disks of all clouds where CSI drivers serve them. */
static void keep_section(struct plugin_section *s, struct arena *a)
{
    struct plugin_section out = {0};
    out.enabled.v = arena_array(a, struct plugin_ref, s->enabled.n + 1);
    out.disabled.v = arena_array(a, struct plugin_ref, s->disabled.n + 1);
    bool has_limits = plugin_section_enables(s, STR("NodeVolumeLimits"));
    for (size_t i = 0; i < s->enabled.n; i++) {
        struct plugin_ref ref = s->enabled.v[i];
        if (plugin_is_removed(ref.name)) {
            if (has_limits)
                continue;
            ref.name = STR("NodeVolumeLimits");
            has_limits = true;
        }
        out.enabled.v[out.enabled.n++] = ref;
    }
    for (size_t i = 0; i < s->disabled.n; i++)
        if (!plugin_is_removed(s->disabled.v[i].name))
            out.disabled.v[out.disabled.n++] = s->disabled.v[i];
    *s = out;
}

/* A profile of an older version without them, so that what is written can be read. */
static struct profile_config keep_profile(struct profile_config p, struct arena *a)
{
    if (!p.older)
        return p;
    if (p.plugins) {
        struct plugins_config *plugins = arena_new(a, struct plugins_config);
        *plugins = *p.plugins;
        keep_section(&plugins->multi_point, a);
        for (int i = 0; i < POINT_COUNT; i++)
            keep_section(&plugins->at[i], a);
        p.plugins = plugins;
    }
    struct plugin_args *args = arena_array(a, struct plugin_args, p.plugin_config.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < p.plugin_config.n; i++)
        if (!plugin_is_removed(p.plugin_config.v[i].name))
            args[n++] = p.plugin_config.v[i];
    p.plugin_config.v = args;
    p.plugin_config.n = n;
    return p;
}

static void keep_profiles(struct scheduler_config *c, struct arena *a)
{
    const struct profile_config *given = c->profiles.v;
    c->profiles.v = arena_array(a, struct profile_config, c->profiles.n + 1);
    for (size_t i = 0; i < c->profiles.n; i++)
        c->profiles.v[i] = keep_profile(given[i], a);
}

/* --- complete profile ------------------------------------------------------------------------- */

/* Upstream's internal form has no unset weights. */
static void set_weights(struct plugin_ref *refs, size_t n, struct arena *a)
{
    for (size_t i = 0; i < n; i++) {
        int32_t weight = refs[i].weight ? *refs[i].weight : 0;
        refs[i].weight = arena_new(a, int32_t);
        *refs[i].weight = weight;
    }
}

/* Disabled plugins are copied here: merging drops their weights. */
static struct plugin_section complete_section(const struct plugin_section *s, struct arena *a)
{
    struct plugin_section out = {0};
    out.enabled.n = s->enabled.n;
    out.enabled.v = arena_array(a, struct plugin_ref, s->enabled.n + 1);
    for (size_t i = 0; i < s->enabled.n; i++)
        out.enabled.v[i] = s->enabled.v[i];
    set_weights(out.enabled.v, out.enabled.n, a);
    out.disabled.n = s->disabled.n;
    out.disabled.v = arena_array(a, struct plugin_ref, s->disabled.n + 1);
    for (size_t i = 0; i < s->disabled.n; i++)
        out.disabled.v[i].name = s->disabled.v[i].name;
    set_weights(out.disabled.v, out.disabled.n, a);
    return out;
}

static const struct plugin_args *given_args(const struct profile_config *p, struct str name)
{
    for (size_t i = 0; i < p->plugin_config.n; i++)
        if (str_eq(p->plugin_config.v[i].name, name))
            return &p->plugin_config.v[i];
    return NULL;
}

/* With all defaults. The arguments are valid: the configuration was checked. */
static struct str args_text(const struct scheduler_config *config, const struct features *features,
                            const struct args_kind *kind, struct str given, struct arena *a)
{
    void *args = arena_alloc(a, kind->type->size, kind->type->align);
    struct err err;
    if (str_is(given, "null"))
        given = STR("");
    if (args_read(kind, features, given, a, args, &err) < 0)
        return given;
    return extender_adjust_args(config->extenders.v, config->extenders.n, str_of(kind->plugin),
                                args_write(kind, args, a), a);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct plugin_args *)a)->name, ((const struct plugin_args *)b)->name);
}

static void complete_profile(const struct scheduler_config *config, const struct registry *registry,
                             const struct features *features, struct profile_config *p,
                             struct arena *a)
{
    static const struct plugins_config nothing;
    const struct plugins_config *user = p->plugins ? p->plugins : &nothing;
    struct profile_plan plan;
    struct err err;
    if (profile_plan_init(&plan, registry, features, p, &err) < 0)
        return;
    struct plugins_config *plugins = arena_new(a, struct plugins_config);
    plugins->multi_point = complete_section(&plan.multi_point, a);
    for (int i = 0; i < POINT_COUNT; i++)
        plugins->at[i] = complete_section(&user->at[i], a);

    struct plugin_args *all = arena_array(a, struct plugin_args, plan.needed.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < plan.needed.n; i++) {
        struct str name = plan.needed.v[i];
        const struct plugin_args *given = given_args(p, name);
        const struct args_kind *kind = args_kind_of(registry->args, name);
        if (kind)
            all[n++] = (struct plugin_args){
                .name = name,
                .args = args_text(config, features, kind, given ? given->args : STR(""), a)};
        else if (given && given->args.n && !str_is(given->args, "null"))
            all[n++] = *given;
    }
    qsort(all, n, sizeof(*all), by_name);
    p->plugins = plugins;
    p->plugin_config.v = all;
    p->plugin_config.n = n;
    profile_plan_release(&plan);
}

/* Upstream has a float32 and prints the shortest text for it. */
static double shortest(double value)
{
    char text[32];
    for (int digits = 1; digits < 10; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, (double)(float)value);
        if (strtof(text, NULL) == (float)value)
            break;
    }
    return strtod(text, NULL);
}

/* --- text ------------------------------------------------------------------------------------- */

/* The member of that name, created if there is none. */
static struct json_value *ensure(struct json_value *object, const char *key,
                                 struct json_value otherwise, struct arena *a)
{
    for (size_t i = 0; i < object->n_members; i++)
        if (str_is(object->members[i].key, key))
            return &object->members[i].value;
    struct json_member *members = arena_array(a, struct json_member, object->n_members + 1);
    for (size_t i = 0; i < object->n_members; i++)
        members[i] = object->members[i];
    members[object->n_members] = (struct json_member){str_of(key), otherwise};
    object->members = members;
    return &object->members[object->n_members++].value;
}

static const struct json_value no_text = {.kind = JSON_STRING}, no_members = {.kind = JSON_OBJECT};

/* Upstream writes these even if they are empty. */
static void ensure_written(struct json_value *doc, struct arena *a)
{
    struct json_value *client = ensure(doc, "clientConnection", no_members, a),
                      *le = ensure(doc, "leaderElection", no_members, a),
                      *profiles = ensure(doc, "profiles", (struct json_value){0}, a);
    ensure(client, "acceptContentTypes", no_text, a);
    ensure(client, "kubeconfig", no_text, a);
    ensure(le, "resourceLock", no_text, a);
    ensure(le, "resourceName", no_text, a);
    ensure(le, "resourceNamespace", no_text, a);
    for (size_t i = 0; profiles->kind == JSON_ARRAY && i < profiles->n; i++) {
        struct json_value *plugins = ensure(&profiles->items[i], "plugins", no_members, a);
        ensure(plugins, "multiPoint", no_members, a);
        for (int point = 0; point < POINT_COUNT; point++)
            ensure(plugins, point_table[point].section, no_members, a);
    }
}

static void encode(const struct scheduler_config *config, struct arena *a,
                   struct json_value *ret_tree, struct buf *text)
{
    struct err err;
    json_encode(&scheduler_config_type, config, text);
    if (json_parse(buf_str(text), 0, a, ret_tree, &err) < 0)
        *ret_tree = (struct json_value){0};
}

void config_write(const struct scheduler_config *config, const struct registry *registry,
                  const struct features *features, struct buf *out)
{
    struct scheduler_config c = *config;
    struct arena a;
    struct json_value tree;
    struct buf text = BUF_INIT;
    arena_init(&a, 4096);
    c.client_connection.qps =
        c.client_connection.qps != 0 ? shortest(c.client_connection.qps) : UPSTREAM_QPS;
    if (c.client_connection.burst == 0)
        c.client_connection.burst = UPSTREAM_BURST;
    keep_profiles(&c, &a);
    for (size_t i = 0; i < c.profiles.n; i++)
        complete_profile(config, registry, features, &c.profiles.v[i], &a);
    c.extenders.v = arena_array(&a, struct extender_config, config->extenders.n + 1);
    for (size_t i = 0; i < config->extenders.n; i++) {
        c.extenders.v[i] = config->extenders.v[i];
        if (c.extenders.v[i].http_timeout == 0)
            c.extenders.v[i].http_timeout = EXTENDER_DEFAULT_TIMEOUT;
    }
    encode(&c, &a, &tree, &text);
    ensure_written(&tree, &a);
    yaml_write(&tree, out);
    buf_release(&text);
    arena_release(&a);
}

void config_write_given(const struct scheduler_config *config, bool json, struct buf *out)
{
    struct scheduler_config c = *config;
    struct arena a;
    struct json_value tree;
    struct buf text = BUF_INIT;
    arena_init(&a, 4096);
    c.kind = STR(CONFIG_KIND);
    c.api_version = STR(CONFIG_API_VERSION);
    keep_profiles(&c, &a);
    encode(&c, &a, &tree, &text);
    if (json)
        buf_add_printf(out, "%s\n", buf_cstr(&text));
    else
        yaml_write(&tree, out);
    buf_release(&text);
    arena_release(&a);
}
