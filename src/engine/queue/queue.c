/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - the places of a pod, and the moves between them.
 *
 *     queue_add ----------> activeQ ----queue_pop----> in flight ---queue_begin_binding---> binding
 *                             ^  ^                      |                                    |
 *         backoff ends        |  |                      +---- queue_requeue <----------------+
 *     backoffQ ---------------+  |                             |
 *        ^                       | event, no backoff left      |
 *        +--- unschedulablePods -+ <---------------------------+ (or backoffQ, activeQ: by the
 *             event, backoff                                      events while it was in flight)
 *
 * Only leave_place and move_to change a place, apart from parking, which metrics do not count. A
 * pod that PreEnqueue rejects goes to unschedulablePods instead of activeQ or backoffQ.
 */
#include "engine/queue/queue.h"

#include "base/time.h"

/* Backoffs end on whole seconds; QueueSort orders pods within one (upstream: alignToWindow). */
#define BACKOFF_WINDOW      NSEC_PER_SEC
#define UNSCHEDULABLE_FLUSH (30 * NSEC_PER_SEC)
/* Longer than any process runs; adding it to a time does not overflow. */
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

static bool active_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    const struct queue *q = ctx;
    return queued_pod_active_less(q->sort, of_node(a), of_node(b));
}

static bool backoff_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    const struct queue *q = ctx;
    return queued_pod_backoff_less(q->sort, of_node(a), of_node(b));
}

void queue_init(struct queue *q, const struct queue_options *options)
{
    *q = (struct queue){.options = *options};
    status_init(&q->status);
    queue_set_backoff(q, options->initial_backoff, options->max_backoff);
    heap_init(&q->active, active_less, q);
    heap_init(&q->backoff, backoff_less, q);
    heap_init(&q->error_backoff, backoff_less, q);
    cohorts_init(&q->cohorts, &q->sort);
    nominator_init(&q->nominator);
}

void queue_set_backoff(struct queue *q, int64_t initial, int64_t max)
{
    q->options.initial_backoff = MIN(initial, MAX_BACKOFF);
    q->options.max_backoff = MIN(max, MAX_BACKOFF);
}

static void free_queued(struct queue *q, struct berth_queued_pod *qp)
{
    INVARIANT(qp->place == QUEUE_NOWHERE && !heap_contains(&qp->node));
    cohort_forget(&q->cohorts, qp);
    pod_info_unref(qp->pod);
    free(qp);
}

