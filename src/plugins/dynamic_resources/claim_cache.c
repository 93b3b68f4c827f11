/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dynamic_resources/claim_cache.h"

#include "base/err.h"
#include "engine/cache/object_key.h"

/*
 * Invariant: on_allocation has been called once with sign 1 for the allocation of every `latest`
 * claim and of every pending allocation.
 */
struct claim_entry {
    char *key;
    struct object *api;    /* of the watch */
    struct object *latest; /* the same, or newer */
};

/* Those that wait for one claim. */
struct claim_watchers {
    char *key;
    VEC(struct claim_watcher *) v;
};

/* --- allocations ------------------------------------------------------------------------------ */

struct allocations *allocations_new(void)
{
    struct allocations *a = xnew(struct allocations);
    a->refs = 1;
    arena_init(&a->arena, 0);
    return a;
}

struct allocations *allocations_ref(struct allocations *a)
{
    a->refs++;
    return a;
}

struct allocations *allocations_unref(struct allocations *a)
{
    if (a && --a->refs == 0) {
        arena_release(&a->arena);
        free(a);
    }
    return NULL;
}

/* --- lifecycle -------------------------------------------------------------------------------- */

void claim_cache_init(struct claim_cache *c, allocation_fn *on_allocation, void *ctx)
{
    *c = (struct claim_cache){.on_allocation = on_allocation, .ctx = ctx};
}

static void entry_free(struct claim_entry *e)
{
    object_unref(e->api);
    object_unref(e->latest);
    free(e->key);
    free(e);
}

static void pending_free(struct pending_allocation *p)
{
    allocations_unref(p->owner);
    free(p->uid);
    free(p);
}

static void watchers_free(struct claim_watchers *list)
{
    for (size_t i = 0; i < list->v.n; i++)
        list->v.v[i]->list = NULL;
    vec_release(&list->v);
    free(list->key);
    free(list);
}

void claim_cache_release(struct claim_cache *c)
{
    map_each (e, &c->by_name)
        entry_free(e->value);
    map_each (e, &c->pending)
        pending_free(e->value);
    map_release(&c->by_name);
    map_release(&c->extended);
    map_release(&c->pending);
    map_each (e, &c->watchers)
        watchers_free(e->value);
    map_release(&c->watchers);
    buf_release(&c->key);
}

/* --- claims ----------------------------------------------------------------------------------- */

static void count(const struct claim_cache *c, const struct object *claim, int sign)
{
    const struct allocation_result *a =
        claim ? object_resource_claim(claim)->status.allocation : NULL;
    if (a && c->on_allocation)
        c->on_allocation(c->ctx, a, sign);
}

/* The pod for whose extended resources the claim was made; NULL if it was not. */
static const struct owner_reference *extended_owner(const struct object *claim)
{
    const struct object_meta *meta = object_meta(claim);
    const struct str *mark = str_map_get(&meta->annotations, STR(ANN_EXTENDED_RESOURCE_CLAIM));
    return mark && str_is(*mark, "true") ? object_meta_controller(meta) : NULL;
}

static void index_extended(struct claim_cache *c, struct claim_entry *e, bool add)
{
    const struct owner_reference *owner = e->latest ? extended_owner(e->latest) : NULL;
    if (!owner || str_empty(owner->uid))
        return;
    /* The key is part of the claim, so an entry never keeps the key of another one. */
    if (add || map_get(&c->extended, owner->uid) == e)
        map_del(&c->extended, owner->uid);
    if (add)
        map_put(&c->extended, owner->uid, e);
}

static void set_latest(struct claim_cache *c, struct claim_entry *e, struct object *claim)
{
    if (e->latest == claim)
        return;
    struct object *old = e->latest;
    index_extended(c, e, false);
    /* The new one first: a device that both name stays used in between. */
    count(c, claim, 1);
    count(c, old, -1);
    e->latest = claim ? object_ref(claim) : NULL;
    index_extended(c, e, true);
    object_unref(old);
}

static struct claim_entry *find(struct claim_cache *c, struct str namespace, struct str name)
{
    object_key(&c->key, namespace, name);
    return map_get(&c->by_name, buf_str(&c->key));
}

/* Upstream compares versions as numbers. One that is not a number is never older. */
static bool is_older(const struct object *a, const struct object *b)
{
    int64_t x, y;
    if (!str_to_i64(object_meta(a)->resource_version, &x) ||
        !str_to_i64(object_meta(b)->resource_version, &y))
        return false;
    return x < y;
}

