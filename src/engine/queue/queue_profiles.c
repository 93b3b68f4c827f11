/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_profiles.c - what the queue takes from profiles: the order of pods, the registered events
 * and the gates; and the pods when profiles are replaced by a reload.
 */
#include "engine/queue/queue.h"

/* --- registration ----------------------------------------------------------------------------- */

/*
 * A plugin that registers Node/Add without Node/UpdateNodeTaint gets the latter as well: a node may
 * be added with a taint that is removed later (upstream: buildQueueingHintMap).
 */
static void complete_registration(struct berth_registrar *r, size_t from)
{
    bool adds = false, taints = false;
    for (size_t i = from; i < r->events.n; i++) {
        if (r->events.v[i].resource != BERTH_RESOURCE_NODE)
            continue;
        adds |= (r->events.v[i].actions & BERTH_ACTION_ADD) != 0;
        taints |= (r->events.v[i].actions & BERTH_ACTION_UPDATE_NODE_TAINT) != 0;
    }
    if (adds && !taints)
        vec_push(&r->events, (struct event_registration){.resource = BERTH_RESOURCE_NODE,
                                                         .actions = BERTH_ACTION_UPDATE_NODE_TAINT,
                                                         .handle = r->handle});
}

void queue_add_profile(struct queue *q, struct profile *profile)
{
    if (!q->sort)
        q->sort = profile->at[POINT_QUEUE_SORT].v[0];
    for (size_t i = 0; i < profile->instances.n; i++) {
        const struct berth_handle *h = profile->instances.v[i];
        size_t from = q->registrar.events.n;
        q->registrar.handle = h;
        if (h->plugin->events)
            h->plugin->events(h->self, &q->registrar);
        else
            vec_push(&q->registrar.events,
                     (struct event_registration){
                         .resource = BERTH_RESOURCE_ALL, .actions = BERTH_ACTION_ALL, .handle = h});
        complete_registration(&q->registrar, from);
    }
}

void queue_forget_profiles(struct queue *q)
{
    q->sort = NULL;
    q->registrar.handle = NULL;
    vec_clear(&q->registrar.events);
}

/* --- replaced profiles ------------------------------------------------------------------------ */

struct following {
    struct queue *q;
    queue_successor_fn *fn;
    void *ctx;
    int64_t now;
    struct plugin_set same; /* of the current pod */
    struct queue_followed done;
};

static const struct berth_handle *gate_with_id(const struct profile *p, uint16_t id)
{
    const handle_list *list = &p->at[POINT_PRE_ENQUEUE];
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i]->id == id)
            return list->v[i];
    return NULL;
}

/* NULL: the pod's profile was removed. */
static struct profile *successor(struct following *f, const struct berth_queued_pod *qp)
{
    f->same = (struct plugin_set){0};
    struct profile *to = f->fn(f->ctx, qp->profile, &f->same);
    f->done.gone += !to;
    return to;
}

/* False: the pod's profile was removed. */
static bool follow(struct following *f, struct berth_queued_pod *qp)
{
    struct profile *to = successor(f, qp);
    if (to)
        qp->profile = to;
    return to;
}

/* Does the profile have a PreEnqueue plugin that is new or changed? */
static bool has_new_gates(const struct following *f, const struct profile *p)
{
    const handle_list *list = &p->at[POINT_PRE_ENQUEUE];
    for (size_t i = 0; i < list->n; i++)
        if (!plugin_set_has(&f->same, list->v[i]->id))
            return true;
    return false;
}

static void follow_ready(struct following *f, struct heap *heap)
{
    VEC(struct berth_queued_pod *) all = {0};
    for (size_t i = 0; i < heap->items.n; i++)
        vec_push(&all, CONTAINER_OF(heap->items.v[i], struct berth_queued_pod, node));
    for (size_t i = 0; i < all.n; i++)
        if (!follow(f, all.v[i]))
            queue_delete(f->q, pod_info_key(all.v[i]->pod));
        else if (has_new_gates(f, all.v[i]->profile))
            queue_check_gates(f->q, all.v[i], &event_reload, f->now);
    vec_release(&all);
}

/* The plugins that rejected or gate the pod work as before. */
static bool stays_rejected(const struct following *f, const struct berth_queued_pod *qp)
{
    return (!qp->gate || plugin_set_has(&f->same, qp->gate->id)) &&
           plugin_set_within(&qp->rejectors, &f->same) && plugin_set_within(&qp->pending, &f->same);
}

/*
 * Parked pods wait for the API server. They stay parked if the plugins that rejected them are the
 * same, so that a reload without a change decides nothing; otherwise they are tried again.
 */
static void follow_parked(struct following *f)
{
    VEC(struct berth_queued_pod *) all = {0};
    map_each (entry, &f->q->by_key) {
        struct berth_queued_pod *qp = entry->value;
        if (qp->parked)
            vec_push(&all, qp);
    }
    for (size_t i = 0; i < all.n; i++)
        if (!follow(f, all.v[i]))
            queue_delete(f->q, pod_info_key(all.v[i]->pod));
        else if (!stays_rejected(f, all.v[i]) || has_new_gates(f, all.v[i]->profile))
            cohort_unpark(&f->q->cohorts, all.v[i]);
    vec_release(&all);
    queue_activate_unparked(f->q);
}

static void follow_unschedulable(struct following *f, struct berth_queued_pod *qp)
{
    if (!follow(f, qp)) {
        queue_delete(f->q, pod_info_key(qp->pod));
        return;
    }
    bool stays = stays_rejected(f, qp);
    if (qp->gate)
        qp->gate = gate_with_id(qp->profile, qp->gate->id);
    if (stays)
        return;
    queue_place(f->q, qp, QUEUE_AFTER_BACKOFF, &event_reload, f->now);
    f->done.moved += qp->place != QUEUE_UNSCHEDULABLE;
}

/*
 * A pod in flight or binding keeps the profile of its cycle until it is requeued. Its successor is
 * set anew by each reload, since the profile of a reload in between may have been freed.
 */
static void follow_others(struct following *f)
{
    map_each (entry, &f->q->by_key) {
        struct berth_queued_pod *qp = entry->value;
        if (qp->place != QUEUE_IN_FLIGHT && qp->place != QUEUE_BINDING)
            continue;
        qp->successor = successor(f, qp);
        qp->leaving = !qp->successor;
    }
}

struct queue_followed queue_follow_profiles(struct queue *q, queue_successor_fn *fn, void *ctx,
                                            int64_t now)
{
    struct following f = {.q = q, .fn = fn, .ctx = ctx, .now = now};
    struct heap *heaps[] = {&q->active, &q->backoff, &q->error_backoff};
    follow_parked(&f);
    for (size_t i = 0; i < ARRAY_LEN(heaps); i++)
        heap_reorder(heaps[i]);
    cohorts_reorder(&q->cohorts);
    follow_others(&f);
    /* Backwards: the last pod, which has been visited, takes the index of one that leaves. */
    for (size_t i = q->unschedulable.n; i-- > 0;)
        follow_unschedulable(&f, q->unschedulable.v[i]);
    for (size_t i = 0; i < ARRAY_LEN(heaps); i++)
        follow_ready(&f, heaps[i]);
    return f.done;
}
