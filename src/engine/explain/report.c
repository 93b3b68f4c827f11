/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain/report.h"

#include "engine/metrics/scheduler_metrics.h"

/* Upstream truncates the note of an event to this; the condition keeps the whole text. */
#define EVENT_NOTE_MAX 1024

/* --- decision --------------------------------------------------------------------------------- */

static void decide(const struct report *r, const struct berth_queued_pod *queued,
                   const struct berth_cycle *cycle, int64_t started,
                   const struct cycle_failure *failure, struct str node_name)
{
    const struct framework *fw = r->framework;
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
        .duration = framework_now(fw) - started,
    };
    if (fw->metrics)
        scheduler_metrics_attempt(fw->metrics, cycle->profile->metrics,
                                  d.bound   ? RESULT_SCHEDULED
                                  : d.error ? RESULT_ERROR
                                            : RESULT_UNSCHEDULABLE,
                                  d.duration);
    if (fw->ports.decided)
        fw->ports.decided(fw->ports.ctx, &d);
}

/* --- events and conditions -------------------------------------------------------------------- */

static void submit_event(const struct report *r, const struct berth_pod *pod,
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
    framework_submit(r->framework, &write);
}

static void submit_failed_event(const struct report *r, const struct berth_queued_pod *queued,
                                struct str text)
{
    static const struct str suffix = STR_INIT(" ...");
    struct buf note = BUF_INIT;
    if (text.n > EVENT_NOTE_MAX) {
        buf_add_str(&note, str_slice(text, 0, EVENT_NOTE_MAX - suffix.n));
        buf_add_str(&note, suffix);
        text = buf_str(&note);
    }
    submit_event(r, queued->pod, queued->profile, true, "FailedScheduling", "Scheduling", text);
    buf_release(&note);
}

static struct str reason_of(const struct cycle_failure *failure)
{
    return str_of(failure->error ? POD_REASON_SCHEDULER_ERROR : POD_REASON_UNSCHEDULABLE);
}

static void submit_status(const struct report *r, const struct berth_queued_pod *queued,
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
    framework_submit(r->framework, &write);
}

/* --- failed ----------------------------------------------------------------------------------- */

static void log_failed(const struct engine_log *log, const struct berth_queued_pod *queued,
                       const struct cycle_failure *failure, const struct berth_cycle *cycle)
{
    bool no_plugin = plugin_set_empty(&failure->rejectors) && plugin_set_empty(&failure->pending);
    struct str why = buf_str(&failure->text);
    if (!failure->error && cycle->n_all == 0)
        engine_log(log, 2,
                   "Unable to schedule pod; no nodes are registered to the cluster; waiting",
                   KV_POD(queued->pod));
    else if (failure->of_group && !failure->error)
        engine_log(log, 2, "Unable to schedule pod belonging to a pod group; waiting",
                   KV_POD(queued->pod), KV_STR("err", why));
    else if (failure->error || no_plugin)
        engine_log_error(log, "Error scheduling pod; retrying", KV_STR("err", why),
                         KV_CSTR("logger", "UnhandledError"), KV_POD(queued->pod));
    else
        engine_log(log, 2, "Unable to schedule pod; no fit; waiting", KV_POD(queued->pod),
                   KV_STR("err", why));
}

static void log_status(const struct engine_log *log, const struct berth_queued_pod *queued,
                       const struct cycle_failure *failure)
{
    engine_log(log, 3, "Updating pod condition and nominated node name", KV_POD(queued->pod),
               KV_CSTR("conditionType", POD_SCHEDULED), KV_CSTR("conditionStatus", "False"),
               KV_STR("conditionReason", reason_of(failure)),
               KV_STR("nominatedNodeName", failure->nominated_node),
               KV_INT("nominatingMode", !failure->keep_nomination));
}

/*
 * Whether pods like this one wait until the API server has the condition: cohort.h. Not after an
 * error, with a nominated node, or in a group.
 */
static bool opens_cohort(const struct report *r, const struct berth_queued_pod *queued,
                         const struct cycle_failure *failure)
{
    bool in_group = r->framework->features.on[FEATURE_GANG_SCHEDULING] &&
                    !str_empty(pod_group_of(queued->pod->pod));
    return !failure->error && !queue_broke(queued) && str_empty(failure->nominated_node) &&
           str_empty(nominator_node_of(&r->queue->nominator, pod_info_key(queued->pod))) &&
           !in_group;
}

