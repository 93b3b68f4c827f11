/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/queue.h"

#include "base/time.h"
#include "engine/status.h"

/* Backoffs end on whole seconds, so that pods of one second are ordered by QueueSort. */
#define BACKOFF_WINDOW      NSEC_PER_SEC
#define UNSCHEDULABLE_FLUSH (30 * NSEC_PER_SEC)

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
    return q->sort->plugin->less(q->sort->self, of_node(a), of_node(b));
}

static bool backoff_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    int64_t x = of_node(a)->backoff_until, y = of_node(b)->backoff_until;
    return x != y ? x < y : active_less(a, b, ctx);
}

void queue_init(struct queue *q, const struct queue_options *options, struct berth_status *scratch)
{
    *q = (struct queue){.options = *options, .scratch = scratch};
    heap_init(&q->active, active_less, q);
    heap_init(&q->backoff, backoff_less, q);
    heap_init(&q->error_backoff, backoff_less, q);
}

static void free_queued(struct berth_queued_pod *qp)
{
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
    map_each (e, &q->by_key)
        free_queued(e->value);
    map_release(&q->by_key);
}

void queue_add_profile(struct queue *q, struct profile *profile)
{
    if (!q->sort)
        q->sort = profile->at[POINT_QUEUE_SORT].v[0];
    for (size_t i = 0; i < profile->instances.n; i++) {
        const struct berth_handle *h = profile->instances.v[i];
        q->registrar.handle = h;
        if (h->plugin->events)
            h->plugin->events(h->self, &q->registrar);
        else
            vec_push(&q->registrar.events,
                     (struct event_registration){
                         .resource = BERTH_RESOURCE_ALL, .actions = BERTH_ACTION_ALL, .handle = h});
    }
}

/* --- places ----------------------------------------------------------------------------------- */

static void leave_place(struct queue *q, struct berth_queued_pod *qp)
{
    switch (qp->place) {
    case QUEUE_ACTIVE:
        heap_remove(&q->active, &qp->node);
        break;
    case QUEUE_BACKOFF:
        heap_remove(&q->backoff, &qp->node);
        break;
    case QUEUE_ERROR_BACKOFF:
        heap_remove(&q->error_backoff, &qp->node);
        break;
    case QUEUE_UNSCHEDULABLE:
        q->unschedulable.v[qp->unschedulable_at] = vec_last(&q->unschedulable);
        q->unschedulable.v[qp->unschedulable_at]->unschedulable_at = qp->unschedulable_at;
        q->unschedulable.n--;
        break;
    case QUEUE_IN_FLIGHT:
        q->in_flight--;
        break;
    case QUEUE_NOWHERE:
        break;
    }
    qp->place = QUEUE_NOWHERE;
}

static void enter_place(struct queue *q, struct berth_queued_pod *qp, enum queue_place place,
                        int64_t now)
{
    qp->place = place;
    switch (place) {
    case QUEUE_ACTIVE:
        qp->timestamp = now;
        heap_push(&q->active, &qp->node);
        break;
    case QUEUE_BACKOFF:
        heap_push(&q->backoff, &qp->node);
        break;
    case QUEUE_ERROR_BACKOFF:
        heap_push(&q->error_backoff, &qp->node);
        break;
    case QUEUE_UNSCHEDULABLE:
        if (!q->unschedulable.n)
            q->next_unschedulable_flush = now + UNSCHEDULABLE_FLUSH;
        qp->unschedulable_at = q->unschedulable.n;
        vec_push(&q->unschedulable, qp);
        break;
    case QUEUE_IN_FLIGHT:
        q->in_flight++;
        break;
    case QUEUE_NOWHERE:
        break;
    }
}

static void move_to(struct queue *q, struct berth_queued_pod *qp, enum queue_place place,
                    int64_t now)
{
    leave_place(q, qp);
    enter_place(q, qp, place, now);
}

