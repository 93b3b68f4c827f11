/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_binding.h - binds a pod and determines the outcome.
 *
 * Purpose:   a binding whose response is lost (the server died, the connection broke) may or may
 *            not have been written. Treating it as failed could assign the node's resources twice.
 *            So if the outcome is unknown, the pod is read until the server reports its node; until
 *            then the binding is in flight. Only if the server keeps refusing the read does the
 *            binding count as failed.
 * Ownership: a binding belongs to its client until its callback begins or it is cancelled.
 * Threading: the loop's thread.
 */
#ifndef BERTH_LIVE_POD_BINDING_H
#define BERTH_LIVE_POD_BINDING_H

#include "kube/rest/rest.h"

struct pod_binding;

/*
 * Calls fn when the outcome is certain. Code 0: the pod is on this node. Otherwise it is not, and
 * the result is that of the POST, or 404 if the pod is gone. The memory of pod and node must
 * outlive the binding.
 */
struct pod_binding *pod_binding_start(struct rest_client *client, const struct object_meta *pod,
                                      struct str node, rest_done_fn *fn, void *ctx);
/* No callback follows. NULL is allowed. Returns NULL. */
struct pod_binding *pod_binding_cancel(struct pod_binding *binding);

#endif
