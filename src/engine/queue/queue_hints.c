/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_hints.c - which events requeue which pods, and the events kept for pods in flight.
 */
#include "engine/framework/call_mark.h"
#include "engine/metrics/scheduler_metrics.h"
#include "engine/queue/queue.h"

bool queue_is_of_interest(const struct queue *q, const struct cluster_event *event)
{
    if (event_is_wildcard(event))
        return true;
    for (size_t i = 0; i < q->registrar.events.n; i++) {
        const struct event_registration *r = &q->registrar.events.v[i];
        if (event_matches(r->resource, r->actions, event))
            return true;
    }
    return false;
}

static bool rejected_by(const struct berth_queued_pod *qp, const struct berth_handle *h)
{
    return h->profile == qp->profile &&
           (plugin_set_has(&qp->rejectors, h->id) || plugin_set_has(&qp->pending, h->id));
}

/*
 * Only plugins that rejected the pod are asked, and only those that registered the event. A plugin
 * without a hint function always queues.
 */
enum queue_strategy queue_strategy_for(const struct queue *q, const struct berth_queued_pod *qp,
                                       const struct cluster_event *event)
{
    enum queue_strategy strategy = QUEUE_AFTER_BACKOFF;
    if (queue_broke(qp) || event_is_wildcard(event)) {
        /* A wildcard event with an object is for this pod only (ForceActivate). */
        if (!queue_broke(qp) && event->after &&
            !str_eq(object_meta(event->after)->uid, pod_info_key(qp->pod)))
            strategy = QUEUE_SKIP;
        if (queue_logs(q, 6))
            queue_log_worth(q, qp, event, strategy);
        return strategy;
    }
    strategy = QUEUE_SKIP;
    for (size_t i = 0; i < q->registrar.events.n; i++) {
        const struct event_registration *r = &q->registrar.events.v[i];
        if (!event_matches(r->resource, r->actions, event) || !rejected_by(qp, r->handle))
            continue;
        struct call_mark outer = call_begin(r->handle, "QueueingHint", qp->pod);
        enum berth_hint hint = r->hint
                                   ? r->hint(r->handle->self, qp->pod, object_abi(event->before),
                                             object_abi(event->after))
                                   : BERTH_QUEUE;
        call_end(outer);
        if (q->metrics)
            q->hints.v[i].n[hint != BERTH_QUEUE_SKIP]++;
        if (hint == BERTH_QUEUE_SKIP)
            continue;
        /* A plugin that returned Pending knows that its event has happened: no backoff. */
        if (plugin_set_has(&qp->pending, r->handle->id))
            return QUEUE_AT_ONCE;
        strategy = QUEUE_AFTER_BACKOFF;
        if (plugin_set_empty(&qp->pending))
            break;
    }
    return strategy;
}

enum queue_strategy queue_strategy_in_flight(struct queue *q, const struct berth_queued_pod *qp)
{
    /* Binding: the events since it left flight were not kept, so it is retried. */
    if (queue_broke(qp) || qp->place != QUEUE_IN_FLIGHT)
        return QUEUE_AFTER_BACKOFF;
    /* Upstream: hints concern single pods, so a pod group is retried by backoff alone. */
    if (q->options.groups && qp->pod->pod->spec.scheduling_group)
        return QUEUE_AFTER_BACKOFF;
    INVARIANT(qp->events_from >= q->events_base && qp->events_from <= q->events_base + q->events.n);
    enum queue_strategy strategy = QUEUE_SKIP;
    if (queue_logs(q, 5))
        queue_log_in_flight(q, qp, NULL);
    for (size_t i = (size_t)(qp->events_from - q->events_base); i < q->events.n; i++) {
        if (queue_logs(q, 5))
            queue_log_in_flight(q, qp, &q->events.v[i]);
        int64_t began = q->metrics ? queue_begin_hints(q) : 0;
        enum queue_strategy s = queue_strategy_for(q, qp, &q->events.v[i]);
        if (q->metrics)
            queue_end_hints(q, &q->events.v[i], began);
        if (s == QUEUE_AT_ONCE)
            return s;
        strategy = MAX(strategy, s);
        if (strategy == QUEUE_AFTER_BACKOFF && plugin_set_empty(&qp->pending))
            break;
    }
    return strategy;
}

/* --- events kept for pods in flight ----------------------------------------------------------- */

void queue_keep_event(struct queue *q, const struct cluster_event *event)
{
    if (!q->n_in_flight)
        return;
    vec_push(&q->events, event_keep(event));
    if (q->metrics)
        scheduler_metrics_in_flight(q->metrics, event, 1);
}

/* The events of a pod in flight are events.v[events_from - events_base …]. */
void queue_enter_flight(struct queue *q, struct berth_queued_pod *qp)
{
    INVARIANT(!q->n_in_flight == !q->first_in_flight);
    INVARIANT(q->n_in_flight || !q->events.n);
    qp->events_from = q->events_base + q->events.n;
    qp->prev_in_flight = q->last_in_flight;
    qp->next_in_flight = NULL;
    if (q->last_in_flight)
        q->last_in_flight->next_in_flight = qp;
    else
        q->first_in_flight = qp;
    q->last_in_flight = qp;
    q->n_in_flight++;
    if (q->metrics)
        scheduler_metrics_in_flight(q->metrics, NULL, 1);
}

/* Drops the events that are older than every pod in flight. */
static void drop_old_events(struct queue *q)
{
    uint64_t from =
        q->first_in_flight ? q->first_in_flight->events_from : q->events_base + q->events.n;
    INVARIANT(from >= q->events_base && from <= q->events_base + q->events.n);
    size_t n = (size_t)(from - q->events_base);
    for (size_t i = 0; i < n; i++) {
        if (q->metrics)
            scheduler_metrics_in_flight(q->metrics, &q->events.v[i], -1);
        event_drop(&q->events.v[i]);
    }
    if (n && n < q->events.n)
        memmove(q->events.v, q->events.v + n, (q->events.n - n) * sizeof(*q->events.v));
    q->events.n -= n;
    q->events_base = from;
}

void queue_leave_flight(struct queue *q, struct berth_queued_pod *qp)
{
    INVARIANT(q->n_in_flight > 0);
    INVARIANT(qp->prev_in_flight ? qp->prev_in_flight->next_in_flight == qp
                                 : q->first_in_flight == qp);
    INVARIANT(qp->next_in_flight ? qp->next_in_flight->prev_in_flight == qp
                                 : q->last_in_flight == qp);
    if (qp->prev_in_flight)
        qp->prev_in_flight->next_in_flight = qp->next_in_flight;
    else
        q->first_in_flight = qp->next_in_flight;
    if (qp->next_in_flight)
        qp->next_in_flight->prev_in_flight = qp->prev_in_flight;
    else
        q->last_in_flight = qp->prev_in_flight;
    q->n_in_flight--;
    if (q->metrics)
        scheduler_metrics_in_flight(q->metrics, NULL, -1);
    drop_old_events(q);
}
