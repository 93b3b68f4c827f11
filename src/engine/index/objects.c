/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.c - objects by kind and key, and by kind and namespace in order of addition.
 *
 * Both views have the same objects; only the view by key counts references.
 */
#include "engine/index/objects.h"

#include "engine/cache/object_key.h"

struct objects_bucket {
    char *namespace;
    object_list list; /* borrowed from the entries */
};

struct objects_entry {
    struct object *object;
    char key[];
};

void objects_init(struct objects *o)
{
    *o = (struct objects){0};
}

static void free_bucket(struct objects_bucket *b)
{
    vec_release(&b->list);
    free(b->namespace);
    free(b);
}

static void free_entry(struct objects_entry *e)
{
    object_unref(e->object);
    free(e);
}

void objects_release(struct objects *o)
{
    for (size_t k = 0; k < KIND_COUNT; k++) {
        map_each (e, &o->by_name[k])
            free_entry(e->value);
        map_release(&o->by_name[k]);
        map_each (e, &o->by_namespace[k])
            free_bucket(e->value);
        map_release(&o->by_namespace[k]);
    }
    buf_release(&o->key);
}

static struct str key_of(struct objects *o, struct str namespace, struct str name)
{
    return object_key(&o->key, namespace, name);
}

static struct objects_bucket *bucket(struct objects *o, enum kind_id kind, struct str namespace)
{
    struct objects_bucket *b = map_get(&o->by_namespace[kind], namespace);
    if (!b) {
        b = xnew(struct objects_bucket);
        b->namespace = str_dup(namespace);
        map_put(&o->by_namespace[kind], str_of(b->namespace), b);
    }
    return b;
}

/* An object of by_name is in the list of its namespace. */
static size_t place_in(const object_list *list, const struct object *object)
{
    size_t i = 0;
    while (i < list->n && list->v[i] != object)
        i++;
    INVARIANT(i < list->n);
    return i;
}

static void add(struct objects *o, struct object *object, struct str key)
{
    enum kind_id kind = object_kind(object)->id;
    struct objects_entry *e = xmalloc(sizeof(*e) + key.n);
    e->object = object_ref(object);
    memcpy(e->key, key.p, key.n);
    map_put(&o->by_name[kind], (struct str){e->key, key.n}, e);
    vec_push(&bucket(o, kind, object_meta(object)->namespace)->list, object);
}

static void put(struct objects *o, struct object *object)
{
    enum kind_id kind = object_kind(object)->id;
    const struct object_meta *meta = object_meta(object);
    struct str key = key_of(o, meta->namespace, meta->name);
    struct objects_entry *e = map_get(&o->by_name[kind], key);
    if (!e) {
        add(o, object, key);
        return;
    }
    struct objects_bucket *b = bucket(o, kind, meta->namespace);
    b->list.v[place_in(&b->list, e->object)] = object;
    struct object *old = e->object;
    e->object = object_ref(object);
    object_unref(old);
}

static void drop(struct objects *o, const struct object *object)
{
    enum kind_id kind = object_kind(object)->id;
    const struct object_meta *meta = object_meta(object);
    struct objects_entry *e = map_del(&o->by_name[kind], key_of(o, meta->namespace, meta->name));
    if (!e)
        return;
    struct objects_bucket *b = bucket(o, kind, meta->namespace);
    vec_remove(&b->list, place_in(&b->list, e->object));
    if (!b->list.n) {
        map_del(&o->by_namespace[kind], meta->namespace);
        free_bucket(b);
    }
    free_entry(e);
}

void objects_changed(struct objects *o, struct object *before, struct object *after)
{
    o->changes++;
    o->kind_changes[object_kind(after ? after : before)->id]++;
    if (after)
        put(o, after);
    else
        drop(o, before);
}

struct object *objects_get(struct objects *o, enum kind_id kind, struct str namespace,
                           struct str name)
{
    const struct objects_entry *e = map_get(&o->by_name[kind], key_of(o, namespace, name));
    return e ? e->object : NULL;
}

const object_list *objects_in(const struct objects *o, enum kind_id kind, struct str namespace)
{
    const struct objects_bucket *b = map_get(&o->by_namespace[kind], namespace);
    return b ? &b->list : NULL;
}
