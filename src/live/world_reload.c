/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches to another configuration. The loop's thread creates its extenders and, if these need
 * objects in another form, lists the objects again. Then the engine's thread switches. Then the
 * loop's thread posts the pods of profiles that are new. The old setup is freed after the engine
 * has retired it.
 */
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "live/world_internal.h"

/* --- setups ----------------------------------------------------------------------------------- */

static void extender_done(void *ctx, struct extender_answer *answer)
{
    world_post_msg(ctx, &(struct engine_msg){.kind = ENGINE_MSG_EXTENDER_DONE, .answer = answer});
}

int world_setup_new(struct world *w, const struct scheduler_config *config,
                    const struct registry *registry, void *owner, struct world_setup **ret_setup,
                    struct err *reterr)
{
    struct extenders_options options = {
        .configs = config->extenders.v, .n = config->extenders.n, .may_bind = world_may_write};
    struct world_setup *s = xnew(struct world_setup);
    *s = (struct world_setup){.world = w, .config = config, .registry = registry, .owner = owner};
    if (options.n) {
        int r = extenders_new(w->loop, &options, extender_done, w, &s->extenders, reterr);
        if (r < 0) {
            free(s);
            return r;
        }
    }
    *ret_setup = s;
    return 0;
}

static void setup_free(struct world_setup *s)
{
    extenders_free(s->extenders);
    free(s);
}

void world_setup_options(const struct world_setup *s, struct engine_options *options)
{
    options->config = s->config;
    options->registry = s->registry;
    options->owner = (void *)(uintptr_t)s;
    options->extenders = s->extenders ? extenders_specs(s->extenders) : NULL;
    options->n_extenders = s->extenders ? s->config->extenders.n : 0;
}

/* Removes the setup from world.setups if it is there. */
static void unlink_setup(struct world *w, const struct world_setup *s)
{
    for (struct world_setup **at = &w->setups; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            return;
        }
}

void world_free_setups(struct world *w)
{
    while (w->setups) {
        struct world_setup *s = w->setups;
        w->setups = s->next;
        setup_free(s);
    }
    if (w->waiting)
        setup_free(TAKE(w->waiting));
}

size_t world_parallelism(const struct scheduler_config *config)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return (size_t)MAX(1, MIN((long)*config->parallelism, cores));
}

/* --- form of objects -------------------------------------------------------------------------- */

static unsigned flags_for(const struct world_setup *s, enum kind_id kind)
{
    bool whole = s->registry->whole_objects && (kind == KIND_POD || kind == KIND_NODE);
    return (s->extenders ? extenders_object_flags(s->extenders, kind) : 0) |
           (whole ? OBJECT_KEEP_WIRE : 0);
}

unsigned world_object_flags(const struct world *w, enum kind_id kind)
{
    unsigned flags = 0;
    for (const struct world_setup *s = w->setups; s; s = s->next)
        flags |= flags_for(s, kind);
    return flags;
}

static const enum kind_id kinds_sent[] = {KIND_NODE, KIND_POD};

/*
 * Lists nodes and pods again if the setup needs them in a form that is not kept. Returns true if
 * all objects have the required form.
 */
static bool request_form(struct world *w, const struct world_setup *s)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds_sent); i++) {
        struct reflector *r = informers_get(w->informers, kinds_sent[i]);
        unsigned required = flags_for(s, kinds_sent[i]), has = reflector_object_flags(r);
        if (required & ~has)
            reflector_refetch(r, has | required);
    }
    return !informers_are_refetching(w->informers);
}

/* Objects that arrive from now on keep only the forms that the setups in use require. */
static void drop_form(struct world *w)
{
    for (size_t i = 0; !w->waiting && i < ARRAY_LEN(kinds_sent); i++)
        reflector_set_object_flags(informers_get(w->informers, kinds_sent[i]),
                                   world_object_flags(w, kinds_sent[i]));
}

/* --- the loop's thread: before the switch ----------------------------------------------------- */

static void post_setup(struct world *w, struct world_setup *s)
{
    s->next = w->setups;
    w->setups = s;
    world_post_msg(w, &(struct engine_msg){.kind = ENGINE_MSG_RELOAD, .setup = s});
}

void world_on_refetched(void *ctx)
{
    struct world *w = ctx;
    if (w->waiting && w->ending == ENDING_NONE)
        post_setup(w, TAKE(w->waiting));
}

/* A newer reload replaces the one that waits for objects. */
static void drop_waiting(struct world *w)
{
    struct world_setup *s = TAKE(w->waiting);
    void *owner = s->owner;
    setup_free(s);
    w->callbacks->on_retired(w->ctx, owner);
}