void report_failed(const struct report *r, struct berth_queued_pod *queued,
                   const struct cycle_failure *failure, int64_t started,
                   const struct berth_cycle *cycle)
{
    struct framework *fw = r->framework;
    struct explain_result result = {queued, cycle, failure, STR(""), started};
    struct explain_record *record = explain_add(r->explain, &result);
    bool gone = queued->deleted, leaving = queued->leaving;
    queued->rejectors = failure->rejectors;
    queued->pending = failure->pending;
    decide(r, queued, cycle, started, failure, STR(""));
    log_failed(&fw->log, queued, failure, cycle);
    if (!gone) {
        if (!failure->keep_nomination)
            nominator_set(&r->queue->nominator, queued->pod, failure->nominated_node);
        uint64_t id = opens_cohort(r, queued, failure) ? framework_next_id(fw) : 0;
        queue_turned_down(r->queue, queued, id, framework_now(fw));
        submit_failed_event(r, queued, buf_str(&failure->text));
        submit_status(r, queued, failure, id);
    }
    queue_requeue(r->queue, queued, framework_now(fw));
    if (gone || leaving)
        return;
    log_status(&fw->log, queued, failure);
    if (record)
        record->went_to = queued->place;
}

/* --- bound ------------------------------------------------------------------------------------ */

static void log_bound(const struct engine_log *log, const struct berth_queued_pod *queued,
                      const struct berth_cycle *cycle, struct str node_name)
{
    engine_log(log, 2, "Successfully bound pod to node", KV_POD(queued->pod),
               KV_STR("node", node_name),
               KV_INT("evaluatedNodes", cycle->n_slots + cycle->n_failed),
               KV_INT("feasibleNodes", cycle->n_slots));
    if (!queued->was_flushed || !engine_log_on(log, 4))
        return;
    static const struct plugin_set none;
    struct buf rejectors = BUF_INIT, pending = BUF_INIT;
    queue_write_plugins(queued->profile, &queued->rejectors, &none, &rejectors);
    queue_write_plugins(queued->profile, &queued->pending, &none, &pending);
    engine_log(log, 4, "Pod scheduled after flush from unschedulablePods", KV_POD(queued->pod),
               KV_JSON("unschedulablePlugins", buf_str(&rejectors)),
               KV_JSON("pendingPlugins", buf_str(&pending)));
    buf_release(&rejectors);
    buf_release(&pending);
}

/* The last stage, Bind, ended when the binding was accepted: cycle->mark. */
static void count_bound(struct scheduler_metrics *m, const struct berth_queued_pod *queued,
                        const struct berth_cycle *cycle)
{
    if (m)
        scheduler_metrics_bound(m, queued->attempts,
                                queued->first_attempt ? cycle->mark - queued->first_attempt : -1,
                                queued->was_flushed);
}

void report_bound(const struct report *r, const struct berth_queued_pod *queued,
                  const struct berth_pod *pod, struct berth_cycle *cycle, int64_t started)
{
    struct framework *fw = r->framework;
    const struct object_meta *meta = &pod->pod->metadata;
    struct str note =
        arena_printf(&cycle->arena, "Successfully assigned %.*s/%.*s to %.*s",
                     STR_ARG(meta->namespace), STR_ARG(meta->name), STR_ARG(pod->node_name));
    submit_event(r, pod, cycle->profile, false, "Scheduled", "Binding", note);
    struct explain_result result = {queued, cycle, NULL, pod->node_name, started};
    explain_add(r->explain, &result);
    decide(r, queued, cycle, started, NULL, pod->node_name);
    log_bound(&fw->log, queued, cycle, pod->node_name);
    count_bound(fw->metrics, queued, cycle);
}

/* --- deleting --------------------------------------------------------------------------------- */

bool report_skip_deleting(const struct report *r, struct berth_queued_pod *queued)
{
    const struct object_meta *meta = &queued->pod->pod->metadata;
    struct buf note = BUF_INIT;
    if (!meta->deletion_timestamp.set)
        return false;
    engine_log(&r->framework->log, 3, "Skip schedule deleting pod", KV_POD(queued->pod));
    buf_add_printf(&note, "skip schedule deleting pod: %.*s/%.*s", STR_ARG(meta->namespace),
                   STR_ARG(meta->name));
    submit_event(r, queued->pod, queued->profile, true, "FailedScheduling", "Scheduling",
                 buf_str(&note));
    buf_release(&note);
    queue_done(r->queue, queued);
    return true;
}
