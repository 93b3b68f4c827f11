/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_writes.h - what a scheduler writes about a pod, or a group of them.
 *
 * Purpose:   the binding, the patch of its status, its deletion. Patches hold nothing but what
 *            changes, so that no field which berth does not model is ever lost.
 * Ownership: a write belongs to its client until its callback begins, or until it is cancelled.
 * Threading: the loop's thread.
 */
#ifndef BERTH_LIVE_POD_WRITES_H
#define BERTH_LIVE_POD_WRITES_H

#include "api/pod.h"
#include "api/scheduling.h"
#include "kube/rest/rest.h"

/* POST pods/NAME/binding. uid guards against a pod of the same name made meanwhile. */
struct rest_call *pod_bind(struct rest_client *client, const struct object_meta *pod,
                           struct str node, rest_done_fn *fn, void *ctx);

/* DELETE, provided that it is still the same pod. */
struct rest_call *pod_delete(struct rest_client *client, const struct object_meta *pod,
                             rest_done_fn *fn, void *ctx);

/* What is to change of a pod's status. */
struct pod_status_change {
    const struct pod *pod;                 /* as last known: what stands there now */
    const struct pod_condition *condition; /* NULL: none. Its last_transition_time is ours to set */
    const struct str *nominated_node_name; /* NULL: leave it; empty: clear it */
};

/* False: the pod as last known is as the change wants it. */
bool pod_status_changes(const struct pod_status_change *change);

/*
 * Appends the strategic merge patch, in the form that upstream's diff gives it. False where
 * nothing changes. now: for last_transition_time.
 */
bool pod_status_patch(const struct pod_status_change *change, struct timestamp now,
                      struct buf *out);

/*
 * PATCH pods/NAME/status, tried four times in all where rest_is_retriable says so, 10 ms apart and
 * five times longer each time. Where nothing changes, fn is told success with status 0, later.
 */
struct pod_status_write;
struct pod_status_write *pod_status_write(struct rest_client *client,
                                          const struct pod_status_change *change, rest_done_fn *fn,
                                          void *ctx);
/*
 * The same for a PodGroup's condition, of which type, status, reason and message are given. A
 * condition of that type is replaced.
 */
struct pod_status_write *pod_group_status_write(struct rest_client *client,
                                                const struct pod_group *group,
                                                const struct condition *condition, rest_done_fn *fn,
                                                void *ctx);
/* No callback. NULL is fine; returns NULL. */
struct pod_status_write *pod_status_write_cancel(struct pod_status_write *write);

#endif