/* PreEnqueue: every plugin must agree before a pod may become active. */
static bool admitted(struct queue *q, struct berth_queued_pod *qp)
{
    const handle_list *list = &qp->profile->at[POINT_PRE_ENQUEUE];
    qp->gated = false;
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(q->scratch);
        enum berth_code code = h->plugin->pre_enqueue(h->self, qp->pod, q->scratch);
        if (code == BERTH_SUCCESS)
            continue;
        qp->gated = true;
        plugin_set_add(&qp->rejectors, h->id);
        return false;
    }
    return true;
}

static void activate(struct queue *q, struct berth_queued_pod *qp, int64_t now)
{
    move_to(q, qp, admitted(q, qp) ? QUEUE_ACTIVE : QUEUE_UNSCHEDULABLE, now);
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
    return qp->backoff_until >= window_of(now) && qp->attempts > 0;
}

/* Out of unschedulablePods: to backoffQ while its backoff lasts, else to activeQ. */
static void release(struct queue *q, struct berth_queued_pod *qp, int64_t now)
{
    if (backing_off(qp, now) && admitted(q, qp))
        move_to(q, qp, QUEUE_BACKOFF, now);
    else
        activate(q, qp, now);
}

/* --- pods come and go ------------------------------------------------------------------------- */

void queue_add(struct queue *q, struct berth_pod *pod, struct profile *profile, int64_t now)
{
    struct berth_queued_pod *qp = xnew(struct berth_queued_pod);
    qp->pod = pod_info_ref(pod);
    qp->profile = profile;
    map_put(&q->by_key, pod_info_key(pod), qp);
    activate(q, qp, now);
}

struct berth_queued_pod *queue_get(const struct queue *q, struct str key)
{
    return map_get(&q->by_key, key);
}

static bool has_rejected(const struct berth_queued_pod *qp, const struct berth_handle *h)
{
    return h->profile == qp->profile && plugin_set_has(&qp->rejectors, h->id);
}

static bool resource_matches(enum berth_resource registered, enum berth_resource happened)
{
    if (registered == happened || registered == BERTH_RESOURCE_ALL)
        return true;
    return registered == BERTH_RESOURCE_POD &&
           (happened == BERTH_RESOURCE_ASSIGNED_POD || happened == BERTH_RESOURCE_UNSCHEDULED_POD);
}

/*
 * Does any plugin that rejected the pod think this event helps? *ret_at_once: one that answered
 * BERTH_PENDING does, so the pod need not wait out its backoff.
 */
static bool worth_requeueing(const struct queue *q, const struct berth_queued_pod *qp,
                             const struct cluster_event *event, struct object *before,
                             struct object *after, bool *ret_at_once)
{
    bool worth = false;
    *ret_at_once = false;
    for (size_t i = 0; i < q->registrar.events.n; i++) {
        const struct event_registration *r = &q->registrar.events.v[i];
        if (!resource_matches(r->resource, event->resource) || !(r->actions & event->action) ||
            !has_rejected(qp, r->handle))
            continue;
        if (r->hint && r->hint(r->handle->self, qp->pod, object_abi(before), object_abi(after)) ==
                           BERTH_QUEUE_SKIP)
            continue;
        worth = true;
        if (plugin_set_has(&qp->pending, r->handle->id)) {
            *ret_at_once = true;
            break;
        }
    }
    return worth;
}

static void apply_event(struct queue *q, struct berth_queued_pod *qp,
                        const struct cluster_event *event, struct object *before,
                        struct object *after, int64_t now)
{
    bool at_once;
    if (!worth_requeueing(q, qp, event, before, after, &at_once))
        return;
    if (at_once)
        activate(q, qp, now);
    else
        release(q, qp, now);
}

void queue_event(struct queue *q, const struct cluster_event *event, struct object *before,
                 struct object *after, int64_t now)
{
    /* Backwards: a pod that leaves is replaced by the last one, which has been looked at. */
    for (size_t i = q->unschedulable.n; i-- > 0;)
        apply_event(q, q->unschedulable.v[i], event, before, after, now);
}

