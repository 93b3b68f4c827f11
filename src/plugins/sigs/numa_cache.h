/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numa_cache.h - the NUMA topologies of all nodes, and what has changed since they were written.
 *
 * Purpose:   keeps the NodeResourceTopologies, and lets plugins choose how to treat pods that were
 *            bound since: ignore them (passthrough), avoid nodes with bindings under way (discard
 *            reserved), or subtract them from every zone until the exporter has seen them, which
 *            fingerprints of the node's pods tell (over-reserve). Nodes with pods of other
 *            schedulers are not used until then.
 * Ownership: one shared state for all instances, which survives a reload.
 * Threading: numa_cache_get in a cycle, everything else on the engine's thread.
 */
#ifndef BERTH_PLUGINS_SIGS_NUMA_CACHE_H
#define BERTH_PLUGINS_SIGS_NUMA_CACHE_H

#include "berth/plugin.h"
#include "plugins/sigs/numa_topology.h"

enum numa_cache_mode { NUMA_PASSTHROUGH, NUMA_DISCARD_RESERVED, NUMA_OVER_RESERVE };
enum numa_foreign { NUMA_FOREIGN_ALL, NUMA_FOREIGN_EXCLUSIVE, NUMA_FOREIGN_NONE };
enum numa_resync { NUMA_RESYNC_AUTODETECT, NUMA_RESYNC_ALL, NUMA_RESYNC_EXCLUSIVE };

struct numa_cache_options {
    enum numa_cache_mode mode;
    int64_t period; /* ns; of NUMA_OVER_RESERVE */
    enum numa_foreign foreign;
    enum numa_resync method;
    bool only_running;    /* of a node's pods, those that run count for its fingerprint */
    bool only_resources;  /* changed settings of a node do not count as a new topology */
    struct str scheduler; /* the profile: its pods are not foreign */
};

struct numa_cache;

/* In create. Of several instances that over-reserve, the options of the last one count. */
struct numa_cache *numa_cache_open(const struct berth_host *host, struct berth_handle *h,
                                   const struct numa_cache_options *options);
/* In destroy, with the same options. */
void numa_cache_close(struct numa_cache *c, const struct numa_cache_options *options);
enum berth_resource numa_cache_resource(const struct numa_cache *c);

/* False: nothing is known for sure about the node now. *ret_topology NULL: it has none. */
bool numa_cache_get(const struct numa_cache *c, enum numa_cache_mode mode, struct str node,
                    const struct numa_topology **ret_topology);

void numa_cache_reserve(struct numa_cache *c, enum numa_cache_mode mode, struct str node,
                        const struct berth_pod *pod);
void numa_cache_unreserve(struct numa_cache *c, enum numa_cache_mode mode, struct str node,
                          const struct berth_pod *pod);
void numa_cache_bound(struct numa_cache *c, enum numa_cache_mode mode, struct str node,
                      const struct berth_pod *pod);

#endif
