/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_changes.h - which kinds of change an update consists of.
 *
 * Purpose:   queueing hints are registered for kinds of change (a node's labels, a pod's
 *            tolerations). These functions compare two versions of an object (upstream:
 *            NodeSchedulingPropertiesChange, PodSchedulingPropertiesChange).
 * Ownership: values.
 * Threading: any.
 */
#ifndef BERTH_ENGINE_OBJECT_CHANGES_H
#define BERTH_ENGINE_OBJECT_CHANGES_H

#include "api/node.h"
#include "api/object.h"
#include "api/pod.h"
#include "engine/ports/abi.h"

/* Bits of enum berth_action; 0 if nothing changed that scheduling depends on. */
unsigned node_changes(const struct node *before, const struct node *after);
/* The same; BERTH_ACTION_UPDATE_OTHER if no known kind of change is found. */
unsigned pod_changes(const struct pod *before, const struct pod *after);
/* Of any other object; before NULL: an addition; after NULL: a deletion. */
unsigned lookup_change(const struct object *before, const struct object *after);

#endif
