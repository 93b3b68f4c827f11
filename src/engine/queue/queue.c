/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/queue/queue.h"

#include "base/time.h"

/* Backoffs end on whole seconds, so that pods of one second are ordered by QueueSort. */
#define BACKOFF_WINDOW      NSEC_PER_SEC
#define UNSCHEDULABLE_FLUSH (30 * NSEC_PER_SEC)
/* Longer than any process lives, and far enough from the end of time to be added to it. */
#define MAX_BACKOFF         (INT64_MAX / 4)

static const struct cluster_event pod_added = {.resource = BERTH_RESOURCE_UNSCHEDULED_POD,
                                               .action = BERTH_ACTION_ADD};

static struct cluster_event labelled(const char *label)
{
    return (struct cluster_event){
        .resource = BERTH_RESOURCE_ALL, .action = BERTH_ACTION_ALL, .label = label};
}

static int64_t window_of(int64_t t)
{
    return t - t % BACKOFF_WINDOW;
}

static struct berth_queued_pod *of_node(const struct heap_node *node)
{
    return CONTAINER_OF(node, struct berth_queued_pod, node);
}

bool queue_active_less(const struct queue *q, const struct berth_queued_pod *a,
                       const struct berth_queued_pod *b)
{
    return q->sort->plugin->less(q->sort->self, a, b);
}

bool queue_backoff_less(const struct queue *q, const struct berth_queued_pod *a,
                        const struct berth_queued_pod *b)
{
    int64_t x = a->backoff_until, y = b->backoff_until;
    return x != y ? x < y : queue_active_less(q, a, b);
}

static bool active_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    return queue_active_less(ctx, of_node(a), of_node(b));
}

static bool backoff_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    return queue_backoff_less(ctx, of_node(a), of_node(b));
}

void queue_init(struct queue *q, const struct queue_options *options)
{
    *q = (struct queue){.options = *options};
    status_init(&q->status);
    queue_set_backoff(q, options->initial_backoff, options->max_backoff);
    heap_init(&q->active, active_less, q);
    heap_init(&q->backoff, backoff_less, q);
    heap_init(&q->error_backoff, backoff_less, q);
    cohorts_init(q);
    nominator_init(&q->nominator);
}

void queue_set_backoff(struct queue *q, int64_t initial, int64_t max)
{
    q->options.initial_backoff = MIN(initial, MAX_BACKOFF);
    q->options.max_backoff = MIN(max, MAX_BACKOFF);
}

static void free_queued(struct queue *q, struct berth_queued_pod *qp)
{
    cohort_forget(q, qp);
    pod_info_unref(qp->pod);
    free(qp);
}

void queue_release(struct queue *q)
{
    /* The heaps first: they look at their elements once more. */
    heap_release(&q->active);
    heap_release(&q->backoff);
    heap_release(&q->error_backoff);
    vec_release(&q->unschedulable);
    vec_release(&q->registrar.events);
    for (size_t i = 0; i < q->events.n; i++)
        event_drop(&q->events.v[i]);
    vec_release(&q->events);
    vec_release(&q->hints);
    nominator_release(&q->nominator);
    cohorts_release(q);
    map_each (e, &q->by_key) {
        struct berth_queued_pod *qp = e->value;
        pod_info_unref(qp->pod);
        free(qp);
    }
    map_release(&q->by_key);
    status_release(&q->status);
}

/* --- places ----------------------------------------------------------------------------------- */

static void count_gated(struct queue *q, struct berth_queued_pod *qp, bool gated)
{
    q->n_gated += (size_t)gated - (size_t)qp->counted_gated;
    qp->counted_gated = gated;
}

