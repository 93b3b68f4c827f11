/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_kinds.h - the nodes with a free volume for a kind of claim.
 *
 * Purpose:   claims of equal class, size, modes and selector accept the same volumes; those of a
 *            StatefulSet do. For each kind the nodes that offer a volume are kept up to date as
 *            volumes are taken and released, so that the next claim of the kind costs a lookup.
 * Ownership: part of struct volumes. A kind holds the claim it was made for. The number of kinds is
 *            bounded; the least recently used one is dropped.
 * Threading: the engine's thread; the pool's threads read a kind's nodes during a cycle.
 */
#ifndef BERTH_PLUGINS_VOLUME_BINDING_CLAIM_KINDS_H
#define BERTH_PLUGINS_VOLUME_BINDING_CLAIM_KINDS_H

#include "plugins/volume_binding/pod_volumes.h"

#define CLAIM_KINDS_MAX 64 /* bits of pv_pool.offers */

/*
 * The nodes with a free volume for the claim, over n_slots; NULL: none. *ret_everywhere: there is
 * one that every node reaches. Valid until the next event or until CLAIM_KINDS_MAX other kinds are
 * asked for.
 */
const uint64_t *claim_kind_nodes(struct volumes *v, const struct pod_claim *c, size_t n_slots,
                                 bool *ret_everywhere);

/* The free volumes of the pool have changed; before it is freed they are none. */
void claim_kinds_pool_changed(struct volumes *v, struct pv_pool *pool);
/* The class is about to be freed. */
void claim_kinds_class_gone(struct volumes *v, const struct pv_class *class);
/* A node has entered the set (sign 1) or left it (-1). */
void claim_kinds_node_moved(void *volumes, const struct node_set *set, uint32_t slot, int sign);
void claim_kinds_release(struct volumes *v);

#endif
