/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scheduler_retired.h"

#include "base/log.h"
#include "cmd/config_file.h"
#include "codec/json.h"
#include "kube/rest.h"

/* Under which a Policy stands in its ConfigMap. */
#define POLICY_KEY "policy.cfg"

/* --- a Policy in a ConfigMap ------------------------------------------------------------------ */

struct fetch {
    struct loop *loop;
    struct arena *arena;
    struct str policy;
    struct err *reterr;
    int r;
};

static void on_configmap(void *ctx, const struct rest_result *result)
{
    struct fetch *fetch = ctx;
    struct json_value map;
    struct err err = result->err;
    int r = result->code;
    if (r == 0)
        r = json_parse(result->body, 0, fetch->arena, &map, &err);
    const struct json_value *data = r == 0 ? json_get(&map, STR("data")) : NULL;
    const struct json_value *policy = data ? json_get(data, STR(POLICY_KEY)) : NULL;
    if (r == 0 && (!policy || policy->kind != JSON_STRING))
        r = err_set(&err, -ENOENT, "missing policy config map value at key \"" POLICY_KEY "\"");
    if (r == 0)
        fetch->policy = arena_dup(fetch->arena, policy->text);
    fetch->r = r < 0 ? err_set(fetch->reterr, r, "%s", err.msg) : 0;
    loop_stop(fetch->loop);
}

static int get_configmap(const struct kube_config *kube, struct str path, struct fetch *fetch)
{
    struct rest_client *client = NULL;
    int r = loop_new(&fetch->loop);
    if (r < 0)
        return err_set(fetch->reterr, r, "event loop: %s", strerror(-r));
    r = rest_client_new(fetch->loop, kube, NULL, &client, fetch->reterr);
    if (r == 0) {
        struct rest_request request = {.verb = REST_GET, .path = path};
        rest_send(client, &request, on_configmap, fetch);
        loop_run(fetch->loop);
        r = fetch->r;
    }
    rest_client_free(client);
    loop_free(fetch->loop);
    return r;
}

static int fetch_policy(const struct scheduler_options *o, struct arena *a, struct str *ret_text,
                        struct err *reterr)
{
    struct kube_config kube;
    struct kube_config_options options = {.kubeconfig = o->deprecated.kubeconfig,
                                          .master = o->master};
    struct fetch fetch = {.arena = a, .reterr = reterr};
    int r = kube_config_load(&kube, &options, reterr);
    if (r < 0)
        return r;
    struct str path =
        arena_printf(a, "/api/v1/namespaces/%s/configmaps/%s",
                     o->retired.policy_configmap_namespace, o->retired.policy_configmap);
    r = get_configmap(&kube, path, &fetch);
    kube_config_release(&kube);
    if (r == 0)
        *ret_text = fetch.policy;
    return r < 0 ? err_prefix(reterr, r, "couldn't get policy config map %s/%s",
                              o->retired.policy_configmap_namespace, o->retired.policy_configmap)
                 : 0;
}

/* --- what else they say ----------------------------------------------------------------------- */

/* Arguments of a plugin, unless it has some already. */
static void add_args(struct profile_config *profile, struct str plugin, struct str args,
                     struct arena *a)
{
    for (size_t i = 0; i < profile->plugin_config.n; i++)
        if (str_eq(profile->plugin_config.v[i].name, plugin))
            return;
    size_t n = profile->plugin_config.n;
    struct plugin_args *v = arena_array(a, struct plugin_args, n + 1);
    if (n)
        memcpy(v, profile->plugin_config.v, n * sizeof(*v));
    v[n] = (struct plugin_args){plugin, args};
    profile->plugin_config.v = v;
    profile->plugin_config.n = n + 1;
}

static int apply_provider(const char *name, struct profile_config *profile, struct arena *a,
                          struct err *reterr)
{
    if (strcmp(name, "ClusterAutoscalerProvider") == 0)
        add_args(profile, STR("NodeResourcesFit"),
                 STR("{\"scoringStrategy\":{\"type\":\"MostAllocated\",\"resources\":["
                     "{\"name\":\"cpu\",\"weight\":1},{\"name\":\"memory\",\"weight\":1}]}}"),
                 a);
    else if (*name && strcmp(name, "DefaultProvider") != 0)
        return err_set(reterr, -EINVAL, "algorithm provider \"%s\" is not registered", name);
    return 0;
}

static int apply(const struct scheduler_options *o, struct scheduler_config *config,
                 struct arena *a, struct err *reterr)
{
    struct profile_config *profile = &config->profiles.v[0];
    if (scheduler_options_given(o, "scheduler-name")) {
        profile->scheduler_name = arena_new(a, struct str);
        *profile->scheduler_name = str_of(o->retired.scheduler_name);
    }
    if (scheduler_options_given(o, "hard-pod-affinity-symmetric-weight"))
        add_args(
            profile, STR("InterPodAffinity"),
            arena_printf(a, "{\"hardPodAffinityWeight\":%d}", o->retired.hard_pod_affinity_weight),
            a);
    return apply_provider(o->retired.algorithm_provider, profile, a, reterr);
}

int retired_load_config(const struct scheduler_options *o, struct arena *a,
                        struct scheduler_config *ret, struct err *reterr)
{
    const struct retired_flags *flags = &o->retired;
    bool from_map = *flags->policy_configmap && !flags->use_legacy_policy_config;
    struct str text;
    int r = 0;
    config_default(ret, a);
    if (from_map) {
        r = fetch_policy(o, a, &text, reterr);
        if (r == 0)
            r = config_text_load(flags->policy_configmap, text, a, ret, reterr);
    } else if (*flags->policy_config_file) {
        r = config_file_load(flags->policy_config_file, a, ret, reterr);
    }
    return r < 0 ? r : apply(o, ret, a, reterr);
}
