/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - the objects of one kind as last seen, by namespace and name.
 *
 * Purpose:   lets a reflector tell what has changed: an event becomes added, modified or deleted
 *            against what is here, and a list in the same way, with what it does not name deleted.
 * Ownership: holds a reference on every object in it.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_WATCH_STORE_H
#define BERTH_KUBE_WATCH_STORE_H

#include "api/object.h"
#include "base/map.h"

struct store {
    struct map entries;
    uint64_t round; /* of listing */
    struct buf key; /* scratch */
};

void store_init(struct store *store);
void store_release(struct store *store);

/* NULL where there is none. namespace is empty for objects of the cluster. */
struct object *store_get(struct store *store, struct str namespace, struct str name);

/* Puts object in (a reference of its own) and gives the one it replaces, or NULL, to the caller. */
struct object *store_put(struct store *store, struct object *object);
/* Takes the object of that name out and gives it to the caller; NULL where there is none. */
struct object *store_take(struct store *store, const struct object_meta *meta);

/*
 * A listing: store_begin, then store_put or store_keep for every object of it, then store_sweep,
 * which takes out those that it did not name and shows each to fn, in order of their keys.
 */
typedef void store_fn(void *ctx, struct object *object);
void store_begin(struct store *store);
/* True, and the object counts as listed, where the same version of it is here already. */
bool store_keep(struct store *store, const struct object_meta *meta);
void store_sweep(struct store *store, store_fn *fn, void *ctx);

/* In no order. */
void store_each(const struct store *store, store_fn *fn, void *ctx);

#endif
