/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include "base/time.h"
#include "engine/bind/permit.h"
#include "engine/framework/call_mark.h"
#include "engine/framework/plugin_metrics.h"
#include "engine/group/gang.h"
#include "engine/post.h"
#include "engine/rooms.h"

#define DEFAULT_MAX_IN_UNSCHEDULABLE (5 * 60 * NSEC_PER_SEC)

/* Metrics are at most this old. */
#define PUBLISH_INTERVAL (NSEC_PER_SEC / 10)

/* --- making and ending ------------------------------------------------------------------------ */

/* Limits the value to a century, which does not overflow. */
static int64_t backoff_ns(int64_t seconds)
{
    return MIN(seconds, (int64_t)100 * 366 * 24 * 3600) * NSEC_PER_SEC;
}

/* Metrics have their own random numbers, so that they do not change decisions. */
static struct scheduler_metrics *new_metrics(const struct framework *fw,
                                             const struct engine_options *options)
{
    struct scheduler_metrics_options metrics = {.registry = options->metrics,
                                                .features = &fw->features,
                                                .seed = ~options->seed,
                                                .now = fw->ports.now,
                                                .ctx = fw->ports.ctx};
    return options->metrics ? scheduler_metrics_new(&metrics) : NULL;
}

static void init_framework(struct engine *e, const struct engine_options *options)
{
    struct framework *fw = &e->framework;
    struct framework_options framework = {.ports = options->ports,
                                          .seed = options->seed,
                                          .features = options->features,
                                          .host = &engine_host,
                                          .cache = &e->cache,
                                          .cluster = &e->cluster,
                                          .max_pd_volumes = options->max_pd_volumes};
    framework_init(fw, &framework);
    fw->features.on[FEATURE_GANG_SCHEDULING] = features_group_pods(&fw->features);
    fw->metrics = new_metrics(fw, options);
    fw->registry = options->metrics;
    if (fw->registry)
        plugin_metrics_prepare(fw->registry);
    fw->queue = &e->queue;
    fw->bindings = &e->bindings;
    fw->evictions = &e->evictions;
    fw->groups = &e->groups;
}

static void init_queue(struct engine *e, const struct engine_options *options)
{
    struct framework *fw = &e->framework;
    struct queue_options queue = {
        .max_in_unschedulable = options->max_in_unschedulable ? options->max_in_unschedulable
                                                              : DEFAULT_MAX_IN_UNSCHEDULABLE,
        .groups = fw->features.on[FEATURE_GANG_SCHEDULING],
        .log = &fw->log,
        .reasons = &fw->reasons,
    };
    queue_init(&e->queue, &queue);
    e->queue.metrics = fw->metrics;
}

/* In the order of rooms.h: each room is given those before it. */
static void init_rooms(struct engine *e, const struct engine_options *options)
{
    struct framework *fw = &e->framework;
    size_t explain_bytes = options->explain_bytes ? options->explain_bytes : EXPLAIN_MAX_BYTES;
    intern_init(&e->names);
    cache_init(&e->cache, &e->names);
    cluster_init(&e->cluster, &e->cache);
    init_framework(e, options);
    init_queue(e, options);
    cycles_init(&e->cycles, fw, &e->queue);
    explain_init(&e->explain, fw, options->no_explain ? 0 : explain_bytes);
    e->report = (struct report){.framework = fw, .queue = &e->queue, .explain = &e->explain};
    bindings_init(&e->bindings, fw, &e->queue, &e->report);
    evictions_init(&e->evictions, fw, &e->queue, &e->bindings);
    e->groups = (struct groups){.framework = fw,
                                .cycles = &e->cycles,
                                .queue = &e->queue,
                                .bindings = &e->bindings,
                                .evictions = &e->evictions,
                                .report = &e->report};
    e->surveys = options->surveys;
}

struct setup_options engine_setup_options(const struct engine_options *options)
{
    return (struct setup_options){.config = options->config,
                                  .registry = options->registry,
                                  .extenders = options->extenders,
                                  .n_extenders = options->n_extenders,
                                  .owner = options->owner};
}

