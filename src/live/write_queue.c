/* SPDX-License-Identifier: Apache-2.0 */
#include "live/write_queue.h"

#include "base/map.h"
#include "kube/backoff.h"

/* Upstream's default limit of all its requests (clientConnection.qps and burst). */
#define STATUS_QPS        50
#define STATUS_BURST      100
/* Statuses get at least one in STATUS_SHARE of the rate. */
#define STATUS_SHARE      5
/* Limit of statuses in flight, slow ones included. */
#define MAX_SLOW_STATUSES 8

/* An object with writes, or with a server version that the watch has not shown yet. */
struct write_object {
    struct queued_write *unsent; /* in its class' list unless `sent` is set */
    struct queued_write *sent;   /* in flight */
    struct object *known;        /* as the server returned it; NULL once the watch has shown it */
    size_t n_uid;
    char uid[];
};

struct write_list {
    struct queued_write *first, **end;
};

/*
 * Invariants: an object is in `objects` while it has a write or a known version. An unsent write is
 * in the list of its class exactly if no write of its object is in flight.
 */
struct write_queue {
    struct rest_client *client;
    struct loop *loop;
    struct map objects; /* by UID */
    struct write_list lists[WRITE_CLASS_COUNT];
    size_t n_unsent, n_sent[WRITE_CLASS_COUNT];
    struct ratelimit status_limit;
    int64_t next_status; /* no later than this, whatever the limit says */
    size_t max_statuses;
    int64_t patience, last_status; /* last_status: when one was sent last */
    int64_t refresh_after;
    struct loop_task pump;
    struct loop_timer timer;
};

/* --- lists ------------------------------------------------------------------------------------ */

static void list_add(struct write_list *list, struct queued_write *w)
{
    w->next = NULL;
    w->prev = list->end;
    *list->end = w;
    list->end = &w->next;
}

static void list_remove(struct write_list *list, struct queued_write *w)
{
    *w->prev = w->next;
    if (w->next)
        w->next->prev = w->prev;
    else
        list->end = w->prev;
    w->prev = NULL;
}

/* Puts w in the place of old. */
static void list_replace(struct write_list *list, struct queued_write *old, struct queued_write *w)
{
    w->next = old->next;
    w->prev = old->prev;
    *w->prev = w;
    if (w->next)
        w->next->prev = &w->next;
    else
        list->end = &w->next;
    old->prev = NULL;
}

/* --- objects ---------------------------------------------------------------------------------- */

static struct str uid_of(const struct write_object *o)
{
    return (struct str){o->uid, o->n_uid};
}

static struct write_object *object_at(struct write_queue *q, struct str uid)
{
    struct write_object *o = map_get(&q->objects, uid);

    if (o)
        return o;
    o = xcalloc(1, sizeof(*o) + uid.n);
    if (uid.n)
        memcpy(o->uid, uid.p, uid.n);
    o->n_uid = uid.n;
    map_put(&q->objects, uid_of(o), o);
    return o;
}

/* Frees the entry if nothing refers to it any more. */
static void settle(struct write_queue *q, struct write_object *o)
{
    if (o->unsent || o->sent || o->known)
        return;
    map_del(&q->objects, uid_of(o));
    free(o);
}

/* Resource versions are compared as numbers. If one is not a number, b counts as newer. */
static bool is_newer(const struct object *a, const struct object *b)
{
    uint64_t x, y;

    return str_to_u64(object_meta(a)->resource_version, &x) &&
           str_to_u64(object_meta(b)->resource_version, &y) && x > y;
}

void write_queue_set_known(struct write_queue *q, struct object *object)
{
    struct write_object *o = object_at(q, object_meta(object)->uid);

    object_unref(o->known);
    o->known = object_ref(object);
}

struct object *write_queue_newest(const struct write_queue *q, struct object *object)
{
    const struct write_object *o = map_get(&q->objects, object_meta(object)->uid);

    return o && o->known && is_newer(o->known, object) ? o->known : object;
}

void write_queue_observed(struct write_queue *q, const struct object *object, bool gone)
{
    struct write_object *o = q->objects.n ? map_get(&q->objects, object_meta(object)->uid) : NULL;

    if (!o || !o->known || (!gone && is_newer(o->known, object)))
        return;
    object_unref(TAKE(o->known));
    settle(q, o);
}

/* --- sending ---------------------------------------------------------------------------------- */

static bool is_status(enum write_class class)
{
    return class == WRITE_CLASS_STATUS || class == WRITE_CLASS_REFRESH;
}

/* Time until the first write of the class may be sent; INT64_MAX: when one in flight ends. */
static int64_t wait_of(const struct write_queue *q, enum write_class class)
{
    int64_t wait = rest_client_next_call(q->client);
    size_t n = q->n_sent[WRITE_CLASS_STATUS] + q->n_sent[WRITE_CLASS_REFRESH];

    if (!is_status(class))
        return wait;

    int64_t now = loop_now(q->loop);
    int64_t limited = MIN(ratelimit_peek(&q->status_limit, now), MAX(q->next_status - now, 0));

    if (n >= MAX(q->max_statuses, (size_t)MAX_SLOW_STATUSES))
        return INT64_MAX;
    if (n >= q->max_statuses)
        wait = MAX(wait, q->last_status + q->patience - now);
    if (class == WRITE_CLASS_REFRESH)
        wait = MAX(wait, q->refresh_after - now);
    return MAX(wait, limited);
}

