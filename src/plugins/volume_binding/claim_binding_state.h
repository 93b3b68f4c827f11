/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_binding_state.h - a binding's insides, for claim_binding.c and claim_binding_wait.c.
 *
 * Purpose:   its steps, and what it waits for.
 * Ownership: see claim_binding.h.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_VOLUME_BINDING_CLAIM_BINDING_STATE_H
#define BERTH_PLUGINS_VOLUME_BINDING_CLAIM_BINDING_STATE_H

#include "plugins/volume_binding/claim_binding.h"

/* One write: a volume gets its claim or, without a volume, a claim gets its node. */
struct step {
    struct object *volume, *claim; /* the versions that were assumed */
    bool assumed;
    struct object *written; /* the server's answer; NULL: not written yet */
};

enum binding_stage { STAGE_ASSUMED, STAGE_WRITING, STAGE_WAITING, STAGE_ENDED };

struct wait;

struct claim_binding {
    struct binding_options options;
    struct volumes *volumes;
    struct str node_name;   /* owned */
    VEC(struct step) steps; /* first the volumes, then the claims to be provisioned */
    enum binding_stage stage;
    size_t next; /* step to write */
    uint64_t call, timer;
    berth_op op;               /* 0: not started, or ended */
    struct object *pod, *node; /* node NULL: there is none any more */
    bool pod_is_gone;
    VEC(struct wait *) waits;
    struct buf text; /* scratch */
};

/* Ends op and whatever is under way. */
void claim_binding_end(struct claim_binding *b, enum berth_code code, struct str reason);
/* Registers for changes of the pod, its node, claims and volumes. */
void claim_binding_await(struct claim_binding *b);
void claim_binding_forget_waits(struct claim_binding *b);
/* Ends the binding if all is bound or something went wrong. */
void claim_binding_look(struct claim_binding *b);

#endif
