/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_binding.h - a pod in PreBind.
 *
 * Purpose:   pre_bind.c writes its claims, device_wait.c waits until its devices are ready.
 * Ownership: the plugin's instance; if it is cancelled while a request is under way, the shared
 *            state.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_BINDING_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_BINDING_H

#include "plugins/dynamic_resources/dynamic_resources.h"

struct claim_binding {
    struct claim_watcher watcher;
    struct dra_shared *shared;
    struct dynamic_resources *self; /* NULL: cancelled, in shared->orphans; also those below */
    struct claims_state *state;
    const struct berth_pod *pod; /* lives as long as op */
    struct str node_name;        /* of op */
    berth_op op;
    size_t slot;          /* in self->bindings */
    size_t index;         /* the claim under way */
    struct object *claim; /* its latest version; NULL: none under way */
    unsigned tries;
    uint64_t call;           /* 0: none under way */
    uint64_t timer;          /* 0: none */
    int64_t began;           /* when it began to wait */
    bool creates;            /* the call creates the claim */
    bool writes_node_claims; /* the call writes them to the pod's status */
    /* Of a cancelled one. */
    char *uid, *pod_uid; /* of the pending allocation (NULL: none), of the pod */
};

/* Frees b. */
void dra_binding_end(struct claim_binding *b, enum berth_code code, struct str why);
/* Waits for the devices, if some have binding conditions, and ends. */
void dra_binding_wait(struct claim_binding *b);

#endif
