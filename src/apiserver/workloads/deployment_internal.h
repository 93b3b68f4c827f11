/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deployment_internal.h - one look at a Deployment: its ReplicaSets and what is decided for them.
 *
 * Purpose:   deployment.c reads, creates and cleans up ReplicaSets, deployment_rollout.c decides
 *            their sizes, deployment_status.c writes the status.
 * Ownership: everything is in scratch memory.
 * Threading: as workloads.h.
 */
#ifndef BERTH_APISERVER_WORKLOADS_DEPLOYMENT_INTERNAL_H
#define BERTH_APISERVER_WORKLOADS_DEPLOYMENT_INTERNAL_H

#include "apiserver/workloads/workloads_internal.h"

#define ANN_REVISION         "deployment.kubernetes.io/revision"
#define ANN_REVISION_HISTORY "deployment.kubernetes.io/revision-history"
#define ANN_DESIRED_REPLICAS "deployment.kubernetes.io/desired-replicas"
#define ANN_MAX_REPLICAS     "deployment.kubernetes.io/max-replicas"

struct rs_view {
    struct workload *o;
    const struct json_value *tree;
    int64_t replicas; /* of the spec, or as decided in this look */
    bool force;       /* write it even if the size stays */
    int64_t n_actual, n_ready, n_available;
    int64_t revision;
};

struct rollout {
    struct workloads *w;
    struct workload *o;
    struct json_value *object;
    struct rs_view *all; /* by age, then name */
    size_t n;
    struct rs_view *new_rs; /* NULL: none yet */
    int64_t replicas, max_surge, max_unavailable;
    bool rolling;     /* RollingUpdate, not Recreate */
    int64_t deadline; /* seconds; 0: none */
};

static inline bool rs_is_old(const struct rollout *r, const struct rs_view *v)
{
    return v != r->new_rs;
}
/* A non-negative number in an annotation; -1 if there is none. */
int64_t rollout_annotation(const struct rs_view *v, const char *name);

/* --- deployment_rollout.c --------------------------------------------------------------------- */

/* Decides the sizes. Each returns whether it changed one. */
void rollout_scale(struct rollout *r);
bool rollout_grow_new(struct rollout *r);
bool rollout_shrink_old(struct rollout *r);
bool rollout_stop_old(struct rollout *r); /* Recreate */
/* The size of the new ReplicaSet, which has `current` now. */
int64_t rollout_new_size(const struct rollout *r, int64_t current);
int64_t rollout_total(const struct rollout *r);
/* Whether the replicas of an active ReplicaSet were decided for another size of the Deployment. */
bool rollout_is_scaling(const struct rollout *r);

/* --- deployment_status.c ---------------------------------------------------------------------- */

struct json_value deployment_status(struct rollout *r);
/* Progress, failures and the status; looks again when the deadline has passed. */
void deployment_write_progress(struct rollout *r);
bool deployment_is_complete(const struct rollout *r, const struct json_value *status);

#endif
