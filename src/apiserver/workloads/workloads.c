/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of workloads.h, and the table of controllers. */
#include "apiserver/workloads/workloads_internal.h"

#define APPS  .group = STR_INIT("apps"), .api_version = STR_INIT("apps/v1")
#define BATCH .group = STR_INIT("batch"), .api_version = STR_INIT("batch/v1")

static const struct workload_type types[N_WORKLOAD_KINDS] = {
    [WORKLOAD_DEPLOYMENT] = {APPS, .plural = STR_INIT("deployments"),
                             .kind = STR_INIT("Deployment"), .component = "deployment-controller",
                             .selects = MEMBER_WORKLOAD, .adopts = true, .sync = deployment_sync,
                             .done = deployment_done},
    [WORKLOAD_REPLICA_SET] = {APPS, .plural = STR_INIT("replicasets"),
                              .kind = STR_INIT("ReplicaSet"), .component = "replicaset-controller",
                              .selects = MEMBER_POD, .adopts = true, .sync = replica_set_sync},
    [WORKLOAD_REPLICATION_CONTROLLER] = {.group = STR_INIT(""),
                                         .api_version = STR_INIT("v1"),
                                         .plural = STR_INIT("replicationcontrollers"),
                                         .kind = STR_INIT("ReplicationController"),
                                         .component = "replication-controller",
                                         .selects = MEMBER_POD,
                                         .adopts = true,
                                         .sync = replica_set_sync},
    [WORKLOAD_STATEFUL_SET] = {APPS, .plural = STR_INIT("statefulsets"),
                               .kind = STR_INIT("StatefulSet"),
                               .component = "statefulset-controller", .selects = MEMBER_POD,
                               .adopts = true, .sync = stateful_set_sync},
    [WORKLOAD_DAEMON_SET] = {APPS, .plural = STR_INIT("daemonsets"), .kind = STR_INIT("DaemonSet"),
                             .component = "daemonset-controller", .selects = MEMBER_POD,
                             .adopts = true, .sync = daemon_set_sync, .free = daemon_set_free},
    [WORKLOAD_JOB] = {BATCH, .plural = STR_INIT("jobs"), .kind = STR_INIT("Job"),
                      .component = "job-controller", .selects = MEMBER_POD, .adopts = true,
                      .sync = job_sync, .free = job_free},
    [WORKLOAD_CRON_JOB] = {BATCH, .plural = STR_INIT("cronjobs"), .kind = STR_INIT("CronJob"),
                           .component = "cronjob-controller", .selects = MEMBER_WORKLOAD,
                           .sync = cron_job_sync},
};

static struct workload *of_work(struct work *work)
{
    return CONTAINER_OF(work, struct workload, work);
}

static void sync_work(void *ctx, struct work *work)
{
    struct workloads *w = ctx;
    struct workload *o = of_work(work);
    arena_reset(&w->scratch);
    if (work == &w->orphans)
        workload_orphans_sync(w);
    else
        type_of(o)->sync(w, o, workload_tree(w, &o->member));
}

static void work_done(void *ctx, struct work *work, unsigned tag, int status)
{
    struct workloads *w = ctx;
    arena_reset(&w->scratch);
    if (work != &w->orphans)
        workload_write_done(w, of_work(work), tag, status);
}

static void free_work(void *ctx UNUSED, struct work *work)
{
    workload_free(of_work(work));
}

struct workloads *workloads_new(const struct workloads_options *options)
{
    struct workloads *w = xnew(struct workloads);
    w->options = *options;
    w->types = types;
    struct work_queue_options queue = {.writer = options->writer,
                                       .ctx = w,
                                       .sync = sync_work,
                                       .done = work_done,
                                       .free = free_work};
    work_queue_init(&w->queue, &queue);
    event_recorder_init(&w->recorder, &w->queue);
    arena_init(&w->scratch, (size_t)64 << 10);
    work_init(&w->orphans);
    rand_seed(&w->rand, options->seed);
    return w;
}

struct workloads *workloads_free(struct workloads *w)
{
    if (!w)
        return NULL;
    workload_members_release(w);
    workload_nodes_release(w);
    work_queue_release(&w->queue);
    event_recorder_release(&w->recorder);
    for (size_t i = 0; i < w->orphan_keys.n; i++)
        free(w->orphan_keys.v[i]);
    vec_release(&w->orphan_keys);
    arena_release(&w->scratch);
    buf_release(&w->body);
    free(w);
    return NULL;
}

void workloads_changed(struct workloads *w, const struct store_event *event)
{
    const struct resource *r = event->after->resource;
    if (str_empty(r->group) && str_is(r->plural, "nodes"))
        workload_node_changed(w, event);
    workload_members_changed(w, event);
}

void workloads_write_done(struct workloads *w, uint64_t id, int status, int64_t now)
{
    (void)work_queue_done(&w->queue, id, status, now);
}

void workloads_run(struct workloads *w, int64_t now)
{
    work_queue_run(&w->queue, now);
}

int64_t workloads_next(const struct workloads *w)
{
    return work_queue_next(&w->queue);
}