static void leave_place(struct queue *q, struct berth_queued_pod *qp)
{
    switch (qp->place) {
    case QUEUE_ACTIVE:
        heap_remove(&q->active, &qp->node);
        break;
    case QUEUE_BACKOFF:
        if (!qp->parked)
            heap_remove(&q->backoff, &qp->node);
        cohort_leave(q, qp);
        break;
    case QUEUE_ERROR_BACKOFF:
        heap_remove(&q->error_backoff, &qp->node);
        break;
    case QUEUE_UNSCHEDULABLE:
        q->unschedulable.v[qp->unschedulable_at] = vec_last(&q->unschedulable);
        q->unschedulable.v[qp->unschedulable_at]->unschedulable_at = qp->unschedulable_at;
        q->unschedulable.n--;
        count_gated(q, qp, false);
        break;
    case QUEUE_IN_FLIGHT:
        queue_leave_flight(q, qp);
        break;
    case QUEUE_BINDING:
    case QUEUE_NOWHERE:
        break;
    }
    qp->place = QUEUE_NOWHERE;
}

static void move_to(struct queue *q, struct berth_queued_pod *qp, enum queue_place place,
                    int64_t now)
{
    if (place == QUEUE_UNSCHEDULABLE && qp->place == place) {
        count_gated(q, qp, qp->gate != NULL);
        return; /* still held by a gate: the tick under way is its tick */
    }
    leave_place(q, qp);
    qp->place = place;
    switch (place) {
    case QUEUE_ACTIVE:
        if (!qp->first_attempt)
            qp->first_attempt = now;
        heap_push(&q->active, &qp->node);
        break;
    case QUEUE_BACKOFF:
        heap_push(&q->backoff, &qp->node);
        cohort_enter(q, qp);
        break;
    case QUEUE_ERROR_BACKOFF:
        heap_push(&q->error_backoff, &qp->node);
        break;
    case QUEUE_UNSCHEDULABLE:
        if (!q->unschedulable.n)
            q->next_unschedulable_flush = now + UNSCHEDULABLE_FLUSH;
        qp->unschedulable_at = q->unschedulable.n;
        vec_push(&q->unschedulable, qp);
        count_gated(q, qp, qp->gate != NULL);
        break;
    case QUEUE_IN_FLIGHT:
        queue_enter_flight(q, qp);
        break;
    case QUEUE_BINDING:
    case QUEUE_NOWHERE:
        break;
    }
    if (q->metrics)
        queue_count_incoming(q, qp);
}

/* initial << (n - 1), at most max; an attempt that broke counts errors, else rejections. */
static int64_t backoff_of(const struct queue *q, const struct berth_queued_pod *qp)
{
    uint32_t n = qp->error_count ? qp->error_count : qp->unschedulable_count;
    int64_t backoff = q->options.initial_backoff;
    for (; n > 1 && backoff < q->options.max_backoff; n--)
        backoff *= 2;
    return MIN(backoff, q->options.max_backoff);
}

static bool backing_off(const struct berth_queued_pod *qp, int64_t now)
{
    return qp->attempts > 0 && qp->backoff_until >= window_of(now);
}

void queue_place(struct queue *q, struct berth_queued_pod *qp, enum queue_strategy strategy,
                 const struct cluster_event *event, int64_t now)
{
    enum queue_place to = QUEUE_UNSCHEDULABLE;
    /* Members of a group keep their backoff, too: upstream tries a gang again without a pause. */
    bool keeps = queue_broke(qp) || (q->options.groups && qp->pod->pod->spec.scheduling_group);
    if (strategy != QUEUE_SKIP && queue_admits(q, qp)) {
        to = QUEUE_ACTIVE;
        if (strategy == QUEUE_AFTER_BACKOFF && backing_off(qp, now))
            to = keeps ? QUEUE_ERROR_BACKOFF : QUEUE_BACKOFF;
    }
    qp->urgent = strategy == QUEUE_AT_ONCE;
    qp->moved_by = (struct cluster_event){
        .resource = event->resource, .action = event->action, .label = event->label};
    bool was_unschedulable = qp->place == QUEUE_UNSCHEDULABLE;
    bool to_active = strategy == QUEUE_AT_ONCE || !backing_off(qp, now);
    move_to(q, qp, to, now);
    if (strategy != QUEUE_SKIP && queue_says(q, 5))
        queue_log_moved(q, qp, &qp->moved_by, was_unschedulable, to_active);
}

