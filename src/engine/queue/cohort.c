/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/queue/cohort.h"

#include "base/time.h"
#include "codec/json.h"
#include "engine/queue/queue.h"

static struct berth_queued_pod *member_at(const struct heap *heap)
{
    struct heap_node *node = heap_peek(heap);
    return node ? CONTAINER_OF(node, struct berth_queued_pod, cohort_node) : NULL;
}

static struct berth_queued_pod *next_of(const struct cohort *c)
{
    struct berth_queued_pod *qp = member_at(&c->parked);
    return qp ? qp : member_at(&c->early);
}

/* --- the orders ------------------------------------------------------------------------------- */

static bool parked_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    return queue_active_less(ctx, CONTAINER_OF(a, struct berth_queued_pod, cohort_node),
                             CONTAINER_OF(b, struct berth_queued_pod, cohort_node));
}

static bool early_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    return queue_backoff_less(ctx, CONTAINER_OF(a, struct berth_queued_pod, cohort_node),
                              CONTAINER_OF(b, struct berth_queued_pod, cohort_node));
}

static bool ready_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    return queue_backoff_less(ctx, next_of(CONTAINER_OF(a, struct cohort, ready)),
                              next_of(CONTAINER_OF(b, struct cohort, ready)));
}

static bool held_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    (void)ctx;
    return CONTAINER_OF(a, struct cohort, held)->held_until <
           CONTAINER_OF(b, struct cohort, held)->held_until;
}

/* --- cohorts ---------------------------------------------------------------------------------- */

static void init(struct cohort *c, struct queue *q)
{
    heap_init(&c->early, early_less, q);
    heap_init(&c->parked, parked_less, q);
}

static void release(struct cohort *c)
{
    heap_release(&c->early);
    heap_release(&c->parked);
}

static struct str key_of(const uint64_t *key)
{
    return (struct str){(const char *)key, sizeof(*key)};
}

void cohorts_init(struct queue *q)
{
    struct cohorts *all = &q->cohorts;
    init(&all->loose, q);
    all->loose.loose = all->loose.fresh = true;
    heap_init(&all->ready, ready_less, q);
    heap_init(&all->held, held_less, q);
}

void cohorts_release(struct queue *q)
{
    struct cohorts *all = &q->cohorts;
    heap_release(&all->ready);
    heap_release(&all->held);
    map_each (e, &all->by_key) {
        struct cohort *c = e->value;
        release(c);
        free(c);
    }
    release(&all->loose);
    map_release(&all->by_key);
    map_release(&all->by_report);
}

static struct cohort *cohort_at(struct queue *q, uint64_t key)
{
    struct cohort *c = map_get(&q->cohorts.by_key, key_of(&key));
    if (c)
        return c;
    c = xnew(struct cohort);
    c->key = key;
    init(c, q);
    map_put(&q->cohorts.by_key, key_of(&c->key), c);
    return c;
}

static void settle(struct queue *q, struct cohort *c)
{
    if (c->loose || c->members || heap_contains(&c->held))
        return;
    map_del(&q->cohorts.by_key, key_of(&c->key));
    release(c);
    free(c);
}

static bool is_held(const struct cohort *c)
{
    return heap_contains(&c->held) && !c->overdue;
}

/* Something about the cohort has changed: is there one to try, and where does it stand? */
static void update(struct queue *q, struct cohort *c)
{
    struct heap *ready = &q->cohorts.ready;
    bool has = c->parked.items.n || (c->fresh && c->early.items.n);
    if (has && !is_held(c)) {
        if (heap_contains(&c->ready))
            heap_fix(ready, &c->ready);
        else
            heap_push(ready, &c->ready);
    } else if (heap_contains(&c->ready)) {
        heap_remove(ready, &c->ready);
    }
}

/* --- members ---------------------------------------------------------------------------------- */

void cohort_enter(struct queue *q, struct berth_queued_pod *qp)
{
    struct cohort *c = qp->cohort;
    if (heap_contains(&c->ready))
        heap_remove(&q->cohorts.ready, &c->ready);
    heap_push(&c->early, &qp->cohort_node);
    c->fresh = true;
    update(q, c);
}

void cohort_leave(struct queue *q, struct berth_queued_pod *qp)
{
    struct cohort *c = qp->cohort;
    /* Before its heaps change: while it stands in ready, it has one to compare. */
    if (heap_contains(&c->ready))
        heap_remove(&q->cohorts.ready, &c->ready);
    heap_remove(qp->parked ? &c->parked : &c->early, &qp->cohort_node);
    q->cohorts.n_parked -= qp->parked;
    qp->parked = false;
    update(q, c);
}

