/* SPDX-License-Identifier: Apache-2.0 */
/*
 * default_selector.h - the selector for pods without spread constraints (upstream:
 * helper.DefaultSelector).
 *
 * Purpose:   the selector deduced from the Services that select the pod and from the
 *            ReplicationController, ReplicaSet or StatefulSet that owns it.
 * Ownership: the selector borrows its texts from these objects; its arrays are in the arena.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_COMMON_DEFAULT_SELECTOR_H
#define BERTH_PLUGINS_COMMON_DEFAULT_SELECTOR_H

#include "api/pod.h"
#include "api/selector.h"
#include "engine/index/objects.h"

/* Without requirements if the pod has neither Services nor an owner. */
void default_selector(struct objects *objects, const struct pod *pod, struct arena *a,
                      struct selector *ret_selector);

#endif
