/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_metrics.h - /metrics/resources: what every pod asks for and is limited to.
 *
 * Purpose:   kube_pod_resource_request and kube_pod_resource_limit, made anew of the pods that the
 *            world knows each time somebody looks. Pods on a node that have ended do not count.
 * Ownership: nothing is kept.
 * Threading: the loop's thread.
 */
#ifndef BERTH_CMD_RESOURCE_METRICS_H
#define BERTH_CMD_RESOURCE_METRICS_H

#include "kube/world.h"

void resource_metrics_write(const struct world *world, struct buf *out);

#endif
