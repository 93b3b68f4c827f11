/* SPDX-License-Identifier: Apache-2.0 */
#include "queue_model.h"

#include "base/time.h"

#define TICK (30 * NSEC_PER_SEC)

void model_init(struct queue_model *m, const struct world *world,
                const struct queue_options *options)
{
    *m = (struct queue_model){.world = world, .options = *options};
}

void model_release(struct queue_model *m)
{
    for (size_t i = 0; i < m->pods.n; i++) {
        vec_release(&m->pods.v[i]->missed);
        free(m->pods.v[i]);
    }
    vec_release(&m->pods);
}

struct model_pod *model_get(const struct queue_model *m, int number)
{
    for (size_t i = 0; i < m->pods.n; i++)
        if (m->pods.v[i]->number == number && !m->pods.v[i]->deleted)
            return m->pods.v[i];
    return NULL;
}

static int64_t whole_seconds(int64_t t)
{
    return t / NSEC_PER_SEC * NSEC_PER_SEC;
}

static size_t count_at(const struct queue_model *m, enum queue_place place)
{
    size_t n = 0;
    for (size_t i = 0; i < m->pods.n; i++)
        n += m->pods.v[i]->place == place;
    return n;
}

/* --- which plugins an event concerns ---------------------------------------------------------- */

static bool covers(const struct world_event *registered, const struct model_event *event)
{
    bool either_pod = event->resource == BERTH_RESOURCE_ASSIGNED_POD ||
                      event->resource == BERTH_RESOURCE_UNSCHEDULED_POD;
    if (registered->resource != event->resource &&
        !(registered->resource == BERTH_RESOURCE_POD && either_pod))
        return false;
    /* A plugin must have registered for every action: a plain update is all kinds of updates. */
    return (registered->actions & event->action) == event->action;
}

static bool for_everybody(const struct model_event *event)
{
    return event->resource == BERTH_RESOURCE_ALL;
}

static bool asked_for_taints(const struct world_plugin *p)
{
    for (size_t i = 0; i < p->n_events; i++)
        if (p->events[i].resource == BERTH_RESOURCE_NODE &&
            p->events[i].actions & BERTH_ACTION_UPDATE_NODE_TAINT)
            return true;
    return false;
}

static bool asked_for_new_nodes(const struct world_plugin *p)
{
    for (size_t i = 0; i < p->n_events; i++)
        if (p->events[i].resource == BERTH_RESOURCE_NODE && p->events[i].actions & BERTH_ACTION_ADD)
            return true;
    return false;
}

/* A plugin that registered for new nodes also gets changed taints, without a call of its hint. */
static bool told_of_taint(const struct world_plugin *p, const struct model_event *event)
{
    return event->resource == BERTH_RESOURCE_NODE &&
           event->action == BERTH_ACTION_UPDATE_NODE_TAINT && asked_for_new_nodes(p) &&
           !asked_for_taints(p);
}

static bool is_told(const struct world_plugin *p, const struct model_event *event)
{
    if (p->any_event || told_of_taint(p, event))
        return true;
    for (size_t i = 0; i < p->n_events; i++)
        if (covers(&p->events[i], event))
            return true;
    return false;
}

static bool anybody_told(const struct queue_model *m, const struct model_event *event)
{
    if (for_everybody(event))
        return true;
    for (size_t i = 0; i < m->world->n_plugins; i++)
        if (m->world->plugins[i].profiles && is_told(&m->world->plugins[i], event))
            return true;
    return false;
}

/* Whether any of its registrations that cover the event returns Queue. */
static bool says_queue(const struct queue_model *m, int plugin, const struct model_pod *pod,
                       const struct model_event *event)
{
    const struct world_plugin *p = &m->world->plugins[plugin];
    if (p->any_event || told_of_taint(p, event))
        return true;
    for (size_t i = 0; i < p->n_events; i++)
        if (covers(&p->events[i], event) &&
            (!p->events[i].hinted || m->world->queue[plugin][pod->number][event->answer]))
            return true;
    return false;
}