void queue_release(struct queue *q)
{
    /* Heaps are released before their elements: heap_release writes to them. */
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
    cohorts_release(&q->cohorts);
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

/* Every waiting pod is known by its key; deleted pods are in flight or binding. */
static UNUSED bool counts_agree(const struct queue *q)
{
    size_t waiting = q->active.items.n + q->backoff.items.n + q->error_backoff.items.n +
                     q->cohorts.n_parked + q->unschedulable.n;
    return waiting + q->cohorts.unparked.n <= q->by_key.n && q->n_gated <= q->unschedulable.n;
}

/* A pod is in the structures of its place and in no other; a gated pod is in unschedulablePods. */
static UNUSED bool place_agrees(const struct queue *q, const struct berth_queued_pod *qp)
{
    bool in_heap = heap_contains(&qp->node), in_cohort = heap_contains(&qp->cohort_node);
    switch (qp->place) {
    case QUEUE_ACTIVE:
        return in_heap && !in_cohort && !qp->parked && !qp->gate;
    case QUEUE_BACKOFF:
        return in_heap == !qp->parked && in_cohort && !qp->gate;
    case QUEUE_ERROR_BACKOFF:
        return in_heap && !in_cohort && !qp->parked && !qp->gate;
    case QUEUE_UNSCHEDULABLE:
        return !in_heap && !in_cohort && !qp->parked && qp->counted_gated == (qp->gate != NULL) &&
               qp->unschedulable_at < q->unschedulable.n &&
               q->unschedulable.v[qp->unschedulable_at] == qp;
    case QUEUE_IN_FLIGHT:
    case QUEUE_BINDING:
    case QUEUE_NOWHERE:
        return !in_heap && !in_cohort && !qp->parked && !qp->counted_gated;
    }
    return false;
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
        cohort_leave(&q->cohorts, qp);
        break;
    case QUEUE_ERROR_BACKOFF:
        heap_remove(&q->error_backoff, &qp->node);
        break;
    case QUEUE_UNSCHEDULABLE:
        INVARIANT(q->unschedulable.v[qp->unschedulable_at] == qp);
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
    INVARIANT(place_agrees(q, qp));
}

static void move_to(struct queue *q, struct berth_queued_pod *qp, enum queue_place place,
                    int64_t now)
{
    if (place == QUEUE_UNSCHEDULABLE && qp->place == place) {
        count_gated(q, qp, qp->gate != NULL);
        return; /* still gated: its metrics were counted when it entered */
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
        cohort_enter(&q->cohorts, qp);
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
    INVARIANT(place_agrees(q, qp) && counts_agree(q));
    if (q->metrics)
        queue_count_incoming(q, qp);
}

void queue_activate_unparked(struct queue *q)
{
    for (size_t i = 0; i < q->cohorts.unparked.n; i++) {
        struct berth_queued_pod *qp = q->cohorts.unparked.v[i];
        INVARIANT(qp->place == QUEUE_BACKOFF && !qp->parked);
        qp->place = QUEUE_ACTIVE;
        heap_push(&q->active, &qp->node);
        INVARIANT(place_agrees(q, qp));
    }
    vec_clear(&q->cohorts.unparked);
}

/* From activeQ to the parked members of its cohort. Not a move that metrics count. */
static void park(struct queue *q, struct berth_queued_pod *qp, int64_t now)
{
    heap_remove(&q->active, &qp->node);
    qp->place = QUEUE_BACKOFF;
    cohort_park(&q->cohorts, qp, now);
    INVARIANT(place_agrees(q, qp) && counts_agree(q));
}

/*
 * initial << (n - 1), at most max, where n counts consecutive errors, or all rejections if the last
 * attempt ended in one (upstream: getBackoffTime, calculateBackoffDuration).
 */
static int64_t backoff_of(const struct queue *q, const struct berth_queued_pod *qp)
{
    uint32_t n = qp->error_count ? qp->error_count : qp->unschedulable_count;
    int64_t backoff = q->options.initial_backoff;
    for (; n > 1 && backoff < q->options.max_backoff; n--)
        backoff *= 2;
    return MIN(backoff, q->options.max_backoff);
}

/* A backoff that ends within the current second has not ended (upstream: isPodBackingoff). */
static bool backing_off(const struct berth_queued_pod *qp, int64_t now)
{
    return qp->attempts > 0 && qp->backoff_until >= window_of(now);
}

/* Upstream: requeuePodWithQueueingStrategy. */
void queue_place(struct queue *q, struct berth_queued_pod *qp, enum queue_strategy strategy,
                 const struct cluster_event *event, int64_t now)
{
    enum queue_place to = QUEUE_UNSCHEDULABLE;
    /* Not popped early: members of a pod group, too. Upstream retries a gang without a pause. */
    bool never_early = queue_broke(qp) || qp->patient ||
                       (q->options.groups && qp->pod->pod->spec.scheduling_group);
    if (strategy != QUEUE_SKIP && queue_admits(q, qp)) {
        to = QUEUE_ACTIVE;
        if (strategy == QUEUE_AFTER_BACKOFF && backing_off(qp, now))
            to = never_early ? QUEUE_ERROR_BACKOFF : QUEUE_BACKOFF;
    }
    qp->urgent = strategy == QUEUE_AT_ONCE;
    qp->moved_by = (struct cluster_event){
        .resource = event->resource, .action = event->action, .label = event->label};
    bool was_unschedulable = qp->place == QUEUE_UNSCHEDULABLE;
    bool to_active = strategy == QUEUE_AT_ONCE || !backing_off(qp, now);
    move_to(q, qp, to, now);
    if (strategy != QUEUE_SKIP && queue_logs(q, 5))
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

/* --- objects ---------------------------------------------------------------------------------- */

/* Upstream: PreEnqueue and moveToActiveQ, which also adds the nomination: a gated pod has none. */
static void enter(struct queue *q, struct berth_queued_pod *qp, int64_t now)
{
    queue_place(q, qp, QUEUE_AT_ONCE, &pod_added, now);
    if (qp->place == QUEUE_ACTIVE)
        nominator_set(&q->nominator, qp->pod, qp->pod->pod->status.nominated_node_name);
}

void queue_begin_listing(struct queue *q)
{
    q->listing = true;
}

void queue_end_listing(struct queue *q, int64_t now)
{
    q->listing = false;
    /* Backwards: the last pod, which has been visited, takes the index of one that leaves. */
    for (size_t i = q->unschedulable.n; i-- > 0;)
        if (q->unschedulable.v[i]->gate)
            enter(q, q->unschedulable.v[i], now);
}

void queue_add(struct queue *q, struct berth_pod *pod, struct profile *profile, int64_t now)
{
    struct berth_queued_pod *qp = xnew(struct berth_queued_pod);
    qp->pod = pod_info_ref(pod);
    qp->profile = profile;
    qp->timestamp = now;
    cohort_add(&q->cohorts, qp);
    struct berth_queued_pod *other = map_put(&q->by_key, pod_info_key(pod), qp);
    INVARIANT(!other);
    (void)other;
    enter(q, qp, now);
}

struct berth_queued_pod *queue_get(const struct queue *q, struct str key)
{
    return map_get(&q->by_key, key);
}

static void replace_pod(struct queue *q, struct berth_queued_pod *qp, struct berth_pod *pod)
{
    struct berth_pod *old = qp->pod;
    qp->pod = pod_info_ref(pod);
    map_put(&q->by_key, pod_info_key(pod), qp); /* the key's bytes belong to the new object */
    /* In flight and binding, the cycle decides: an assumed and nominated pod would count twice. */
    if (qp->place != QUEUE_IN_FLIGHT && qp->place != QUEUE_BINDING)
        nominator_update(&q->nominator, old, pod);
    pod_info_unref(old);
}

/*
 * Upstream: Update. A pod in activeQ or backoffQ stays there; one in unschedulablePods is requeued
 * if a hint for its own change says so; for a pod in flight the change is kept as an event.
 */
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
        cohort_fix(&q->cohorts, qp);

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
        if (qp->place != QUEUE_UNSCHEDULABLE && queue_logs(q, 5))
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
        /* Its cycle still uses it; queue_done or queue_requeue frees it. */
        qp->deleted = true;
        return;
    }
    if (q->metrics)
        queue_count_rejectors(q, qp, -1);
    leave_place(q, qp);
    free_queued(q, qp);
}

void queue_restore(struct queue *q, struct berth_queued_pod *qp, struct berth_pod *pod,
                   struct profile *profile)
{
    INVARIANT(qp->deleted && !queue_get(q, pod_info_key(pod)));
    qp->deleted = qp->leaving = false;
    qp->successor = profile != qp->profile ? profile : NULL;
    replace_pod(q, qp, pod);
}

/* --- attempts --------------------------------------------------------------------------------- */

static struct berth_queued_pod *take_out(struct queue *q, struct berth_queued_pod *qp, int64_t now)
{
    INVARIANT(qp->place == QUEUE_ACTIVE || qp->place == QUEUE_BACKOFF);
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
        if (!cohort_holds(&q->cohorts, qp))
            return take_out(q, qp, now);
        park(q, qp, now);
    }
    /* Upstream (SchedulerPopFromBackoffQ): while activeQ is empty, pods are popped before their
     * backoff ends; pods that met an error are not. */
    qp = cohort_next(&q->cohorts);
    if (!qp)
        return NULL;
    if (!qp->parked)
        qp->moved_by = labelled(EVENT_POP_FROM_BACKOFF);
    return take_out(q, qp, now);
}

