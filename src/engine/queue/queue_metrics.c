/* SPDX-License-Identifier: Apache-2.0 */
/* queue_metrics.c - upstream's metrics of the queue; called only if q->metrics is not NULL. */
#include "engine/metrics/scheduler_metrics.h"
#include "engine/queue/queue.h"

void queue_count_incoming(const struct queue *q, const struct berth_queued_pod *qp)
{
    switch (qp->place) {
    case QUEUE_ACTIVE:
        scheduler_metrics_incoming(q->metrics, INCOMING_ACTIVE, &qp->moved_by);
        break;
    case QUEUE_BACKOFF:
    case QUEUE_ERROR_BACKOFF:
        scheduler_metrics_incoming(q->metrics, INCOMING_BACKOFF, &qp->moved_by);
        break;
    case QUEUE_UNSCHEDULABLE:
        scheduler_metrics_incoming(q->metrics, INCOMING_UNSCHEDULABLE, &qp->moved_by);
        break;
    case QUEUE_IN_FLIGHT:
        /* Popped from backoffQ: upstream counts it as incoming to activeQ. */
        if (qp->moved_by.label && strcmp(qp->moved_by.label, EVENT_POP_FROM_BACKOFF) == 0)
            scheduler_metrics_incoming(q->metrics, INCOMING_ACTIVE, &qp->moved_by);
        break;
    case QUEUE_BINDING:
    case QUEUE_NOWHERE:
        break;
    }
}

void queue_count_rejectors(const struct queue *q, const struct berth_queued_pod *qp, int delta)
{
    scheduler_metrics_rejected(q->metrics, qp->profile, &qp->rejectors, &qp->pending, delta);
}

/* --- hints ------------------------------------------------------------------------------------ */

int64_t queue_begin_hints(struct queue *q)
{
    while (q->hints.n < q->registrar.events.n)
        vec_push(&q->hints, (struct hint_count){{0}});
    return scheduler_metrics_now(q->metrics);
}

static uint64_t count_all(const struct queue *q)
{
    uint64_t n = 0;
    for (size_t i = 0; i < q->hints.n; i++)
        n += q->hints.v[i].n[BERTH_QUEUE_SKIP] + q->hints.v[i].n[BERTH_QUEUE];
    return n;
}

void queue_end_hints(struct queue *q, const struct cluster_event *event, int64_t began)
{
    uint64_t all = count_all(q);
    if (!all)
        return;
    /* All calls are timed together; each counts with their average. */
    double each = (double)(scheduler_metrics_now(q->metrics) - began) / (double)all;
    for (size_t i = 0; i < q->hints.n; i++)
        for (int hint = BERTH_QUEUE_SKIP; hint <= BERTH_QUEUE; hint++) {
            uint32_t n = q->hints.v[i].n[hint];
            if (!n)
                continue;
            scheduler_metrics_hint(q->metrics, q->registrar.events.v[i].handle, event,
                                   (enum berth_hint)hint, (int64_t)(each * n), n);
            q->hints.v[i].n[hint] = 0;
        }
}

/* --- PreEnqueue ------------------------------------------------------------------------------- */

int64_t queue_begin_pre_enqueue(struct queue *q)
{
    q->sampled = scheduler_metrics_sample(q->metrics);
    return scheduler_metrics_now(q->metrics);
}

void queue_end_pre_enqueue(const struct queue *q, const struct berth_queued_pod *qp, int64_t began)
{
    /* Always "Success": the status that upstream's deferred call reads is never assigned. */
    scheduler_metrics_point(q->metrics, qp->profile->metrics, METRIC_PRE_ENQUEUE, BERTH_SUCCESS,
                            scheduler_metrics_now(q->metrics) - began);
}
