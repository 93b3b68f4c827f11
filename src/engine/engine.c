/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include "base/time.h"
#include "engine/internal.h"
#include "engine/preempt/eviction.h"

/* Upstream cuts the note of an event here; the condition keeps the whole text. */
#define EVENT_NOTE_MAX 1024

#define DEFAULT_MAX_IN_UNSCHEDULABLE (5 * 60 * NSEC_PER_SEC)

/* What scrapes see is at most this old. */
#define PUBLISH_INTERVAL (NSEC_PER_SEC / 10)

/* --- making and ending ------------------------------------------------------------------------ */

/* A century is as good as for ever, and does not overflow. */
static int64_t backoff_ns(int64_t seconds)
{
    return MIN(seconds, (int64_t)100 * 366 * 24 * 3600) * NSEC_PER_SEC;
}

/* Dice of its own: whether something is counted changes no decision. */
static struct scheduler_metrics *make_metrics(struct engine *e,
                                              const struct engine_options *options)
{
    struct scheduler_metrics_options metrics = {.registry = options->metrics,
                                                .features = &e->features,
                                                .seed = ~options->seed,
                                                .now = e->ports.now,
                                                .ctx = e->ports.ctx};
    return options->metrics ? scheduler_metrics_new(&metrics) : NULL;
}

void engine_set_backoff(struct engine *e)
{
    const struct scheduler_config *config = e->setup->config;
    queue_set_backoff(&e->queue, backoff_ns(*config->pod_initial_backoff_seconds),
                      backoff_ns(*config->pod_max_backoff_seconds));
}

int engine_new(const struct engine_options *options, struct engine **ret_engine, struct err *reterr)
{
    struct engine *e = xnew(struct engine);
    e->ports = options->ports;
    e->log = (struct engine_log){.fn = options->ports.log, .ctx = options->ports.ctx};
    engine_set_verbosity(e, 0);
    rand_seed(&e->rand, options->seed);
    heap_init(&e->held, permit_less, NULL);
    intern_init(&e->names);
    reasons_init(&e->reasons);
    status_init(&e->status);
    cache_init(&e->cache, &e->names);
    cluster_init(&e->cluster, &e->cache);
    if (options->features)
        e->features = *options->features;
    else
        features_default(&e->features);
    struct queue_options queue = {
        .max_in_unschedulable = options->max_in_unschedulable ? options->max_in_unschedulable
                                                              : DEFAULT_MAX_IN_UNSCHEDULABLE,
        .groups = features_group_pods(&e->features),
        .log = &e->log,
        .reasons = &e->reasons,
    };
    e->metrics = make_metrics(e, options);
    queue_init(&e->queue, &queue, &e->status);
    e->groups = e->features.on[FEATURE_GANG_SCHEDULING] = queue.groups;
    e->queue.metrics = e->metrics;
    workers_init(&e->workers, e->ports.pool);
    e->surveys = options->surveys;
    size_t explain_bytes = options->explain_bytes ? options->explain_bytes : EXPLAIN_MAX_BYTES;
    explain_init(&e->explain, options->no_explain ? 0 : explain_bytes);
    int r = setup_new(e, options, &e->setup, reterr);
    if (r < 0) {
        engine_free(e);
        return r;
    }
    engine_set_backoff(e);
    for (size_t i = 0; i < e->setup->profiles.n; i++)
        queue_add_profile(&e->queue, e->setup->profiles.v[i]);
    *ret_engine = e;
    return 0;
}

struct engine *engine_free(struct engine *e)
{
    if (!e)
        return NULL;
    attempt_release(e);
    group_drop(e);
    eviction_abandon_all(e);
    while (e->ops.n)
        binding_op_abandon(vec_last(&e->ops));
    vec_release(&e->ops);
    vec_release(&e->ready_ops);
    vec_release(&e->newly_held);
    heap_release(&e->held);
    map_release(&e->ops_by_write);
    map_release(&e->ops_by_pod);
    explain_release(&e->explain);
    workers_release(&e->workers);
    cycle_free_spare(e);
    attempt_buffers_release(&e->buffers);
    queue_release(&e->queue);
    cluster_release(&e->cluster);
    cache_release(&e->cache);
    setup_free(e->setup);
    while (e->replaced) {
        struct setup *s = e->replaced;
        e->replaced = s->older;
        setup_free(s);
    }
    scheduler_metrics_free(e->metrics);
    for (size_t i = 0; i < e->plugin_names.n; i++)
        free((char *)e->plugin_names.v[i].p);
    vec_release(&e->plugin_names);
    for (size_t i = 0; i < e->state_keys.n; i++)
        free((char *)e->state_keys.v[i].p);
    vec_release(&e->state_keys);
    status_release(&e->status);
    reasons_release(&e->reasons);
    intern_release(&e->names);
    free(e);
    return NULL;
}