static void take_unsent(struct write_queue *q, struct queued_write *w)
{
    if (w->prev)
        list_remove(&q->lists[w->class], w);
    w->object->unsent = NULL;
    q->n_unsent--;
}

static void drop(struct write_queue *q, struct queued_write *w)
{
    struct write_object *o = w->object;

    take_unsent(q, w);
    w->type->drop(w);
    settle(q, o);
}

static void start(struct write_queue *q, struct queued_write *w)
{
    take_unsent(q, w);
    w->object->sent = w;
    q->n_sent[w->class]++;
    ratelimit_spend(&q->status_limit, loop_now(q->loop));
    if (is_status(w->class)) {
        q->last_status = loop_now(q->loop);
        q->next_status = q->last_status + STATUS_SHARE * q->status_limit.interval;
    }
    w->type->start(w);
}

/* Sends the writes of a class that may go now. Returns the time until the next one may. */
static int64_t pump_class(struct write_queue *q, enum write_class class)
{
    struct queued_write *w;

    while ((w = q->lists[class].first)) {
        if (w->type->is_redundant(w)) {
            drop(q, w);
            continue;
        }
        int64_t wait = wait_of(q, class);

        if (wait > 0)
            return wait;
        start(q, w);
    }
    return INT64_MAX;
}

static void pump(struct write_queue *q)
{
    int64_t wait = INT64_MAX;

    for (int class = 0; class < WRITE_CLASS_COUNT; class ++)
        wait = MIN(wait, pump_class(q, class));
    if (wait != INT64_MAX)
        loop_timer_set(&q->timer, wait);
}

static void on_pump(struct loop_task *task)
{
    pump(CONTAINER_OF(task, struct write_queue, pump));
}

static void on_timer(struct loop_timer *timer)
{
    pump(CONTAINER_OF(timer, struct write_queue, timer));
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Merges two unsent writes of one type. */
static void merge(struct write_queue *q, struct queued_write *newer, struct queued_write *older)
{
    struct write_object *o = older->object;
    struct queued_write place = *older;
    struct queued_write *both = newer->type->merge(newer, older);

    if (!both)
        both = newer;
    both->object = o;
    both->prev = NULL;
    o->unsent = both;
    /* A write that has become more urgent goes to the end of its new class. */
    if (!place.prev)
        return;
    if (both->class >= place.class) {
        both->class = place.class;
        list_replace(&q->lists[place.class], &place, both);
    } else {
        list_remove(&q->lists[place.class], &place);
        list_add(&q->lists[both->class], both);
    }
}

void write_queue_add(struct write_queue *q, struct queued_write *w)
{
    struct write_object *o = object_at(q, w->uid);
    struct queued_write *older = o->unsent;

    loop_task_schedule(q->loop, &q->pump);
    if (older && older->type == w->type) {
        merge(q, w, older);
        return;
    }
    if (older && older->type->relevance > w->type->relevance) {
        w->type->drop(w);
        return;
    }
    if (older) {
        take_unsent(q, older);
        older->type->drop(older);
    }
    w->object = o;
    w->prev = NULL;
    o->unsent = w;
    q->n_unsent++;
    if (!o->sent)
        list_add(&q->lists[w->class], w);
}

void write_queue_done(struct write_queue *q, struct queued_write *w)
{
    struct write_object *o = w->object;

    int64_t now = loop_now(q->loop);

    if (is_status(w->class))
        q->refresh_after = now + MIN(now - q->last_status, q->patience);
    o->sent = NULL;
    q->n_sent[w->class]--;
    if (o->unsent)
        list_add(&q->lists[o->unsent->class], o->unsent);
    settle(q, o);
    loop_task_schedule(q->loop, &q->pump);
}

size_t write_queue_unsent(const struct write_queue *q)
{
    return q->n_unsent;
}

size_t write_queue_urgent(const struct write_queue *q)
{
    return q->n_sent[WRITE_CLASS_BINDING] + q->n_sent[WRITE_CLASS_PROMPT];
}

/* --- lifecycle -------------------------------------------------------------------------------- */

struct write_queue *write_queue_new(struct rest_client *client,
                                    const struct write_queue_options *options)
{
    struct write_queue *q = xnew(struct write_queue);

    q->client = client;
    q->loop = rest_client_loop(client);
    for (int i = 0; i < WRITE_CLASS_COUNT; i++)
        q->lists[i].end = &q->lists[i].first;
    q->max_statuses = options->max_statuses ? options->max_statuses : 1;
    q->patience = options->patience ? options->patience : NSEC_PER_SEC;
    ratelimit_init(&q->status_limit, options->status_qps != 0 ? options->status_qps : STATUS_QPS,
                   options->status_burst ? options->status_burst : STATUS_BURST, loop_now(q->loop));
    loop_task_init(&q->pump, on_pump);
    loop_timer_init(&q->timer, q->loop, on_timer);
    return q;
}

struct write_queue *write_queue_free(struct write_queue *q)
{
    if (!q)
        return NULL;
    loop_task_cancel(q->loop, &q->pump);
    loop_timer_stop(&q->timer);
    map_each (e, &q->objects) {
        struct write_object *o = e->value;

        if (o->unsent)
            o->unsent->type->drop(o->unsent);
        object_unref(o->known);
        free(o);
    }
    map_release(&q->objects);
    free(q);
    return NULL;
}
