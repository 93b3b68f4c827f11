/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scheduler/scheduler_retired.h"

#include <arpa/inet.h>

#include <unistd.h>

#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "cmd/config/config_file.h"
#include "codec/json.h"
#include "engine/config/error_list.h"
#include "kube/rest/rest.h"

/* The key of a Policy in its ConfigMap. */
#define POLICY_KEY "policy.cfg"

/* --- Policy from a ConfigMap ------------------------------------------------------------------ */

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

static int fetch_policy(const struct scheduler_options *o, const struct scheduler_config *config,
                        struct arena *a, struct str *ret_text, struct err *reterr)
{
    const char *namespace = o->retired.policy_configmap_namespace;
    struct kube_config kube;
    struct kube_config_options options = {
        .kubeconfig = arena_dup(a, config->client_connection.kubeconfig).p, .master = o->master};
    struct fetch fetch = {.arena = a, .reterr = reterr};
    int r = kube_config_load(&kube, &options, reterr);
    if (r < 0)
        return r;
    namespace = *namespace ? namespace : "kube-system";
    struct str path = arena_printf(a, "/api/v1/namespaces/%s/configmaps/%s", namespace,
                                   o->retired.policy_configmap);
    r = get_configmap(&kube, path, &fetch);
    kube_config_release(&kube);
    if (r == 0)
        *ret_text = fetch.policy;
    return r < 0 ? err_prefix(reterr, r, "couldn't get policy config map %s/%s", namespace,
                              o->retired.policy_configmap)
                 : 0;
}

/* --- Policy instead of profiles --------------------------------------------------------------- */

static int load_policy(const char *path, struct str text, struct arena *a,
                       struct scheduler_config *ret_policy, struct err *reterr)
{
    struct config_text t = {.file = path, .shown = path, .key = STR(""), .text = text};
    int r = config_text_load(&t, a, ret_policy, reterr);
    if (r == 0 && !str_is(ret_policy->version, "v1"))
        r = err_set(reterr, -EINVAL, "%s: expected kind: Policy of apiVersion: v1, got %.*s", path,
                    STR_ARG(ret_policy->version));
    return r < 0 ? err_prefix(reterr, r, "invalid policy") : 0;
}

static int take_policy(const struct scheduler_options *o, const char *path, struct str text,
                       struct arena *a, struct scheduler_config *config, struct err *reterr)
{
    struct scheduler_config policy;
    int r = load_policy(path, text, a, &policy, reterr);
    if (r < 0)
        return r;
    if (*o->config_file)
        log_warning("The Policy overrides the profiles and extenders of the configuration",
                    KV_CSTR("policy", path), KV_CSTR("config", o->config_file));
    config->profiles.v = policy.profiles.v;
    config->profiles.n = policy.profiles.n;
    config->extenders.v = policy.extenders.v;
    config->extenders.n = policy.extenders.n;
    config_take_problems(config, &policy, a);
    config->file = *o->config_file ? NULL : policy.file;
    config->source = *o->config_file ? NULL : policy.source;
    return 0;
}

static bool names_policy(const struct retired_flags *flags)
{
    return *flags->policy_config_file || *flags->policy_configmap;
}

static int apply_policy(const struct scheduler_options *o, struct arena *a,
                        struct scheduler_config *config, struct err *reterr)
{
    const struct retired_flags *flags = &o->retired;
    struct str text;
    bool from_file = flags->use_legacy_policy_config || !*flags->policy_configmap;
    if (from_file && access(flags->policy_config_file, F_OK) < 0)
        return err_set(reterr, -ENOENT, "missing policy config file %s", flags->policy_config_file);
    int r = from_file ? cmd_read_file(flags->policy_config_file, a, &text, reterr)
                      : fetch_policy(o, config, a, &text, reterr);
    if (r < 0)
        return from_file ? err_prefix(reterr, r, "couldn't read policy config") : r;
    return take_policy(o, from_file ? flags->policy_config_file : flags->policy_configmap, text, a,
                       config, reterr);
}

/* --- other flags ------------------------------------------------------------------------------ */

