/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_gates.c - PreEnqueue: the pods that are admitted, and the plugins that gate the others.
 */
#include "engine/framework/call_mark.h"
#include "engine/framework/status.h"
#include "engine/metrics/scheduler_metrics.h"
#include "engine/queue/queue.h"

/* False: the plugin rejects the pod and is its gate from now on (upstream: runPreEnqueuePlugin). */
static bool opens(struct queue *q, struct berth_queued_pod *qp, const struct berth_handle *h)
{
    int64_t began = q->sampled ? scheduler_metrics_now(q->metrics) : 0;
    status_clear(&q->status);
    struct call_mark outer = call_begin(h, "PreEnqueue", qp->pod);
    enum berth_code code = h->plugin->pre_enqueue(h->self, qp->pod, &q->status);
    call_end(outer);
    if (q->sampled)
        scheduler_metrics_plugin(q->metrics, h, METRIC_PRE_ENQUEUE, code,
                                 scheduler_metrics_now(q->metrics) - began, 1);
    if (code == BERTH_SUCCESS)
        return true;
    qp->gate = h;
    if (q->metrics)
        scheduler_metrics_gated(q->metrics, qp->profile, h, &qp->rejectors, &qp->pending);
    plugin_set_add(&qp->rejectors, h->id);
    if (queue_logs(q, 4))
        queue_log_gated(q, qp, h);
    return false;
}

/* Every plugin must admit the pod; its last gate runs first (upstream: runPreEnqueuePlugins). */
static bool all_open(struct queue *q, struct berth_queued_pod *qp)
{
    const handle_list *list = &qp->profile->at[POINT_PRE_ENQUEUE];
    const struct berth_handle *gate = qp->gate;
    if (gate && !opens(q, qp, gate))
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] != gate && !opens(q, qp, list->v[i]))
            return false;
    qp->gate = NULL;
    return true;
}

bool queue_admits(struct queue *q, struct berth_queued_pod *qp)
{
    int64_t began = q->metrics ? queue_begin_pre_enqueue(q) : 0;
    bool yes = all_open(q, qp);
    if (q->metrics)
        queue_end_pre_enqueue(q, qp, began);
    return yes;
}

/* Upstream: GatingPluginEvents. A gated pod is not moved by events that its gate did not register.
 */
bool queue_gate_registered(const struct queue *q, const struct berth_queued_pod *qp,
                           const struct cluster_event *event)
{
    for (size_t i = 0; i < q->registrar.events.n; i++) {
        const struct event_registration *r = &q->registrar.events.v[i];
        if (r->handle == qp->gate && event_matches(r->resource, r->actions, event))
            return true;
    }
    return false;
}
