/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apps.h - ReplicaSet and StatefulSet.
 *
 * Purpose:   their selectors, from which default topology spread constraints are built.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_APPS_H
#define BERTH_API_APPS_H

#include "api/meta.h"

/* Left out: minReadySeconds, template. */
struct replica_set_spec {
    int32_t *replicas;
    struct label_selector *selector;
};

/* Left out: status. */
struct replica_set {
    struct object_meta metadata;
    struct replica_set_spec spec;
};

/*
 * Left out: template, volumeClaimTemplates, serviceName, podManagementPolicy, updateStrategy,
 * revisionHistoryLimit, minReadySeconds, persistentVolumeClaimRetentionPolicy, ordinals.
 */
struct stateful_set_spec {
    int32_t *replicas;
    struct label_selector *selector;
};

/* Left out: status. */
struct stateful_set {
    struct object_meta metadata;
    struct stateful_set_spec spec;
};

extern const struct type replica_set_spec_type;
extern const struct type replica_set_type;
extern const struct type stateful_set_spec_type;
extern const struct type stateful_set_type;

#endif