/* Upstream: PopSpecificPod, for members of a pod group. */
struct berth_queued_pod *queue_pop_pod(struct queue *q, struct str key, int64_t now)
{
    queue_activate(q, key, now);
    struct berth_queued_pod *qp = queue_get(q, key);
    return qp && qp->place == QUEUE_ACTIVE ? take_out(q, qp, now) : NULL;
}

void queue_begin_binding(struct queue *q, struct berth_queued_pod *qp)
{
    INVARIANT(qp->place == QUEUE_IN_FLIGHT || qp->place == QUEUE_BINDING);
    cohort_succeeded(&q->cohorts, qp->cohort);
    queue_activate_unparked(q);
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

void queue_turned_down(struct queue *q, struct berth_queued_pod *qp, uint64_t report, int64_t now)
{
    INVARIANT(!heap_contains(&qp->cohort_node));
    cohort_turned_down(&q->cohorts, qp, report, now);
}

bool queue_report_done(struct queue *q, uint64_t report, int64_t now)
{
    bool awaited = cohort_report_done(&q->cohorts, report, now);
    queue_activate_unparked(q);
    return awaited;
}

/* Upstream: AddUnschedulableIfNotPresent. */
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
    if (queue_logs(q, 3))
        queue_log_requeued(q, qp, strategy);
}

