/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include "api/pod.h"
#include "base/time.h"

#define DEFAULT_MAX_ATTEMPTS 3

/* A write of the engine that changes a pod, or whose result the engine waits for. */
struct sim_write {
    enum write_kind kind;
    uint64_t id;
    struct object *pod;
    bool sets_node;
    char *node; /* to bind or nominate */
};

struct sim_object {
    struct object *object;
    struct str key;
    char text[];
};

/* --- ports ------------------------------------------------------------------------------------ */

static int64_t port_now(void *ctx)
{
    return ((struct sim *)ctx)->now;
}

static void note_eviction(struct sim *sim, const struct write *write)
{
    struct sim_pod *pod = map_get(&sim->by_uid, object_meta(write->object)->uid);
    vec_push(&sim->evictions,
             (struct sim_eviction){object_ref(write->object), object_ref(write->related)});
    if (pod)
        pod->preempted = true;
}

static void port_submit(void *ctx, const struct write *write)
{
    struct sim *sim = ctx;
    if (write->kind == WRITE_EVENT && write->related)
        note_eviction(sim, write);
    if (write->kind == WRITE_EVENT || write->kind == WRITE_POD_GROUP_STATUS ||
        (write->kind == WRITE_POD_STATUS && !write->sets_nomination && !write->id))
        return;
    struct sim_write *w = xnew(struct sim_write);
    w->kind = write->kind;
    w->id = write->id;
    w->pod = object_ref(write->object);
    w->sets_node = write->kind == WRITE_BINDING || write->sets_nomination;
    w->node = str_dup(write->node_name);
    vec_push(&sim->writes, w);
}

/* Neither scheduled nor out of attempts. */
static bool is_open(const struct sim *sim, const struct sim_pod *pod)
{
    return !pod->node && pod->attempts < sim->max_attempts;
}

static void port_decided(void *ctx, const struct decision *d)
{
    struct sim *sim = ctx;
    struct sim_pod *pod = map_get(&sim->by_uid, object_meta(d->pod)->uid);
    if (!pod)
        return;
    bool was_open = is_open(sim, pod);
    pod->attempts = d->attempt;
    free(pod->message);
    pod->message = d->bound ? NULL : str_dup(d->message);
    if (d->bound)
        pod->node = str_dup(d->node_name);
    sim->n_open -= was_open && !is_open(sim, pod);
}

/* --- making and ending ------------------------------------------------------------------------ */

int sim_new(const struct sim_options *options, struct sim **ret_sim, struct err *reterr)
{
    struct sim *sim = xnew(struct sim);
    struct engine_options engine = {
        .config = options->config,
        .registry = options->registry,
        .features = options->features,
        .seed = options->seed,
        .explain_bytes = options->explain_bytes,
        .surveys = options->surveys,
        .ports = {.ctx = sim, .now = port_now, .submit = port_submit, .decided = port_decided},
    };
    int r = engine_new(&engine, &sim->engine, reterr);
    if (r < 0) {
        free(sim);
        return r;
    }
    sim->max_attempts = options->max_attempts ? options->max_attempts : DEFAULT_MAX_ATTEMPTS;
    *ret_sim = sim;
    return 0;
}

static void free_write(struct sim_write *w)
{
    object_unref(w->pod);
    free(w->node);
    free(w);
}

struct sim *sim_free(struct sim *sim)
{
    if (!sim)
        return NULL;
    engine_free(sim->engine);
    for (size_t i = 0; i < sim->pods.n; i++) {
        struct sim_pod *pod = sim->pods.v[i];
        object_unref(pod->object);
        free(pod->node);
        free(pod->message);
        free(pod);
    }
    map_each (entry, &sim->objects) {
        struct sim_object *known = entry->value;
        object_unref(known->object);
        free(known);
    }
    for (size_t i = 0; i < sim->evictions.n; i++) {
        object_unref(sim->evictions.v[i].victim);
        object_unref(sim->evictions.v[i].preemptor);
    }
    map_release(&sim->objects);
    vec_release(&sim->pods);
    while (sim->writes.n)
        free_write(vec_pop(&sim->writes));
    vec_release(&sim->writes);
    vec_release(&sim->leaving);
    vec_release(&sim->evictions);
    map_release(&sim->by_uid);
    free(sim);
    return NULL;
}

