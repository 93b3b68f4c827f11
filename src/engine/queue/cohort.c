/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cohort.c - the heaps of cohorts, and the reports that hold them.
 *
 * A cohort is in `held` from a failed retry until the report of it has ended and the rest is over.
 * It is in `ready` if it has a member to try and is not held. A member in backoffQ is in `early`
 * while its backoff lasts, or in `parked` after it; a pod in any other place is in neither.
 */
#include "engine/queue/cohort.h"

#include "base/time.h"
#include "codec/json.h"
#include "engine/queue/queued_pod.h"

static struct berth_queued_pod *member_of(const struct heap_node *node)
{
    return CONTAINER_OF(node, struct berth_queued_pod, cohort_node);
}

static struct berth_queued_pod *member_at(const struct heap *heap)
{
    struct heap_node *node = heap_peek(heap);
    return node ? member_of(node) : NULL;
}

/* A parked member is ready; it precedes one whose backoff has not ended. */
static struct berth_queued_pod *next_of(const struct cohort *c)
{
    struct berth_queued_pod *qp = member_at(&c->parked);
    return qp ? qp : member_at(&c->early);
}

/* --- orders ----------------------------------------------------------------------------------- */

static const struct berth_handle *sort_of(const struct cohorts *all)
{
    return *all->sort;
}

static bool parked_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    return queued_pod_active_less(sort_of(ctx), member_of(a), member_of(b));
}

static bool early_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    return queued_pod_backoff_less(sort_of(ctx), member_of(a), member_of(b));
}

static bool ready_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    return queued_pod_backoff_less(sort_of(ctx), next_of(CONTAINER_OF(a, struct cohort, ready)),
                                   next_of(CONTAINER_OF(b, struct cohort, ready)));
}

static bool held_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    (void)ctx;
    return CONTAINER_OF(a, struct cohort, held)->held_until <
           CONTAINER_OF(b, struct cohort, held)->held_until;
}

/* --- cohorts ---------------------------------------------------------------------------------- */

static void init(struct cohort *c, struct cohorts *all)
{
    heap_init(&c->early, early_less, all);
    heap_init(&c->parked, parked_less, all);
}

static void release(struct cohort *c)
{
    heap_release(&c->early);
    heap_release(&c->parked);
}

void cohorts_init(struct cohorts *all, const struct berth_handle *const *sort)
{
    *all = (struct cohorts){.sort = sort};
    init(&all->loose, all);
    all->loose.loose = all->loose.fresh = true;
    heap_init(&all->ready, ready_less, all);
    heap_init(&all->held, held_less, all);
}

void cohorts_release(struct cohorts *all)
{
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
    vec_release(&all->unparked);
}

static struct cohort *cohort_at(struct cohorts *all, uint64_t key)
{
    struct cohort *c = map_get(&all->by_key, map_number_key(&key));
    if (c)
        return c;
    c = xnew(struct cohort);
    c->key = key;
    init(c, all);
    map_put(&all->by_key, map_number_key(&c->key), c);
    return c;
}

/* Frees the cohort if it has neither a member nor a report in progress. */
static void settle(struct cohorts *all, struct cohort *c)
{
    if (c->loose || c->members || heap_contains(&c->held))
        return;
    INVARIANT(!c->early.items.n && !c->parked.items.n);
    INVARIANT(!c->report && !heap_contains(&c->ready));
    map_del(&all->by_key, map_number_key(&c->key));
    release(c);
    free(c);
}

static bool is_held(const struct cohort *c)
{
    return heap_contains(&c->held) && !c->overdue;
}

/*
 * Call after any change of a cohort. A cohort is in `ready` if and only if it has a member to try
 * and is not held.
 */
