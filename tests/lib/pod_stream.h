/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_stream.h - pods and nodes that are added, changed and deleted at random.
 *
 * Purpose:   a cache and its indexes, for tests that compare these with a full scan. Names, labels
 *            and namespaces are few, so that they collide; pods are added before their nodes and
 *            stay after them, slots are reused.
 * Ownership: owns the cache and the cluster.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_POD_STREAM_H
#define BERTH_TESTS_POD_STREAM_H

#include "base/rand.h"
#include "engine/index/cluster.h"

#define STREAM_KEYS 4 /* topology keys that nodes have: key0 … */

struct pod_stream {
    struct rand *rand;
    struct intern names;
    struct cache cache;
    struct cluster cluster;
};

void pod_stream_init(struct pod_stream *s, struct rand *r);
void pod_stream_release(struct pod_stream *s);
/* One change. */
void pod_stream_step(struct pod_stream *s);
/* A random selection; its texts live in the arena. */
void pod_stream_selection(struct pod_stream *s, struct arena *a,
                          struct pod_selection *ret_selection);

#endif
