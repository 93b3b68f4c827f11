/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_writes.h - writes about a pod or a PodGroup.
 *
 * Purpose:   the binding, the status patch and the deletion. A patch contains only what changes, so
 *            that fields which berth does not model are preserved.
 * Ownership: a write belongs to its client until its callback begins or it is cancelled.
 * Threading: the loop's thread.
 */
#ifndef BERTH_LIVE_POD_WRITES_H
#define BERTH_LIVE_POD_WRITES_H

#include "api/pod.h"
#include "api/scheduling.h"
#include "kube/rest/rest.h"

/* POST pods/NAME/binding. The UID protects a new pod of the same name. */
struct rest_call *pod_bind(struct rest_client *client, const struct object_meta *pod,
                           struct str node, rest_done_fn *fn, void *ctx);

/* DELETE pods/NAME with the UID as precondition. */
struct rest_call *pod_delete(struct rest_client *client, const struct object_meta *pod,
                             rest_done_fn *fn, void *ctx);

/* A change of a pod's status. */
struct pod_status_change {
    const struct pod *pod; /* last known version: its status is the old one */
    const struct pod_condition
        *condition; /* NULL: none. last_transition_time is set by the write */
    const struct str *nominated_node_name; /* NULL: unchanged; empty: cleared */
};

/* False if the last known status already has these values. */
bool pod_status_changes(const struct pod_status_change *change);

/*
 * Appends the strategic merge patch in the form of upstream's diff
 * (strategicpatch.CreateTwoWayMergePatch). Returns false if nothing changes. now: for
 * last_transition_time.
 */
bool pod_status_patch(const struct pod_status_change *change, struct timestamp now,
                      struct buf *out);

/*
 * PATCH pods/NAME/status. Up to four attempts while rest_is_retriable, 10 ms apart and five times
 * longer each time (upstream: util.PatchPodStatus with retry.DefaultBackoff). If nothing changes,
 * fn is called later with success and status 0.
 */
struct pod_status_write;
struct pod_status_write *pod_status_write(struct rest_client *client,
                                          const struct pod_status_change *change, rest_done_fn *fn,
                                          void *ctx);
/*
 * The same for a PodGroup's condition. The caller sets type, status, reason and message. An
 * existing condition of that type is replaced.
 */
struct pod_status_write *pod_group_status_write(struct rest_client *client,
                                                const struct pod_group *group,
                                                const struct condition *condition, rest_done_fn *fn,
                                                void *ctx);
/* No callback follows. NULL is allowed. Returns NULL. */
struct pod_status_write *pod_status_write_cancel(struct pod_status_write *write);

#endif
