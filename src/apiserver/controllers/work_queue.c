/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of controllers: works that changed, timers, writes and expectations. */
#include "apiserver/controllers/work_queue.h"

#define RETRY_FIRST (5 * NSEC_PER_MSEC)
#define RETRY_MAX   (60 * NSEC_PER_SEC)

struct work_flight {
    uint64_t id;
    struct work *work; /* NULL: the answer is ignored */
    enum work_effect effect;
    unsigned tag;
};

static bool due_before(const struct heap_node *a, const struct heap_node *b, void *ctx UNUSED)
{
    return CONTAINER_OF(a, struct work, timer)->due < CONTAINER_OF(b, struct work, timer)->due;
}

void work_queue_init(struct work_queue *q, const struct work_queue_options *options)
{
    *q = (struct work_queue){.options = *options};
    heap_init(&q->timers, due_before, NULL);
}

void work_init(struct work *work)
{
    *work = (struct work){.due = INT64_MAX};
}

static void free_if_unused(struct work_queue *q, struct work *work)
{
    if (work->gone && !work->queued && !work->n_writes)
        q->options.free(q->options.ctx, work);
}

void work_queue_release(struct work_queue *q)
{
    map_each (e, &q->flights) {
        struct work_flight *flight = e->value;
        if (flight->work) {
            flight->work->n_writes--;
            free_if_unused(q, flight->work);
        }
        free(flight);
    }
    for (size_t i = q->at; i < q->items.n; i++) {
        q->items.v[i]->queued = false;
        free_if_unused(q, q->items.v[i]);
    }
    map_release(&q->flights);
    vec_release(&q->items);
    heap_release(&q->timers);
}

static void set_timer(struct work_queue *q, struct work *work, int64_t at)
{
    if (heap_contains(&work->timer))
        heap_remove(&q->timers, &work->timer);
    work->due = at;
    if (at != INT64_MAX)
        heap_push(&q->timers, &work->timer);
}

void work_add(struct work_queue *q, struct work *work)
{
    if (work->queued || work->gone)
        return;
    work->queued = true;
    vec_push(&q->items, work);
}

void work_add_at(struct work_queue *q, struct work *work, int64_t at)
{
    if (!work->gone && at < work->due)
        set_timer(q, work, at);
}

void work_drop(struct work_queue *q, struct work *work)
{
    set_timer(q, work, INT64_MAX);
    work->gone = true;
    free_if_unused(q, work);
}

void work_cost(struct work_queue *q, struct work *work, size_t n)
{
    work->not_before = q->now + (int64_t)n * NSEC_PER_USEC;
}

/* --- writes ----------------------------------------------------------------------------------- */

static void send(struct work_queue *q, struct work *work, struct work_flight flight,
                 const struct writer_request *request)
{
    struct work_flight *f = xnew(struct work_flight);
    *f = flight;
    f->id = ++q->next_id;
    f->work = work;
    map_put(&q->flights, map_number_key(&f->id), f);
    struct writer_request r = *request;
    r.id = f->id;
    q->options.writer.write(q->options.writer.ctx, &r);
}

void work_write(struct work_queue *q, struct work *work, enum work_effect effect, unsigned tag,
                const struct writer_request *request)
{
    work->n_writes++;
    work->n_adds += effect == WORK_ADDS;
    work->n_dels += effect == WORK_DELETES;
    if (effect != WORK_NOTHING)
        work->expect_until = q->now + WORK_EXPECT_TIME;
    send(q, work, (struct work_flight){.effect = effect, .tag = tag}, request);
}

void work_queue_send(struct work_queue *q, const struct writer_request *request)
{
    send(q, NULL, (struct work_flight){0}, request);
}

void work_seen_add(struct work_queue *q, struct work *work)
{
    work->n_adds -= work->n_adds > 0;
    work_add(q, work);
}

void work_seen_delete(struct work_queue *q, struct work *work)
{
    work->n_dels -= work->n_dels > 0;
    work_add(q, work);
}

bool work_queue_done(struct work_queue *q, uint64_t id, int status, int64_t now)
{
    struct work_flight *found = map_del(&q->flights, map_number_key(&id));
    if (!found)
        return false;
    struct work_flight flight = *found;
    struct work *work = flight.work;
    free(found);
    q->now = now;
    if (!work)
        return true;
    work->n_writes--;
    if (work->gone) {
        free_if_unused(q, work);
        return true;
    }
    bool success = status >= 200 && status < 300;
    if (!success && flight.effect == WORK_ADDS)
        work->n_adds -= work->n_adds > 0;
    if (!success && flight.effect == WORK_DELETES)
        work->n_dels -= work->n_dels > 0;
    if (q->options.done)
        q->options.done(q->options.ctx, work, flight.tag, status);
    if (success) {
        work->n_failures = 0;
        work_add(q, work);
        return true;
    }
    /* Looked at again from newer objects, and later each time. */
    work_add_at(q, work, now + MIN(RETRY_FIRST << MIN(work->n_failures, 16U), RETRY_MAX));
    work->n_failures++;
    return true;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Whether it has to wait; what ends the wait adds it again. */
static bool waits(struct work_queue *q, struct work *work)
{
    if (work->n_writes)
        return true;
    if (work->n_adds || work->n_dels) {
        if (q->now < work->expect_until) {
            work_add_at(q, work, work->expect_until);
            return true;
        }
        work->n_adds = work->n_dels = 0;
    }
    if (q->now < work->not_before) {
        work_add_at(q, work, work->not_before);
        return true;
    }
    return false;
}

void work_queue_run(struct work_queue *q, int64_t now)
{
    struct heap_node *first;
    q->now = now;
    while ((first = heap_peek(&q->timers))) {
        struct work *work = CONTAINER_OF(first, struct work, timer);
        if (work->due > now)
            break;
        set_timer(q, work, INT64_MAX);
        work_add(q, work);
    }
    size_t end = MIN(q->items.n, q->at + WORK_PER_RUN);
    while (q->at < end) {
        struct work *work = q->items.v[q->at++];
        work->queued = false;
        if (work->gone)
            free_if_unused(q, work);
        else if (!waits(q, work))
            q->options.sync(q->options.ctx, work);
    }
    if (q->at == q->items.n) {
        vec_clear(&q->items);
        q->at = 0;
    } else if (q->at > 1024 && q->at > q->items.n / 2) {
        memmove(q->items.v, q->items.v + q->at, (q->items.n - q->at) * sizeof(*q->items.v));
        q->items.n -= q->at;
        q->at = 0;
    }
}

int64_t work_queue_next(const struct work_queue *q)
{
    if (q->at < q->items.n)
        return 0;
    struct heap_node *first = heap_peek(&q->timers);
    return first ? CONTAINER_OF(first, struct work, timer)->due : INT64_MAX;
}
