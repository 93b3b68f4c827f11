/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include "base/time.h"
#include "engine/changes.h"
#include "engine/internal.h"

/* Upstream cuts the note of an event here; the condition keeps the whole text. */
#define EVENT_NOTE_MAX 1024

#define DEFAULT_MAX_IN_UNSCHEDULABLE (5 * 60 * NSEC_PER_SEC)

/* --- making and ending ------------------------------------------------------------------------ */

static int make_profiles(struct engine *e, const struct registry *registry, struct err *reterr)
{
    for (size_t i = 0; i < e->config->profiles.n; i++) {
        struct profile *p;
        int r = profile_new(e, registry, &e->config->profiles.v[i], &p, reterr);
        if (r < 0) {
            err_prefix(reterr, r, "profiles[%zu]", i);
            return e->config->file ? err_prefix(reterr, r, "%s", e->config->file) : r;
        }
        vec_push(&e->profiles, p);
        queue_add_profile(&e->queue, p);
    }
    return 0;
}

int engine_new(const struct engine_options *options, struct engine **ret_engine, struct err *reterr)
{
    struct engine *e = xnew(struct engine);
    e->ports = options->ports;
    e->config = options->config;
    rand_seed(&e->rand, options->seed);
    intern_init(&e->names);
    reasons_init(&e->reasons);
    status_init(&e->status);
    cache_init(&e->cache, &e->names);
    struct queue_options queue = {
        .initial_backoff = *e->config->pod_initial_backoff_seconds * NSEC_PER_SEC,
        .max_backoff = *e->config->pod_max_backoff_seconds * NSEC_PER_SEC,
        .max_in_unschedulable = options->max_in_unschedulable ? options->max_in_unschedulable
                                                              : DEFAULT_MAX_IN_UNSCHEDULABLE,
    };
    queue_init(&e->queue, &queue, &e->status);
    int r = make_profiles(e, options->registry, reterr);
    if (r < 0) {
        engine_free(e);
        return r;
    }
    *ret_engine = e;
    return 0;
}