/* --- extenders -------------------------------------------------------------------------------- */

void engine_call_extender(const struct setup *s, const struct engine_extender *x,
                          struct extender_call *call)
{
    struct engine *e = s->engine;
    call->extender = x->given;
    call->owner = s->owner;
    e->ports.call_extender(e->ports.ctx, call);
}

/* --- what is said ----------------------------------------------------------------------------- */

void engine_set_verbosity(struct engine *e, int verbosity)
{
    e->log.verbosity = e->log.fn ? verbosity : -1;
}

static void log_failed(const struct engine *e, const struct berth_queued_pod *queued,
                       const struct cycle_failure *failure, const struct berth_cycle *cycle)
{
    bool nobody = plugin_set_empty(&failure->rejectors) && plugin_set_empty(&failure->pending);
    struct str why = buf_str(&failure->text);
    if (!failure->error && cycle->n_all == 0)
        engine_log(&e->log, 2,
                   "Unable to schedule pod; no nodes are registered to the cluster; waiting",
                   KV_POD(queued->pod));
    else if (failure->of_group && !failure->error)
        engine_log(&e->log, 2, "Unable to schedule pod belonging to a pod group; waiting",
                   KV_POD(queued->pod), KV_STR("err", why));
    else if (failure->error || nobody)
        engine_log_error(&e->log, "Error scheduling pod; retrying", KV_STR("err", why),
                         KV_CSTR("logger", "UnhandledError"), KV_POD(queued->pod));
    else
        engine_log(&e->log, 2, "Unable to schedule pod; no fit; waiting", KV_POD(queued->pod),
                   KV_STR("err", why));
}

/* --- names ------------------------------------------------------------------------------------ */

int engine_plugin_id(struct engine *e, struct str name)
{
    for (size_t i = 0; i < e->plugin_names.n; i++)
        if (str_eq(e->plugin_names.v[i], name))
            return (int)i;
    for (size_t i = 0; i < e->plugin_names.n; i++)
        if (!e->plugin_names.v[i].p) {
            e->plugin_names.v[i] = str_of(str_dup(name));
            return (int)i;
        }
    if (e->plugin_names.n == FRAMEWORK_MAX_PLUGINS)
        return -E2BIG;
    vec_push(&e->plugin_names, str_of(str_dup(name)));
    return (int)e->plugin_names.n - 1;
}

berth_state_key engine_state_key(struct engine *e, struct str name)
{
    for (size_t i = 0; i < e->state_keys.n; i++)
        if (str_eq(e->state_keys.v[i], name))
            return (berth_state_key)(i + 1);
    vec_push(&e->state_keys, str_of(str_dup(name)));
    return (berth_state_key)e->state_keys.n;
}

struct profile *engine_profile(const struct engine *e, struct str scheduler_name)
{
    return setup_profile(e->setup, scheduler_name);
}

/* --- what happened: writes and time ----------------------------------------------------------- */

void engine_write_done(struct engine *e, uint64_t id, const struct write_result *result)
{
    struct berth_binding_op *op = map_del(&e->ops_by_write, write_key(&id));
    if (op) {
        op->write_id = 0;
        binding_op_answer(op, NULL, write_ok(result) ? BERTH_SUCCESS : BERTH_ERROR,
                          result->message);
    } else if (!queue_report_done(&e->queue, id, engine_now(e))) {
        eviction_write_done(e, id, result);
    }
    group_continue(e);
    binding_run_ready(e);
}

void engine_extender_done(struct engine *e, uint64_t id, const struct extender_result *result)
{
    if (!attempt_answer(e, id, result))
        binding_extender_done(e, id, result);
    group_continue(e);
    binding_run_ready(e);
}

void engine_tick(struct engine *e)
{
    int64_t now = engine_now(e);
    queue_flush(&e->queue, now);
    permit_expire(e, now);
    binding_run_ready(e);
}

int64_t engine_next_wake(const struct engine *e)
{
    return MIN(queue_next_flush(&e->queue), permit_next_deadline(e));
}

