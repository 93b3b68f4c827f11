/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persistent_volumes.c - volumes by class, place and size.
 *
 * Invariant: a volume is in a pool exactly if it is free: available, not being deleted, and without
 * a claim, be it named by the API server's object or assumed. It is in a struct claimed exactly if
 * it has one. So a volume that is taken costs nothing in the search for a free one.
 */
#include "engine/cache/object_key.h"
#include "plugins/volume_binding/claim_kinds.h"

static const struct quantity nothing;

struct str pv_class_name(const struct persistent_volume *pv)
{
    const struct str *beta = str_map_get(&pv->metadata.annotations, STR(ANN_BETA_STORAGE_CLASS));
    return beta ? *beta : pv->spec.storage_class_name;
}

const struct quantity *pv_capacity(const struct persistent_volume *pv)
{
    const struct quantity *q = quantity_map_get(&pv->spec.capacity, STR("storage"));
    return q ? q : &nothing;
}

bool same_version(const struct object_meta *a, const struct object_meta *b)
{
    return a == b ||
           (!str_empty(a->resource_version) && str_eq(a->resource_version, b->resource_version));
}

bool pv_is_for(const struct pv *pv, const struct persistent_volume_claim *claim)
{
    const struct object_reference *ref = pv->body->spec.claim_ref;
    if (pv->assumed) {
        const struct object_meta *to = object_meta(pv->assumed);
        return str_eq(to->name, claim->metadata.name) &&
               str_eq(to->namespace, claim->metadata.namespace) &&
               (str_empty(to->uid) || str_eq(to->uid, claim->metadata.uid));
    }
    return ref && str_eq(ref->name, claim->metadata.name) &&
           str_eq(ref->namespace, claim->metadata.namespace) &&
           (str_empty(ref->uid) || str_eq(ref->uid, claim->metadata.uid));
}

/* --- pools of free volumes -------------------------------------------------------------------- */

static struct pv_class *class_of(struct volumes *v, struct str name)
{
    struct pv_class *class = map_get(&v->classes, name);
    if (class)
        return class;
    class = xnew(struct pv_class);
    class->name = (struct str){str_dup(name), name.n};
    map_put(&v->classes, class->name, class);
    return class;
}

static struct pv_pool *find_pool(const struct pv_class *class, const struct node_set *where)
{
    if (!where)
        return class->everywhere;
    for (size_t i = 0; i < where->pools.n; i++)
        if (where->pools.v[i]->class == class)
            return where->pools.v[i];
    return NULL;
}

static struct pv_pool *pool_of(struct pv_class *class, struct node_set *where)
{
    struct pv_pool *pool = find_pool(class, where);
    if (pool)
        return pool;
    pool = xnew(struct pv_pool);
    pool->class = class;
    pool->where = where;
    pool->index = class->pools.n;
    vec_push(&class->pools, pool);
    if (where)
        vec_push(&where->pools, pool);
    else
        class->everywhere = pool;
    return pool;
}

static void free_class(struct volumes *v, struct pv_class *class)
{
    claim_kinds_class_gone(v, class);
    map_del(&v->classes, class->name);
    vec_release(&class->pools);
    free((char *)class->name.p);
    free(class);
}

static void drop_pool_if_empty(struct volumes *v, struct pv_pool *pool)
{
    struct pv_class *class = pool->class;
    if (pool->free.n)
        return;
    vec_last(&class->pools)->index = pool->index;
    vec_swap_remove(&class->pools, pool->index);
    for (size_t i = 0; pool->where && i < pool->where->pools.n; i++)
        if (pool->where->pools.v[i] == pool) {
            vec_swap_remove(&pool->where->pools, i);
            break;
        }
    if (!pool->where)
        class->everywhere = NULL;
    vec_release(&pool->free);
    free(pool);
    if (class->pools.n == 0)
        free_class(v, class);
}

/* The smallest first; equal ones by name. Upstream takes any of them. */
static int pv_order(const struct pv *a, const struct pv *b)
{
    int by_size = quantity_cmp(a->size, b->size);
    return by_size ? by_size : str_cmp(a->body->metadata.name, b->body->metadata.name);
}