struct engine *engine_free(struct engine *e)
{
    if (!e)
        return NULL;
    while (e->ops.n)
        binding_abandon(vec_last(&e->ops));
    vec_release(&e->ops);
    map_release(&e->ops_by_write);
    queue_release(&e->queue);
    cache_release(&e->cache);
    for (size_t i = 0; i < e->profiles.n; i++)
        profile_free(e->profiles.v[i]);
    vec_release(&e->profiles);
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

/* --- names ------------------------------------------------------------------------------------ */

int engine_plugin_id(struct engine *e, struct str name)
{
    for (size_t i = 0; i < e->plugin_names.n; i++)
        if (str_eq(e->plugin_names.v[i], name))
            return (int)i;
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
    for (size_t i = 0; i < e->profiles.n; i++)
        if (str_eq(e->profiles.v[i]->scheduler_name, scheduler_name))
            return e->profiles.v[i];
    return NULL;
}

/* --- what happened: nodes --------------------------------------------------------------------- */

static void node_changed(struct engine *e, struct object *before, struct object *after)
{
    int64_t now = engine_now(e);
    struct cluster_event event = {.resource = BERTH_RESOURCE_NODE};
    if (!after) {
        cache_remove_node(&e->cache, object_meta(before)->name);
        event.action = BERTH_ACTION_DELETE;
        event.label = "NodeDelete";
    } else {
        cache_set_node(&e->cache, after);
        event.action = before ? node_changes(object_node(before), object_node(after))
                              : (unsigned)BERTH_ACTION_ADD;
        event.label = before ? "NodeUpdate" : "NodeAdd";
    }
    if (event.action)
        queue_event(&e->queue, &event, before, after, now);
}

/* --- what happened: pods ---------------------------------------------------------------------- */

static bool is_terminal(const struct pod *pod)
{
    return str_is(pod->status.phase, POD_PHASE_SUCCEEDED) ||
           str_is(pod->status.phase, POD_PHASE_FAILED);
}

static void pod_event(struct engine *e, unsigned action, const char *label, struct object *before,
                      struct object *after)
{
    struct cluster_event event = {BERTH_RESOURCE_ASSIGNED_POD, action, label};
    if (action)
        queue_event(&e->queue, &event, before, after, engine_now(e));
}

static void pod_gone(struct engine *e, struct object *before)
{
    struct str uid = object_meta(before)->uid;
    struct cache_pod *cp = cache_pod(&e->cache, uid);
    const struct berth_queued_pod *queued = queue_get(&e->queue, uid);
    bool in_flight = queued && queued->place == QUEUE_IN_FLIGHT;
    queue_delete(&e->queue, uid);
    /* A pod that is being bound keeps its place until the outcome is known. */
    if (!cp || (cp->assumed && in_flight))
        return;
    cache_remove_pod(&e->cache, uid);
    pod_event(e, BERTH_ACTION_DELETE, "AssignedPodDelete", before, NULL);
}

static void pod_assigned(struct engine *e, struct object *before, struct object *after)
{
    struct berth_pod *pod = pod_info_new(after, &e->names);
    struct cache_pod *known = cache_pod(&e->cache, pod_info_key(pod));
    bool is_new = !known || known->assumed;
    queue_delete(&e->queue, pod_info_key(pod));
    cache_set_pod(&e->cache, pod);
    pod_info_unref(pod);
    if (is_new)
        pod_event(e, BERTH_ACTION_ADD, "AssignedPodAdd", NULL, after);
    else
        pod_event(e, pod_changes(object_pod(before), object_pod(after)), "AssignedPodUpdate",
                  before, after);
}

static void pod_unassigned(struct engine *e, struct object *before, struct object *after)
{
    const struct pod *body = object_pod(after);
    struct profile *profile = engine_profile(e, body->spec.scheduler_name);
    /* While it is assumed on a node, the binding under way decides. */
    if (!profile || cache_pod(&e->cache, body->metadata.uid))
        return;
    struct berth_pod *pod = pod_info_new(after, &e->names);
    struct berth_queued_pod *queued = queue_get(&e->queue, pod_info_key(pod));
    if (!queued)
        queue_add(&e->queue, pod, profile, engine_now(e));
    else
        queue_update(&e->queue, pod, before, before ? pod_changes(object_pod(before), body) : 0,
                     engine_now(e));
    pod_info_unref(pod);
}

static void pod_changed(struct engine *e, struct object *before, struct object *after)
{
    /* Deleted and created anew under the same name, seen as one change. */
    if (before && after && !str_eq(object_meta(before)->uid, object_meta(after)->uid)) {
        pod_gone(e, before);
        before = NULL;
    }
    if (!after || is_terminal(object_pod(after)))
        pod_gone(e, after ? after : before);
    else if (!str_empty(object_pod(after)->spec.node_name))
        pod_assigned(e, before, after);
    else
        pod_unassigned(e, before, after);
}

void engine_object_changed(struct engine *e, struct object *before, struct object *after)
{
    switch (object_kind(after ? after : before)->id) {
    case KIND_NODE:
        node_changed(e, before, after);
        break;
    case KIND_POD:
        pod_changed(e, before, after);
        break;
    default:
        break;
    }
}

/* --- what happened: writes and time ----------------------------------------------------------- */

void engine_write_done(struct engine *e, uint64_t id, const struct write_result *result)
{
    struct berth_op *op = map_del(&e->ops_by_write, write_key(&id));
    if (!op)
        return;
    op->write_id = 0;
    binding_answer(op, write_ok(result) ? BERTH_SUCCESS : BERTH_ERROR, result->message);
}

void engine_tick(struct engine *e)
{
    queue_flush(&e->queue, engine_now(e));
}

int64_t engine_next_wake(const struct engine *e)
{
    return queue_next_flush(&e->queue);
}

/* --- what to do ------------------------------------------------------------------------------- */

void engine_tell_decision(struct engine *e, const struct decision *decision)
{
    if (e->ports.decided)
        e->ports.decided(e->ports.ctx, decision);
}

void engine_submit_event(struct engine *e, const struct berth_pod *pod,
                         const struct profile *profile, bool warning, const char *reason,
                         const char *action, struct str note)
{
    struct write write = {.kind = WRITE_EVENT,
                          .pod = pod->object,
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

static void submit_condition(struct engine *e, const struct berth_queued_pod *queued,
                             const struct cycle_failure *failure)
{
    struct write write = {
        .kind = WRITE_POD_CONDITION,
        .pod = queued->pod->object,
        .scheduler_name = queued->profile->scheduler_name,
        .reason = str_of(failure->error ? POD_REASON_SCHEDULER_ERROR : POD_REASON_UNSCHEDULABLE),
        .message = buf_str(&failure->text)};
    e->ports.submit(e->ports.ctx, &write);
}

void engine_attempt_failed(struct engine *e, struct berth_queued_pod *queued,
                           const struct cycle_failure *failure, int64_t started,
                           const struct berth_cycle *cycle)
{
    queued->rejectors = failure->rejectors;
    queued->pending = failure->pending;
    if (!queued->deleted) {
        submit_failed_event(e, queued, buf_str(&failure->text));
        submit_condition(e, queued, failure);
    }
    engine_tell_decision(e, &(struct decision){
                                .pod = queued->pod->object,
                                .profile = queued->profile->scheduler_name,
                                .message = buf_str(&failure->text),
                                .error = failure->error,
                                .evaluated_nodes = cycle->n_slots + cycle->n_failed,
                                .feasible_nodes = cycle->n_slots,
                                .attempt = queued->attempts,
                                .duration = engine_now(e) - started,
                            });
    queue_requeue(&e->queue, queued, engine_now(e));
}

bool engine_schedule_one(struct engine *e)
{
    int64_t started = engine_now(e);
    struct berth_queued_pod *queued = queue_pop(&e->queue, started);
    if (!queued)
        return false;
    /* A pod on its way out needs no node; the deletion will take it off the books. */
    if (queued->pod->pod->metadata.deletion_timestamp.set) {
        const struct object_meta *meta = &queued->pod->pod->metadata;
        struct buf note = BUF_INIT;
        buf_add_printf(&note, "skip schedule deleting pod: %.*s/%.*s", STR_ARG(meta->namespace),
                       STR_ARG(meta->name));
        engine_submit_event(e, queued->pod, queued->profile, true, "FailedScheduling", "Scheduling",
                            buf_str(&note));
        buf_release(&note);
        queue_done(&e->queue, queued);
        return true;
    }
    struct berth_cycle *cycle = cycle_new(e, queued->profile);
    struct cycle_failure failure = {0};
    struct berth_node *node = cycle_run(cycle, queued->pod, &failure);
    if (node) {
        binding_start(e, queued, cycle, node, started);
    } else {
        engine_attempt_failed(e, queued, &failure, started, cycle);
        cycle_free(cycle);
    }
    cycle_failure_release(&failure);
    return true;
}

struct engine_stats engine_get_stats(const struct engine *e)
{
    const struct queue *q = &e->queue;
    struct engine_stats s = {
        .nodes = e->cache.order.n,
        .pods = e->cache.pods.n,
        .assumed_pods = e->cache.n_assumed,
        .active = q->active.items.n,
        .backoff = q->backoff.items.n + q->error_backoff.items.n,
        .binding = e->ops.n,
    };
    for (size_t i = 0; i < q->unschedulable.n; i++)
        if (q->unschedulable.v[i]->gated)
            s.gated++;
        else
            s.unschedulable++;
    return s;
}
