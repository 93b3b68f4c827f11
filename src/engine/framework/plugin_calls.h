/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_calls.h - what plugins have started and wait for: requests and timers.
 *
 * Purpose:   gives each request and timer an id, and calls the plugin back with the answer or when
 *            the time has come, as long as the instance that started it exists.
 * Ownership: part of the framework. ctx belongs to the plugin.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_PLUGIN_CALLS_H
#define BERTH_ENGINE_FRAMEWORK_PLUGIN_CALLS_H

#include "base/heap.h"
#include "base/map.h"
#include "engine/ports/ports.h"

struct plugin_calls {
    struct map requests;  /* by id → struct plugin_request */
    struct map timers;    /* by id → struct plugin_timer */
    struct heap by_time;  /* the same timers, the earliest on top */
    VEC(uint64_t) failed; /* requests that no port takes: answered by plugin_calls_run */
    uint64_t last_id;
};

void plugin_calls_init(struct plugin_calls *calls);
void plugin_calls_release(struct plugin_calls *calls);
/* Forgets everything that this instance has started. */
void plugin_calls_forget(struct plugin_calls *calls, const struct berth_handle *h);

/* Registers the request and passes it to the port. Returns its id. */
uint64_t plugin_calls_send(struct plugin_calls *calls, const struct ports *ports,
                           const struct berth_handle *h, const struct berth_api_call *call,
                           berth_api_done_fn *done, void *ctx);
/* The same for an HTTP GET. */
uint64_t plugin_calls_get(struct plugin_calls *calls, const struct ports *ports,
                          const struct berth_handle *h, const struct berth_http_get *get,
                          berth_http_done_fn *done, void *ctx);
void plugin_calls_got(struct plugin_calls *calls, uint64_t id,
                      const struct berth_http_result *result);
void plugin_calls_cancel_request(struct plugin_calls *calls, uint64_t id);
/* Answers the request. A request that was forgotten is ignored. */
void plugin_calls_done(struct plugin_calls *calls, uint64_t id,
                       const struct berth_api_result *result);

/* at: on the engine's clock. */
uint64_t plugin_calls_add_timer(struct plugin_calls *calls, const struct berth_handle *h,
                                int64_t at, berth_fn *fn, void *ctx);
void plugin_calls_cancel_timer(struct plugin_calls *calls, uint64_t id);
/* Calls the timers that are due, and answers requests that could not be sent. */
void plugin_calls_run(struct plugin_calls *calls, int64_t now);
/* When plugin_calls_run is next due; INT64_MAX: never. */
int64_t plugin_calls_next(const struct plugin_calls *calls);

#endif