enum verdict { STAY, LATER, NOW };

static enum verdict verdict_of(const struct queue_model *m, const struct model_pod *pod,
                               const struct model_event *event)
{
    enum verdict verdict = STAY;
    if (!(pod->rejectors | pod->pending))
        return LATER;
    if (for_everybody(event))
        return event->only < 0 || event->only == pod->number ? LATER : STAY;
    for (int i = 0; i < (int)m->world->n_plugins; i++) {
        bool pending = pod->pending >> i & 1;
        if (!((pod->rejectors | pod->pending) >> i & 1) || !says_queue(m, i, pod, event))
            continue;
        verdict = MAX(verdict, pending ? NOW : LATER);
    }
    return verdict;
}

/* --- places ----------------------------------------------------------------------------------- */

/* The number of the first closed gate; -1 if none. The gate that holds the pod is tried first. */
static int closed_gate(const struct queue_model *m, const struct model_pod *pod)
{
    const struct world *w = m->world;
    if (pod->gate >= 0 && w->closed[pod->gate][pod->number])
        return pod->gate;
    for (int i = 0; i < (int)w->n_plugins; i++)
        if (w->plugins[i].gate && w->plugins[i].profiles >> pod->profile & 1 &&
            w->closed[i][pod->number])
            return i;
    return -1;
}

static void to_unschedulable(struct queue_model *m, struct model_pod *pod, int64_t now)
{
    /* Ticks are counted from the first pod's arrival. */
    if (!count_at(m, QUEUE_UNSCHEDULABLE))
        m->tick = now + TICK;
    pod->place = QUEUE_UNSCHEDULABLE;
}

static void put(struct queue_model *m, struct model_pod *pod, enum verdict verdict, int64_t now)
{
    vec_clear(&pod->missed);
    if (verdict == STAY) {
        to_unschedulable(m, pod, now);
        return;
    }
    int gate = closed_gate(m, pod);
    pod->gate = gate;
    if (gate >= 0) {
        pod->rejectors |= 1u << gate;
        to_unschedulable(m, pod, now);
        return;
    }
    bool tried = pod->rejections + pod->errors > 0;
    if (verdict == LATER && tried && whole_seconds(now) <= pod->expiry)
        pod->place = pod->rejectors | pod->pending ? QUEUE_BACKOFF : QUEUE_ERROR_BACKOFF;
    else
        pod->place = QUEUE_ACTIVE;
}

static void remember(struct queue_model *m, const struct model_event *event)
{
    for (size_t i = 0; i < m->pods.n; i++)
        if (m->pods.v[i]->place == QUEUE_IN_FLIGHT)
            vec_push(&m->pods.v[i]->missed, *event);
}

static void forget(struct queue_model *m, struct model_pod *pod)
{
    for (size_t i = 0; i < m->pods.n; i++)
        if (m->pods.v[i] == pod) {
            vec_remove(&m->pods, i);
            break;
        }
    vec_release(&pod->missed);
    free(pod);
}

static bool is_out(const struct model_pod *pod)
{
    return pod->place == QUEUE_IN_FLIGHT || pod->place == QUEUE_BINDING;
}

/* --- addition and deletion of pods ------------------------------------------------------------ */

void model_add(struct queue_model *m, const struct model_pod *pod, int64_t now)
{
    struct model_pod *p = xnew(struct model_pod);
    p->number = pod->number;
    p->profile = pod->profile;
    p->priority = pod->priority;
    p->nominated = pod->nominated;
    p->timestamp = now;
    p->gate = -1;
    vec_push(&m->pods, p);
    put(m, p, NOW, now);
    /* A gated pod reserves nothing. */
    if (p->place == QUEUE_ACTIVE)
        m->promised[p->number] = p->nominated;
}

