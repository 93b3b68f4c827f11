/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_state.h - states that plugin instances share (struct berth_shared_type).
 *
 * Purpose:   one state per type, for all profiles and across reloads, with a handle of its own for
 *            its requests and timers. It is told of each change of an object.
 * Ownership: the framework owns the states; an instance that asked for one holds a reference.
 * Threading: the engine's thread; what a state allows beyond that, it says.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_SHARED_STATE_H
#define BERTH_ENGINE_FRAMEWORK_SHARED_STATE_H

#include "engine/framework/framework.h"

struct shared_state {
    const struct berth_shared_type *type;
    void *data;
    struct berth_handle handle; /* what the state is made with: it belongs to no profile */
    struct berth_plugin plugin; /* of the handle: a name for logs */
    VEC(const struct berth_handle *) users;
};

/* The state of the type, with a reference for the instance h. */
void *shared_state_get(struct berth_handle *h, const struct berth_shared_type *type);
/* Drops the references of the instance; frees states without one. */
void shared_states_drop(struct berth_handle *h);
/* An object has changed, and the listers have the change. */
void shared_states_changed(const struct framework *fw, enum berth_resource resource,
                           struct object *before, struct object *after);
/* The resource as which changes of this kind are reported; BERTH_RESOURCE_COUNT: none. */
enum berth_resource resource_of_kind(const struct framework *fw, enum kind_id kind);

#endif
