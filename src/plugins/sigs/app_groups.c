/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/app_groups.h"

#include "api/custom.h"
#include "engine/framework/framework.h"
#include "plugins/common/plugin_base.h"

#define GROUP_LABEL    STR("appgroup.diktyo.x-k8s.io")
#define WORKLOAD_LABEL STR("appgroup.diktyo.x-k8s.io.workload")

struct app_group {
    char *name;
    struct map pods; /* uid → struct app_pod */
};

struct app_groups {
    const struct berth_host *host;
    struct berth_lister *groups, *networks;
    struct map by_name; /* → struct app_group */
};

static struct str label_of(const struct pod *pod, struct str key)
{
    const struct str *value = str_map_get(&pod->metadata.labels, key);
    return value ? *value : STR("");
}

struct str app_group_of(const struct pod *pod)
{
    return label_of(pod, GROUP_LABEL);
}

struct str app_workload_of(const struct pod *pod)
{
    return label_of(pod, WORKLOAD_LABEL);
}

/* --- pods with nodes -------------------------------------------------------------------------- */

static void free_pod(struct app_pod *pod)
{
    object_unref(pod->object);
    free(pod);
}

static void free_group(struct app_group *group)
{
    map_each (e, &group->pods)
        free_pod(e->value);
    map_release(&group->pods);
    free(group->name);
    free(group);
}

static void add_pod(struct app_groups *g, struct object *object)
{
    const struct pod *body = object_pod(object);
    struct app_group *group = map_get(&g->by_name, app_group_of(body));
    if (!group) {
        group = xnew(struct app_group);
        group->name = str_dup(app_group_of(body));
        map_put(&g->by_name, str_of(group->name), group);
    }
    struct app_pod *pod = xnew(struct app_pod);
    *pod = (struct app_pod){object_ref(object), app_workload_of(body), body->spec.node_name};
    struct app_pod *old = map_del(&group->pods, body->metadata.uid);
    if (old)
        free_pod(old);
    map_put(&group->pods, body->metadata.uid, pod);
}

static void remove_pod(struct app_groups *g, const struct pod *body)
{
    struct app_group *group = map_get(&g->by_name, app_group_of(body));
    struct app_pod *pod = group ? map_del(&group->pods, body->metadata.uid) : NULL;
    if (pod)
        free_pod(pod);
    if (group && !group->pods.n) {
        map_del(&g->by_name, str_of(group->name));
        free_group(group);
    }
}

static bool belongs(const struct pod *pod)
{
    return pod && !str_empty(pod->spec.node_name) && !pod_is_terminal(pod) &&
           !str_empty(app_group_of(pod));
}

static void changed(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after)
{
    struct app_groups *g = data;
    if (resource != BERTH_RESOURCE_ASSIGNED_POD)
        return;
    const struct pod *old = hint_pod(before), *new = hint_pod(after);
    if (belongs(old))
        remove_pod(g, old);
    if (belongs(new))
        add_pod(g, (struct object *)(uintptr_t)after);
}

const struct map *app_groups_pods(const struct app_groups *g, struct str name)
{
    const struct app_group *group = map_get(&g->by_name, name);
    return group ? &group->pods : NULL;
}

/* --- objects ---------------------------------------------------------------------------------- */

static const struct json_value *find(const struct app_groups *g, const struct berth_lister *lister,
                                     const app_namespaces *namespaces, struct str name)
{
    for (size_t i = 0; i < namespaces->n; i++) {
        const struct berth_object *o =
            g->host->lister_get(lister, abi_str(namespaces->v[i]), abi_str(name));
        if (o) {
            const struct custom_object *custom = object_body(object_of_abi(o));
            return &custom->value;
        }
    }
    return NULL;
}

const struct json_value *app_groups_find(const struct app_groups *g,
                                         const app_namespaces *namespaces, struct str name)
{
    return find(g, g->groups, namespaces, name);
}

const struct json_value *app_groups_network(const struct app_groups *g,
                                            const app_namespaces *namespaces, struct str name)
{
    return find(g, g->networks, namespaces, name);
}

/* The controller sorts the list by workload. */
int64_t app_group_order(const struct json_value *group, struct str workload)
{
    const struct json_value *list =
        json_get_list(json_get(group, STR("status")), STR("topologyOrder"));
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t middle = low + (high - 1 - low) / 2;
        const struct json_value *item = &list->items[middle];
        struct str selector = json_get_text(json_get(item, STR("workload")), STR("selector"));
        int order = str_cmp(selector, workload);
        if (order == 0)
            return json_get_int(item, STR("index"));
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* --- shared state ----------------------------------------------------------------------------- */

static void *make(const struct berth_host *host, struct berth_handle *h)
{
    struct app_groups *g = xnew(struct app_groups);
    struct berth_watch groups = {.struct_size = sizeof(groups),
                                 .api_version = BERTH_STR("appgroup.diktyo.x-k8s.io/v1alpha1"),
                                 .kind = BERTH_STR("AppGroup"),
                                 .resource = BERTH_STR("appgroups")};
    struct berth_watch networks = {.struct_size = sizeof(networks),
                                   .api_version =
                                       BERTH_STR("networktopology.diktyo.x-k8s.io/v1alpha1"),
                                   .kind = BERTH_STR("NetworkTopology"),
                                   .resource = BERTH_STR("networktopologies")};
    g->host = host;
    g->groups = host->watch(h, &groups);
    g->networks = host->watch(h, &networks);
    return g;
}

static void free_groups(void *data)
{
    struct app_groups *g = data;
    map_each (e, &g->by_name)
        free_group(e->value);
    map_release(&g->by_name);
    free(g);
}

static const struct berth_shared_type groups_type = {
    .struct_size = sizeof(struct berth_shared_type),
    .name = "application groups",
    .make = make,
    .free = free_groups,
    .changed = changed,
};

struct app_groups *app_groups_open(const struct berth_host *host, struct berth_handle *h)
{
    return host->shared(h, &groups_type);
}
