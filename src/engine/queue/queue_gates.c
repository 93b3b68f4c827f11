/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_gates.c - PreEnqueue: who is let into the queue, and the plugins that hold the others.
 */
#include "engine/framework/status.h"
#include "engine/metrics/scheduler_metrics.h"
#include "engine/queue/queue.h"

/* True where the plugin lets the pod into the queue; else it is the pod's gate from now on. */
static bool opens(struct queue *q, struct berth_queued_pod *qp, const struct berth_handle *h)
{
    int64_t began = q->sampled ? scheduler_metrics_now(q->metrics) : 0;
    status_clear(&q->status);
    enum berth_code code = h->plugin->pre_enqueue(h->self, qp->pod, &q->status);
    if (q->sampled)
        scheduler_metrics_plugin(q->metrics, h, METRIC_PRE_ENQUEUE, code,
                                 scheduler_metrics_now(q->metrics) - began, 1);
    if (code == BERTH_SUCCESS)
        return true;
    qp->gate = h;
    if (q->metrics)
        scheduler_metrics_gated(q->metrics, qp->profile, h, &qp->rejectors, &qp->pending);
    plugin_set_add(&qp->rejectors, h->id);
    if (queue_says(q, 4))
        queue_log_gated(q, qp, h);
    return false;
}

/* PreEnqueue: every plugin must agree. The one that held the pod last is asked first. */
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

bool queue_gate_cares(const struct queue *q, const struct berth_queued_pod *qp,
                      const struct cluster_event *event)
{
    for (size_t i = 0; i < q->registrar.events.n; i++) {
        const struct event_registration *r = &q->registrar.events.v[i];
        if (r->handle == qp->gate && event_matches(r->resource, r->actions, event))
            return true;
    }
    return false;
}
