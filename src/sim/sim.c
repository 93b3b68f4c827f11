/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include "api/pod.h"
#include "base/time.h"

/* A pod that cannot be placed is tried this often before the simulation lets it be. */
#define MAX_ATTEMPTS 3

struct sim_binding {
    uint64_t id;
    struct object *pod;
    char *node;
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

static void port_decided(void *ctx, const struct decision *d)
{
    struct sim *sim = ctx;
    struct sim_pod *pod = map_get(&sim->by_uid, object_meta(d->pod)->uid);
    if (!pod)
        return;
    pod->attempts = d->attempt;
    free(pod->message);
    pod->message = d->bound ? NULL : str_dup(d->message);
    if (d->bound)
        pod->node = str_dup(d->node_name);
}

/* --- making and ending ------------------------------------------------------------------------ */

int sim_new(const struct sim_options *options, struct sim **ret_sim, struct err *reterr)
{
    struct sim *sim = xnew(struct sim);
    struct engine_options engine = {
        .config = options->config,
        .registry = options->registry,
        .seed = options->seed,
        .explain_bytes = options->explain_bytes,
        .ports = {.ctx = sim, .now = port_now, .submit = port_submit, .decided = port_decided},
    };
    int r = engine_new(&engine, &sim->engine, reterr);
    if (r < 0) {
        free(sim);
        return r;
    }
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
    vec_release(&sim->pods);
    vec_release(&sim->bindings);
    map_release(&sim->by_uid);
    free(sim);
    return NULL;
}

void sim_load(struct sim *sim, const struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->objects.n; i++) {
        struct object *o = scenario->objects.v[i];
        if (object_kind(o)->id == KIND_POD && str_empty(object_pod(o)->spec.node_name)) {
            struct sim_pod *pod = xnew(struct sim_pod);
            pod->object = object_ref(o);
            vec_push(&sim->pods, pod);
            map_put(&sim->by_uid, object_meta(o)->uid, pod);
        }
        engine_object_changed(sim->engine, NULL, o);
        /* No two things happen at the same moment: pods are tried in the order they came. */
        sim->now++;
    }
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
        if (after)
            engine_object_changed(sim->engine, b->pod, after);
        object_unref(after);
        object_unref(b->pod);
        free(b->node);
        free(b);
    }
    vec_clear(&sim->bindings);
}

static bool all_tried(const struct sim *sim)
{
    for (size_t i = 0; i < sim->pods.n; i++)
        if (!sim->pods.v[i]->node && sim->pods.v[i]->attempts < MAX_ATTEMPTS)
            return false;
    return true;
}

void sim_run(struct sim *sim)
{
    for (;;) {
        while (engine_schedule_one(sim->engine))
            tell_bindings(sim);
        struct engine_stats stats = engine_get_stats(sim->engine);
        int64_t wake = engine_next_wake(sim->engine);
        /* Only an event could help the pods that are left, and none will come. */
        if (stats.backoff == 0 || wake == INT64_MAX || all_tried(sim))
            return;
        sim->now = MAX(wake, sim->now + NSEC_PER_MSEC);
        engine_tick(sim->engine);
    }
}
