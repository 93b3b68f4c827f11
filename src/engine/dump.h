/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.h - cache and queue as text, for somebody who wonders what the scheduler believes.
 *
 * Purpose:   upstream's cache debugger: all nodes with their sums and pods, all pods that wait, and
 *            the names of both for comparing them with what the API server has.
 * Ownership: listed names point into the engine and last until it is next told something.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_DUMP_H
#define BERTH_ENGINE_DUMP_H

#include "base/vec.h"
#include "engine/engine.h"

typedef VEC(struct str) dump_list;

/* Names of nodes, also of those of which only pods are left. */
void dump_list_nodes(const struct engine *engine, dump_list *list);
/* UIDs of pods that have a node or wait for one. */
void dump_list_pods(const struct engine *engine, dump_list *list);

/* A paragraph per node, in order of their names. */
void dump_nodes(const struct engine *engine, struct buf *out);
/* "activeQ:1; backoffQ:0; unschedulablePods:2" */
void dump_queue_summary(const struct engine *engine, struct buf *out);
/* A line per pod that waits. */
void dump_queue(const struct engine *engine, struct buf *out);

#endif
