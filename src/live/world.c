/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and frees the world. */
#include "live/world.h"

#include <unistd.h>

#include "base/log.h"
#include "live/world_internal.h"

/* --- the kinds that are watched --------------------------------------------------------------- */

static const struct informers_sink informers_sink = {.on_event = world_on_object,
                                                     .on_kind_synced = world_on_kind_synced,
                                                     .on_synced = world_on_synced,
                                                     .on_refetched = world_on_refetched};

/*
 * The kinds that the engine reads. Terminated pods hold no resources; upstream filters them out
 * with the same field selector. Namespaces serve namespace selectors; services, controllers and
 * replica sets serve default spreading. Groups that a server may not have are optional.
 */
static const struct informer_row informer_rows[] = {
    {.kind = KIND_NODE},
    {.kind = KIND_POD, .field_selector = "status.phase!=Succeeded,status.phase!=Failed"},
    {.kind = KIND_NAMESPACE},
    {.kind = KIND_SERVICE},
    {.kind = KIND_REPLICATION_CONTROLLER},
    {.kind = KIND_REPLICA_SET},
    {.kind = KIND_STATEFUL_SET},
    {.kind = KIND_POD_DISRUPTION_BUDGET},
    {.kind = KIND_PERSISTENT_VOLUME},
    {.kind = KIND_PERSISTENT_VOLUME_CLAIM},
    {.kind = KIND_STORAGE_CLASS},
    {.kind = KIND_CSI_NODE},
    {.kind = KIND_CSI_DRIVER},
    {.kind = KIND_CSI_STORAGE_CAPACITY},
    {.kind = KIND_VOLUME_ATTACHMENT},
    {.kind = KIND_RESOURCE_CLAIM, .optional = true},
    {.kind = KIND_RESOURCE_SLICE, .optional = true},
    {.kind = KIND_DEVICE_CLASS, .optional = true},
    {.kind = KIND_DEVICE_TAINT_RULE, .optional = true},
    {.kind = KIND_POD_GROUP, .optional = true},
};

/* --- lifecycle -------------------------------------------------------------------------------- */

/* As upstream, kinds that only a gate makes useful are watched only with it. */
static bool is_watched(enum kind_id kind, const struct features *features)
{
    return kind != KIND_DEVICE_TAINT_RULE ||
           (features && features->on[FEATURE_DRA_DEVICE_TAINT_RULES]);
}

static bool has_row(const struct informer_row *rows, size_t n, enum kind_id kind)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].kind == kind)
            return true;
    return false;
}

/* Objects that are sent to extenders are kept in their wire form. */
static struct informers *make_informers(struct world *w, const struct features *features)
{
    struct informer_row rows[ARRAY_LEN(informer_rows) + KIND_SPACE];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(informer_rows); i++) {
        if (!is_watched(informer_rows[i].kind, features))
            continue;
        rows[n] = informer_rows[i];
        rows[n].object_flags = world_object_flags(w, rows[n].kind);
        if (w->finished_pods && rows[n].kind == KIND_POD)
            rows[n].field_selector = NULL;
        n++;
    }
    for (size_t i = 0; i < w->wanted.n; i++)
        if (!has_row(rows, n, w->wanted.v[i]->id))
            rows[n++] = (struct informer_row){.kind = w->wanted.v[i]->id, .optional = true};
    return informers_new(w->client, rows, n, NULL, &informers_sink, w);
}

/* Pods wait for these; nothing waits for an event. */
static size_t urgent_writes(void *ctx)
{
    const struct world *w = ctx;
    return write_queue_urgent(w->writes) + w->n_calls;
}

static int make_parts(struct world *w, const struct world_options *o, struct err *reterr)
{
    w->pool = pool_new(world_parallelism(o->config));
    struct engine_options engine = {
        .features = o->features,
        .metrics = o->metrics,
        .seed = o->seed,
        .max_in_unschedulable = o->max_in_unschedulable,
        .max_pd_volumes = o->max_pd_volumes,
        .ports = world_ports(w),
    };
    struct rest_options rest = {.metrics = o->metrics};
    int r = mailbox_init(&w->msgs, false);
    if (r < 0)
        return err_set(reterr, r, "mailbox: %s", strerror(-r));
    r = world_setup_new(w, o->config, o->registry, o->owner, &w->setup, reterr);
    if (r == 0) {
        w->setups = w->setup;
        world_setup_options(w->setup, &engine);
        r = engine_new(&engine, &w->engine, reterr);
    }
    if (r == 0) {
        engine_set_verbosity(w->engine, log_threshold());
        engine_log_plugins(w->engine);
        engine_begin_listing(w->engine);
    }
    if (r == 0)
        r = rest_client_new(w->loop, o->kube, &rest, &w->client, reterr);
    /* Events have a client, and thus a rate limit, of their own: they never delay a binding. */
    if (r == 0)
        r = rest_client_new(w->loop, o->kube, &rest, &w->event_client, reterr);
    /* So has the lease: queued bindings never delay a renewal. */
    if (r == 0 && *o->config->leader_election.leader_elect)
        r = rest_client_new(w->loop, o->kube, &rest, &w->lease_client, reterr);
    if (r == 0)
        r = world_make_elector(w, o, reterr);
    if (r < 0)
        return r;
    rest_client_guard_writes(w->client, world_may_write, w);
    rest_client_guard_writes(w->event_client, world_may_record, w);
    /* If all requests are limited, statuses and warnings need no limit of their own. */
    double qps = o->kube->qps != 0 ? -1 : 0;
    w->writes = write_queue_new(w->client, &(struct write_queue_options){.status_qps = qps});
    w->recorder = event_recorder_new(
        w->event_client,
        &(struct event_recorder_options){.warning_qps = qps, .urgent = urgent_writes, .ctx = w});
    w->informers = make_informers(w, o->features);
    return 0;
}

