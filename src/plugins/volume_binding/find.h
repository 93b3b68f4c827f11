/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.h - parts of the search that the sets of find_sets.c share.
 *
 * Purpose:   which volumes a claim accepts.
 * Ownership: results are borrowed until the next event.
 * Threading: pure functions; any thread during a cycle.
 */
#ifndef BERTH_PLUGINS_VOLUME_BINDING_FIND_H
#define BERTH_PLUGINS_VOLUME_BINDING_FIND_H

#include "plugins/volume_binding/pod_volumes.h"

struct chosen;

/* The smallest free volume of the pool that the claim accepts; NULL if there is none. */
struct pv *pool_offer(const struct pod_claim *c, const struct pv_pool *pool);
/* The volume that names the claim, unless it is chosen already; NULL if there is none. */
struct pv *claim_own_volume(const struct volumes *v, const struct pod_claim *c,
                            const struct chosen *chosen);

#endif