/* Upstream: Activate; for a pod in flight the event ForceActivate is kept. */
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
        /* PreEnqueue admitted the pod when it entered backoffQ; upstream does not repeat it. */
        qp->moved_by = labelled(EVENT_FORCE_ACTIVATE);
        qp->urgent = true;
        move_to(q, qp, QUEUE_ACTIVE, now);
        if (queue_logs(q, 5))
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

/* Upstream: the preCheck of MoveAllToActiveOrBackoffQueue. */
static bool is_meant(const struct berth_queued_pod *qp, const struct cluster_event *event)
{
    return (!event->max_priority || qp->pod->priority <= *event->max_priority) &&
           (str_empty(event->except) || !str_eq(event->except, pod_info_key(qp->pod)));
}

/* Upstream: movePodsToActiveOrBackoffQueue. */
void queue_event(struct queue *q, const struct cluster_event *event, int64_t now)
{
    if (!queue_is_of_interest(q, event)) {
        if (queue_logs(q, 6))
            queue_log_not_of_interest(q, event);
        return;
    }
    if (q->listing)
        return;
    int64_t began = q->metrics ? queue_begin_hints(q) : 0;
    /* Backwards: the last pod, which has been visited, takes the index of one that leaves. */
    for (size_t i = q->unschedulable.n; i-- > 0;) {
        struct berth_queued_pod *qp = q->unschedulable.v[i];
        if (!is_meant(qp, event) || (qp->gate && !queue_gate_registered(q, qp, event)))
            continue;
        enum queue_strategy strategy = queue_strategy_for(q, qp, event);
        if (strategy != QUEUE_SKIP)
            queue_place(q, qp, strategy, event, now);
        else if (queue_logs(q, 5))
            queue_log_event(q, event, qp);
    }
    if (q->metrics)
        queue_end_hints(q, event, began);
    queue_keep_event(q, event);
    if (q->n_in_flight && queue_logs(q, 5))
        queue_log_event(q, event, NULL);
}

/* --- time ------------------------------------------------------------------------------------- */

/* Upstream: flushBackoffQCompleted. */
static void flush_backoff(struct queue *q, struct heap *heap, int64_t now)
{
    struct heap_node *node;
    while ((node = heap_peek(heap)) && !backing_off(of_node(node), now)) {
        struct berth_queued_pod *qp = of_node(node);
        qp->moved_by = labelled(EVENT_BACKOFF_COMPLETE);
        move_to(q, qp, QUEUE_ACTIVE, now);
        if (queue_logs(q, 5))
            queue_log_moved(q, qp, &qp->moved_by, false, true);
    }
}

/* Upstream: flushUnschedulablePodsLeftover. */
static void flush_unschedulable(struct queue *q, int64_t now)
{
    struct cluster_event event = labelled(EVENT_UNSCHEDULABLE_TIMEOUT);
    bool any = false;
    for (size_t i = q->unschedulable.n; i-- > 0;) {
        struct berth_queued_pod *qp = q->unschedulable.v[i];
        if (now - qp->timestamp <= q->options.max_in_unschedulable)
            continue;
        any = true;
        if (qp->gate && !queue_gate_registered(q, qp, &event))
            continue;
        qp->was_flushed = true;
        queue_place(q, qp, QUEUE_AFTER_BACKOFF, &event, now);
    }
    /* As upstream, which handles the timeout as an event, also for pods in flight. */
    if (any)
        queue_keep_event(q, &event);
}

void queue_flush(struct queue *q, int64_t now)
{
    flush_backoff(q, &q->backoff, now);
    flush_backoff(q, &q->error_backoff, now);
    cohorts_flush(&q->cohorts, now);
    queue_activate_unparked(q);
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
    return MIN(at, cohorts_next_flush(&q->cohorts));
}
