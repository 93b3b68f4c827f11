/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_affinity_args.h - arguments of NodeAffinity.
 *
 * Purpose:   NodeAffinityArgs: the affinity that a profile adds to that of every pod, read strictly
 *            and checked as upstream checks it.
 * Ownership: everything lives in the arena given.
 * Threading: one thread; constant afterwards.
 */
#ifndef BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_ARGS_H
#define BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_ARGS_H

#include "api/node_affinity.h"
#include "plugins/common/plugin_args.h"

/* *ret_added is NULL where nothing is added. */
int node_affinity_args_read(struct berth_str text, struct arena *a,
                            const struct node_affinity **ret_added,
                            struct berth_error *error) MUST_CHECK;

#endif
