/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/framework.h"

#include "engine/framework/setup.h"

void framework_init(struct framework *fw, const struct framework_options *options)
{
    *fw = (struct framework){.ports = options->ports,
                             .log = {.verbosity = options->ports.log ? 0 : -1,
                                     .fn = options->ports.log,
                                     .ctx = options->ports.ctx},
                             .host = options->host,
                             .cache = options->cache,
                             .cluster = options->cluster,
                             .max_pd_volumes = options->max_pd_volumes};
    rand_seed(&fw->rand, options->seed);
    reasons_init(&fw->reasons);
    plugin_calls_init(&fw->calls);
    if (options->features)
        fw->features = *options->features;
    else
        features_default(&fw->features);
}

static void free_texts(struct str *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((char *)texts[i].p);
}

void framework_release(struct framework *fw)
{
    setup_free(fw->setup);
    while (fw->replaced) {
        struct setup *s = fw->replaced;
        fw->replaced = s->older;
        setup_free(s);
    }
    INVARIANT(!fw->shared.n && !fw->handles.n);
    map_release(&fw->handles);
    vec_release(&fw->shared);
    plugin_calls_release(&fw->calls);
    free_texts(fw->plugin_names.v, fw->plugin_names.n);
    vec_release(&fw->plugin_names);
    free_texts(fw->state_keys.v, fw->state_keys.n);
    vec_release(&fw->state_keys);
    reasons_release(&fw->reasons);
}

/* --- names ------------------------------------------------------------------------------------ */

int framework_plugin_id(struct framework *fw, struct str name)
{
    for (size_t i = 0; i < fw->plugin_names.n; i++)
        if (str_eq(fw->plugin_names.v[i], name))
            return (int)i;
    for (size_t i = 0; i < fw->plugin_names.n; i++)
        if (!fw->plugin_names.v[i].p) {
            fw->plugin_names.v[i] = str_of(str_dup(name));
            return (int)i;
        }
    if (fw->plugin_names.n == FRAMEWORK_MAX_PLUGINS)
        return -E2BIG;
    vec_push(&fw->plugin_names, str_of(str_dup(name)));
    return (int)fw->plugin_names.n - 1;
}

berth_state_key framework_state_key(struct framework *fw, struct str name)
{
    for (size_t i = 0; i < fw->state_keys.n; i++)
        if (str_eq(fw->state_keys.v[i], name))
            return (berth_state_key)(i + 1);
    vec_push(&fw->state_keys, str_of(str_dup(name)));
    return (berth_state_key)fw->state_keys.n;
}

struct profile *framework_profile(const struct framework *fw, struct str scheduler_name)
{
    return setup_profile(fw->setup, scheduler_name);
}