void queue_check_gates(struct queue *q, struct berth_queued_pod *qp,
                       const struct cluster_event *event, int64_t now)
{
    if (queue_admits(q, qp))
        return;
    qp->moved_by = *event;
    move_to(q, qp, QUEUE_UNSCHEDULABLE, now);
}

/* --- pods come and go ------------------------------------------------------------------------- */

void queue_add(struct queue *q, struct berth_pod *pod, struct profile *profile, int64_t now)
{
    struct berth_queued_pod *qp = xnew(struct berth_queued_pod);
    qp->pod = pod_info_ref(pod);
    qp->profile = profile;
    qp->timestamp = now;
    qp->cohort = &q->cohorts.loose;
    qp->cohort->members++;
    map_put(&q->by_key, pod_info_key(pod), qp);
    queue_place(q, qp, QUEUE_AT_ONCE, &pod_added, now);
    /* What a gate holds reserves nothing. */
    if (qp->place == QUEUE_ACTIVE)
        nominator_set(&q->nominator, pod, pod->pod->status.nominated_node_name);
}

struct berth_queued_pod *queue_get(const struct queue *q, struct str key)
{
    return map_get(&q->by_key, key);
}

static void replace_pod(struct queue *q, struct berth_queued_pod *qp, struct berth_pod *pod)
{
    struct berth_pod *old = qp->pod;
    qp->pod = pod_info_ref(pod);
    map_put(&q->by_key, pod_info_key(pod), qp); /* the key's bytes are the new object's now */
    /* While it is out, whoever has it decides on its promise: assumed, it would count twice. */
    if (qp->place != QUEUE_IN_FLIGHT && qp->place != QUEUE_BINDING)
        nominator_update(&q->nominator, old, pod);
    pod_info_unref(old);
}

void queue_update(struct queue *q, struct berth_pod *pod, struct object *before, unsigned actions,
                  int64_t now)
{
    struct berth_queued_pod *qp = queue_get(q, pod_info_key(pod));
    if (!qp)
        return;
    replace_pod(q, qp, pod);
    if (qp->place == QUEUE_ACTIVE)
        heap_fix(&q->active, &qp->node);
    else if (qp->place == QUEUE_BACKOFF && !qp->parked)
        heap_fix(&q->backoff, &qp->node);
    else if (qp->place == QUEUE_ERROR_BACKOFF)
        heap_fix(&q->error_backoff, &qp->node);
    if (qp->place == QUEUE_BACKOFF)
        cohort_fix(q, qp);

    struct cluster_event event = {
        .resource = BERTH_RESOURCE_UNSCHEDULED_POD, .before = before, .after = pod->object};
    while (event_next_action(&actions, &event.action)) {
        if (qp->place == QUEUE_IN_FLIGHT)
            queue_keep_event(q, &event);
        if (qp->place != QUEUE_UNSCHEDULABLE)
            continue;
        int64_t began = q->metrics ? queue_begin_hints(q) : 0;
        enum queue_strategy strategy = queue_strategy_for(q, qp, &event);
        if (q->metrics)
            queue_end_hints(q, &event, began);
        if (strategy != QUEUE_SKIP)
            queue_place(q, qp, strategy, &event, now);
        if (qp->place != QUEUE_UNSCHEDULABLE && queue_says(q, 5))
            queue_log_updated(q, qp, &event);
    }
}

void queue_delete(struct queue *q, struct str key)
{
    nominator_remove(&q->nominator, key);
    struct berth_queued_pod *qp = map_del(&q->by_key, key);
    if (!qp)
        return;
    if (qp->place == QUEUE_IN_FLIGHT || qp->place == QUEUE_BINDING) {
        /* Whoever popped it still uses it; done or requeue will free it. */
        qp->deleted = true;
        return;
    }
    if (q->metrics)
        queue_count_rejectors(q, qp, -1);
    leave_place(q, qp);
    free_queued(q, qp);
}