/* --- what to do ------------------------------------------------------------------------------- */

void engine_tell_decision(struct engine *e, const struct berth_queued_pod *queued,
                          const struct berth_cycle *cycle, int64_t started,
                          const struct cycle_failure *failure, struct str node_name)
{
    struct decision d = {
        .pod = queued->pod->object,
        .profile = cycle->profile->scheduler_name,
        .node_name = node_name,
        .message = failure ? buf_str(&failure->text) : STR(""),
        .error = failure && failure->error,
        .bound = !failure,
        .evaluated_nodes = cycle->n_slots + cycle->n_failed,
        .feasible_nodes = cycle->n_slots,
        .attempt = queued->attempts,
        .duration = engine_now(e) - started,
    };
    if (e->metrics)
        scheduler_metrics_attempt(e->metrics, cycle->profile->metrics,
                                  d.bound   ? RESULT_SCHEDULED
                                  : d.error ? RESULT_ERROR
                                            : RESULT_UNSCHEDULABLE,
                                  d.duration);
    if (e->ports.decided)
        e->ports.decided(e->ports.ctx, &d);
}

size_t engine_explain(const struct engine *e, struct str namespace, struct str name,
                      struct buf *out)
{
    return explain_write(&e->explain, e, namespace, name, out);
}

void engine_explain_each(const struct engine *e, struct str namespace, struct str name,
                         struct explain_reader reader)
{
    explain_each(&e->explain, e, namespace, name, reader);
}

void engine_submit_event(struct engine *e, const struct berth_pod *pod,
                         const struct profile *profile, bool warning, const char *reason,
                         const char *action, struct str note)
{
    struct write write = {.kind = WRITE_EVENT,
                          .object = pod->object,
                          .scheduler_name = profile->scheduler_name,
                          .reason = str_of(reason),
                          .action = str_of(action),
                          .message = note,
                          .warning = warning};
    e->ports.submit(e->ports.ctx, &write);
}

static void submit_failed_event(struct engine *e, const struct berth_queued_pod *queued,
                                struct str text)
{
    static const struct str suffix = STR_INIT(" ...");
    struct buf note = BUF_INIT;
    if (text.n > EVENT_NOTE_MAX) {
        buf_add_str(&note, str_slice(text, 0, EVENT_NOTE_MAX - suffix.n));
        buf_add_str(&note, suffix);
        text = buf_str(&note);
    }
    engine_submit_event(e, queued->pod, queued->profile, true, "FailedScheduling", "Scheduling",
                        text);
    buf_release(&note);
}

static struct str reason_of(const struct cycle_failure *failure)
{
    return str_of(failure->error ? POD_REASON_SCHEDULER_ERROR : POD_REASON_UNSCHEDULABLE);
}

static void log_status(const struct engine *e, const struct berth_queued_pod *queued,
                       const struct cycle_failure *failure)
{
    engine_log(&e->log, 3, "Updating pod condition and nominated node name", KV_POD(queued->pod),
               KV_CSTR("conditionType", POD_SCHEDULED), KV_CSTR("conditionStatus", "False"),
               KV_STR("conditionReason", reason_of(failure)),
               KV_STR("nominatedNodeName", failure->nominated_node),
               KV_INT("nominatingMode", !failure->keep_nomination));
}

static void submit_status(struct engine *e, const struct berth_queued_pod *queued,
                          const struct cycle_failure *failure, uint64_t id)
{
    struct write write = {.kind = WRITE_POD_STATUS,
                          .id = id,
                          .object = queued->pod->object,
                          .scheduler_name = queued->profile->scheduler_name,
                          .sets_condition = true,
                          .reason = reason_of(failure),
                          .message = buf_str(&failure->text),
                          .sets_nomination = !failure->keep_nomination,
                          .node_name = failure->nominated_node};
    e->ports.submit(e->ports.ctx, &write);
}

/* Others like it need not be tried until the API server has been told; see cohort.h for who may. */
static bool is_report(const struct engine *e, const struct berth_queued_pod *queued,
                      const struct cycle_failure *failure)
{
    return !failure->error && !queue_broke(queued) && str_empty(failure->nominated_node) &&
           str_empty(nominator_node_of(&e->queue.nominator, pod_info_key(queued->pod))) &&
           !(e->groups && !str_empty(pod_group_of(queued->pod->pod)));
}

