/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pg_resources.h - whether the cluster has room for a group's minResources.
 *
 * Purpose:   sums what is free on all nodes, as if the group's own pods were not there. A group
 * that passes may still not fit: the room may be in pieces. Ownership: borrows all. Threading: the
 * engine's thread.
 */
#ifndef BERTH_PLUGINS_SIGS_PG_RESOURCES_H
#define BERTH_PLUGINS_SIGS_PG_RESOURCES_H

#include "plugins/sigs/pg_state.h"

/* Returns whether there is room for minResources and minMember pods. Otherwise *ret_gap is what is
 * missing, "map[cpu:500m pods:2]". */
bool pg_resources_free(const struct pg *g, struct buf *ret_gap);

#endif
