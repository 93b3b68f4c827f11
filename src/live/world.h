/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - the live world: an engine connected to a real API server.
 *
 * Purpose:   joins two threads. The loop's thread runs reflectors, writes and leader election; the
 *            engine's thread schedules. Watch events go to the engine through a mailbox; its writes
 *            come back in batches. Scheduling starts when the informers have synced and, with
 *            leader election, this instance leads.
 * Ownership: the world owns engine, clients, informers, event recorder and elector. Configurations
 *            and their registries must live until they are retired.
 * Threading: call all functions on the loop's thread. The world starts and joins the engine's
 *            thread.
 */
#ifndef BERTH_LIVE_WORLD_H
#define BERTH_LIVE_WORLD_H

#include "base/metrics.h"
#include "engine/engine.h"
#include "engine/reload.h"
#include "kube/auth/client.h"
#include "net/loop.h"

struct world;

struct world_options {
    struct loop *loop;
    const struct kube_config *kube;
    const struct scheduler_config *config;
    const struct registry *registry; /* of the configuration's plugins */
    void *owner;                     /* of config and registry, see world_reload */
    const struct features *features; /* NULL: the defaults */
    const char *version;             /* "1.36.3", for the LeaseCandidate; NULL: none */
    uint64_t seed;
    int64_t max_in_unschedulable; /* ns; 0: the engine's default */
    int64_t plugin_call_limit;    /* ns: longer calls of plugins are logged; 0: none */
    int64_t max_pd_volumes;       /* KUBE_MAX_PD_VOLS; 0: unset */
    struct metrics *metrics;      /* outlives the world; NULL: no metrics */
};

struct world_callbacks {
    /* The lease was lost. Another instance may be scheduling: stop the process. */
    void (*on_lost)(void *ctx);
    /* world_stop has finished. */
    void (*on_stopped)(void *ctx);
    /* Outcome of world_reload. err not NULL: refused, nothing has changed. May be NULL. */
    void (*on_reloaded)(void *ctx, void *owner, const struct reload_result *result,
                        const struct err *err);
    /* Nothing of this configuration is in use any more. Not called by world_free. */
    void (*on_retired)(void *ctx, void *owner);
};

int world_new(const struct world_options *options, const struct world_callbacks *callbacks,
              void *ctx, struct world **ret_world, struct err *reterr) MUST_CHECK;
void world_start(struct world *world);
/*
 * Stops scheduling: attempts no further pods, waits a few seconds for bindings in flight, releases
 * the lease, writes the last events, then calls on_stopped.
 */
void world_stop(struct world *world);
/* Makes no callbacks. NULL is allowed. Returns NULL. */
struct world *world_free(struct world *world);

/*
 * Asks the engine's thread for all recorded attempts (see engine_explain). Calls fn on the loop's
 * thread, unless the world is stopped first. json is valid until fn returns.
 */
typedef void world_explain_fn(void *ctx, struct str json, size_t attempts);
void world_explain(struct world *world, world_explain_fn *fn, void *ctx);
/* The same for one pod. */
void world_explain_pod(struct world *world, struct str namespace, struct str name,
                       world_explain_fn *fn, void *ctx);

/* Calls fn for each pod in the informer's store, in no particular order. */
typedef void world_pod_fn(void *ctx, struct object *pod);
void world_each_pod(const struct world *world, world_pod_fn *fn, void *ctx);

/*
 * Logs the engine's cache and queue, and the differences from the informers' stores, as upstream's
 * cache debugger does on SIGUSR2. Asynchronous, but ordered before any later event.
 */
void world_dump(struct world *world);

/*
 * Switches to another, validated configuration between two attempts: its extenders, profiles,
 * plugins and settings replace the current ones. API server and leader election settings do not
 * change. If the new extenders need objects in a form that is not kept, the objects are listed
 * again first. on_reloaded reports the outcome before the replaced configuration is retired. A
 * reload that is superseded while it waits is retired without on_reloaded.
 *
 * config and registry must live until on_retired is called with their owner. If the reload is
 * refused, by a negative return value or by on_reloaded, it belongs to the caller again.
 */
int world_reload(struct world *world, const struct scheduler_config *config,
                 const struct registry *registry, void *owner, struct err *reterr) MUST_CHECK;

/* Health checks. */
bool world_has_synced(const struct world *world);
/*
 * Whether this instance takes part in coordinated leader election, and whether its LeaseCandidate
 * informer has synced.
 */
bool world_is_candidate(const struct world *world);
bool world_candidate_has_synced(const struct world *world);
bool world_is_healthy(const struct world *world);

#endif
