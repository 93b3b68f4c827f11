/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_affinity_args.h - arguments of NodeAffinity.
 *
 * Purpose:   NodeAffinityArgs: the affinity added to that of every pod; strict decoding and
 *            validation as upstream's.
 * Ownership: everything is in the caller's arena.
 * Threading: one thread; constant afterwards.
 */
#ifndef BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_ARGS_H
#define BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_ARGS_H

#include "api/node_affinity.h"
#include "plugins/common/plugin_args.h"

/* *ret_added is NULL if nothing is added. */
int node_affinity_args_read(struct berth_str text, struct arena *a,
                            const struct node_affinity **ret_added,
                            struct berth_error *error) MUST_CHECK;

#endif
