/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.h - feature gates: upstream's, all of them by name, and our own.
 *
 * Purpose:   --feature-gates of kube-scheduler: the same names, stages, defaults, locks and
 *            dependencies, as of the version that is emulated (feature_table.h). Those that berth
 *            reads have an entry in enum feature; the others are accepted and change nothing.
 *            Gates named Berth… are berth's own and off: each mends a quirk of upstream's that
 *            changes placements, or adds what upstream lacks.
 * Ownership: values.
 * Threading: set before the engine is made, constant afterwards.
 */
#ifndef BERTH_ENGINE_CONFIG_FEATURES_H
#define BERTH_ENGINE_CONFIG_FEATURES_H

#include "base/buf.h"
#include "base/err.h"
#include "engine/config/feature_table.h"

enum feature {
    FEATURE_DRA_DEVICE_BINDING_CONDITIONS,
    FEATURE_DRA_RESOURCE_CLAIM_DEVICE_STATUS,
    FEATURE_DRA_SCHEDULER_FILTER_TIMEOUT,
    FEATURE_DYNAMIC_RESOURCE_ALLOCATION,
    FEATURE_GANG_SCHEDULING,
    FEATURE_MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    FEATURE_NODE_DECLARED_FEATURES,
    FEATURE_STORAGE_CAPACITY_SCORING,
    FEATURE_SCHEDULER_ASYNC_PREEMPTION,
    FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS,
    FEATURE_TOPOLOGY_AWARE_WORKLOAD_SCHEDULING,
    FEATURE_WORKLOAD_AWARE_PREEMPTION,
    /* Negative namespace selectors of a pod's own affinity terms do not match every namespace. */
    FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS,
    /* Victims of a gang's members are evicted when the gang as a whole will fit, or not at all. */
    FEATURE_BERTH_GANG_PREEMPTION,
    /* A gang that has lost a member gives up at once what its others hold in Permit. */
    FEATURE_BERTH_GANGS_HOLD_NOTHING,
    /* Among nodes with equal totals one is drawn by lot, as up to 1.34. */
    FEATURE_BERTH_RANDOM_TIES,
    /* Scores of nodes with absurd capacities stay in range instead of overflowing. */
    FEATURE_BERTH_SANE_SCORES,
    /* Preemption prefers victims that find a place elsewhere. */
    FEATURE_BERTH_VICTIMS_CAN_MOVE,
    /* Preemption takes victims of other nodes where affinity or spreading makes them matter. */
    FEATURE_BERTH_WIDE_PREEMPTION,
    FEATURE_COUNT,
};

struct kube_version {
    unsigned major, minor;
};

/* The version that berth stands in for, and the oldest that it may be told to emulate. */
#define KUBE_VERSION        ((struct kube_version){1, 36})
#define KUBE_VERSION_OLDEST ((struct kube_version){1, 33})

struct features {
    bool on[FEATURE_COUNT];
    /* What on was made of. */
    struct kube_version emulated, min_compatible;
    int8_t given[FEATURE_GATE_COUNT]; /* 1: =true, -1: =false, 0: nobody said anything */
};

void features_default(struct features *f);
/* Defaults, stages and locks become those of that version. To be called before features_parse. */
void features_emulate(struct features *f, struct kube_version emulated,
                      struct kube_version min_compatible);
/*
 * "Name=true,Other=false", as --feature-gates has it, each perhaps behind "kube:"; also AllAlpha
 * and AllBeta. Adds to what was said before, and changes nothing where it fails.
 */
int features_parse(struct features *f, struct str text, struct err *reterr) MUST_CHECK;

/* A gate by its name, which must be in the table. */
bool features_enabled(const struct features *f, const char *name);

/*
 * Are pods that name a PodGroup scheduled together? Upstream wants GenericWorkload and
 * GangScheduling for that; here nobody has to ask for it, since only an API server that has the
 * gates lets a pod name a group. Who says GenericWorkload=false or GangScheduling=false has it off.
 */
bool features_group_pods(const struct features *f);

/* For --help, one line a gate: "kube:Name=true|false (BETA - default=true)". */
void features_write_help(struct buf *out);
/* The same of those that berth reads. */
void features_write_own_help(struct buf *out);

/* Gates that somebody set though they are settled or on their way out. */
typedef void features_notice_fn(void *ctx, const char *name, bool deprecated, bool value);
void features_each_notice(const struct features *f, features_notice_fn *fn, void *ctx);
/* Names of the alpha gates that are on, separated by spaces. */
void features_write_alpha(const struct features *f, struct buf *out);

/* Every gate that exists: "ALPHA", "BETA", "" (generally available) or "DEPRECATED". */
typedef void features_fn(void *ctx, struct str name, const char *stage, bool on);
void features_each(const struct features *f, features_fn *fn, void *ctx);

struct berth_handle;

#endif
