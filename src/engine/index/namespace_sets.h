/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespace_sets.h - the namespaces that a selector picks.
 *
 * Purpose:   the affinity terms of a pod name namespaces by their labels. The answer is kept until
 *            a namespace comes, changes or goes.
 * Ownership: owns the lists and copies of their texts; bounded in number.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_INDEX_NAMESPACE_SETS_H
#define BERTH_ENGINE_INDEX_NAMESPACE_SETS_H

#include "api/selector.h"
#include "base/map.h"
#include "engine/index/objects.h"

#define NAMESPACE_SETS_MAX 64 /* kept from one cycle to the next */

typedef LIST(struct str) namespace_list;

struct namespace_sets {
    struct objects *objects;
    struct map by_key;                 /* → struct namespace_set */
    VEC(struct namespace_set *) stale; /* that a cycle may hold on to */
    struct buf key;                    /* scratch */
};

void namespace_sets_init(struct namespace_sets *s, struct objects *objects);
void namespace_sets_release(struct namespace_sets *s);
/* Between cycles: gives back what is too much. */
void namespace_sets_trim(struct namespace_sets *s);

/* These, and those whose labels match; sorted, each once. Valid until namespace_sets_trim. */
namespace_list namespace_sets_get(struct namespace_sets *s, namespace_list named,
                                  const struct selector *selector);

#endif
