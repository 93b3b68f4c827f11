/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_controller_internal.h - shared by pod_controller.c and pod_controller_pods.c.
 *
 * Purpose:   the tolerations that every pod of a DaemonSet has.
 * Ownership: additions live in the arena.
 * Threading: any thread.
 */
#ifndef BERTH_API_POD_CONTROLLER_INTERNAL_H
#define BERTH_API_POD_CONTROLLER_INTERNAL_H

#include "api/pod_controller.h"

void pod_controller_add_daemon_tolerations(struct pod_spec *spec, struct arena *a);

#endif
