/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - the last seen objects of one kind, by namespace and name.
 *
 * Purpose:   lets a reflector determine what has changed: an event becomes added, modified or
 *            deleted by comparison with the store, and so does a list, whose missing objects are
 *            deleted.
 * Ownership: holds a reference on every object in it.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_WATCH_STORE_H
#define BERTH_KUBE_WATCH_STORE_H

#include "api/object.h"
#include "base/map.h"

struct store {
    struct map entries;
    uint64_t round; /* number of the current list */
    struct buf key; /* scratch */
};

void store_init(struct store *store);
void store_release(struct store *store);

/* NULL if there is none. namespace is empty for cluster-scoped objects. */
struct object *store_get(struct store *store, struct str namespace, struct str name);

/*
 * Puts the object in, with a reference of its own. Returns the object that it replaces, or NULL;
 * the caller owns that reference.
 */
struct object *store_put(struct store *store, struct object *object);
/* Removes the object of that name. Returns it with its reference, or NULL if there is none. */
struct object *store_take(struct store *store, const struct object_meta *meta);

/*
 * A list: store_begin, then store_put or store_keep for each of its objects, then store_sweep,
 * which removes the objects that the list did not contain and calls fn for each, sorted by key.
 */
typedef void store_fn(void *ctx, struct object *object);
void store_begin(struct store *store);
/* If the store has the same version, marks the object as listed and returns true. */
bool store_keep(struct store *store, const struct object_meta *meta);
void store_sweep(struct store *store, store_fn *fn, void *ctx);

/* In no particular order. */
void store_each(const struct store *store, store_fn *fn, void *ctx);

#endif
