/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_source.h - a source of measured load, asked again and again.
 *
 * Purpose:   asks a load watcher every 30 s, Prometheus or the metrics server every 60 s, in the
 *            background. The last good answer is kept, however old it is; a failure is logged once
 *            until the source answers or fails differently. Plugins with equal arguments share a
 *            source, in all profiles and across reloads.
 * Ownership: load_source_open gives a reference, load_source_close takes it back.
 * Threading: open and close on the engine's thread; the others in a cycle.
 */
#ifndef BERTH_PLUGINS_SIGS_LOAD_SOURCE_H
#define BERTH_PLUGINS_SIGS_LOAD_SOURCE_H

#include "plugins/sigs/load_spec.h"
#include "plugins/sigs/load_table.h"

struct load_source;

/* In create. Sends the first request. */
struct load_source *load_source_open(const struct berth_host *host, struct berth_handle *h,
                                     const struct load_spec *spec);
/* NULL is allowed. */
void load_source_close(struct load_source *s);

/* NULL: nothing is known about the node. */
const struct node_load *load_source_node(const struct load_source *s, struct str node);
/* When the last measurements were made, s since 1970; 0: never. */
int64_t load_source_window_end(const struct load_source *s);

#endif
