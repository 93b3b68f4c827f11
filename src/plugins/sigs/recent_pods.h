/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recent_pods.h - pods that have had a node for a short time only.
 *
 * Purpose:   measurements do not show the load of pods that have just been bound; plugins add what
 *            they predict for them. A pod is kept from when a watch shows it on its node until it
 *            ends; pods that have had their node for longer are forgotten every 5 min.
 * Ownership: one shared state for all instances; holds a reference on each pod.
 * Threading: changed on the engine's thread between cycles; read in a cycle.
 */
#ifndef BERTH_PLUGINS_SIGS_RECENT_PODS_H
#define BERTH_PLUGINS_SIGS_RECENT_PODS_H

#include "api/pod.h"
#include "base/map.h"
#include "base/vec.h"
#include "berth/plugin.h"

/* Seconds after which an agent has reported a pod's load. */
#define RECENT_PODS_SECONDS 60

struct recent_pod {
    struct object *object;
    int64_t since; /* s since 1970 */
};

struct recent_node {
    char *name;
    VEC(struct recent_pod) pods;
};

struct recent_pods {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct map nodes; /* by name → struct recent_node */
};

/* In create. */
const struct recent_pods *recent_pods_open(const struct berth_host *host, struct berth_handle *h);

/* NULL: none. */
const struct recent_node *recent_pods_on(const struct recent_pods *r, struct str node);

#endif
