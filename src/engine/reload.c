/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/reload.h"

#include "engine/rooms.h"

/* --- comparison ------------------------------------------------------------------------------- */

static const struct berth_handle *instance(const struct profile *p, uint16_t id)
{
    for (size_t i = 0; i < p->instances.n; i++)
        if (p->instances.v[i]->id == id)
            return p->instances.v[i];
    return NULL;
}

static bool is_at(const struct profile *p, int point, uint16_t id)
{
    for (size_t i = 0; i < p->at[point].n; i++)
        if (p->at[point].v[i]->id == id)
            return true;
    return false;
}

/* Weights are not compared: they do not decide which plugin may reject a pod. */
static bool same_points(const struct profile *a, const struct profile *b, uint16_t id)
{
    for (int point = 0; point < POINT_COUNT; point++)
        if (is_at(a, point, id) != is_at(b, point, id))
            return false;
    return true;
}

static bool same_managed(const struct extender *a, const struct extender *b)
{
    if (a->n_managed_resources != b->n_managed_resources)
        return false;
    for (size_t i = 0; i < a->n_managed_resources; i++)
        if (!str_eq(a->managed_resources[i], b->managed_resources[i]))
            return false;
    return true;
}

static bool same_extender(const struct extender *a, const struct extender *b)
{
    return str_eq(a->name, b->name) && a->filters == b->filters &&
           a->prioritizes == b->prioritizes && a->binds == b->binds && a->preempts == b->preempts &&
           a->ignorable == b->ignorable && same_managed(a, b);
}

static bool same_extenders(const struct setup *a, const struct setup *b)
{
    if (a->extenders.n != b->extenders.n || a->config->extenders.n != b->config->extenders.n)
        return false;
    for (size_t i = 0; i < a->extenders.n; i++)
        if (!same_extender(&a->extenders.v[i].spec, &b->extenders.v[i].spec))
            return false;
    /* The configuration also has what struct extender lacks: URLs of verbs, certificates. */
    for (size_t i = 0; i < a->config->extenders.n; i++)
        if (!desc_equal(&extender_config_type, &a->config->extenders.v[i],
                        &b->config->extenders.v[i]))
            return false;
    return true;
}

/* A shared object that was loaded again is at another address, an unchanged one is not. */
static bool same_code(const struct berth_handle *a, const struct berth_handle *b)
{
    return a->code.name == b->code.name && a->code.create == b->code.create;
}

static bool same_instance(const struct berth_handle *h, const struct profile *b)
{
    const struct berth_handle *g = instance(b, h->id);
    if (!g || !same_code(g, h) || !str_eq(str_of(g->args), str_of(h->args)))
        return false;
    if (str_is(str_of(h->plugin->name), EXTENDER_PLUGIN))
        return same_extenders(h->profile->setup, b->setup);
    return same_points(h->profile, b, h->id);
}

/* Whether every PostFilter plugin is the same: only then do the pod's rejectors alone decide. */
static bool same_post_filter(const struct profile *b, const struct plugin_set *same)
{
    const handle_list *list = &b->at[POINT_POST_FILTER];
    for (size_t i = 0; i < list->n; i++)
        if (!plugin_set_has(same, list->v[i]->id))
            return false;
    return true;
}

/* The plugins of a that return the same verdicts in b; empty if PostFilter differs. */
static struct plugin_set same_plugins(const struct profile *a, const struct profile *b)
{
    struct plugin_set same = {0};
    for (size_t i = 0; i < a->instances.n; i++)
        if (same_instance(a->instances.v[i], b))
            plugin_set_add(&same, a->instances.v[i]->id);
    return same_post_filter(b, &same) ? same : (struct plugin_set){0};
}

static bool same_profile(const struct profile *a, const struct profile *b)
{
    struct plugin_set same = same_plugins(a, b);
    if (a->instances.n != b->instances.n)
        return false;
    for (size_t i = 0; i < a->instances.n; i++)
        if (!plugin_set_has(&same, a->instances.v[i]->id))
            return false;
    return true;
}

/* Whether a pod that was rejected under a is certain to be rejected under b as well. */
static bool same_verdicts(const struct setup *a, const struct setup *b)
{
    for (size_t i = 0; i < a->profiles.n; i++) {
        const struct profile *p = a->profiles.v[i], *q = setup_profile(b, p->scheduler_name);
        if (q && !same_profile(p, q))
            return false;
    }
    return true;
}

