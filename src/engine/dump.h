/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.h - cache and queue as text (upstream: cache debugger).
 *
 * Purpose:   all nodes with their sums and pods, all queued pods, and the names of both for
 *            comparing them with the API server.
 * Ownership: listed names point into the engine and are valid until its next call.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_DUMP_H
#define BERTH_ENGINE_DUMP_H

#include "base/vec.h"
#include "engine/engine.h"

typedef VEC(struct str) dump_list;

/* Names of nodes, including deleted nodes that still have pods. */
void dump_list_nodes(const struct engine *engine, dump_list *list);
/* UIDs of pods that are on a node or queued. */
void dump_list_pods(const struct engine *engine, dump_list *list);

/* A paragraph per node, in order of their names. */
void dump_nodes(const struct engine *engine, struct buf *out);
/* "activeQ:1; backoffQ:0; unschedulablePods:2" */
void dump_queue_summary(const struct engine *engine, struct buf *out);
/* A line per queued pod. */
void dump_queue(const struct engine *engine, struct buf *out);

#endif