static bool is_pending(const struct object *o)
{
    return object_kind(o)->id == KIND_POD && str_empty(object_pod(o)->spec.node_name);
}

/* The order of loading: everything that an attempt depends on before the pending pods. */
enum load_rank { LOAD_OBJECTS, LOAD_NODES, LOAD_BOUND_PODS, LOAD_PENDING_PODS, LOAD_RANKS };

static enum load_rank rank_of(const struct object *o)
{
    switch (object_kind(o)->id) {
    case KIND_NODE:
        return LOAD_NODES;
    case KIND_POD:
        return is_pending(o) ? LOAD_PENDING_PODS : LOAD_BOUND_PODS;
    default:
        return LOAD_OBJECTS;
    }
}

static struct str key_of(const struct object *o, struct buf *out)
{
    const struct object_meta *meta = object_meta(o);
    buf_clear(out);
    buf_add_printf(out, "%.*s %.*s/%.*s", STR_ARG(object_kind(o)->kind), STR_ARG(meta->namespace),
                   STR_ARG(meta->name));
    return buf_str(out);
}

/* Replaces an object; after NULL: deletes it. Returns the previous one with its reference. */
static struct object *replace(struct sim *sim, const struct object *o, struct object *after)
{
    struct buf text = BUF_INIT;
    struct str key = key_of(o, &text);
    struct sim_object *known = map_get(&sim->objects, key);
    struct object *before = known ? known->object : NULL;
    if (known && !after) {
        map_del(&sim->objects, known->key);
        free(known);
    } else if (after && !known) {
        known = xmalloc(sizeof(*known) + key.n);
        memcpy(known->text, key.p, key.n);
        known->key = (struct str){known->text, key.n};
        map_put(&sim->objects, known->key, known);
    }
    if (after)
        known->object = object_ref(after);
    buf_release(&text);
    return before;
}

static void note_pending(struct sim *sim, struct object *o)
{
    struct sim_pod *pod = xnew(struct sim_pod);
    pod->object = object_ref(o);
    vec_push(&sim->pods, pod);
    map_put(&sim->by_uid, object_meta(o)->uid, pod);
}

static void load(struct sim *sim, const struct scenario_item *item)
{
    bool gone = item->what == SCENARIO_DELETED;
    struct object *before = object_kind(item->object)->has_metadata
                                ? replace(sim, item->object, gone ? NULL : item->object)
                                : NULL;
    if (!gone && !before && is_pending(item->object))
        note_pending(sim, item->object);
    if (!gone || before)
        engine_object_changed(sim->engine, before, gone ? NULL : item->object);
    object_unref(before);
    /* No two events have the same time, so that pods are tried in the order of the files. */
    sim->now++;
}

void sim_load(struct sim *sim, const struct scenario *scenario)
{
    for (int rank = 0; rank < LOAD_RANKS; rank++)
        for (size_t i = 0; i < scenario->items.n; i++) {
            const struct scenario_item *item = &scenario->items.v[i];
            if (item->what == SCENARIO_THERE && (int)rank_of(item->object) == rank)
                load(sim, item);
        }
    for (size_t i = 0; i < scenario->items.n; i++)
        if (scenario->items.v[i].what != SCENARIO_THERE)
            load(sim, &scenario->items.v[i]);
}

/* --- running ---------------------------------------------------------------------------------- */

/* A copy with a new resourceVersion; NULL if it cannot be encoded. */
static struct object *copy_pod(struct sim *sim, const struct object *pod)
{
    struct buf bytes = BUF_INIT;
    struct object *o;
    struct wire wire = {.kind = kind_get(KIND_POD), .encoding = ENCODING_PROTO};
    object_encode(wire.kind, object_body(pod), wire.encoding, &bytes);
    int r = object_decode(&wire, buf_str(&bytes), &o, NULL);
    buf_release(&bytes);
    if (r < 0)
        return NULL;
    struct pod *body = object_body_mut(o);
    body->metadata.resource_version =
        arena_printf(object_arena(o), "sim-%llu", (unsigned long long)++sim->next_version);
    return o;
}

