/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.h - feature gates: all of upstream's, and berth's own.
 *
 * Purpose:   --feature-gates of kube-scheduler: the same names, stages, defaults, locks and
 *            dependencies as in the emulated version (feature_table.h). Gates that berth reads have
 *            an entry in enum feature; the others are accepted and have no effect. Gates named
 *            Berth… are berth's own and off by default: each corrects a defect of upstream that
 *            affects placements, or adds a feature that upstream does not have.
 * Ownership: plain values.
 * Threading: set before the engine is created, constant afterwards.
 */
#ifndef BERTH_ENGINE_CONFIG_FEATURES_H
#define BERTH_ENGINE_CONFIG_FEATURES_H

#include "base/buf.h"
#include "base/err.h"
#include "engine/config/feature_table.h"

enum feature {
    FEATURE_DRA_ADMIN_ACCESS,
    FEATURE_DRA_CONSUMABLE_CAPACITY,
    FEATURE_DRA_DEVICE_BINDING_CONDITIONS,
    FEATURE_DRA_DEVICE_TAINT_RULES,
    FEATURE_DRA_DEVICE_TAINTS,
    FEATURE_DRA_EXTENDED_RESOURCE,
    FEATURE_DRA_LIST_TYPE_ATTRIBUTES,
    FEATURE_DRA_NODE_ALLOCATABLE_RESOURCES,
    FEATURE_DRA_PARTITIONABLE_DEVICES,
    FEATURE_DRA_PRIORITIZED_LIST,
    FEATURE_DRA_RESOURCE_CLAIM_DEVICE_STATUS,
    FEATURE_DRA_SCHEDULER_FILTER_TIMEOUT,
    FEATURE_DRA_WORKLOAD_RESOURCE_CLAIMS,
    FEATURE_DYNAMIC_RESOURCE_ALLOCATION,
    FEATURE_GANG_SCHEDULING,
    FEATURE_MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    FEATURE_NODE_DECLARED_FEATURES,
    FEATURE_POD_LEVEL_RESOURCES,
    FEATURE_STORAGE_CAPACITY_SCORING,
    FEATURE_SCHEDULER_ASYNC_PREEMPTION,
    FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS,
    FEATURE_TOPOLOGY_AWARE_WORKLOAD_SCHEDULING,
    FEATURE_VOLUME_LIMIT_SCALING,
    FEATURE_WORKLOAD_AWARE_PREEMPTION,
    /* Negative namespace selectors of a pod's own affinity terms do not match every namespace. */
    FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS,
    /* Victims for members of a gang are evicted only if the whole gang will fit. */
    FEATURE_BERTH_GANG_PREEMPTION,
    /* When a gang loses a member, its other members release at once what they hold in Permit. */
    FEATURE_BERTH_GANGS_HOLD_NOTHING,
    /* Among nodes with equal total scores one is chosen at random, as up to 1.34. */
    FEATURE_BERTH_RANDOM_TIES,
    /* Scores of nodes with capacities out of range stay in range instead of overflowing. */
    FEATURE_BERTH_SANE_SCORES,
    /* Preemption prefers victims that fit another node. */
    FEATURE_BERTH_VICTIMS_CAN_MOVE,
    /* Preemption evicts pods of other nodes if affinity or spread constraints require it. */
    FEATURE_BERTH_WIDE_PREEMPTION,
    FEATURE_COUNT,
};

struct kube_version {
    unsigned major, minor;
};

/* The version that berth implements, and the oldest that it can emulate. */
#define KUBE_VERSION        ((struct kube_version){1, 36})
#define KUBE_VERSION_OLDEST ((struct kube_version){1, 33})

struct features {
    bool on[FEATURE_COUNT];
    /* `on` is computed from these. */
    struct kube_version emulated, min_compatible;
    int8_t given[FEATURE_GATE_COUNT]; /* 1: =true, -1: =false, 0: not set */
};

void features_default(struct features *f);
/* Uses defaults, stages and locks of that version. Call before features_parse. */
void features_emulate(struct features *f, struct kube_version emulated,
                      struct kube_version min_compatible);
/*
 * Parses --feature-gates, "Name=true,Other=false", each with an optional prefix "kube:"; also
 * AllAlpha and AllBeta. Adds to earlier calls; without effect if it fails.
 */
int features_parse(struct features *f, struct str text, struct err *reterr) MUST_CHECK;

/* A gate by its name, which must be in the table. */
bool features_enabled(const struct features *f, const char *name);

/*
 * Are pods that name a PodGroup scheduled together? Upstream requires GenericWorkload and
 * GangScheduling. Here it is on by default, since only an API server with these gates accepts pods
 * that name a group; GenericWorkload=false or GangScheduling=false turns it off.
 */
bool features_group_pods(const struct features *f);

/* For --help, one line per gate: "kube:Name=true|false (BETA - default=true)". */
void features_write_help(struct buf *out);
/* The same for the gates that berth reads. */
void features_write_own_help(struct buf *out);

/* Gates that were set although they are generally available or deprecated. */
typedef void features_notice_fn(void *ctx, const char *name, bool deprecated, bool value);
void features_each_notice(const struct features *f, features_notice_fn *fn, void *ctx);
/* Names of the alpha gates that are on, separated by spaces. */
void features_write_alpha(const struct features *f, struct buf *out);

/* Every gate that exists: "ALPHA", "BETA", "" (generally available) or "DEPRECATED". */
typedef void features_fn(void *ctx, struct str name, const char *stage, bool on);
void features_each(const struct features *f, features_fn *fn, void *ctx);

#endif
