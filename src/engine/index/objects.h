/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h - objects of the cluster that plugins look up (upstream: listers).
 *
 * Purpose:   namespaces, services, owners of pods: everything except nodes and pods, which the
 *            cache holds, by kind, namespace and name.
 * Ownership: holds a reference on each object; results are borrowed.
 * Threading: changed by the engine's thread between cycles; any thread may look up during one.
 */
#ifndef BERTH_ENGINE_INDEX_OBJECTS_H
#define BERTH_ENGINE_INDEX_OBJECTS_H

#include "api/object.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

typedef VEC(struct object *) object_list;

struct objects {
    struct map by_name[KIND_SPACE];      /* "namespace/name" → struct objects_entry */
    struct map by_namespace[KIND_SPACE]; /* → struct objects_bucket */
    struct buf key;                      /* scratch */
    uint64_t changes;                    /* incremented by every change */
    uint64_t kind_changes[KIND_SPACE];   /* the same by kind */
};

void objects_init(struct objects *o);
void objects_release(struct objects *o);
/* before NULL: an addition; after NULL: a deletion. */
void objects_changed(struct objects *o, struct object *before, struct object *after);

/* NULL if there is none. Cluster-scoped objects are in the empty namespace. */
struct object *objects_get(const struct objects *o, enum kind_id kind, struct str namespace,
                           struct str name);
/*
 * All objects of a namespace; NULL if there are none. The order depends on the history of changes:
 * upstream's listers have none either.
 */
const object_list *objects_in(const struct objects *o, enum kind_id kind, struct str namespace);

#endif
