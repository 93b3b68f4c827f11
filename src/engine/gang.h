/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gang.h - what GangScheduling does to the other members of a pod's group.
 *
 * Purpose:   the two things that no plugin may do to pods in general, by the pod itself rather than
 *            by going through all that wait.
 * Ownership: borrows all.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GANG_H
#define BERTH_ENGINE_GANG_H

#include "engine/cluster.h"

/* To the active queue with it, unless a gate holds it. */
void gang_activate(const struct berth_handle *h, const struct berth_pod *pod);
/* This plugin no longer holds it in Permit, if it did. */
void gang_allow(const struct berth_handle *h, const struct berth_pod *pod);

#endif