int world_reload(struct world *w, const struct scheduler_config *config,
                 const struct registry *registry, void *owner, struct err *reterr)
{
    struct world_setup *s;
    if (w->ending != ENDING_NONE)
        return err_set(reterr, -ECANCELED, "shutting down");
    int r = world_setup_new(w, config, registry, owner, &s, reterr);
    if (r < 0)
        return r;
    if (w->waiting)
        drop_waiting(w);
    if (request_form(w, s)) {
        post_setup(w, s);
        return 0;
    }
    log_info(0, "Fetching objects again in the form that the new extenders require");
    w->waiting = s;
    return 0;
}

/* --- pods of new profiles --------------------------------------------------------------------- */

static bool has_profile(const struct scheduler_config *config, struct str name)
{
    for (size_t i = 0; i < config->profiles.n; i++)
        if (str_eq(*config->profiles.v[i].scheduler_name, name))
            return true;
    return false;
}

struct adopted_pods {
    const struct scheduler_config *before, *now;
    VEC(struct object *) pods;
};

static void add_adopted_pod(void *ctx, struct object *object)
{
    struct adopted_pods *n = ctx;
    const struct pod *pod = object_pod(object);
    if (str_empty(pod->spec.node_name) && has_profile(n->now, pod->spec.scheduler_name) &&
        !has_profile(n->before, pod->spec.scheduler_name))
        vec_push(&n->pods, object);
}

/* By age, the oldest first, then by namespace and name. */
static int by_age(const void *a, const void *b)
{
    const struct object_meta *x = object_meta(*(struct object *const *)a),
                             *y = object_meta(*(struct object *const *)b);
    int64_t s = x->creation_timestamp.sec, t = y->creation_timestamp.sec;
    if (s != t)
        return s < t ? -1 : 1;
    int order = str_cmp(x->namespace, y->namespace);
    return order ? order : str_cmp(x->name, y->name);
}

/* The engine ignored these pods when it first saw them: no profile had their schedulerName. */
static size_t post_adopted_pods(struct world *w, const struct scheduler_config *before,
                                const struct scheduler_config *now)
{
    struct adopted_pods n = {.before = before, .now = now};
    reflector_each(informers_get(w->informers, KIND_POD), add_adopted_pod, &n);
    if (n.pods.n)
        qsort(n.pods.v, n.pods.n, sizeof(*n.pods.v), by_age);
    for (size_t i = 0; i < n.pods.n; i++)
        world_post_msg(
            w, &(struct engine_msg){.kind = ENGINE_MSG_OBJECT, .after = object_ref(n.pods.v[i])});
    size_t posted = n.pods.n;
    vec_release(&n.pods);
    return posted;
}

/* --- the engine's thread ---------------------------------------------------------------------- */

struct outcome {
    struct world_setup *setup;
    struct reload_result result;
    int code;
    struct err err;
};

static void on_switched(void *outcome);
static void on_unused(void *setup);

void world_switch(struct world *w, struct world_setup *s)
{
    struct outcome *o = xnew(struct outcome);
    size_t threads = world_parallelism(s->config);
    struct pool *pool = pool_size(w->pool) == threads ? w->pool : pool_new(threads);
    struct engine_options options = {.ports = world_ports(w)};
    world_setup_options(s, &options);
    options.ports.pool = pool;
    o->setup = s;
    o->code = engine_reload(w->engine, &options, &o->result, &o->err);
    if (o->code == 0)
        engine_log_plugins(w->engine);
    if (pool != w->pool) {
        struct pool *unused = o->code < 0 ? pool : w->pool;
        w->pool = o->code < 0 ? w->pool : pool;
        pool_free(unused);
    }
    loop_post(w->loop, on_switched, o);
}

void world_retire(void *ctx, void *setup)
{
    struct world *w = ctx;
    loop_post(w->loop, on_unused, setup);
}

/* --- the loop's thread: after the switch ------------------------------------------------------ */

/* Frees a setup that the engine no longer uses. */
static void drop_setup(struct world_setup *s)
{
    struct world *w = s->world;
    unlink_setup(w, s);
    setup_free(s);
    if (w->ending == ENDING_NONE)
        drop_form(w);
}

static void retire_setup(struct world_setup *s)
{
    struct world *w = s->world;
    void *owner = s->owner;
    drop_setup(s);
    w->callbacks->on_retired(w->ctx, owner);
}

static void on_unused(void *ctx)
{
    struct world_setup *s = ctx;
    s->unused = true;
    if (s != s->world->setup)
        retire_setup(s);
}

static void on_switched(void *ctx)
{
    struct outcome *o = ctx;
    struct world_setup *s = o->setup;
    struct world *w = s->world;
    struct world_setup *old = w->setup;
    void *owner = s->owner;
    bool refused = o->code < 0;
    if (refused) {
        drop_setup(s);
    } else {
        w->setup = s;
        w->config = s->config;
        if (w->ending == ENDING_NONE)
            o->result.come = post_adopted_pods(w, old->config, s->config);
    }
    w->callbacks->on_reloaded(w->ctx, owner, &o->result, refused ? &o->err : NULL);
    if (!refused && old->unused)
        retire_setup(old);
    free(o);
}
