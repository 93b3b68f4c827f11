/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capacities.c - CSIStorageCapacity objects by storage class.
 *
 * Upstream takes the first capacity with room in the order of its lister, which is random. Here it
 * is the first by namespace and name.
 */
#include "engine/cache/object_key.h"
#include "plugins/volume_binding/volumes.h"

const struct quantity *capacity_limit(const struct csi_storage_capacity *c)
{
    return c->maximum_volume_size ? c->maximum_volume_size : c->capacity;
}

/* --- classes ---------------------------------------------------------------------------------- */

static struct capacity_class *class_of(struct volumes *v, struct str name)
{
    struct capacity_class *class = map_get(&v->capacity_classes, name);
    if (class)
        return class;
    class = xnew(struct capacity_class);
    class->name = (struct str){str_dup(name), name.n};
    map_put(&v->capacity_classes, class->name, class);
    return class;
}

/* The position of the first capacity that is not before this key. */
static size_t place_in(const struct capacity_class *class, struct str key)
{
    size_t from = 0, to = class->capacities.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (str_cmp(class->capacities.v[mid]->key, key) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static void enter(struct volumes *v, struct capacity *c)
{
    struct capacity_class *class = class_of(v, c->body->storage_class_name);
    vec_insert(&class->capacities, place_in(class, c->key), c);
    c->class = class;
    if (c->where)
        vec_push(&c->where->capacities, c);
}

static void leave_set(struct capacity *c)
{
    for (size_t i = 0; c->where && i < c->where->capacities.n; i++)
        if (c->where->capacities.v[i] == c) {
            vec_swap_remove(&c->where->capacities, i);
            return;
        }
}

static void leave(struct volumes *v, struct capacity *c)
{
    struct capacity_class *class = TAKE(c->class);
    vec_remove(&class->capacities, place_in(class, c->key));
    leave_set(c);
    if (class->capacities.n)
        return;
    map_del(&v->capacity_classes, class->name);
    vec_release(&class->capacities);
    free((char *)class->name.p);
    free(class);
}

/* --- objects ---------------------------------------------------------------------------------- */

static void take_object(struct volumes *v, struct capacity *c, struct object *object)
{
    struct node_set *where = c->where;
    c->object = object_ref(object);
    c->body = object_csi_storage_capacity(object);
    const struct quantity *limit = capacity_limit(c->body);
    c->limited = limit;
    c->limit = limit ? quantity_value(limit) : 0;
    c->where = c->body->node_topology
                   ? node_sets_of_labels(&v->sets, c->body->node_topology, object)
                   : NULL;
    c->reachable = c->where;
    node_set_unref(&v->sets, where);
}

static void capacity_free(struct volumes *v, struct capacity *c)
{
    node_set_unref(&v->sets, c->where);
    object_unref(c->object);
    free(c);
}

static void put(struct volumes *v, struct capacity *c)
{
    const struct object_meta *meta = &c->body->metadata;
    struct str key = object_key(&v->key, meta->namespace, meta->name);
    c->key = (struct str){str_dup(key), key.n};
    map_put(&v->capacities, c->key, c);
    enter(v, c);
}

static void take_out(struct volumes *v, struct capacity *c)
{
    leave(v, c);
    map_del(&v->capacities, c->key);
    free((char *)c->key.p);
}

void capacity_changed(struct volumes *v, struct object *before, struct object *after)
{
    const struct object_meta *meta = object_meta(after ? after : before);
    struct capacity *c = map_get(&v->capacities, object_key(&v->key, meta->namespace, meta->name));
    if (c)
        take_out(v, c);
    if (c && !after) {
        capacity_free(v, c);
        return;
    }
    if (!after)
        return;
    struct object *old = c ? c->object : NULL;
    if (!c)
        c = xnew(struct capacity);
    take_object(v, c, after);
    object_unref(old);
    put(v, c);
}

void capacities_release(struct volumes *v)
{
    map_each (e, &v->capacities) {
        struct capacity *c = e->value;
        leave(v, c);
        free((char *)c->key.p);
        capacity_free(v, c);
    }
    map_release(&v->capacities);
    map_release(&v->capacity_classes);
}

/* --- questions -------------------------------------------------------------------------------- */

static bool has_room(const struct capacity *c, int64_t size)
{
    return c->reachable && c->limited && c->limit >= size;
}

/* Asks every capacity of the class: the node's sets are not known. */
static const struct capacity *search(const struct capacity_class *class, int64_t size,
                                     const struct berth_node *node)
{
    for (size_t i = 0; i < class->capacities.n; i++) {
        const struct capacity *c = class->capacities.v[i];
        if (has_room(c, size) && node_set_matches(c->where, node))
            return c;
    }
    return NULL;
}

const struct capacity *capacity_for(const struct volumes *v, struct str class, int64_t size,
                                    const struct berth_node *node)
{
    const struct capacity_class *of = map_get(&v->capacity_classes, class);
    const node_set_list *sets = node_sets_at(&v->sets, node);
    const struct capacity *best = NULL;
    if (!of || !sets)
        return of ? search(of, size, node) : NULL;
    for (size_t i = 0; i < sets->n; i++)
        for (size_t k = 0; k < sets->v[i]->capacities.n; k++) {
            const struct capacity *c = sets->v[i]->capacities.v[k];
            if (c->class == of && has_room(c, size) && (!best || str_cmp(c->key, best->key) < 0))
                best = c;
        }
    return best;
}

void capacities_paint(const struct volumes *v, struct str class, int64_t size, uint64_t *out,
                      size_t n_slots)
{
    const struct capacity_class *of = map_get(&v->capacity_classes, class);
    for (size_t i = 0; of && i < of->capacities.n; i++)
        if (has_room(of->capacities.v[i], size))
            node_set_paint(of->capacities.v[i]->where, out, n_slots);
}
