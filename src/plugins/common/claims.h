/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claims.h - the volumes of a pod and their PersistentVolumeClaims.
 *
 * Purpose:   what the volume plugins share: looking up the claim of a volume, its class, its owner.
 * Ownership: results are borrowed from the objects.
 * Threading: pure functions; any thread.
 */
#ifndef BERTH_PLUGINS_COMMON_CLAIMS_H
#define BERTH_PLUGINS_COMMON_CLAIMS_H

#include "api/pod.h"
#include "api/storage.h"
#include "base/buf.h"
#include "engine/index/objects.h"

/*
 * The name of the volume's claim: given, or that of an ephemeral volume, which is written to
 * `scratch`. False: the volume has no claim.
 */
bool pod_volume_claim(const struct pod *pod, const struct volume *volume, struct buf *scratch,
                      struct str *ret_name);
/* Does the pod own the claim of its ephemeral volume? (ephemeral.VolumeIsForPod) */
bool claim_is_for_pod(const struct persistent_volume_claim *claim, const struct pod *pod);
/* Empty: none (GetPersistentVolumeClaimClass). */
struct str class_of_claim(const struct persistent_volume_claim *claim);
bool claim_has_mode(const struct persistent_volume_claim *claim, struct str mode);

/* NULL: not found. */
const struct persistent_volume_claim *claim_lookup(const struct objects *objects,
                                                   struct str namespace, struct str name);
const struct persistent_volume *pv_lookup(const struct objects *objects, struct str name);
const struct storage_class *class_lookup(const struct objects *objects, struct str name);

/* Does the pod have a volume of this claim? Ephemeral volumes: only if `ephemeral`. */
bool pod_names_claim(const struct pod *pod, const struct object_meta *claim, bool ephemeral);

/* Everything in the pod's volumes that placement depends on, as a part of a key. */
void key_add_volumes(struct buf *key, const struct pod *pod);

#endif