int world_new(const struct world_options *options, const struct world_callbacks *callbacks,
              void *ctx, struct world **ret_world, struct err *reterr)
{
    struct world *w = xnew(struct world);
    w->loop = options->loop;
    w->config = options->config;
    w->metrics = options->metrics;
    write_metrics_init(&w->write_metrics, options->metrics, options->features);
    w->call_limit = options->plugin_call_limit;
    w->callbacks = callbacks;
    w->ctx = ctx;
    world_is_engine_thread_now(w);
    w->outbox_end = &w->outbox;
    w->msgs_end = &w->msgs_out;
    loop_task_init(&w->post_msgs, world_on_post_msgs);
    loop_timer_init(&w->end_timer, w->loop, world_on_end_timer);
    int r = make_parts(w, options, reterr);
    if (r < 0) {
        world_free(w);
        return r;
    }
    *ret_world = w;
    return 0;
}

void world_explain(struct world *w, world_explain_fn *fn, void *ctx)
{
    struct explain_request *q = xnew(struct explain_request);
    *q = (struct explain_request){.world = w, .fn = fn, .ctx = ctx};
    world_post_msg(w, &(struct engine_msg){.kind = ENGINE_MSG_EXPLAIN, .explain = q});
}

void world_explain_pod(struct world *w, struct str namespace, struct str name, world_explain_fn *fn,
                       void *ctx)
{
    struct explain_request *q = xnew(struct explain_request);
    *q = (struct explain_request){
        .world = w, .namespace = str_dup(namespace), .name = str_dup(name), .fn = fn, .ctx = ctx};
    world_post_msg(w, &(struct engine_msg){.kind = ENGINE_MSG_EXPLAIN, .explain = q});
}

struct world *world_free(struct world *w)
{
    if (!w)
        return NULL;
    w->ending = ENDING_DONE;
    loop_timer_stop(&w->end_timer);
    world_end_thread(w);
    /* The engine's thread may have posted callbacks to this world: run them now. */
    if (w->started)
        loop_step(w->loop, 0);
    while (w->open) {
        pod_binding_cancel(w->open->binding);
        pod_status_write_cancel(w->open->status_write);
        rest_cancel(w->open->deletion);
        world_api_write_free(w->open);
    }
    world_cancel_api_calls(w);
    world_cancel_http(w);
    bool ended = world_end_workers(w);
    write_queue_free(w->writes);
    world_free_setups(w);
    informers_free(w->informers);
    event_recorder_free(w->recorder);
    lease_candidature_free(w->candidature);
    lease_elector_free(w->elector);
    rest_client_free(w->lease_client);
    rest_client_free(w->event_client);
    rest_client_free(w->client);
    loop_task_cancel(w->loop, &w->post_msgs);
    world_free_msgs(w->msgs_out);
    for (struct mail *mail = mailbox_take(&w->msgs); mail;) {
        struct engine_msg *first = CONTAINER_OF(mail, struct engine_msg, mail);
        mail = mail->next;
        world_free_msgs(first);
    }
    for (struct api_write *e = w->outbox; e;) {
        struct api_write *next = e->next;
        world_api_write_free(e);
        e = next;
    }
    vec_release(&w->wanted);
    if (!ended) { /* plugins use the engine, and their own code */
        log_flush();
        _exit(EXIT_FAILURE);
    }
    engine_free(w->engine);
    pool_free(w->pool);
    mailbox_release(&w->msgs);
    free(w);
    return NULL;
}

void world_each_pod(const struct world *w, world_pod_fn *fn, void *ctx)
{
    reflector_each(informers_get(w->informers, KIND_POD), fn, ctx);
}