/* --- attempts --------------------------------------------------------------------------------- */

static struct berth_queued_pod *take_out(struct queue *q, struct berth_queued_pod *qp, int64_t now)
{
    if (!qp->first_attempt)
        qp->first_attempt = now;
    move_to(q, qp, QUEUE_IN_FLIGHT, now);
    if (q->metrics)
        queue_count_rejectors(q, qp, -1);
    qp->urgent = false;
    qp->attempts++;
    q->cycles++;
    return qp;
}

struct berth_queued_pod *queue_pop(struct queue *q, int64_t now)
{
    struct heap_node *node;
    struct berth_queued_pod *qp;
    while ((node = heap_peek(&q->active))) {
        qp = of_node(node);
        if (!cohort_holds(q, qp))
            return take_out(q, qp, now);
        cohort_park(q, qp, now);
    }
    /* Rather than idle, try a pod before its backoff has ended. Errors keep theirs. */
    qp = cohort_next(q);
    if (!qp)
        return NULL;
    if (!qp->parked)
        qp->moved_by = labelled(EVENT_POP_FROM_BACKOFF);
    return take_out(q, qp, now);
}

struct berth_queued_pod *queue_pop_pod(struct queue *q, struct str key, int64_t now)
{
    queue_activate(q, key, now);
    struct berth_queued_pod *qp = queue_get(q, key);
    return qp && qp->place == QUEUE_ACTIVE ? take_out(q, qp, now) : NULL;
}

void queue_begin_binding(struct queue *q, struct berth_queued_pod *qp)
{
    cohort_succeeded(q, qp->cohort);
    if (qp->place == QUEUE_IN_FLIGHT)
        move_to(q, qp, QUEUE_BINDING, 0);
}

void queue_done(struct queue *q, struct berth_queued_pod *qp)
{
    leave_place(q, qp);
    if (!qp->deleted)
        map_del(&q->by_key, pod_info_key(qp->pod));
    free_queued(q, qp);
}

void queue_requeue(struct queue *q, struct berth_queued_pod *qp, int64_t now)
{
    struct cluster_event event = labelled(EVENT_ATTEMPT_FAILURE);
    if (qp->leaving)
        nominator_remove(&q->nominator, pod_info_key(qp->pod));
    if (qp->deleted || qp->leaving) {
        queue_done(q, qp);
        return;
    }
    if (qp->successor)
        qp->profile = TAKE(qp->successor);
    qp->error_count = queue_broke(qp) ? qp->error_count + 1 : 0;
    qp->unschedulable_count += !queue_broke(qp);
    qp->timestamp = now;
    qp->backoff_until = window_of(now + backoff_of(q, qp));
    qp->was_flushed = false;
    if (q->metrics)
        queue_count_rejectors(q, qp, 1);
    enum queue_strategy strategy = queue_strategy_in_flight(q, qp);
    queue_place(q, qp, strategy, &event, now);
    if (queue_says(q, 3))
        queue_log_requeued(q, qp, strategy);
}

