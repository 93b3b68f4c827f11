/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_metrics.h - /metrics/resources: requests and limits of every pod.
 *
 * Purpose:   writes kube_pod_resource_request and kube_pod_resource_limit for the world's current
 *            pods, except those that have finished on a node. The page of a large cluster takes
 *            long, so a separate thread writes it.
 * Ownership: the caller holds the page until its callback or resource_metrics_cancel.
 * Threading: the loop's thread.
 */
#ifndef BERTH_SERVE_RESOURCE_METRICS_H
#define BERTH_SERVE_RESOURCE_METRICS_H

#include "live/world.h"

struct resource_metrics;
/* text: valid until it returns. */
typedef void resource_metrics_fn(void *ctx, struct str text);

/* Takes the current pods. Calls fn after it has returned. */
struct resource_metrics *resource_metrics_start(struct loop *loop, const struct world *world,
                                                resource_metrics_fn *fn, void *ctx);
void resource_metrics_cancel(struct resource_metrics *page); /* NULL is allowed */

#endif
