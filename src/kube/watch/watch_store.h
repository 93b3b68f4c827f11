/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_store.h - the last seen objects of one kind, by namespace and name.
 *
 * Purpose:   lets a reflector determine what has changed: an event becomes added, modified or
 *            deleted by comparison with the store, and so does a list, whose missing objects are
 *            deleted.
 * Ownership: holds a reference on every object in it.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_WATCH_WATCH_STORE_H
#define BERTH_KUBE_WATCH_WATCH_STORE_H

#include "api/object.h"
#include "base/map.h"

struct watch_store {
    struct map entries;
    uint64_t round; /* number of the current list */
    struct buf key; /* scratch */
};

void watch_store_init(struct watch_store *store);
void watch_store_release(struct watch_store *store);

/* NULL if there is none. namespace is empty for cluster-scoped objects. */
struct object *watch_store_get(struct watch_store *store, struct str namespace, struct str name);

/*
 * Puts the object in, with a reference of its own. Returns the object that it replaces, or NULL;
 * the caller owns that reference.
 */
struct object *watch_store_put(struct watch_store *store, struct object *object);
/* Removes the object of that name. Returns it with its reference, or NULL if there is none. */
struct object *watch_store_take(struct watch_store *store, const struct object_meta *meta);

/*
 * A list: watch_store_begin, then watch_store_put or watch_store_keep for each of its objects, then
 * watch_store_sweep, which removes the objects that the list did not contain and calls fn for each,
 * sorted by key.
 */
typedef void watch_store_fn(void *ctx, struct object *object);
void watch_store_begin(struct watch_store *store);
/* If the store has the same version, marks the object as listed and returns true. */
bool watch_store_keep(struct watch_store *store, const struct object_meta *meta);
void watch_store_sweep(struct watch_store *store, watch_store_fn *fn, void *ctx);

/* In no particular order. */
void watch_store_each(const struct watch_store *store, watch_store_fn *fn, void *ctx);

#endif