void engine_use_setup(struct engine *e, struct setup *setup)
{
    const struct scheduler_config *config = setup->config;
    struct scheduler_metrics *m = e->framework.metrics;
    e->framework.setup = setup;
    queue_set_backoff(&e->queue, backoff_ns(*config->pod_initial_backoff_seconds),
                      backoff_ns(*config->pod_max_backoff_seconds));
    queue_forget_profiles(&e->queue);
    for (size_t i = 0; i < setup->profiles.n; i++) {
        struct profile *profile = setup->profiles.v[i];
        if (m)
            profile->metrics = scheduler_metrics_profile(m, profile);
        queue_add_profile(&e->queue, profile);
    }
}

int engine_new(const struct engine_options *options, struct engine **ret_engine, struct err *reterr)
{
    struct engine *e = xnew(struct engine);
    struct setup_options options_of_setup = engine_setup_options(options);
    struct setup *setup;
    init_rooms(e, options);
    int r = setup_new(&e->framework, &options_of_setup, &setup, reterr);
    if (r < 0) {
        engine_free(e);
        return r;
    }
    engine_use_setup(e, setup);
    *ret_engine = e;
    return 0;
}

struct engine *engine_free(struct engine *e)
{
    if (!e)
        return NULL;
    attempt_release(e);
    evictions_release(&e->evictions);
    bindings_release(&e->bindings);
    explain_release(&e->explain);
    cycles_release(&e->cycles);
    queue_release(&e->queue);
    struct scheduler_metrics *metrics = e->framework.metrics;
    framework_release(&e->framework);
    scheduler_metrics_free(metrics);
    cluster_release(&e->cluster);
    cache_release(&e->cache);
    intern_release(&e->names);
    free(e);
    return NULL;
}

void engine_set_verbosity(struct engine *e, int verbosity)
{
    __atomic_store_n(&e->framework.log.verbosity, e->framework.log.fn ? verbosity : -1,
                     __ATOMIC_RELAXED);
}

void engine_log_plugins(const struct engine *e)
{
    setup_log_plugins(e->framework.setup);
}

/* --- events: writes, extender answers, time --------------------------------------------------- */

/* BerthGangsHoldNothing: a failed binding may leave a gang short, which makes others ready. */
static bool handle_lost(struct engine *e)
{
    size_t n = e->bindings.lost.n;
    for (size_t i = 0; i < n; i++) {
        gang_lost_member(&e->groups, e->bindings.lost.v[i]->pod);
        pod_info_unref(e->bindings.lost.v[i]);
    }
    vec_clear(&e->bindings.lost);
    return n > 0;
}

void engine_settle(struct engine *e)
{
    do
        bindings_run_ready(&e->bindings);
    while (handle_lost(e));
    engine_reap_setups(e);
}

void engine_write_done(struct engine *e, uint64_t id, const struct write_result *result)
{
    struct eviction_end ended;
    if (!bindings_write_done(&e->bindings, id, result) &&
        !queue_report_done(&e->queue, id, engine_now(e)) &&
        eviction_write_done(&e->evictions, id, result, &ended)) {
        if (ended.awaited)
            attempt_evicted(e, ended.for_group, buf_str(&ended.error));
        eviction_end_release(&ended);
    }
    engine_settle(e);
}

void engine_extender_done(struct engine *e, uint64_t id, const struct extender_result *result)
{
    if (!attempt_extender_done(e, id, result))
        bindings_extender_done(&e->bindings, id, result);
    engine_settle(e);
}

void engine_api_done(struct engine *e, uint64_t id, const struct berth_api_result *result)
{
    plugin_calls_done(&e->framework.calls, id, result);
    engine_settle(e);
}

void engine_http_done(struct engine *e, uint64_t id, const struct berth_http_result *result)
{
    plugin_calls_got(&e->framework.calls, id, result);
    engine_settle(e);
}

void engine_posted(struct engine *e, struct engine_post *p)
{
    const struct berth_handle *h = map_get(&e->framework.handles, map_number_key(&p->serial));
    if (h && p->kind == POST_FN) {
        struct call_mark outer = call_begin(h, "a post", NULL);
        p->fn(p->ctx);
        call_end(outer);
    } else if (h && p->kind == POST_OP_DONE) {
        bindings_op_done(&e->bindings, h, p->op, p->code, str_of(p->text));
    } else if (h) {
        bindings_write(&e->bindings, h, p->op, str_of(p->text));
    }
    engine_post_free(p);
    engine_settle(e);
}

