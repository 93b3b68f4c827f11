/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include "api/pod.h"
#include "base/time.h"

#define DEFAULT_MAX_ATTEMPTS 3

struct sim_binding {
    uint64_t id;
    struct object *pod;
    char *node;
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

static void port_submit(void *ctx, const struct write *write)
{
    struct sim *sim = ctx;
    if (write->kind != WRITE_BINDING)
        return;
    struct sim_binding *b = xnew(struct sim_binding);
    b->id = write->id;
    b->pod = object_ref(write->pod);
    b->node = str_dup(write->node_name);
    vec_push(&sim->bindings, b);
}

/* Neither placed nor given up. */
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
    map_release(&sim->objects);
    vec_release(&sim->pods);
    vec_release(&sim->bindings);
    map_release(&sim->by_uid);
    free(sim);
    return NULL;
}

static bool is_pending(const struct object *o)
{
    return object_kind(o)->id == KIND_POD && str_empty(object_pod(o)->spec.node_name);
}

/* What an attempt looks at is there before the first attempt. */
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

/* It is now as `after` says, NULL: gone; gives what it was before, with a reference. */
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
    /* No two things happen at the same moment: pods are tried in the order they came. */
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

/* The pod as the API server would show it after the binding. */
static struct object *bound_pod(const struct object *pod, const char *node)
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
    body->spec.node_name = arena_dup(object_arena(o), str_of(node));
    return o;
}

static void tell_bindings(struct sim *sim)
{
    for (size_t i = 0; i < sim->bindings.n; i++) {
        struct sim_binding *b = sim->bindings.v[i];
        struct object *after = bound_pod(b->pod, b->node);
        struct write_result result = {.status = after ? 201 : 500,
                                      .message = STR("the pod could not be encoded")};
        engine_write_done(sim->engine, b->id, &result);
        if (after) {
            object_unref(replace(sim, after, after));
            engine_object_changed(sim->engine, b->pod, after);
        }
        object_unref(after);
        object_unref(b->pod);
        free(b->node);
        free(b);
    }
    vec_clear(&sim->bindings);
}

void sim_run(struct sim *sim)
{
    /* Pods that are gated, or another scheduler's, are never tried: nobody waits for these. */
    sim->n_open = 0;
    for (size_t i = 0; i < sim->pods.n; i++)
        sim->n_open += is_open(sim, sim->pods.v[i]);
    sim->n_open = MIN(sim->n_open, engine_get_stats(sim->engine).active);
    for (;;) {
        while (sim->n_open && engine_schedule_one(sim->engine))
            tell_bindings(sim);
        struct engine_stats stats = engine_get_stats(sim->engine);
        int64_t wake = engine_next_wake(sim->engine);
        /* Only an event could help the pods that are left, and none will come. */
        if (stats.backoff == 0 || wake == INT64_MAX || !sim->n_open)
            return;
        sim->now = MAX(wake, sim->now + NSEC_PER_MSEC);
        engine_tick(sim->engine);
    }
}