void engine_attempt_failed(struct engine *e, struct berth_queued_pod *queued,
                           const struct cycle_failure *failure, int64_t started,
                           const struct berth_cycle *cycle)
{
    struct explain_result result = {queued, cycle, failure, STR(""), started};
    struct explain_record *record = explain_add(&e->explain, &result);
    bool gone = queued->deleted, leaving = queued->leaving;
    queued->rejectors = failure->rejectors;
    queued->pending = failure->pending;
    engine_tell_decision(e, queued, cycle, started, failure, STR(""));
    log_failed(e, queued, failure, cycle);
    if (!gone) {
        if (!failure->keep_nomination)
            nominator_set(&e->queue.nominator, queued->pod, failure->nominated_node);
        uint64_t id = is_report(e, queued, failure) ? ++e->next_write_id : 0;
        queue_turned_down(&e->queue, queued, id, engine_now(e));
        submit_failed_event(e, queued, buf_str(&failure->text));
        submit_status(e, queued, failure, id);
    }
    queue_requeue(&e->queue, queued, engine_now(e));
    if (gone || leaving)
        return;
    log_status(e, queued, failure);
    if (record)
        record->went_to = queued->place;
}

/* A pod on its way out needs no node; the deletion will take it off the books. */
static void tell_deleting(struct engine *e, const struct berth_queued_pod *queued)
{
    const struct object_meta *meta = &queued->pod->pod->metadata;
    struct buf note = BUF_INIT;
    engine_log(&e->log, 3, "Skip schedule deleting pod", KV_POD(queued->pod));
    buf_add_printf(&note, "skip schedule deleting pod: %.*s/%.*s", STR_ARG(meta->namespace),
                   STR_ARG(meta->name));
    engine_submit_event(e, queued->pod, queued->profile, true, "FailedScheduling", "Scheduling",
                        buf_str(&note));
    buf_release(&note);
}

bool engine_skips(struct engine *e, struct berth_queued_pod *queued)
{
    if (!queued->pod->pod->metadata.deletion_timestamp.set)
        return false;
    tell_deleting(e, queued);
    queue_done(&e->queue, queued);
    return true;
}

bool engine_schedule_one(struct engine *e)
{
    int64_t started = engine_now(e);
    if (attempt_is_suspended(e) || e->group.awaits)
        return false;
    if (e->group.active) {
        group_continue(e); /* the member that it waited for is gone */
        binding_run_ready(e);
        return true;
    }
    struct berth_queued_pod *queued = queue_pop(&e->queue, started);
    if (!queued)
        return false;
    engine_log(&e->log, 4, "About to try and schedule pod", KV_POD(queued->pod));
    if (e->groups && !str_empty(pod_group_of(queued->pod->pod))) {
        group_start(e, queued, started);
    } else if (!engine_skips(e, queued)) {
        engine_log(&e->log, 3, "Attempting to schedule pod", KV_POD(queued->pod));
        attempt_start(e, queued, started);
    }
    binding_run_ready(e);
    return true;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static struct scheduler_gauges take_gauges(const struct engine *e)
{
    struct engine_stats s = engine_get_stats(e);
    struct scheduler_gauges g = {
        .active = s.active,
        .backoff = s.backoff,
        .unschedulable = s.unschedulable,
        .gated = s.gated,
        .nodes = e->cache.nodes.n, /* also those that are gone and whose pods are not */
        .pods = s.pods,
        .assumed_pods = s.assumed_pods,
        .work[WORK_BINDING] = s.binding,
    };
    for (size_t i = 0; i < e->attempt.asks.n; i++)
        g.work[WORK_PRIORITIZING_EXTENDER] += e->attempt.asks.v[i].verb == EXTENDER_PRIORITIZE;
    return g;
}

int64_t engine_publish_metrics(struct engine *e)
{
    struct scheduler_metrics *m = e->metrics;
    if (!m || !scheduler_metrics_pending(m))
        return INT64_MAX;
    int64_t now = engine_now(e);
    if (m->published && now < m->published + PUBLISH_INTERVAL)
        return m->published + PUBLISH_INTERVAL;
    struct scheduler_gauges gauges = take_gauges(e);
    scheduler_metrics_publish(m, &gauges, now);
    return INT64_MAX;
}

struct scheduler_metrics *handle_metrics(const struct berth_handle *h)
{
    return h->engine->metrics;
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
        .binding = e->ops.n,
        .held = e->held.items.n,
    };
    return s;
}
