/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reserve.h - Reserve, Unreserve and Permit: what plugins say to a pod on the node chosen for it.
 *
 * Purpose:   runs these points of a profile for an assumed pod; used by a single pod's binding and
 *            by the cycle of a group, which takes everything back again.
 * Ownership: borrows all. Reasons of what fails are in engine.status.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_BIND_RESERVE_H
#define BERTH_ENGINE_BIND_RESERVE_H

#include "engine/cycle/cycle.h"

/* A plugin that holds the pod in Permit. */
struct permit_wait {
    const struct berth_handle *handle;
    int64_t timeout, deadline; /* ns: as granted; when it ends */
};
typedef VEC(struct permit_wait) permit_waits;

/* *ret_plugin: who did not agree. Whoever calls undoes it then. */
enum berth_code reserve_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                            const struct berth_handle **ret_plugin);
void reserve_undo(struct berth_cycle *cycle, const struct berth_pod *pod);
/*
 * BERTH_WAIT: the plugins in *waits hold the pod. words: what the last of them said; may be NULL.
 * *ret_plugin: who did not agree.
 */
enum berth_code permit_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                           permit_waits *waits, struct buf *words,
                           const struct berth_handle **ret_plugin);
/* A plugin said no, or broke, at a point up to Permit: upstream's words for it. */
void reserve_failure(struct cycle_failure *failure, const struct berth_cycle *cycle,
                     enum point point, const struct berth_handle *by, enum berth_code code);

#endif