/* Sets the arguments of a plugin, unless the profile has some. */
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
    v[n] = (struct plugin_args){.name = plugin, .args = args};
    profile->plugin_config.v = v;
    profile->plugin_config.n = n + 1;
}

/* ClusterAutoscalerProvider: score resources by MostAllocated instead of LeastAllocated. */
static void pack(struct profile_config *profile, struct arena *a)
{
    static const struct plugin_section nothing;
    const struct plugin_section *score =
        profile->plugins ? &profile->plugins->at[POINT_SCORE] : &nothing;
    for (size_t i = 0; i < score->enabled.n; i++)
        if (str_is(score->enabled.v[i].name, "NodeResourcesLeastAllocated")) {
            score->enabled.v[i].name = STR("NodeResourcesMostAllocated");
            return;
        }
    add_args(profile, STR("NodeResourcesFit"),
             STR("{\"scoringStrategy\":{\"type\":\"MostAllocated\",\"resources\":["
                 "{\"name\":\"cpu\",\"weight\":1},{\"name\":\"memory\",\"weight\":1}]}}"),
             a);
}

static int apply_provider(const char *name, struct scheduler_config *config, struct arena *a,
                          struct err *reterr)
{
    if (!*name || strcmp(name, "DefaultProvider") == 0)
        return 0;
    if (strcmp(name, "ClusterAutoscalerProvider") != 0)
        return err_set(reterr, -EINVAL,
                       "couldn't create scheduler using provider \"%s\": algorithm provider \"%s\" "
                       "is not registered",
                       name, name);
    for (size_t i = 0; i < config->profiles.n; i++)
        pack(&config->profiles.v[i], a);
    return 0;
}

/* Flags that are ignored if --config is set. */
static void apply_alone(const struct scheduler_options *o, struct scheduler_config *config,
                        struct arena *a)
{
    struct profile_config *profile = &config->profiles.v[0];
    if (scheduler_options_given(o, "lock-object-name"))
        config->leader_election.resource_name = str_of(o->retired.lock_object_name);
    if (scheduler_options_given(o, "lock-object-namespace"))
        config->leader_election.resource_namespace = str_of(o->retired.lock_object_namespace);
    if (*o->retired.scheduler_name) {
        profile->scheduler_name = arena_new(a, struct str);
        *profile->scheduler_name = str_of(o->retired.scheduler_name);
    }
    if (scheduler_options_given(o, "hard-pod-affinity-symmetric-weight") &&
        !names_policy(&o->retired))
        add_args(
            profile, STR("InterPodAffinity"),
            arena_printf(a, "{\"hardPodAffinityWeight\":%d}", o->retired.hard_pod_affinity_weight),
            a);
}

/* --- checking and applying -------------------------------------------------------------------- */

void retired_check(const struct scheduler_options *o, struct error_list *out)
{
    const struct retired_flags *flags = &o->retired;
    struct in6_addr ip;
    if (flags->port < 0 || flags->port > 65535)
        error_list_add(out,
                       "--port %lld must be between 0 and 65535, inclusive. 0 for turning off "
                       "insecure (HTTP) port",
                       (long long)flags->port);
    if (*flags->address && inet_pton(AF_INET, flags->address, &ip) != 1 &&
        inet_pton(AF_INET6, flags->address, &ip) != 1)
        error_list_add(out, "--address %s is an invalid IP address", flags->address);
    if (flags->use_legacy_policy_config && !*flags->policy_config_file)
        error_list_add(out, "policyConfigFile: Required value: required when "
                            "--use-legacy-policy-config is true");
    if (flags->hard_pod_affinity_weight < 0 || flags->hard_pod_affinity_weight > 100)
        error_list_add(out,
                       "hardPodAffinitySymmetricWeight: Invalid value: %d: not in valid range "
                       "[0, 100]",
                       flags->hard_pod_affinity_weight);
}

int retired_apply(const struct scheduler_options *o, struct arena *a,
                  struct scheduler_config *config, struct err *reterr)
{
    int r = names_policy(&o->retired)
                ? apply_policy(o, a, config, reterr)
                : apply_provider(o->retired.algorithm_provider, config, a, reterr);
    if (r == 0 && !*o->config_file)
        apply_alone(o, config, a);
    return r;
}
