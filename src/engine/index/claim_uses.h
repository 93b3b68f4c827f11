/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_uses.h - the PersistentVolumeClaims that pods on nodes use (upstream: usedPVCSet).
 *
 * Purpose:   a claim of access mode ReadWriteOncePod may be used by one pod. References are
 *            counted as pods come and go, so that asking costs one lookup.
 * Ownership: owns its counters.
 * Threading: the engine's thread.
 *
 * Only pods on nodes with an object count, and only volumes that name a claim: not the claims of
 * ephemeral volumes.
 */
#ifndef BERTH_ENGINE_INDEX_CLAIM_USES_H
#define BERTH_ENGINE_INDEX_CLAIM_USES_H

#include "base/map.h"
#include "engine/cache/node_info.h"

struct claim_uses {
    struct map by_key; /* "namespace/name" → counter */
    struct buf key;    /* scratch */
};

void claim_uses_release(struct claim_uses *u);
/* A pod was added to the node (sign 1) or removed from it (-1). */
void claim_uses_moved(struct claim_uses *u, const struct berth_pod *pod,
                      const struct berth_node *node, int sign);
/* The node, with its pods, gets an object (sign 1) or loses it (-1). */
void claim_uses_node(struct claim_uses *u, const struct berth_node *node, int sign);

bool claim_is_used(struct claim_uses *u, struct str namespace, struct str name);

#endif
