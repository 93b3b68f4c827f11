/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_metrics.h - /metrics/resources: what every pod asks for and is limited to.
 *
 * Purpose:   kube_pod_resource_request and kube_pod_resource_limit, made anew of the pods that the
 *            world knows each time somebody looks. Pods on a node that have ended do not count.
 *            The page of a large cluster takes long, so that a thread of its own writes it.
 * Ownership: a page belongs to its caller until the callback or resource_metrics_cancel.
 * Threading: the loop's thread.
 */
#ifndef BERTH_SERVE_RESOURCE_METRICS_H
#define BERTH_SERVE_RESOURCE_METRICS_H

#include "live/world.h"

struct resource_metrics;
/* The text is lent. */
typedef void resource_metrics_fn(void *ctx, struct str text);

/* The pods as they are now. Not called back before it has returned. */
struct resource_metrics *resource_metrics_start(struct loop *loop, const struct world *world,
                                                resource_metrics_fn *fn, void *ctx);
void resource_metrics_cancel(struct resource_metrics *page); /* NULL is fine */

#endif
