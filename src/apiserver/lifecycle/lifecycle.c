/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of all controllers, and the calls of lifecycle.h. */
#include "apiserver/lifecycle/gc_graph.h"
#include "apiserver/lifecycle/pods.h"

static void free_state(struct lifecycle *l UNUSED, void *state)
{
    free(state);
}

static const struct task_type task_types[N_TASK_KINDS] = {
    [TASK_GC] = {gc_sync, NULL},
    [TASK_NAMESPACE] = {namespace_sync, free_state},
    [TASK_ACCOUNT] = {account_sync, NULL},
    [TASK_ROOT_CA] = {root_ca_sync, NULL},
    [TASK_TOKEN] = {token_sync, NULL},
    [TASK_BUDGET] = {budget_sync, chooser_free},
    [TASK_STALE_TARGET] = {stale_target_sync, NULL},
    [TASK_NODE] = {node_sync, free_state},
    [TASK_POD_UNREADY] = {pod_unready_sync, NULL},
    [TASK_TAINTED_POD] = {tainted_pod_sync, free_state},
    [TASK_POD_GC] = {pod_gc_sync, free_state},
    [TASK_ORPHANS] = {orphans_sync, free_state},
    [TASK_TERMINATED] = {terminated_sync, NULL},
    [TASK_SERVICE] = {service_sync, service_free},
    [TASK_QUOTA] = {quota_sync, NULL},
};

static struct task *task_of(struct work *work)
{
    return CONTAINER_OF(work, struct task, work);
}

static void on_sync(void *ctx, struct work *work)
{
    struct lifecycle *l = ctx;
    arena_reset(&l->scratch);
    task_types[task_of(work)->kind].sync(l, task_of(work));
}

static void on_free(void *ctx, struct work *work)
{
    struct task *task = task_of(work);
    if (task->kind == TASK_GC) {
        gc_release(ctx, task);
        return;
    }
    task_free(ctx, CONTAINER_OF(task, struct named_task, task));
}

/* --- the calls of lifecycle.h ----------------------------------------------------------------- */

static const struct resource *named(const struct resources *rs, const char *group,
                                    const char *plural)
{
    const struct resource *r = resources_named(rs, str_of(group), str_of(plural));
    return r ? resource_stored(r) : NULL;
}

struct lifecycle *lifecycle_new(const struct lifecycle_options *options)
{
    struct lifecycle *l = xnew(struct lifecycle);
    const struct resources *rs = options->resources;
    struct work_queue_options queue = {
        .writer = options->writer, .ctx = l, .sync = on_sync, .free = on_free};
    l->options = *options;
    l->types = task_types;
    l->r = (struct lifecycle_resources){
        .pods = named(rs, "", "pods"),
        .nodes = named(rs, "", "nodes"),
        .namespaces = named(rs, "", "namespaces"),
        .service_accounts = named(rs, "", "serviceaccounts"),
        .config_maps = named(rs, "", "configmaps"),
        .secrets = named(rs, "", "secrets"),
        .events = named(rs, "", "events"),
        .budgets = named(rs, "policy", "poddisruptionbudgets"),
        .replica_sets = named(rs, "apps", "replicasets"),
        .deployments = named(rs, "apps", "deployments"),
        .leases = named(rs, "coordination.k8s.io", "leases"),
        .services = named(rs, "", "services"),
        .endpoints = named(rs, "", "endpoints"),
        .slices = named(rs, "discovery.k8s.io", "endpointslices"),
        .quotas = named(rs, "", "resourcequotas"),
        .claims = named(rs, "", "persistentvolumeclaims"),
    };
    work_queue_init(&l->queue, &queue);
    event_recorder_init(&l->events, &l->queue);
    arena_init(&l->scratch, (size_t)64 << 10);
    return l;
}

struct lifecycle *lifecycle_free(struct lifecycle *l)
{
    if (!l)
        return NULL;
    work_queue_release(&l->queue);
    event_recorder_release(&l->events);
    map_each (e, &l->named)
        on_free(l, &((struct named_task *)e->value)->task.work);
    map_release(&l->named);
    gc_graph_release(l);
    pods_release(l);
    arena_release(&l->scratch);
    buf_release(&l->body);
    free(l);
    return NULL;
}

void lifecycle_changed(struct lifecycle *l, const struct store_event *event)
{
    /* The index of pods first: others read it. */
    static void (*const controllers[])(struct lifecycle *, const struct store_event *,
                                       const struct life_view *) = {
        pods_changed,  gc_changed,     namespace_changed, accounts_changed, budgets_changed,
        nodes_changed, pod_gc_changed, services_changed,  quotas_changed,
    };
    struct life_view view = life_view(event->after);
    arena_reset(&l->scratch);
    for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
        controllers[i](l, event, &view);
}

void lifecycle_write_done(struct lifecycle *l, uint64_t id, int status, int64_t now)
{
    work_queue_done(&l->queue, id, status, now);
}

void lifecycle_run(struct lifecycle *l, int64_t now)
{
    work_queue_run(&l->queue, now);
}

int64_t lifecycle_next(const struct lifecycle *l)
{
    return work_queue_next(&l->queue);
}