static void update(struct cohorts *all, struct cohort *c)
{
    struct heap *ready = &all->ready;
    INVARIANT(c->members >= c->early.items.n + c->parked.items.n);
    INVARIANT(all->n_parked >= c->parked.items.n);
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

/* ready_less compares the next members, so a cohort leaves `ready` before its heaps change. */
static void leave_ready(struct cohorts *all, struct cohort *c)
{
    if (heap_contains(&c->ready))
        heap_remove(&all->ready, &c->ready);
}

void cohort_add(struct cohorts *all, struct berth_queued_pod *qp)
{
    qp->cohort = &all->loose;
    qp->cohort->members++;
}

void cohort_enter(struct cohorts *all, struct berth_queued_pod *qp)
{
    struct cohort *c = qp->cohort;
    INVARIANT(!qp->parked);
    leave_ready(all, c);
    heap_push(&c->early, &qp->cohort_node);
    c->fresh = true;
    update(all, c);
}

void cohort_leave(struct cohorts *all, struct berth_queued_pod *qp)
{
    struct cohort *c = qp->cohort;
    leave_ready(all, c);
    heap_remove(qp->parked ? &c->parked : &c->early, &qp->cohort_node);
    INVARIANT(all->n_parked >= qp->parked);
    all->n_parked -= qp->parked;
    qp->parked = false;
    update(all, c);
}

void cohort_fix(struct cohorts *all, struct berth_queued_pod *qp)
{
    struct cohort *c = qp->cohort;
    heap_fix(qp->parked ? &c->parked : &c->early, &qp->cohort_node);
    update(all, c);
}

void cohort_forget(struct cohorts *all, struct berth_queued_pod *qp)
{
    struct cohort *c = qp->cohort;
    INVARIANT(!heap_contains(&qp->cohort_node) && c->members > 0);
    c->members--;
    qp->cohort = NULL;
    settle(all, c);
}

static void join(struct cohorts *all, struct berth_queued_pod *qp, struct cohort *c)
{
    /* First: `c` may be the cohort that the pod is in already, with no other member. */
    c->members++;
    cohort_forget(all, qp);
    qp->cohort = c;
}

/* --- keys of cohorts -------------------------------------------------------------------------- */

static void mix(uint64_t *key, uint64_t value)
{
    *key = hash_u64(*key ^ hash_u64(value));
}

/* A hash of the fields that filters read and that pods of one controller share. */
static uint64_t shape_of(const struct berth_pod *pod)
{
    const struct pod_spec *spec = &pod->pod->spec;
    struct pod_spec shape = {
        .node_selector = spec->node_selector,
        .affinity = spec->affinity,
        .tolerations = spec->tolerations,
        .topology_spread_constraints = spec->topology_spread_constraints,
        .resource_claims = spec->resource_claims,
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
    /* Of volumes only what plugins read: the names of token volumes are random. */
    for (size_t i = 0; i < pod->claims.n; i++)
        mix(&key, pod->claims.v[i]);
    for (size_t i = 0; i < spec->volumes.n; i++)
        if (spec->volumes.v[i].source.csi)
            mix(&key, str_hash(spec->volumes.v[i].source.csi->driver));
    return key;
}

/* Cached by metadata.generation, which changes with the spec; without one, computed each time. */
static uint64_t shape(struct berth_queued_pod *qp)
{
    int64_t generation = qp->pod->pod->metadata.generation;
    if (!qp->shape || !generation || generation != qp->shape_generation) {
        qp->shape = shape_of(qp->pod);
        qp->shape_generation = generation;
    }
    return qp->shape;
}

static uint64_t cohort_key(struct berth_queued_pod *qp)
{
    uint64_t key = shape(qp);
    mix(&key, str_hash((struct str){(const char *)&qp->rejectors, sizeof(qp->rejectors)}));
    mix(&key, str_hash((struct str){(const char *)&qp->pending, sizeof(qp->pending)}));
    return key;
}

/* --- reports ---------------------------------------------------------------------------------- */

static bool is_full(const struct cohorts *all)
{
    return all->by_report.n >= COHORT_MAX_REPORTS;
}

static void forget_report(struct cohorts *all, struct cohort *c)
{
    if (c->report)
        map_del(&all->by_report, map_number_key(&c->report));
    c->report = 0;
}

static void hold_until(struct cohorts *all, struct cohort *c, int64_t until)
{
    c->held_until = until;
    if (heap_contains(&c->held))
        heap_fix(&all->held, &c->held);
    else
        heap_push(&all->held, &c->held);
}

void cohort_turned_down(struct cohorts *all, struct berth_queued_pod *qp, uint64_t report,
                        int64_t now)
{
    if (!report) {
        join(all, qp, &all->loose);
        return;
    }
    join(all, qp, cohort_at(all, cohort_key(qp)));
    qp->cohort->fresh = false;
    if (qp->attempts > 1) {
        struct cohort *c = qp->cohort;
        forget_report(all, c);
        c->report = report;
        c->reported = now;
        c->overdue = false;
        map_put(&all->by_report, map_number_key(&c->report), c);
        hold_until(all, c, now + COHORT_PATIENCE);
    }
    update(all, qp->cohort);
}

void cohort_unpark(struct cohorts *all, struct berth_queued_pod *qp)
{
    INVARIANT(qp->parked);
    cohort_leave(all, qp);
    vec_push(&all->unparked, qp);
}

/* One more report is possible: in activeQ the pod competes with new pods by QueueSort. */
static void unpark_next(struct cohorts *all)
{
    struct heap_node *first = heap_peek(&all->ready);
    if (!first || is_full(all))
        return;
    struct berth_queued_pod *next = next_of(CONTAINER_OF(first, struct cohort, ready));
    if (next->parked)
        cohort_unpark(all, next);
}

static void end_hold(struct cohorts *all, struct cohort *c)
{
    forget_report(all, c);
    heap_remove(&all->held, &c->held);
    update(all, c);
    settle(all, c);
    unpark_next(all);
}

static void end_holds(struct cohorts *all, int64_t now)
{
    struct heap_node *node;
    while ((node = heap_peek(&all->held))) {
        struct cohort *c = CONTAINER_OF(node, struct cohort, held);
        if (now < c->held_until)
            break;
        if (c->report && now < c->reported + COHORT_MAX_REPORT) {
            c->overdue = true;
            hold_until(all, c, c->reported + COHORT_MAX_REPORT);
            update(all, c);
            unpark_next(all);
        } else {
            end_hold(all, c);
        }
    }
}

bool cohort_report_done(struct cohorts *all, uint64_t report, int64_t now)
{
    struct cohort *c = map_get(&all->by_report, map_number_key(&report));
    if (!c)
        return false;
    int64_t took = now - c->reported;
    forget_report(all, c);
    hold_until(all, c, c->overdue || took < COHORT_QUICK ? now : MIN(c->held_until, now + took));
    end_holds(all, now);
    unpark_next(all); /* of any cohort: there may have been too many reports */
    return true;
}

/* --- attempts --------------------------------------------------------------------------------- */

bool cohort_holds(const struct cohorts *all, const struct berth_queued_pod *qp)
{
    const struct cohort *c = qp->cohort;
    return !c->loose && !qp->urgent && (is_held(c) || is_full(all));
}

void cohort_park(struct cohorts *all, struct berth_queued_pod *qp, int64_t now)
{
    struct cohort *c = qp->cohort;
    INVARIANT(!c->loose && !qp->parked);
    qp->parked = true;
    if (!all->n_parked++)
        all->next_unpark = now + COHORT_MAX_REPORT;
    leave_ready(all, c);
    heap_push(&c->parked, &qp->cohort_node);
    update(all, c);
}

struct berth_queued_pod *cohort_next(const struct cohorts *all)
{
    struct heap_node *node = heap_peek(&all->ready);
    if (node && !is_full(all))
        return next_of(CONTAINER_OF(node, struct cohort, ready));
    return member_at(&all->loose.early);
}

void cohort_succeeded(struct cohorts *all, struct cohort *c)
{
    if (c->loose)
        return;
    while (c->parked.items.n)
        cohort_unpark(all, member_at(&c->parked));
    c->fresh = true;
    update(all, c);
}

/* --- time ------------------------------------------------------------------------------------- */

/* cohort_next is called only when activeQ is empty. If it never is, parked pods compete in it. */
static void unpark_ready(struct cohorts *all)
{
    const struct heap *ready = &all->ready;
    for (size_t i = ready->items.n; i-- > 0;) {
        struct cohort *c = CONTAINER_OF(ready->items.v[i], struct cohort, ready);
        if (c->parked.items.n)
            cohort_unpark(all, member_at(&c->parked));
        i = MIN(i, ready->items.n);
    }
}

void cohorts_flush(struct cohorts *all, int64_t now)
{
    end_holds(all, now);
    if (!all->n_parked || now < all->next_unpark)
        return;
    all->next_unpark = now + COHORT_MAX_REPORT;
    if (!is_full(all))
        unpark_ready(all);
}

int64_t cohorts_next_flush(const struct cohorts *all)
{
    struct heap_node *node = heap_peek(&all->held);
    int64_t at = all->n_parked ? all->next_unpark : INT64_MAX;
    return node ? MIN(at, CONTAINER_OF(node, struct cohort, held)->held_until) : at;
}

void cohorts_reorder(struct cohorts *all)
{
    map_each (e, &all->by_key) {
        struct cohort *c = e->value;
        heap_reorder(&c->early);
        heap_reorder(&c->parked);
    }
    heap_reorder(&all->loose.early);
    heap_reorder(&all->ready);
}
