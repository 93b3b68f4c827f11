/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_changes.h - what kind of change an update is.
 *
 * Purpose:   queueing hints are registered for kinds of changes (a node's labels, a pod's
 *            tolerations); here two versions of an object become such a set.
 * Ownership: values.
 * Threading: any.
 */
#ifndef BERTH_ENGINE_NODE_CHANGES_H
#define BERTH_ENGINE_NODE_CHANGES_H

#include "api/node.h"
#include "api/pod.h"
#include "engine/ports/abi.h"

/* Bits of enum berth_action. 0: nothing that scheduling looks at. */
unsigned node_changes(const struct node *before, const struct node *after);
/* BERTH_ACTION_UPDATE_OTHER where no known kind of change is found. */
unsigned pod_changes(const struct pod *before, const struct pod *after);

#endif
