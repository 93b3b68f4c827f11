/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_binding.h - volumes of a pod that are bound or provisioned before the pod is (upstream:
 * AssumePodVolumes, BindPodVolumes).
 *
 * Purpose:   Reserve assumes what the node offers. PreBind writes it, volume by volume and then
 *            claim by claim, and waits until the volume controller and the provisioners are done.
 *            Upstream looks once per second; here every change of an object that the pod waits for
 *            is looked at when it comes, and a timer ends the wait.
 * Ownership: part of the attempt's state, which frees it; holds a reference on every object.
 * Threading: the engine's thread.
 *
 *     assumed ── start ──▶ WRITING ── all written ──▶ WAITING ── all bound ──▶ ENDED (op_done)
 *        │                    └── a write fails ────────┴── timeout, failure ──────▲
 *        └── claim_binding_revert: whatever was not written is not assumed any more
 */
#ifndef BERTH_PLUGINS_VOLUME_BINDING_CLAIM_BINDING_H
#define BERTH_PLUGINS_VOLUME_BINDING_CLAIM_BINDING_H

#include "plugins/volume_binding/pod_volumes.h"

struct binding_options {
    const struct berth_host *host;
    struct berth_handle *handle;
    int64_t timeout_ns;
};

/*
 * Assumes the offers on the node. NULL with *ret_fault, owned by the caller, if an object has
 * changed since; nothing is assumed then.
 */
struct claim_binding *claim_binding_assume(const struct binding_options *options,
                                           struct pod_volumes *p, const struct offers *offers,
                                           struct str node, char **ret_fault);
/* Ends the assumptions that are not written. Idempotent. */
void claim_binding_revert(struct claim_binding *b);
/* Ends what is under way without an answer: op is not used any more. */
void claim_binding_cancel(struct claim_binding *b);
/* The same, and frees it. NULL is allowed. */
void claim_binding_free(struct claim_binding *b);
bool claim_binding_is_for(const struct claim_binding *b, struct str node);

/* Writes and waits; ends op, later. */
void claim_binding_start(struct claim_binding *b, const struct berth_pod *pod, berth_op op);

/* --- called by volumes_type ------------------------------------------------------------------- */

/* What a binding waits for. */
enum wait_kind { WAIT_CLAIM = 'c', WAIT_VOLUME = 'v', WAIT_NODE = 'n', WAIT_POD = 'p' };

/* The object has changed: bindings that wait for it look again. */
void claim_bindings_wake(struct volumes *v, enum wait_kind kind, const struct object *before,
                         const struct object *after);

#endif
