/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_binding.h - binds a pod and finds out what came of it.
 *
 * Purpose:   a binding whose answer is lost (the server died, the connection broke) may have been
 *            written or not. Who takes it for failed gives the node's room away twice. So where the
 *            answer leaves it open, the pod is asked for until the server tells where it stands;
 *            until then the binding is under way. Only a server that refuses the question itself,
 *            again and again, is asked no more: the binding then counts as failed.
 * Ownership: a binding belongs to its client until its callback begins, or until it is cancelled.
 * Threading: the loop's thread.
 */
#ifndef BERTH_LIVE_POD_BINDING_H
#define BERTH_LIVE_POD_BINDING_H

#include "kube/rest/rest.h"

struct pod_binding;

/*
 * fn is told what is certain: code 0, the pod is on this node; else it is not, and the result is
 * the one of the first attempt, or 404 where the pod is gone. What pod and node point to must
 * outlive the binding.
 */
struct pod_binding *pod_binding_start(struct rest_client *client, const struct object_meta *pod,
                                      struct str node, rest_done_fn *fn, void *ctx);
/* No callback. NULL is fine; returns NULL. */
struct pod_binding *pod_binding_cancel(struct pod_binding *binding);

#endif
