/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TopologicalSort of sigs.k8s.io/scheduler-plugins: pods of one AppGroup in the order of their
 * workloads, others by priority and time as PrioritySort does.
 */
#include "engine/framework/framework.h"
#include "engine/queue/queued_pod.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/app_groups.h"

struct sort_args {
    struct args_meta meta;
    app_namespaces namespaces;
};

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct sort_args),
    F_LIST(struct sort_args, namespaces, "namespaces", 0, STR),
};
static const struct type args_type = TYPE("TopologicalSortArgs", struct sort_args, args_fields);

static void fill(void *ctx, struct arena *a)
{
    struct sort_args *args = ctx;
    if (args->namespaces.n)
        return;
    args->namespaces.v = arena_array(a, struct str, 1);
    args->namespaces.v[0] = STR("default");
    args->namespaces.n = 1;
}

const struct args_kind topological_sort_args_kind = {
    .plugin = "TopologicalSort",
    .name = "TopologicalSortArgs",
    .type = &args_type,
    .fill = fill,
};

struct sort {
    struct arena arena; /* of the arguments */
    struct sort_args args;
    const struct app_groups *groups;
};

static void destroy(void *ctx)
{
    struct sort *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct sort *self = xnew(struct sort);
    arena_init(&self->arena, 0);
    int r = plugin_args_read(&topological_sort_args_kind, text, &self->arena, &self->args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    self->groups = app_groups_open(host, h);
    *ret_self = self;
    return 0;
}

static bool by_priority(const struct berth_queued_pod *a, const struct berth_queued_pod *b)
{
    if (a->pod->priority != b->pod->priority)
        return a->pod->priority > b->pod->priority;
    return a->timestamp < b->timestamp;
}

/* Pods of equal position are ordered as others are; upstream says that each is before the other. */
static bool less(void *ctx, const struct berth_queued_pod *a, const struct berth_queued_pod *b)
{
    const struct sort *self = ctx;
    struct str name = app_group_of(a->pod->pod);
    if (str_empty(name) || !str_eq(name, app_group_of(b->pod->pod)))
        return by_priority(a, b);
    const struct json_value *group = app_groups_find(self->groups, &self->args.namespaces, name);
    int64_t mine = app_group_order(group, app_workload_of(a->pod->pod));
    int64_t other = app_group_order(group, app_workload_of(b->pod->pod));
    return mine != other ? mine < other : by_priority(a, b);
}

const struct berth_plugin topological_sort_plugin = {
    PLUGIN_HEAD("TopologicalSort"),
    .create = create,
    .destroy = destroy,
    .events = no_events,
    .less = less,
};