bool engine_waits_for_threads(const struct engine *e)
{
    return bindings_wait_for_threads(&e->bindings);
}

void engine_work_done(struct engine *e, struct engine_work *work)
{
    work->done(work, false);
    engine_settle(e);
}

void engine_work_drop(struct engine_work *work)
{
    work->done(work, true);
}

void engine_begin_listing(struct engine *e)
{
    queue_begin_listing(&e->queue);
}

void engine_end_listing(struct engine *e)
{
    queue_end_listing(&e->queue, engine_now(e));
}

void engine_kind_synced(struct engine *e, const struct kind *kind)
{
    e->framework.unsynced[kind->id] = false;
}

void engine_tick(struct engine *e)
{
    int64_t now = engine_now(e);
    plugin_calls_run(&e->framework.calls, now);
    queue_flush(&e->queue, now);
    permit_expire(&e->bindings, now);
    engine_settle(e);
}

int64_t engine_next_wake(const struct engine *e)
{
    int64_t at = MIN(queue_next_flush(&e->queue), permit_next_deadline(&e->bindings));
    return MIN(at, plugin_calls_next(&e->framework.calls));
}

bool engine_schedule_one(struct engine *e)
{
    if (!attempt_schedule_one(e))
        return false;
    engine_settle(e);
    return true;
}

bool engine_pod_waits(const struct engine *e, struct str uid)
{
    const struct berth_queued_pod *qp = queue_get(&e->queue, uid);
    return qp && qp->place >= QUEUE_ACTIVE && qp->place <= QUEUE_UNSCHEDULABLE && !qp->gate;
}

/* --- explanations and numbers ----------------------------------------------------------------- */

size_t engine_explain(const struct engine *e, struct str namespace, struct str name,
                      struct buf *out)
{
    return explain_write(&e->explain, namespace, name, out);
}

void engine_explain_each(const struct engine *e, struct str namespace, struct str name,
                         struct explain_reader reader)
{
    explain_each(&e->explain, namespace, name, reader);
}

static struct scheduler_gauges take_gauges(const struct engine *e)
{
    struct engine_stats s = engine_get_stats(e);
    struct scheduler_gauges g = {
        .active = s.active,
        .backoff = s.backoff,
        .unschedulable = s.unschedulable,
        .gated = s.gated,
        .nodes = e->cache.nodes.n, /* including deleted nodes that still have pods */
        .pods = s.pods,
        .assumed_pods = s.assumed_pods,
        .work[WORK_BINDING] = s.binding,
    };
    for (size_t i = 0; i < e->cycles.waits.n; i++)
        g.work[WORK_PRIORITIZING_EXTENDER] += e->cycles.waits.v[i].verb == EXTENDER_PRIORITIZE;
    return g;
}

int64_t engine_publish_metrics(struct engine *e)
{
    struct scheduler_metrics *m = e->framework.metrics;
    if (!m || !scheduler_metrics_pending(m))
        return INT64_MAX;
    int64_t now = engine_now(e);
    if (m->published && now < m->published + PUBLISH_INTERVAL)
        return m->published + PUBLISH_INTERVAL;
    struct scheduler_gauges gauges = take_gauges(e);
    scheduler_metrics_publish(m, &gauges, now);
    return INT64_MAX;
}

struct engine_stats engine_get_stats(const struct engine *e)
{
    const struct queue *q = &e->queue;
    struct engine_stats s = {
        .nodes = e->cache.tree.n_nodes,
        .pods = e->cache.pods.n,
        .assumed_pods = e->cache.n_assumed,
        .active = q->active.items.n,
        .backoff = q->backoff.items.n + q->error_backoff.items.n + q->cohorts.n_parked,
        .unschedulable = q->unschedulable.n - q->n_gated,
        .gated = q->n_gated,
        .binding = e->bindings.cycles.n,
        .held = e->bindings.held.items.n,
    };
    return s;
}
