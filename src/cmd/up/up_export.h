/* SPDX-License-Identifier: Apache-2.0 */
/*
 * up_export.h - --export: the objects of a cluster for another one.
 *
 * Purpose:   writes what users have made as a List for kubectl apply or berth up -f: without what
 *            the cluster has set (uids, versions, statuses, addresses), without what its
 *            controllers make again (pods of a Deployment, provisioned volumes), and without what
 *            every cluster has of its own (nodes, leases, events, built-in roles).
 * Ownership: nothing is kept.
 * Threading: that of the control plane.
 */
#ifndef BERTH_CMD_UP_UP_EXPORT_H
#define BERTH_CMD_UP_UP_EXPORT_H

#include "apiserver/control_plane.h"

/* JSON if the name ends with .json, otherwise YAML. "-" is standard output. */
int up_export(struct control_plane *plane, const char *path, struct err *reterr) MUST_CHECK;

#endif