void cohort_fix(struct queue *q, struct berth_queued_pod *qp)
{
    struct cohort *c = qp->cohort;
    heap_fix(qp->parked ? &c->parked : &c->early, &qp->cohort_node);
    update(q, c);
}

void cohort_forget(struct queue *q, struct berth_queued_pod *qp)
{
    struct cohort *c = qp->cohort;
    c->members--;
    qp->cohort = NULL;
    settle(q, c);
}

static void join(struct queue *q, struct berth_queued_pod *qp, struct cohort *c)
{
    c->members++;
    cohort_forget(q, qp);
    qp->cohort = c;
}

/* --- who is alike ----------------------------------------------------------------------------- */

static void mix(uint64_t *key, uint64_t value)
{
    *key = hash_u64(*key ^ hash_u64(value));
}

/* What filters look at, as far as pods of one controller share it. */
static uint64_t shape_of(const struct berth_pod *pod)
{
    const struct pod_spec *spec = &pod->pod->spec;
    struct pod_spec shape = {
        .node_selector = spec->node_selector,
        .affinity = spec->affinity,
        .tolerations = spec->tolerations,
        .topology_spread_constraints = spec->topology_spread_constraints,
        .scheduler_name = spec->scheduler_name,
    };
    struct buf text = BUF_INIT;
    json_encode(&pod_spec_type, &shape, &text);
    uint64_t key = str_hash(buf_str(&text));
    buf_release(&text);
    mix(&key, str_hash(pod->pod->metadata.namespace));
    mix(&key, (uint64_t)pod->priority);
    mix(&key, (uint64_t)pod->requests.milli_cpu);
    mix(&key, (uint64_t)pod->requests.memory);
    mix(&key, (uint64_t)pod->requests.ephemeral_storage);
    for (size_t i = 0; i < pod->requests.scalars.n; i++) {
        mix(&key, pod->requests.scalars.v[i].name);
        mix(&key, (uint64_t)pod->requests.scalars.v[i].amount);
    }
    for (size_t i = 0; i < pod->ports.n; i++)
        mix(&key, (uint64_t)pod->ports.v[i].port);
    return key;
}

/* The shape of a pod changes with its generation only; where there is none it is looked at anew. */
static uint64_t shape(struct berth_queued_pod *qp)
{
    int64_t generation = qp->pod->pod->metadata.generation;
    if (!qp->shape || !generation || generation != qp->shape_generation) {
        qp->shape = shape_of(qp->pod);
        qp->shape_generation = generation;
    }
    return qp->shape;
}

static uint64_t alike(struct berth_queued_pod *qp)
{
    uint64_t key = shape(qp);
    mix(&key, str_hash((struct str){(const char *)&qp->rejectors, sizeof(qp->rejectors)}));
    mix(&key, str_hash((struct str){(const char *)&qp->pending, sizeof(qp->pending)}));
    return key;
}

/* --- reports ---------------------------------------------------------------------------------- */

static bool is_full(const struct queue *q)
{
    return q->cohorts.by_report.n >= COHORT_MAX_REPORTS;
}

static void forget_report(struct queue *q, struct cohort *c)
{
    if (c->report)
        map_del(&q->cohorts.by_report, key_of(&c->report));
    c->report = 0;
}

static void hold_until(struct queue *q, struct cohort *c, int64_t until)
{
    c->held_until = until;
    if (heap_contains(&c->held))
        heap_fix(&q->cohorts.held, &c->held);
    else
        heap_push(&q->cohorts.held, &c->held);
}

void queue_turned_down(struct queue *q, struct berth_queued_pod *qp, uint64_t report, int64_t now)
{
    if (!report) {
        join(q, qp, &q->cohorts.loose);
        return;
    }
    join(q, qp, cohort_at(q, alike(qp)));
    qp->cohort->fresh = false;
    if (qp->attempts > 1) {
        struct cohort *c = qp->cohort;
        forget_report(q, c);
        c->report = report;
        c->reported = now;
        c->overdue = false;
        map_put(&q->cohorts.by_report, key_of(&c->report), c);
        hold_until(q, c, now + COHORT_PATIENCE);
    }
    update(q, qp->cohort);
}

static void unpark(struct queue *q, struct berth_queued_pod *qp)
{
    cohort_leave(q, qp);
    qp->place = QUEUE_ACTIVE;
    heap_push(&q->active, &qp->node);
}