/* Each is called once. It may wait again, also for the same claim. */
static void tell_watchers(struct claim_cache *c, struct str namespace, struct str name)
{
    struct claim_watchers *list = map_del(&c->watchers, object_key(&c->key, namespace, name));
    if (!list)
        return;
    while (list->v.n) {
        struct claim_watcher *w = vec_pop(&list->v);
        w->list = NULL;
        w->fn(w);
    }
    watchers_free(list);
}

static void forget(struct claim_cache *c, struct claim_entry *e)
{
    set_latest(c, e, NULL);
    map_del(&c->by_name, str_of(e->key));
    entry_free(e);
}

void claim_cache_changed(struct claim_cache *c, struct object *before, struct object *after)
{
    const struct object_meta *meta = object_meta(after ? after : before);
    struct claim_entry *e = find(c, meta->namespace, meta->name);
    if (!after) {
        if (e)
            forget(c, e);
        tell_watchers(c, meta->namespace, meta->name);
        return;
    }
    if (!e) {
        e = xnew(struct claim_entry);
        e->key = str_dup(buf_str(&c->key));
        map_put(&c->by_name, str_of(e->key), e);
    }
    bool assumed = e->latest && e->latest != e->api;
    object_ref(after);
    object_unref(e->api);
    e->api = after;
    if (!assumed || !is_older(after, e->latest))
        set_latest(c, e, after);
    tell_watchers(c, meta->namespace, meta->name);
}

struct object *claim_cache_get(struct claim_cache *c, struct str namespace, struct str name)
{
    const struct claim_entry *e = find(c, namespace, name);
    return e ? e->latest : NULL;
}

struct object *claim_cache_extended(const struct claim_cache *c, const struct object_meta *pod)
{
    const struct claim_entry *e = map_get(&c->extended, pod->uid);
    if (!e)
        return NULL;
    const struct owner_reference *owner = extended_owner(e->latest);
    return owner && str_eq(owner->name, pod->name) ? e->latest : NULL;
}

int claim_cache_assume(struct claim_cache *c, struct object *claim)
{
    const struct object_meta *meta = object_meta(claim);
    struct claim_entry *e = find(c, meta->namespace, meta->name);
    if (!e)
        return -ENOENT;
    if (is_older(claim, e->latest))
        return -ESTALE;
    set_latest(c, e, claim);
    return 0;
}

void claim_cache_restore(struct claim_cache *c, struct str namespace, struct str name)
{
    struct claim_entry *e = find(c, namespace, name);
    if (e)
        set_latest(c, e, e->api);
}

/* --- pending allocations ---------------------------------------------------------------------- */

struct pending_allocation *claim_cache_pending(const struct claim_cache *c, struct str uid)
{
    return map_get(&c->pending, uid);
}

void claim_cache_add_pending(struct claim_cache *c, struct str uid, struct allocations *owner,
                             const struct allocation_result *result, bool by_group)
{
    struct pending_allocation *p = claim_cache_pending(c, uid);
    if (p) {
        p->sharers++;
        return;
    }
    p = xnew(struct pending_allocation);
    p->uid = str_dup(uid);
    p->owner = allocations_ref(owner);
    p->result = result;
    p->sharers = 1;
    p->by_group = by_group;
    map_put(&c->pending, str_of(p->uid), p);
    if (c->on_allocation)
        c->on_allocation(c->ctx, result, 1);
}

bool claim_cache_drop_pending(struct claim_cache *c, struct str uid, bool all)
{
    struct pending_allocation *p = claim_cache_pending(c, uid);
    if (!p)
        return false;
    if (!all && --p->sharers > 0)
        return false;
    map_del(&c->pending, uid);
    if (c->on_allocation)
        c->on_allocation(c->ctx, p->result, -1);
    pending_free(p);
    return true;
}

/* --- watchers --------------------------------------------------------------------------------- */

void claim_cache_watch(struct claim_cache *c, struct claim_watcher *w, struct str namespace,
                       struct str name)
{
    struct str key = object_key(&c->key, namespace, name);
    struct claim_watchers *list = map_get(&c->watchers, key);
    assert(!w->list);
    if (!list) {
        list = xnew(struct claim_watchers);
        list->key = str_dup(key);
        map_put(&c->watchers, str_of(list->key), list);
    }
    w->list = list;
    w->index = list->v.n;
    vec_push(&list->v, w);
}

void claim_cache_unwatch(struct claim_cache *c, struct claim_watcher *w)
{
    struct claim_watchers *list = TAKE(w->list);
    if (!list)
        return;
    vec_swap_remove(&list->v, w->index);
    if (w->index < list->v.n)
        list->v.v[w->index]->index = w->index;
    /* A list that tell_watchers is going through is not in the map. */
    if (!list->v.n && map_get(&c->watchers, str_of(list->key)) == list) {
        map_del(&c->watchers, str_of(list->key));
        watchers_free(list);
    }
}
