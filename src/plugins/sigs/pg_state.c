/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/pg_state.h"

#include "base/time.h"
#include "engine/queue/queue.h"

/* --- groups ----------------------------------------------------------------------------------- */

static struct str key_of(struct pg_state *s, struct str namespace, struct str name)
{
    buf_clear(&s->key);
    buf_add_str(&s->key, namespace);
    buf_add_char(&s->key, '/');
    buf_add_str(&s->key, name);
    return buf_str(&s->key);
}

static struct pg *find(struct pg_state *s, struct str namespace, struct str name)
{
    return map_get(&s->groups, key_of(s, namespace, name));
}

struct pg *pg_of(struct pg_state *s, const struct pod *pod)
{
    struct str name = pg_label(pod);
    return str_empty(name) ? NULL : find(s, pod->metadata.namespace, name);
}

static struct pg *get(struct pg_state *s, struct str namespace, struct str name)
{
    struct pg *g = find(s, namespace, name);
    if (g)
        return g;
    g = xnew(struct pg);
    *g = (struct pg){.state = s, .key = str_dup(buf_str(&s->key)), .round = 1};
    g->namespace = (struct str){g->key, namespace.n};
    g->name = str_of(g->key + namespace.n + 1);
    arena_init(&g->arena, 0);
    map_put(&s->groups, str_of(g->key), g);
    return g;
}

static void end_backoff(struct pg *g)
{
    if (g->backoff_until)
        g->state->host->timer_cancel(g->state->handle, g->backoff_timer);
    g->backoff_until = 0;
}

static void free_group(struct pg *g)
{
    end_backoff(g);
    pg_report_forget(g);
    object_unref(g->object);
    arena_release(&g->arena);
    vec_release(&g->members);
    free(g->key);
    free(g);
}

static void drop_if_empty(struct pg *g)
{
    if (g->object || g->members.n)
        return;
    map_del(&g->state->groups, str_of(g->key));
    free_group(g);
}

/* --- members ---------------------------------------------------------------------------------- */

struct pg_member *pg_member_of(const struct pg_state *s, const struct pod *pod)
{
    return map_get(&s->members, pod->metadata.uid);
}

static bool has_node(const struct pg_member *m)
{
    return m->held || !str_empty(object_pod(m->object)->spec.node_name);
}

/* Adds the member to the sums of its group, or takes it out (-1). */
static void count(const struct pg_member *m, int sign)
{
    struct pg *g = m->group;
    const struct pod *pod = object_pod(m->object);
    if (pod_is_terminal(pod))
        return;
    g->n_present += (size_t)sign;
    if (pod->spec.scheduling_gates.n)
        g->n_gated += (size_t)sign;
    if (has_node(m))
        g->n_assigned += (size_t)sign;
    if (m->holder)
        g->n_waiting += (size_t)sign;
    if (m->failed)
        g->n_failed += (size_t)sign;
}

static struct pg_member *add_member(struct pg *g, struct object *object)
{
    struct pg_member *m = xnew(struct pg_member);
    *m = (struct pg_member){.group = g, .index = g->members.n, .object = object_ref(object)};
    vec_push(&g->members, m);
    map_put(&g->state->members, object_meta(m->object)->uid, m);
    count(m, 1);
    return m;
}

