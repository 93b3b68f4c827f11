/* SPDX-License-Identifier: Apache-2.0 */
/* queue_log.c - upstream's log messages of the queue; called only at an enabled verbosity. */
#include "engine/framework/status.h"
#include "engine/queue/queue.h"

static const char *place_name(const struct berth_queued_pod *qp)
{
    switch (qp->place) {
    case QUEUE_ACTIVE:
        return "Active";
    case QUEUE_BACKOFF:
    case QUEUE_ERROR_BACKOFF:
        return "Backoff";
    case QUEUE_UNSCHEDULABLE:
    case QUEUE_IN_FLIGHT:
    case QUEUE_BINDING:
    case QUEUE_NOWHERE:
        break;
    }
    return "Unschedulable";
}

static struct str label_of(const struct cluster_event *event, struct buf *out)
{
    event_write_label(event, out);
    return buf_str(out);
}

static int by_name(const void *a, const void *b)
{
    const struct berth_handle *const *x = a, *const *y = b;
    return strcmp((*x)->plugin->name, (*y)->plugin->name);
}

void queue_write_plugins(const struct profile *profile, const struct plugin_set *a,
                         const struct plugin_set *b, struct buf *out)
{
    const struct berth_handle *found[FRAMEWORK_MAX_PLUGINS];
    size_t n = 0;
    for (size_t i = 0; i < profile->instances.n && n < ARRAY_LEN(found); i++) {
        const struct berth_handle *h = profile->instances.v[i];
        if (plugin_set_has(a, h->id) || plugin_set_has(b, h->id))
            found[n++] = h;
    }
    qsort(found, n, sizeof(found[0]), by_name);
    buf_add_char(out, '{');
    for (size_t i = 0; i < n; i++)
        buf_add_printf(out, "%s\"%s\":{}", i ? "," : "", found[i]->plugin->name);
    buf_add_char(out, '}');
}

void queue_log_moved(const struct queue *q, const struct berth_queued_pod *qp,
                     const struct cluster_event *event, bool was_unschedulable, bool to_active)
{
    struct buf label = BUF_INIT;
    struct log_kv kvs[] = {KV_POD(qp->pod), KV_STR("event", label_of(event, &label)),
                           KV_CSTR("queue", place_name(qp))};
    if (qp->place != QUEUE_UNSCHEDULABLE || (!to_active && !was_unschedulable))
        engine_log(q->options.log, 5, "Pod moved to an internal scheduling queue", kvs[0], kvs[1],
                   kvs[2]);
    else if (!was_unschedulable)
        engine_log(q->options.log, 5,
                   "Pod moved to an internal scheduling queue, because the pod is gated", kvs[0],
                   kvs[1], kvs[2]);
    buf_release(&label);
}

void queue_log_updated(const struct queue *q, const struct berth_queued_pod *qp,
                       const struct cluster_event *event)
{
    struct buf label = BUF_INIT;
    engine_log(q->options.log, 5,
               "Pod moved to an internal scheduling queue because the Pod is updated",
               KV_POD(qp->pod), KV_STR("event", label_of(event, &label)),
               KV_CSTR("queue", place_name(qp)));
    buf_release(&label);
}

void queue_log_requeued(const struct queue *q, const struct berth_queued_pod *qp,
                        enum queue_strategy strategy)
{
    struct buf plugins = BUF_INIT;
    queue_write_plugins(qp->profile, &qp->rejectors, &qp->pending, &plugins);
    engine_log(q->options.log, 3, "Pod moved to an internal scheduling queue", KV_POD(qp->pod),
               KV_CSTR("event", EVENT_ATTEMPT_FAILURE), KV_CSTR("queue", place_name(qp)),
               KV_INT("schedulingCycle", q->cycles), KV_INT("hint", strategy),
               KV_JSON("unschedulable plugins", buf_str(&plugins)));
    buf_release(&plugins);
}

void queue_log_in_flight(const struct queue *q, const struct berth_queued_pod *qp,
                         const struct cluster_event *event)
{
    struct buf text = BUF_INIT;
    if (event) {
        engine_log(q->options.log, 5, "Checking event for in-flight pod", KV_POD(qp->pod),
                   KV_STR("event", label_of(event, &text)));
    } else {
        static const struct plugin_set none;
        queue_write_plugins(qp->profile, &qp->rejectors, &none, &text);
        engine_log(q->options.log, 5, "Checking events for in-flight pod", KV_POD(qp->pod),
                   KV_JSON("unschedulablePlugins", buf_str(&text)),
                   KV_INT("inFlightEventsSize", q->events.n + q->n_in_flight),
                   KV_INT("inFlightPodsSize", q->n_in_flight));
    }
    buf_release(&text);
}

void queue_log_gated(const struct queue *q, const struct berth_queued_pod *qp,
                     const struct berth_handle *by)
{
    struct buf status = BUF_INIT;
    status_write(&q->status, q->options.reasons, &status);
    engine_log(q->options.log, 4, "Status after running PreEnqueue plugin", KV_POD(qp->pod),
               KV_CSTR("plugin", by->plugin->name), KV_STR("status", buf_str(&status)));
    buf_release(&status);
}

void queue_log_event(const struct queue *q, const struct cluster_event *event,
                     const struct berth_queued_pod *qp)
{
    struct buf label = BUF_INIT;
    struct log_kv about = KV_STR("event", label_of(event, &label));
    if (qp)
        engine_log(q->options.log, 5, "Event is not making pod schedulable", KV_POD(qp->pod),
                   about);
    else
        engine_log(q->options.log, 5, "Event received while pods are in flight", about);
    buf_release(&label);
}

void queue_log_not_of_interest(const struct queue *q, const struct cluster_event *event)
{
    struct buf label = BUF_INIT;
    engine_log(q->options.log, 6, "receive an event that isn't interested by any enabled plugins",
               KV_STR("event", label_of(event, &label)));
    buf_release(&label);
}

void queue_log_worth(const struct queue *q, const struct berth_queued_pod *qp,
                     const struct cluster_event *event, enum queue_strategy strategy)
{
    struct buf label = BUF_INIT;
    struct log_kv about = KV_STR("event", label_of(event, &label));
    if (strategy == QUEUE_SKIP)
        engine_log(q->options.log, 6,
                   "Not worth requeuing because the event is wildcard, but for another pod",
                   KV_POD(qp->pod), about, KV_META("newObj", object_meta(event->after)));
    else if (plugin_set_empty(&qp->rejectors) && plugin_set_empty(&qp->pending))
        engine_log(q->options.log, 6, "Worth requeuing because no failed plugins", KV_POD(qp->pod));
    else
        engine_log(q->options.log, 6, "Worth requeuing because the event is wildcard",
                   KV_POD(qp->pod), about);
    buf_release(&label);
}
