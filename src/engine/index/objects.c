/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.c - objects by kind and key, and by kind and namespace.
 *
 * Both views have the same objects; only the view by key counts references. An entry knows its
 * object's place in the list, so that a change costs the same in a namespace of any size.
 */
#include "engine/index/objects.h"

#include "engine/cache/object_key.h"

struct objects_bucket {
    char *namespace;
    object_list list; /* borrowed from the entries */
};

struct objects_entry {
    struct object *object;
    size_t place; /* in the list of its namespace */
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
    for (size_t k = 0; k < KIND_SPACE; k++) {
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

static void add(struct objects *o, struct object *object, struct str key)
{
    enum kind_id kind = object_kind(object)->id;
    struct objects_entry *e = xmalloc(sizeof(*e) + key.n);
    e->object = object_ref(object);
    memcpy(e->key, key.p, key.n);
    map_put(&o->by_name[kind], (struct str){e->key, key.n}, e);
    struct objects_bucket *b = bucket(o, kind, object_meta(object)->namespace);
    e->place = b->list.n;
    vec_push(&b->list, object);
}

static struct objects_entry *entry_of(struct objects *o, const struct object *object)
{
    const struct object_meta *meta = object_meta(object);
    return map_get(&o->by_name[object_kind(object)->id], key_of(o, meta->namespace, meta->name));
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
    INVARIANT(b->list.v[e->place] == e->object);
    b->list.v[e->place] = object;
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
    INVARIANT(b->list.v[e->place] == e->object);
    vec_swap_remove(&b->list, e->place);
    if (e->place < b->list.n)
        entry_of(o, b->list.v[e->place])->place = e->place;
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

/* Several threads may look up at once: the key is not in the scratch buffer. */
struct object *objects_get(const struct objects *o, enum kind_id kind, struct str namespace,
                           struct str name)
{
    char small[512], *key = small;
    size_t n = namespace.n + 1 + name.n;
    if (o->by_name[kind].n == 0)
        return NULL;
    if (n > sizeof(small))
        key = xmalloc(n);
    if (namespace.n)
        memcpy(key, namespace.p, namespace.n);
    key[namespace.n] = '/';
    if (name.n)
        memcpy(key + namespace.n + 1, name.p, name.n);
    const struct objects_entry *e = map_get(&o->by_name[kind], (struct str){key, n});
    if (key != small)
        free(key);
    return e ? e->object : NULL;
}

const object_list *objects_in(const struct objects *o, enum kind_id kind, struct str namespace)
{
    const struct objects_bucket *b = map_get(&o->by_namespace[kind], namespace);
    return b ? &b->list : NULL;
}
