/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_services.h - what guests of one plugin instance may do to the outside: events, rejecting
 * pods that wait, log lines.
 *
 * Purpose:   a guest may ask for these in Filter and Score, which run on several threads, where
 *            berth_host does not allow them: they are kept and done on the engine's thread soon.
 * Ownership: embedded in the plugin's instance.
 * Threading: any thread of the engine in a cycle; init and release on the engine's.
 */
#ifndef BERTH_WASM_GUEST_SERVICES_H
#define BERTH_WASM_GUEST_SERVICES_H

#include <pthread.h>

#include "base/vec.h"
#include "engine/cache/node_info.h"

/* What one post may have to do; more is dropped, and logged. */
#define GUEST_SERVICES_MAX 4096

struct guest_request;

struct guest_services {
    const struct berth_host *host;
    struct berth_handle *handle;
    pthread_mutex_t lock;
    VEC(struct guest_request *) waiting;
    size_t dropped;
};

void guest_services_init(struct guest_services *s, const struct berth_host *host,
                         struct berth_handle *h);
void guest_services_release(struct guest_services *s);

/* An object that an event names (upstream: ObjectReference). */
struct guest_reference {
    struct str kind, api_version, name, namespace, uid, resource_version;
};
struct guest_event {
    struct guest_reference regarding, related;
    struct str type, reason, action, note;
};

/* pod: the one of the call, which the event probably regards; NULL: none. */
void guest_services_event(struct guest_services *s, const struct guest_event *event,
                          const struct berth_pod *pod);
/* Returns whether the pod waits. */
bool guest_services_reject(struct guest_services *s, struct str uid);
/* NULL: it does not wait. */
const struct berth_pod *guest_services_waiting(const struct guest_services *s, struct str uid);

#endif