static struct profile *successor(void *ctx, const struct profile *old, struct plugin_set *ret_same)
{
    const struct setup *setup = ctx;
    struct profile *p = setup_profile(setup, old->scheduler_name);
    if (p)
        *ret_same = same_plugins(old, p);
    return p;
}

/* --- ids of removed plugins ------------------------------------------------------------------- */

static void add_used(const struct setup *s, struct plugin_set *used)
{
    for (size_t id = 0; id < FRAMEWORK_MAX_PLUGINS; id++)
        if (s->handles[id])
            plugin_set_add(used, id);
    for (size_t i = 0; i < s->extenders.n; i++)
        plugin_set_add(used, s->extenders.v[i].id);
}

static void add_all(struct plugin_set *set, const struct plugin_set *more)
{
    for (size_t i = 0; i < ARRAY_LEN(set->words); i++)
        set->words[i] |= more->words[i];
}

static struct plugin_set ids_in_use(const struct engine *e)
{
    struct plugin_set used = {0};
    add_used(e->framework.setup, &used);
    for (const struct setup *s = e->framework.replaced; s; s = s->older)
        add_used(s, &used);
    map_each (entry, &e->queue.by_key) {
        const struct berth_queued_pod *qp = entry->value;
        add_all(&used, &qp->rejectors);
        add_all(&used, &qp->pending);
    }
    return used;
}

/*
 * There are FRAMEWORK_MAX_PLUGINS ids. Frees those that no setup and no queued pod uses, and drops
 * the records of attempts, which refer to plugins by id. Returns false if all ids are in use.
 */
static bool free_unused_ids(struct engine *e)
{
    struct plugin_set used = ids_in_use(e);
    bool any = false;
    for (size_t id = 0; id < e->framework.plugin_names.n; id++)
        if (!plugin_set_has(&used, id) && e->framework.plugin_names.v[id].p) {
            free((char *)e->framework.plugin_names.v[id].p);
            e->framework.plugin_names.v[id] = (struct str){0};
            if (e->framework.metrics)
                scheduler_metrics_forget_plugin(e->framework.metrics, id);
            any = true;
        }
    if (any)
        explain_clear(&e->explain);
    return any;
}

/* --- the switch ------------------------------------------------------------------------------- */

static void set_pool(struct engine *e, struct pool *pool)
{
    if (pool == e->framework.ports.pool)
        return;
    workers_release(&e->cycles.workers);
    workers_init(&e->cycles.workers, pool);
    e->framework.ports.pool = pool;
}

static void switch_to(struct engine *e, struct setup *new, struct reload_result *ret_result)
{
    struct setup *old = e->framework.setup;
    old->older = e->framework.replaced;
    e->framework.replaced = old;
    engine_use_setup(e, new);
    struct queue_followed followed =
        queue_follow_profiles(&e->queue, successor, new, engine_now(e));
    /* Pods in flight are moved when they come back: their rejectors may have been removed. */
    if (!same_verdicts(old, new))
        queue_keep_event(&e->queue, &event_reload);
    *ret_result = (struct reload_result){.moved = followed.moved, .gone = followed.gone};
}

int engine_reload(struct engine *e, const struct engine_options *options,
                  struct reload_result *ret_result, struct err *reterr)
{
    struct setup_options setup = engine_setup_options(options);
    struct setup *new;
    int r = setup_new(&e->framework, &setup, &new, reterr);
    if (r == -E2BIG && free_unused_ids(e))
        r = setup_new(&e->framework, &setup, &new, reterr);
    if (r < 0)
        return r;
    set_pool(e, options->ports.pool);
    switch_to(e, new, ret_result);
    engine_settle(e);
    return 0;
}

void engine_reap_setups(struct engine *e)
{
    for (struct setup **at = &e->framework.replaced; *at;) {
        struct setup *s = *at;
        if (s->n_cycles) {
            at = &s->older;
            continue;
        }
        void *owner = s->owner;
        *at = s->older;
        setup_free(s);
        if (e->framework.ports.retired)
            e->framework.ports.retired(e->framework.ports.ctx, owner);
    }
}