void queue_update(struct queue *q, struct berth_pod *pod, struct object *before, unsigned actions,
                  int64_t now)
{
    struct berth_queued_pod *qp = queue_get(q, pod_info_key(pod));
    if (!qp)
        return;
    struct berth_pod *old = qp->pod;
    qp->pod = pod_info_ref(pod);
    map_put(&q->by_key, pod_info_key(pod), qp); /* the key's bytes are the new object's now */
    pod_info_unref(old);
    switch (qp->place) {
    case QUEUE_ACTIVE:
        heap_fix(&q->active, &qp->node);
        break;
    case QUEUE_BACKOFF:
        heap_fix(&q->backoff, &qp->node);
        break;
    case QUEUE_ERROR_BACKOFF:
        heap_fix(&q->error_backoff, &qp->node);
        break;
    case QUEUE_UNSCHEDULABLE: {
        struct cluster_event event = {BERTH_RESOURCE_UNSCHEDULED_POD, actions, "PodUpdate"};
        apply_event(q, qp, &event, before, pod->object, now);
        break;
    }
    case QUEUE_IN_FLIGHT:
    case QUEUE_NOWHERE:
        break;
    }
}

void queue_delete(struct queue *q, struct str key)
{
    struct berth_queued_pod *qp = map_del(&q->by_key, key);
    if (!qp)
        return;
    if (qp->place == QUEUE_IN_FLIGHT) {
        /* Whoever popped it still uses it; done or requeue will free it. */
        qp->deleted = true;
        return;
    }
    leave_place(q, qp);
    free_queued(qp);
}

/* --- attempts --------------------------------------------------------------------------------- */

struct berth_queued_pod *queue_pop(struct queue *q, int64_t now)
{
    struct heap_node *node = heap_peek(&q->active);
    /* Rather than idle, try a pod before its backoff has ended. Errors keep theirs. */
    if (!node)
        node = heap_peek(&q->backoff);
    if (!node)
        return NULL;
    struct berth_queued_pod *qp = of_node(node);
    move_to(q, qp, QUEUE_IN_FLIGHT, now);
    qp->attempts++;
    if (!qp->first_attempt)
        qp->first_attempt = now;
    return qp;
}

bool queue_ready(const struct queue *q)
{
    return heap_peek(&q->active) || heap_peek(&q->backoff);
}

void queue_done(struct queue *q, struct berth_queued_pod *qp)
{
    leave_place(q, qp);
    if (!qp->deleted)
        map_del(&q->by_key, pod_info_key(qp->pod));
    free_queued(qp);
}

void queue_requeue(struct queue *q, struct berth_queued_pod *qp, int64_t now)
{
    leave_place(q, qp);
    if (qp->deleted) {
        free_queued(qp);
        return;
    }
    bool broke = plugin_set_empty(&qp->rejectors);
    qp->error_count = broke ? qp->error_count + 1 : 0;
    qp->unschedulable_count += !broke;
    qp->timestamp = now;
    qp->backoff_until = window_of(now + backoff_of(q, qp));
    enter_place(q, qp, broke ? QUEUE_ERROR_BACKOFF : QUEUE_UNSCHEDULABLE, now);
}

/* --- time ------------------------------------------------------------------------------------- */

static void flush_backoff(struct queue *q, struct heap *heap, int64_t now)
{
    struct heap_node *node;
    while ((node = heap_peek(heap)) && !backing_off(of_node(node), now))
        move_to(q, of_node(node), QUEUE_ACTIVE, now);
}

static void flush_unschedulable(struct queue *q, int64_t now)
{
    for (size_t i = q->unschedulable.n; i-- > 0;) {
        struct berth_queued_pod *qp = q->unschedulable.v[i];
        if (!qp->gated && now - qp->timestamp > q->options.max_in_unschedulable)
            release(q, qp, now);
    }
}

void queue_flush(struct queue *q, int64_t now)
{
    flush_backoff(q, &q->backoff, now);
    flush_backoff(q, &q->error_backoff, now);
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
    return at;
}