static void update_nomination(struct queue_model *m, struct model_pod *p, int nominated)
{
    /* A pod in flight is nominated again when it returns to the queue. */
    if (!is_out(p) && (p->nominated || nominated))
        m->promised[p->number] = nominated;
    p->nominated = nominated;
}

void model_update(struct queue_model *m, const struct model_pod *pod, unsigned actions, int answer,
                  int64_t now)
{
    struct model_pod *p = model_get(m, pod->number);
    if (!p)
        return;
    p->priority = pod->priority;
    update_nomination(m, p, pod->nominated);
    unsigned kinds = BERTH_ACTION_UPDATE;
    if (actions & BERTH_ACTION_UPDATE_OTHER)
        kinds = 1; /* one event, of all kinds */
    for (unsigned bit = 1; bit <= BERTH_ACTION_ALL; bit <<= 1) {
        struct model_event event = {BERTH_RESOURCE_UNSCHEDULED_POD, bit, answer, -1};
        if (kinds == 1 ? bit > 1 : !(actions & bit))
            continue;
        if (kinds == 1)
            event.action = BERTH_ACTION_UPDATE;
        if (p->place == QUEUE_IN_FLIGHT) {
            remember(m, &event);
        } else if (p->place == QUEUE_UNSCHEDULABLE) {
            enum verdict verdict = verdict_of(m, p, &event);
            if (verdict != STAY)
                put(m, p, verdict, now);
        }
    }
}

void model_delete(struct queue_model *m, int number)
{
    struct model_pod *p = model_get(m, number);
    m->promised[number] = 0;
    if (!p)
        return;
    p->deleted = true;
    if (!is_out(p))
        forget(m, p);
}

/* --- attempts --------------------------------------------------------------------------------- */

static bool goes_before(const struct model_pod *a, const struct model_pod *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->timestamp != b->timestamp)
        return a->timestamp < b->timestamp;
    return a->number < b->number;
}

struct model_pod *model_next(const struct queue_model *m)
{
    struct model_pod *active = NULL, *backoff = NULL;
    for (size_t i = 0; i < m->pods.n; i++) {
        struct model_pod *p = m->pods.v[i];
        if (p->place == QUEUE_ACTIVE && (!active || goes_before(p, active)))
            active = p;
        if (p->place == QUEUE_BACKOFF &&
            (!backoff || p->expiry < backoff->expiry ||
             (p->expiry == backoff->expiry && goes_before(p, backoff))))
            backoff = p;
    }
    return active ? active : backoff;
}

void model_pop(struct queue_model *m, struct model_pod *pod)
{
    (void)m;
    pod->place = QUEUE_IN_FLIGHT;
    pod->attempts++;
    vec_clear(&pod->missed);
}

void model_begin_binding(struct queue_model *m, struct model_pod *pod)
{
    (void)m;
    pod->place = QUEUE_BINDING;
    vec_clear(&pod->missed);
}

void model_done(struct queue_model *m, struct model_pod *pod)
{
    forget(m, pod);
}

static int64_t backoff_of(const struct queue_model *m, const struct model_pod *pod)
{
    uint32_t times = pod->errors ? pod->errors : pod->rejections;
    int64_t backoff = m->options.initial_backoff;
    while (--times && backoff <= m->options.max_backoff)
        backoff += backoff;
    return backoff < m->options.max_backoff ? backoff : m->options.max_backoff;
}

void model_requeue(struct queue_model *m, struct model_pod *pod, unsigned rejectors,
                   unsigned pending, int64_t now)
{
    if (pod->deleted) {
        forget(m, pod);
        return;
    }
    pod->rejectors = rejectors;
    pod->pending = pending;
    if (rejectors | pending) {
        pod->rejections++;
        pod->errors = 0;
    } else {
        pod->errors++;
    }
    pod->timestamp = now;
    pod->expiry = whole_seconds(now + backoff_of(m, pod));
    pod->flushed = false;

    /* The events during a pod's write are not known, so assume that it missed some. */
    enum verdict verdict = pod->place == QUEUE_BINDING || !(rejectors | pending) ? LATER : STAY;
    for (size_t i = 0; i < pod->missed.n; i++)
        verdict = MAX(verdict, verdict_of(m, pod, &pod->missed.v[i]));
    put(m, pod, verdict, now);
}

