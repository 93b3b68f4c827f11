/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lister.h - the objects of one kind, for plugins (struct berth_lister).
 *
 * Purpose:   looks objects up where the engine keeps them: nodes and pods in the cache, all others
 *            in the cluster's objects. A kind that the engine does not know becomes a custom one,
 *            and the world is asked to watch it.
 * Ownership: a lister is in the arena of the instance that asked for it.
 * Threading: made on the engine's thread; any thread may look up during a cycle.
 */
#ifndef BERTH_ENGINE_LISTER_H
#define BERTH_ENGINE_LISTER_H

#include "engine/rooms.h"

struct berth_lister {
    const struct framework *framework;
    const struct kind *kind; /* NULL: no room for another custom kind, or its names are wrong */
};

struct berth_lister *lister_new(struct berth_handle *h, const struct berth_watch *watch);
/* NULL if there is none. */
const struct object *lister_get(const struct berth_lister *l, struct str namespace,
                                struct str name);
/* Empty namespace: all. Stops if fn returns false. */
typedef bool lister_fn(void *ctx, const struct berth_object *object);
void lister_each(const struct berth_lister *l, struct str namespace, lister_fn *fn, void *ctx);

#endif