void queue_activate(struct queue *q, struct str key, int64_t now)
{
    struct berth_queued_pod *qp = queue_get(q, key);
    struct cluster_event event = labelled(EVENT_FORCE_ACTIVATE);
    if (!qp)
        return;
    event.after = qp->pod->object;
    switch (qp->place) {
    case QUEUE_UNSCHEDULABLE:
        queue_place(q, qp, QUEUE_AT_ONCE, &event, now);
        break;
    case QUEUE_BACKOFF:
    case QUEUE_ERROR_BACKOFF:
        /* It passed its gates when it went there. */
        qp->moved_by = labelled(EVENT_FORCE_ACTIVATE);
        qp->urgent = true;
        move_to(q, qp, QUEUE_ACTIVE, now);
        if (queue_says(q, 5))
            queue_log_moved(q, qp, &qp->moved_by, false, true);
        break;
    case QUEUE_IN_FLIGHT:
        queue_keep_event(q, &event);
        break;
    case QUEUE_ACTIVE:
    case QUEUE_BINDING:
    case QUEUE_NOWHERE:
        break;
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_meant(const struct berth_queued_pod *qp, const struct cluster_event *event)
{
    return (!event->max_priority || qp->pod->priority <= *event->max_priority) &&
           (str_empty(event->except) || !str_eq(event->except, pod_info_key(qp->pod)));
}

void queue_event(struct queue *q, const struct cluster_event *event, int64_t now)
{
    if (!queue_cares(q, event)) {
        if (queue_says(q, 6))
            queue_log_unwanted(q, event);
        return;
    }
    int64_t began = q->metrics ? queue_begin_hints(q) : 0;
    /* Backwards: a pod that leaves is replaced by the last one, which has been looked at. */
    for (size_t i = q->unschedulable.n; i-- > 0;) {
        struct berth_queued_pod *qp = q->unschedulable.v[i];
        if (!is_meant(qp, event) || (qp->gate && !queue_gate_cares(q, qp, event)))
            continue;
        enum queue_strategy strategy = queue_strategy_for(q, qp, event);
        if (strategy != QUEUE_SKIP)
            queue_place(q, qp, strategy, event, now);
        else if (queue_says(q, 5))
            queue_log_event(q, event, qp);
    }
    if (q->metrics)
        queue_end_hints(q, event, began);
    queue_keep_event(q, event);
    if (q->n_in_flight && queue_says(q, 5))
        queue_log_event(q, event, NULL);
}

/* --- time ------------------------------------------------------------------------------------- */

static void flush_backoff(struct queue *q, struct heap *heap, int64_t now)
{
    struct heap_node *node;
    while ((node = heap_peek(heap)) && !backing_off(of_node(node), now)) {
        struct berth_queued_pod *qp = of_node(node);
        qp->moved_by = labelled(EVENT_BACKOFF_COMPLETE);
        move_to(q, qp, QUEUE_ACTIVE, now);
        if (queue_says(q, 5))
            queue_log_moved(q, qp, &qp->moved_by, false, true);
    }
}

static void flush_unschedulable(struct queue *q, int64_t now)
{
    struct cluster_event event = labelled(EVENT_UNSCHEDULABLE_TIMEOUT);
    bool any = false;
    for (size_t i = q->unschedulable.n; i-- > 0;) {
        struct berth_queued_pod *qp = q->unschedulable.v[i];
        if (now - qp->timestamp <= q->options.max_in_unschedulable)
            continue;
        any = true;
        if (qp->gate && !queue_gate_cares(q, qp, &event))
            continue;
        qp->was_flushed = true;
        queue_place(q, qp, QUEUE_AFTER_BACKOFF, &event, now);
    }
    /* An event like any other: upstream's pods in flight are told of it, too. */
    if (any)
        queue_keep_event(q, &event);
}

void queue_flush(struct queue *q, int64_t now)
{
    flush_backoff(q, &q->backoff, now);
    flush_backoff(q, &q->error_backoff, now);
    cohorts_flush(q, now);
    if (now >= q->next_unschedulable_flush) {
        flush_unschedulable(q, now);
        q->next_unschedulable_flush = now + UNSCHEDULABLE_FLUSH;
    }
}

int64_t queue_next_flush(const struct queue *q)
{
    int64_t at = q->unschedulable.n ? q->next_unschedulable_flush : INT64_MAX;
    const struct heap *heaps[] = {&q->backoff, &q->error_backoff};
    for (size_t i = 0; i < ARRAY_LEN(heaps); i++) {
        struct heap_node *node = heap_peek(heaps[i]);
        if (node)
            at = MIN(at, of_node(node)->backoff_until + BACKOFF_WINDOW);
    }
    return MIN(at, cohorts_next_flush(q));
}