void model_activate(struct queue_model *m, int number, int64_t now)
{
    struct model_pod *p = model_get(m, number);
    if (!p)
        return;
    if (p->place == QUEUE_UNSCHEDULABLE)
        put(m, p, NOW, now);
    else if (p->place == QUEUE_BACKOFF || p->place == QUEUE_ERROR_BACKOFF)
        p->place = QUEUE_ACTIVE;
    else if (p->place == QUEUE_IN_FLIGHT)
        remember(m, &(struct model_event){BERTH_RESOURCE_ALL, BERTH_ACTION_ALL, 0, number});
}

/* --- events and time -------------------------------------------------------------------------- */

static bool gate_lets_know(const struct queue_model *m, const struct model_pod *pod,
                           const struct model_event *event)
{
    return pod->gate < 0 || is_told(&m->world->plugins[pod->gate], event);
}

void model_happens(struct queue_model *m, const struct model_event *event,
                   const int32_t *max_priority, int except, int64_t now)
{
    if (!anybody_told(m, event))
        return;
    for (size_t i = 0; i < m->pods.n; i++) {
        struct model_pod *p = m->pods.v[i];
        if (p->place != QUEUE_UNSCHEDULABLE || p->number == except ||
            (max_priority && p->priority > *max_priority) || !gate_lets_know(m, p, event))
            continue;
        enum verdict verdict = verdict_of(m, p, event);
        if (verdict != STAY)
            put(m, p, verdict, now);
    }
    remember(m, event);
}

static void end_long_stays(struct queue_model *m, int64_t now)
{
    struct model_event event = {BERTH_RESOURCE_ALL, BERTH_ACTION_ALL, 0, -1};
    bool any = false;
    for (size_t i = 0; i < m->pods.n; i++) {
        struct model_pod *p = m->pods.v[i];
        if (p->place != QUEUE_UNSCHEDULABLE ||
            now - p->timestamp <= m->options.max_in_unschedulable)
            continue;
        any = true;
        if (!gate_lets_know(m, p, &event))
            continue;
        p->flushed = true;
        put(m, p, LATER, now);
    }
    if (any)
        remember(m, &event);
}

void model_flush(struct queue_model *m, int64_t now)
{
    for (size_t i = 0; i < m->pods.n; i++) {
        struct model_pod *p = m->pods.v[i];
        if ((p->place == QUEUE_BACKOFF || p->place == QUEUE_ERROR_BACKOFF) &&
            p->expiry < whole_seconds(now))
            p->place = QUEUE_ACTIVE;
    }
    if (count_at(m, QUEUE_UNSCHEDULABLE) && now >= m->tick) {
        end_long_stays(m, now);
        m->tick = now + TICK;
    }
}

size_t model_kept(const struct queue_model *m)
{
    size_t most = 0;
    for (size_t i = 0; i < m->pods.n; i++)
        most = MAX(most, m->pods.v[i]->missed.n);
    return most;
}

int64_t model_next_flush(const struct queue_model *m)
{
    int64_t at = count_at(m, QUEUE_UNSCHEDULABLE) ? m->tick : INT64_MAX;
    for (size_t i = 0; i < m->pods.n; i++) {
        const struct model_pod *p = m->pods.v[i];
        if (p->place == QUEUE_BACKOFF || p->place == QUEUE_ERROR_BACKOFF)
            at = MIN(at, p->expiry + NSEC_PER_SEC);
    }
    return at;
}