/* A reference to the pod's current object; NULL if it is deleted or replaced by another pod. */
static struct object *current(const struct sim *sim, const struct object *pod)
{
    struct buf text = BUF_INIT;
    const struct sim_object *known = map_get(&sim->objects, key_of(pod, &text));
    buf_release(&text);
    if (!known || !str_eq(object_meta(known->object)->uid, object_meta(pod)->uid))
        return NULL;
    return object_ref(known->object);
}

static void answer(struct sim *sim, const struct sim_write *w, int status, const char *message)
{
    struct write_result result = {.status = status, .message = str_of(message)};
    if (w->id)
        engine_write_done(sim->engine, w->id, &result);
}

/* Applies a binding or a nomination, and sends the updated pod to the engine. */
static void change_pod(struct sim *sim, const struct sim_write *w, struct object *before)
{
    bool binds = w->kind == WRITE_BINDING;
    if (!binds &&
        (!w->sets_node || str_is(object_pod(before)->status.nominated_node_name, w->node))) {
        answer(sim, w, 200, "");
        return;
    }
    struct object *after = copy_pod(sim, before);
    if (!after) {
        answer(sim, w, 500, "failed to encode the pod");
        return;
    }
    struct pod *body = object_body_mut(after);
    struct str node = arena_dup(object_arena(after), str_of(w->node));
    if (binds)
        body->spec.node_name = node;
    else
        body->status.nominated_node_name = node;
    object_unref(replace(sim, after, after));
    answer(sim, w, 201, "");
    engine_object_changed(sim->engine, before, after);
    object_unref(after);
}

/* Victims terminate immediately, but only after all writes are done. */
static void evict_pod(struct sim *sim, const struct sim_write *w, struct object *pod)
{
    vec_push(&sim->leaving, object_ref(pod));
    answer(sim, w, 200, "");
}

static void remove_pod(struct sim *sim, const struct object *pod)
{
    struct object *before = current(sim, pod);
    if (!before)
        return;
    object_unref(replace(sim, before, NULL));
    engine_object_changed(sim->engine, before, NULL);
    object_unref(before);
}

static void apply_write(struct sim *sim, const struct sim_write *w)
{
    struct object *before = current(sim, w->pod);
    if (!before)
        answer(sim, w, 404, "pod not found");
    else if (w->kind == WRITE_EVICTION)
        evict_pod(sim, w, before);
    else
        change_pod(sim, w, before);
    object_unref(before);
}

/* The engine may submit more writes while these are applied. */
static void apply_writes(struct sim *sim)
{
    for (size_t i = 0; i < sim->writes.n; i++) {
        struct sim_write *w = sim->writes.v[i];
        apply_write(sim, w);
        free_write(w);
    }
    vec_clear(&sim->writes);
    for (size_t i = 0; i < sim->leaving.n; i++) {
        remove_pod(sim, sim->leaving.v[i]);
        object_unref(sim->leaving.v[i]);
    }
    vec_clear(&sim->leaving);
}

void sim_run(struct sim *sim)
{
    /* Pods that are gated or belong to another scheduler are never tried: do not wait for them. */
    sim->n_open = 0;
    for (size_t i = 0; i < sim->pods.n; i++)
        sim->n_open += is_open(sim, sim->pods.v[i]);
    sim->n_open = MIN(sim->n_open, engine_get_stats(sim->engine).active);
    for (;;) {
        while (sim->n_open && engine_schedule_one(sim->engine))
            apply_writes(sim);
        struct engine_stats stats = engine_get_stats(sim->engine);
        int64_t wake = engine_next_wake(sim->engine);
        /* The remaining pods wait for a cluster event, and there will be none. */
        if (stats.backoff == 0 || wake == INT64_MAX || !sim->n_open)
            return;
        sim->now = MAX(wake, sim->now + NSEC_PER_MSEC);
        engine_tick(sim->engine);
    }
}