static void remove_member(struct pg_member *m)
{
    struct pg *g = m->group;
    count(m, -1);
    map_del(&g->state->members, object_meta(m->object)->uid);
    vec_swap_remove(&g->members, m->index);
    if (m->index < g->members.n)
        g->members.v[m->index]->index = m->index;
    object_unref(m->object);
    free(m);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static int64_t now_of(const struct pg *g)
{
    return g->state->host->now(g->state->handle);
}

static void next_round(struct pg *g)
{
    for (size_t i = 0; g->n_failed && i < g->members.n; i++)
        g->members.v[i]->failed = false;
    g->n_failed = 0;
    g->round_failed = false;
    g->round++;
}

static bool is_complete(const struct pg *g)
{
    return g->object && (int64_t)g->n_assigned >= g->body.spec.min_member;
}

bool pg_try(struct pg *g, struct pg_member *m)
{
    bool again = m->round == g->round;
    if (g->round_failed && !again && !is_complete(g)) {
        m->round = g->round;
        return false;
    }
    if (again && !g->n_waiting)
        next_round(g);
    m->round = g->round;
    return true;
}

void pg_member_failed(struct pg_member *m)
{
    count(m, -1);
    m->failed = true;
    count(m, 1);
}

bool pg_reachable(const struct pg *g)
{
    return g->object &&
           (int64_t)(g->n_present - g->n_gated - g->n_failed) >= g->body.spec.min_member;
}

/* Members that wait do so no longer: they are allowed, or rejected with this reason. */
static void end_waits(struct pg *g, const struct str *reject)
{
    const struct berth_host *host = g->state->host;
    for (size_t i = 0; g->n_waiting && i < g->members.n; i++) {
        struct pg_member *m = g->members.v[i];
        struct berth_handle *by = m->holder;
        if (!by)
            continue;
        count(m, -1);
        m->holder = NULL;
        m->held = !reject;
        count(m, 1);
        struct berth_waiting_pod *w =
            host->waiting_pod_get(by, abi_str(object_meta(m->object)->uid));
        if (w && reject)
            host->waiting_reject(by, w, abi_str(*reject));
        else if (w)
            host->waiting_allow(by, w);
    }
}

void pg_give_up(struct pg *g, struct str reason)
{
    end_waits(g, &reason);
    g->round_failed = !is_complete(g) && !pg_reachable(g);
    g->permitted_until = 0;
    g->failed_at = handle_wall(g->state->handle);
}

/* A member or the PodGroup has changed: perhaps no member needs to wait, or waiting cannot help. */
static void check_waits(struct pg *g)
{
    if (!g->n_waiting)
        return;
    if (is_complete(g))
        end_waits(g, NULL);
    else if (!pg_reachable(g))
        pg_give_up(g, STR("the group has lost a member and gives up what it holds"));
}

bool pg_hold(struct pg_member *m)
{
    struct pg *g = m->group;
    count(m, -1);
    m->held = true;
    m->failed = false;
    count(m, 1);
    if (!is_complete(g))
        return false;
    g->failed_at = 0;
    end_waits(g, NULL);
    return true;
}

/*
 * Members that wait are left alone: they would be tried again the moment they are rejected. Those
 * that failed have had their turn.
 */
static void activate(struct pg *g)
{
    struct queue *queue = g->state->handle->framework->queue;
    for (size_t i = 0; i < g->members.n; i++)
        if (!has_node(g->members.v[i]) && !g->members.v[i]->failed)
            queue_activate(queue, object_meta(g->members.v[i]->object)->uid, now_of(g));
}

void pg_wait(struct pg_member *m, struct berth_handle *by)
{
    count(m, -1);
    m->holder = by;
    count(m, 1);
    if (m->group->n_waiting == 1)
        activate(m->group);
}

void pg_release(struct pg_member *m)
{
    count(m, -1);
    m->held = false;
    m->holder = NULL;
    count(m, 1);
}

static void backoff_over(void *ctx)
{
    struct pg *g = ctx;
    g->backoff_until = 0;
    next_round(g);
    activate(g);
}

void pg_back_off(struct pg *g, int64_t ns)
{
    if (g->backoff_until)
        return;
    g->backoff_until = now_of(g) + ns;
    g->backoff_timer = g->state->host->timer(g->state->handle, ns, backoff_over, g);
}

/* --- order of the queue ----------------------------------------------------------------------- */

static int64_t order_now(const struct pg *g, int64_t tried)
{
    if (g->failed_at)
        return g->failed_at;
    return g->object ? timestamp_ns(object_meta(g->object)->creation_timestamp) : tried;
}

int64_t pg_order(struct pg_state *s, const struct berth_queued_pod *q)
{
    struct pg_member *m = pg_member_of(s, q->pod->pod);
    int64_t tried = q->first_attempt + s->wall_offset;
    if (!m)
        return tried;
    if (!m->has_order || m->queued_at != q->timestamp) {
        m->has_order = true;
        m->queued_at = q->timestamp;
        m->order = order_now(m->group, tried);
    }
    return m->order;
}

/* --- changes ---------------------------------------------------------------------------------- */

static bool gates_changed(const struct pod *before, const struct pod *after)
{
    return before->spec.scheduling_gates.n != after->spec.scheduling_gates.n;
}

static void lose(struct pg_member *m)
{
    struct pg *g = m->group;
    remove_member(m);
    check_waits(g);
    pg_report_changed(g);
    drop_if_empty(g);
}

static void replace(struct pg_member *m, struct object *object)
{
    struct pg *g = m->group;
    bool fresh = gates_changed(object_pod(m->object), object_pod(object));
    count(m, -1);
    /* The key of the map is in the object. */
    map_del(&g->state->members, object_meta(m->object)->uid);
    object_unref(m->object);
    m->object = object_ref(object);
    map_put(&g->state->members, object_meta(m->object)->uid, m);
    if (!str_empty(object_pod(object)->spec.node_name))
        m->held = false;
    count(m, 1);
    if (fresh)
        next_round(g);
    check_waits(g);
    pg_report_changed(g);
}

static void pod_changed(struct pg_state *s, struct object *before, struct object *after)
{
    struct pg_member *m = pg_member_of(s, object_pod(after ? after : before));
    const struct pod *now = after ? object_pod(after) : NULL;
    if (before && after && !str_eq(object_meta(before)->uid, object_meta(after)->uid)) {
        struct pg_member *gone = pg_member_of(s, object_pod(before));
        if (gone)
            lose(gone);
    }
    if (m && (!now || !str_eq(pg_label(now), m->group->name))) {
        lose(m);
        m = NULL;
    }
    if (m) {
        replace(m, after);
    } else if (now && !str_empty(pg_label(now))) {
        struct pg *g = get(s, now->metadata.namespace, pg_label(now));
        add_member(g, after);
        next_round(g);
        check_waits(g);
        pg_report_changed(g);
    }
}

static void set_object(struct pg *g, struct object *object)
{
    object_unref(g->object);
    g->object = object ? object_ref(object) : NULL;
    arena_reset(&g->arena);
    g->body = (struct pg_object){0};
    if (object)
        pg_object_read(object, &g->arena, &g->body);
}

static void object_changed(struct pg_state *s, struct object *after, const struct object_meta *meta)
{
    struct pg *g = get(s, meta->namespace, meta->name);
    bool same = g->object && after && pg_object_same_spec(g->object, after);
    set_object(g, after);
    if (!same) {
        g->permitted_until = 0;
        next_round(g);
        check_waits(g);
    }
    pg_report_changed(g);
    drop_if_empty(g);
}

static struct object *mutable_object(const struct berth_object *o)
{
    return (struct object *)(uintptr_t)o;
}

static void changed(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after)
{
    struct pg_state *s = data;
    struct object *old = mutable_object(before), *new = mutable_object(after);
    if (resource == BERTH_RESOURCE_ASSIGNED_POD || resource == BERTH_RESOURCE_UNSCHEDULED_POD)
        pod_changed(s, old, new);
    else if (resource == s->resource)
        object_changed(s, new, object_meta(new ? new : old));
}

/* --- life ------------------------------------------------------------------------------------- */

static bool add_known(void *ctx, const struct berth_object *pod)
{
    pod_changed(ctx, NULL, mutable_object(pod));
    return true;
}

static void *make(const struct berth_host *host, struct berth_handle *h)
{
    struct pg_state *s = xnew(struct pg_state);
    *s = (struct pg_state){.host = host, .handle = h};
    s->wall_offset = handle_wall(h) - host->now(h);
    s->lister = host->watch(h, &(struct berth_watch){.struct_size = sizeof(struct berth_watch),
                                                     .api_version = BERTH_STR(PG_API_VERSION),
                                                     .kind = BERTH_STR(PG_KIND),
                                                     .resource = BERTH_STR(PG_RESOURCE)});
    s->resource = host->lister_resource(s->lister);
    /* A reload may have enabled the plugin: pods exist. PodGroups come as changes. */
    const struct berth_lister *pods =
        host->watch(h, &(struct berth_watch){.struct_size = sizeof(struct berth_watch),
                                             .api_version = BERTH_STR("v1"),
                                             .kind = BERTH_STR("Pod"),
                                             .resource = BERTH_STR("pods")});
    /* The status of a group counts pods that have ended, too. */
    handle_watch_finished_pods(h);
    host->lister_each(pods, BERTH_STR(""), add_known, s);
    return s;
}

static void free_state(void *data)
{
    struct pg_state *s = data;
    map_each (e, &s->members) {
        struct pg_member *m = e->value;
        object_unref(m->object);
        free(m);
    }
    map_each (e, &s->groups)
        free_group(e->value);
    pg_reports_release(&s->reports);
    map_release(&s->members);
    map_release(&s->groups);
    buf_release(&s->key);
    free(s);
}

static const struct berth_shared_type shared_type = {
    .struct_size = sizeof(struct berth_shared_type),
    .name = "Coscheduling",
    .make = make,
    .free = free_state,
    .changed = changed,
};

struct pg_state *pg_state_shared(const struct berth_host *host, struct berth_handle *h)
{
    return host->shared(h, &shared_type);
}