/* The position of the first volume that is not before this one. */
static size_t place_in(const pv_list *list, const struct pv *pv)
{
    size_t from = 0, to = list->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (pv_order(list->v[mid], pv) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* --- volumes by claim ------------------------------------------------------------------------- */

const struct claimed *pv_claimed(const struct volumes *v, struct str claim)
{
    return map_get(&v->by_claim, claim);
}

static void enter_claimed(struct volumes *v, struct pv *pv, struct str namespace, struct str name)
{
    struct str key = object_key(&v->key, namespace, name);
    struct claimed *claimed = map_get(&v->by_claim, key);
    size_t i = 0;
    if (!claimed) {
        claimed = xnew(struct claimed);
        claimed->claim = (struct str){str_dup(key), key.n};
        map_put(&v->by_claim, claimed->claim, claimed);
    }
    while (i < claimed->volumes.n &&
           str_cmp(claimed->volumes.v[i]->body->metadata.name, pv->body->metadata.name) < 0)
        i++;
    vec_insert(&claimed->volumes, i, pv);
    pv->claimed = claimed;
}

static void leave_claimed(struct volumes *v, struct pv *pv)
{
    struct claimed *claimed = TAKE(pv->claimed);
    for (size_t i = 0; i < claimed->volumes.n; i++)
        if (claimed->volumes.v[i] == pv) {
            vec_remove(&claimed->volumes, i);
            break;
        }
    if (claimed->volumes.n)
        return;
    map_del(&v->by_claim, claimed->claim);
    free((char *)claimed->claim.p);
    vec_release(&claimed->volumes);
    free(claimed);
}

/* --- a volume's place ------------------------------------------------------------------------- */

static void enter(struct volumes *v, struct pv *pv)
{
    const struct persistent_volume *body = pv->body;
    if (pv->assumed) {
        const struct object_meta *to = object_meta(pv->assumed);
        enter_claimed(v, pv, to->namespace, to->name);
    } else if (body->spec.claim_ref) {
        enter_claimed(v, pv, body->spec.claim_ref->namespace, body->spec.claim_ref->name);
    } else if (str_is(body->status.phase, "Available") && !body->metadata.deletion_timestamp.set) {
        pv->pool = pool_of(class_of(v, pv_class_name(body)), pv->where);
        vec_insert(&pv->pool->free, place_in(&pv->pool->free, pv), pv);
        claim_kinds_pool_changed(v, pv->pool);
    }
}

static void leave(struct volumes *v, struct pv *pv)
{
    if (pv->claimed)
        leave_claimed(v, pv);
    if (!pv->pool)
        return;
    struct pv_pool *pool = TAKE(pv->pool);
    vec_remove(&pool->free, place_in(&pool->free, pv));
    claim_kinds_pool_changed(v, pool);
    drop_pool_if_empty(v, pool);
}

static void end_assumption(struct volumes *v, struct pv *pv)
{
    v->n_assumed_pvs -= pv->assumed != NULL;
    pv->assumed = object_unref(pv->assumed);
}

/* What follows from the object alone. */
static void take_object(struct volumes *v, struct pv *pv, struct object *object)
{
    struct node_set *where = pv->where;
    pv->object = object_ref(object);
    pv->body = object_persistent_volume(object);
    pv->size = pv_capacity(pv->body);
    const struct volume_node_affinity *affinity = pv->body->spec.node_affinity;
    pv->where = affinity && affinity->required
                    ? node_sets_of_selector(&v->sets, affinity->required, object)
                    : NULL;
    node_set_unref(&v->sets, where);
    pv_end_migration(v, pv);
    pv_migrate(v, pv);
}

static void pv_free(struct volumes *v, struct pv *pv)
{
    end_assumption(v, pv);
    node_set_unref(&v->sets, pv->where);
    pv_end_migration(v, pv);
    object_unref(pv->object);
    free(pv);
}

static void pv_added(struct volumes *v, struct object *object)
{
    struct pv *pv = xnew(struct pv);
    take_object(v, pv, object);
    map_put(&v->pvs, pv->body->metadata.name, pv);
    enter(v, pv);
}

static void pv_updated(struct volumes *v, struct pv *pv, struct object *object)
{
    struct object *old = pv->object;
    leave(v, pv);
    map_del(&v->pvs, object_meta(old)->name);
    if (pv->assumed && !same_version(object_meta(old), object_meta(object)))
        end_assumption(v, pv);
    take_object(v, pv, object);
    map_put(&v->pvs, pv->body->metadata.name, pv);
    enter(v, pv);
    object_unref(old);
}

void pv_changed(struct volumes *v, struct object *before, struct object *after)
{
    struct pv *pv = pv_get(v, object_meta(after ? after : before)->name);
    if (after && pv) {
        pv_updated(v, pv, after);
    } else if (after) {
        pv_added(v, after);
    } else if (pv) {
        leave(v, pv);
        map_del(&v->pvs, object_meta(pv->object)->name);
        pv_free(v, pv);
    }
}

/* --- assumptions ------------------------------------------------------------------------------ */

bool pv_assume(struct volumes *v, const struct object *version, struct object *claim)
{
    struct pv *pv = pv_get(v, object_meta(version)->name);
    if (!pv || !same_version(object_meta(pv->object), object_meta(version)))
        return false;
    leave(v, pv);
    end_assumption(v, pv);
    pv->assumed = object_ref(claim);
    v->n_assumed_pvs++;
    enter(v, pv);
    return true;
}

void pv_revert(struct volumes *v, const struct object_meta *version)
{
    struct pv *pv = pv_get(v, version->name);
    if (!pv || !pv->assumed || !same_version(object_meta(pv->object), version))
        return;
    leave(v, pv);
    end_assumption(v, pv);
    enter(v, pv);
}

void pvs_release(struct volumes *v)
{
    map_each (e, &v->pvs) {
        struct pv *pv = e->value;
        leave(v, pv);
        pv_free(v, pv);
    }
    map_release(&v->pvs);
    map_release(&v->classes);
    map_release(&v->by_claim);
}
