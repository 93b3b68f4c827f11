/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selectors.h - label selectors of objects, and revisions that they match.
 *
 * Purpose:   the registry finds the budgets of a pod, controllers the pods of a service or budget.
 * Ownership: a selector borrows from the tree that it was made of; its arrays live in the arena.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_APISERVER_STORE_SELECTORS_H
#define BERTH_APISERVER_STORE_SELECTORS_H

#include "api/selector.h"
#include "apiserver/store/store.h"
#include "codec/json_value.h"

bool selector_matches_revision(const struct selector *s, const struct revision *rev);
/* Of a LabelSelector; NULL matches nothing, an empty one everything. -EINVAL: it is not valid. */
int selector_from_tree(const struct json_value *v, struct arena *a,
                       struct selector *ret_selector) MUST_CHECK;
/* Of a map of labels; without labels nothing matches. */
void selector_from_labels(const struct json_value *labels, struct arena *a,
                          struct selector *ret_selector);

#endif
