/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocation_run.h - one call of the allocator for the claims of a pod on a node.
 *
 * Purpose:   the claim for extended resources in the variant of the node, and the timeout of
 *            Filter.
 * Ownership: the caller owns the run; results and errors are in its arena.
 * Threading: any thread, except for new_share_ids.
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_ALLOCATION_RUN_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_ALLOCATION_RUN_H

#include "plugins/dynamic_resources/dynamic_resources.h"

struct allocation_run {
    /* Set by the caller. */
    const struct claims_state *state;
    const struct pod *pod;
    const struct berth_node *node;
    bool new_share_ids; /* shares of devices get an id: the engine's thread only */
    /* Results. */
    struct allocation allocation;
    struct extended_claim extended; /* of the node */
    /* Private. */
    struct arena arena;
    bool has_arena;
    struct resource_claim last;
    int64_t deadline; /* ns; 0: none */
    unsigned steps;
};

/* build: results are wanted, not only the verdict. */
enum allocation_verdict allocation_run(struct allocation_run *run, bool build);
/* Memory for what is computed from the results. */
struct arena *allocation_run_arena(struct allocation_run *run);
void allocation_run_release(struct allocation_run *run);

#endif