/* There is time for one more: in activeQ it does not stand behind those that are new. */
static void unpark_next(struct queue *q)
{
    struct heap_node *first = heap_peek(&q->cohorts.ready);
    if (!first || is_full(q))
        return;
    struct berth_queued_pod *next = next_of(CONTAINER_OF(first, struct cohort, ready));
    if (next->parked)
        unpark(q, next);
}

static void let_go(struct queue *q, struct cohort *c)
{
    forget_report(q, c);
    heap_remove(&q->cohorts.held, &c->held);
    update(q, c);
    settle(q, c);
    unpark_next(q);
}

static void let_go_until(struct queue *q, int64_t now)
{
    struct heap_node *node;
    while ((node = heap_peek(&q->cohorts.held))) {
        struct cohort *c = CONTAINER_OF(node, struct cohort, held);
        if (now < c->held_until)
            break;
        if (c->report && now < c->reported + COHORT_MAX_REPORT) {
            c->overdue = true;
            hold_until(q, c, c->reported + COHORT_MAX_REPORT);
            update(q, c);
            unpark_next(q);
        } else {
            let_go(q, c);
        }
    }
}

bool queue_report_done(struct queue *q, uint64_t report, int64_t now)
{
    struct cohort *c = map_get(&q->cohorts.by_report, key_of(&report));
    if (!c)
        return false;
    int64_t took = now - c->reported;
    forget_report(q, c);
    hold_until(q, c, c->overdue || took < COHORT_QUICK ? now : MIN(c->held_until, now + took));
    let_go_until(q, now);
    unpark_next(q); /* of another cohort, where there were too many reports */
    return true;
}

/* --- attempts --------------------------------------------------------------------------------- */

bool cohort_holds(const struct queue *q, const struct berth_queued_pod *qp)
{
    const struct cohort *c = qp->cohort;
    return !c->loose && !qp->urgent && (is_held(c) || is_full(q));
}

void cohort_park(struct queue *q, struct berth_queued_pod *qp, int64_t now)
{
    struct cohort *c = qp->cohort;
    heap_remove(&q->active, &qp->node);
    qp->place = QUEUE_BACKOFF;
    qp->parked = true;
    if (!q->cohorts.n_parked++)
        q->cohorts.next_unpark = now + COHORT_MAX_REPORT;
    if (heap_contains(&c->ready))
        heap_remove(&q->cohorts.ready, &c->ready);
    heap_push(&c->parked, &qp->cohort_node);
    update(q, c);
}

struct berth_queued_pod *cohort_next(const struct queue *q)
{
    const struct cohorts *all = &q->cohorts;
    struct heap_node *node = heap_peek(&all->ready);
    if (node && !is_full(q))
        return next_of(CONTAINER_OF(node, struct cohort, ready));
    return member_at(&all->loose.early);
}

void cohort_succeeded(struct queue *q, struct cohort *c)
{
    if (c->loose)
        return;
    while (c->parked.items.n)
        unpark(q, member_at(&c->parked));
    c->fresh = true;
    update(q, c);
}

/* --- time ------------------------------------------------------------------------------------- */

/* Where activeQ is never empty nobody looks for those who may go: they wait in there. */
static void unpark_ready(struct queue *q)
{
    const struct heap *ready = &q->cohorts.ready;
    for (size_t i = ready->items.n; i-- > 0;) {
        struct cohort *c = CONTAINER_OF(ready->items.v[i], struct cohort, ready);
        if (c->parked.items.n)
            unpark(q, member_at(&c->parked));
        i = MIN(i, ready->items.n);
    }
}

void cohorts_flush(struct queue *q, int64_t now)
{
    struct cohorts *all = &q->cohorts;
    let_go_until(q, now);
    if (!all->n_parked || now < all->next_unpark)
        return;
    all->next_unpark = now + COHORT_MAX_REPORT;
    if (!is_full(q))
        unpark_ready(q);
}

int64_t cohorts_next_flush(const struct queue *q)
{
    const struct cohorts *all = &q->cohorts;
    struct heap_node *node = heap_peek(&all->held);
    int64_t at = all->n_parked ? all->next_unpark : INT64_MAX;
    return node ? MIN(at, CONTAINER_OF(node, struct cohort, held)->held_until) : at;
}

void cohorts_unpark_all(struct queue *q)
{
    map_each (e, &q->cohorts.by_key) {
        struct cohort *c = e->value;
        while (c->parked.items.n)
            unpark(q, member_at(&c->parked));
    }
}

void cohorts_reorder(struct queue *q)
{
    map_each (e, &q->cohorts.by_key)
        heap_reorder(&((struct cohort *)e->value)->early);
    heap_reorder(&q->cohorts.loose.early);
    heap_reorder(&q->cohorts.ready);
}
