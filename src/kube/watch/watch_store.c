/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/watch/watch_store.h"

#include "base/vec.h"

struct entry {
    struct object *object;
    uint64_t round; /* list in which it was seen last */
    struct str key;
    char text[]; /* "namespace/name" */
};

void watch_store_init(struct watch_store *store)
{
    *store = (struct watch_store){0};
}

static void entry_free(struct entry *e)
{
    object_unref(e->object);
    free(e);
}

void watch_store_release(struct watch_store *store)
{
    map_each (slot, &store->entries) {
        entry_free(slot->value);
    }
    map_release(&store->entries);
    buf_release(&store->key);
}

/* Neither part can contain a slash, so the key is unique. Valid until the next call. */
static struct str key_of(struct watch_store *store, struct str namespace, struct str name)
{
    buf_clear(&store->key);
    buf_add_str(&store->key, namespace);
    buf_add_char(&store->key, '/');
    buf_add_str(&store->key, name);
    return buf_str(&store->key);
}

static struct entry *find(struct watch_store *store, const struct object_meta *meta)
{
    return map_get(&store->entries, key_of(store, meta->namespace, meta->name));
}

struct object *watch_store_get(struct watch_store *store, struct str namespace, struct str name)
{
    struct entry *e = map_get(&store->entries, key_of(store, namespace, name));

    return e ? e->object : NULL;
}

struct object *watch_store_put(struct watch_store *store, struct object *object)
{
    const struct object_meta *meta = object_meta(object);
    struct entry *e = find(store, meta);
    struct object *old = NULL;

    if (e) {
        old = e->object;
    } else {
        struct str key = key_of(store, meta->namespace, meta->name);

        e = xmalloc(sizeof(*e) + key.n);
        memcpy(e->text, key.p, key.n);
        e->key = (struct str){e->text, key.n};
        map_put(&store->entries, e->key, e);
    }
    e->object = object_ref(object);
    e->round = store->round;
    return old;
}

static struct object *take(struct watch_store *store, struct entry *e)
{
    struct object *object = e->object;

    map_del(&store->entries, e->key);
    free(e);
    return object;
}

struct object *watch_store_take(struct watch_store *store, const struct object_meta *meta)
{
    struct entry *e = find(store, meta);

    return e ? take(store, e) : NULL;
}

void watch_store_begin(struct watch_store *store)
{
    store->round++;
}

bool watch_store_keep(struct watch_store *store, const struct object_meta *meta)
{
    struct entry *e = find(store, meta);
    const struct object_meta *known;

    if (!e)
        return false;
    known = object_meta(e->object);
    if (!str_eq(known->resource_version, meta->resource_version) || !str_eq(known->uid, meta->uid))
        return false;
    e->round = store->round;
    return true;
}

static int by_key(const void *a, const void *b)
{
    return str_cmp((*(struct entry *const *)a)->key, (*(struct entry *const *)b)->key);
}

void watch_store_sweep(struct watch_store *store, watch_store_fn *fn, void *ctx)
{
    VEC(struct entry *) gone = {0};

    map_each (slot, &store->entries) {
        struct entry *e = slot->value;

        if (e->round != store->round)
            vec_push(&gone, e);
    }
    if (gone.n > 0)
        qsort(gone.v, gone.n, sizeof(*gone.v), by_key);
    for (size_t i = 0; i < gone.n; i++) {
        struct object *object = take(store, gone.v[i]);

        fn(ctx, object);
        object_unref(object);
    }
    vec_release(&gone);
}

void watch_store_each(const struct watch_store *store, watch_store_fn *fn, void *ctx)
{
    map_each (slot, &store->entries) {
        fn(ctx, ((struct entry *)slot->value)->object);
    }
}
