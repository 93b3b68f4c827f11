/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespace_sets.h - the namespaces that a selector matches.
 *
 * Purpose:   affinity terms select namespaces by their labels. The result is cached until a
 *            namespace is added, changed or removed.
 * Ownership: owns the lists and copies of their texts; bounded in number.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_INDEX_NAMESPACE_SETS_H
#define BERTH_ENGINE_INDEX_NAMESPACE_SETS_H

#include "api/selector.h"
#include "base/map.h"
#include "engine/index/objects.h"

#define NAMESPACE_SETS_MAX 64 /* kept between cycles */

typedef LIST(struct str) namespace_list;

struct namespace_sets {
    struct objects *objects;
    struct map by_key;                 /* → struct namespace_set */
    VEC(struct namespace_set *) stale; /* replaced, but still used by the cycle */
    struct buf key;                    /* scratch */
};

void namespace_sets_init(struct namespace_sets *s, struct objects *objects);
void namespace_sets_release(struct namespace_sets *s);
/* Call between cycles: frees stale sets, and all if there are too many. */
void namespace_sets_trim(struct namespace_sets *s);

/*
 * The listed namespaces and those whose labels match, sorted and without duplicates. Valid until
 * namespace_sets_trim.
 */
namespace_list namespace_sets_get(struct namespace_sets *s, namespace_list named,
                                  const struct selector *selector);

#endif
