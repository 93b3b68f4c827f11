/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reserve.h - Reserve, Unreserve and Permit for a pod on the node chosen for it.
 *
 * Purpose:   runs these extension points for an assumed pod; used by a single pod's binding and by
 *            the cycle of a group, which undoes everything afterwards.
 * Ownership: borrows all. *status has the reasons of the plugin that did not succeed.
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

/* *ret_plugin: the plugin that did not succeed. The caller runs reserve_undo then. */
enum berth_code reserve_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_status *status, const struct berth_handle **ret_plugin);
void reserve_undo(struct berth_cycle *cycle, const struct berth_pod *pod);
/*
 * BERTH_WAIT: the plugins in *waits hold the pod. message: reasons of the last of them; may be
 * NULL. *ret_plugin: the plugin that rejected the pod or failed.
 */
enum berth_code permit_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                           struct berth_status *status, permit_waits *waits, struct buf *message,
                           const struct berth_handle **ret_plugin);
/* Upstream's text for a plugin that rejected the pod or failed at a point up to Permit. */
void reserve_failure(struct cycle_failure *failure, struct framework *fw, enum point point,
                     const struct berth_handle *by, enum berth_code code,
                     const struct berth_status *status);

#endif
