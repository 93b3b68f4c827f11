/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - the live world: an engine on a real API server.
 *
 * Purpose:   joins the loop's thread (reflectors, writes, leader election) and the engine's. What
 *            the reflectors see goes to the engine by a mailbox; what the engine wants written
 * comes back in batches. Scheduling begins when the first state is complete and, where there is an
 * election, this instance leads. Ownership: owns engine, clients, informers, recorder, elector.
 * Config and registry must outlive it. Threading: its functions on the loop's thread. It runs the
 * engine's thread itself.
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
    void *owner; /* of config, see world_reload */
    const struct registry *registry;
    const struct features *features; /* NULL: the defaults */
    const char *version;             /* "1.36.3": what candidates for leading tell; NULL: nothing */
    uint64_t seed;
    int64_t max_in_unschedulable; /* ns; 0: the engine's default */
    struct metrics *metrics;      /* outlives the world; NULL: nothing is counted */
};

struct world_callbacks {
    /* The lease was lost: another instance may be scheduling, so this one must not go on. */
    void (*on_lost)(void *ctx);
    /* world_stop has come to its end. */
    void (*on_stopped)(void *ctx);
    /* What became of world_reload. err not NULL: refused, nothing has changed. May be NULL. */
    void (*on_reloaded)(void *ctx, void *owner, const struct reload_result *result,
                        const struct err *err);
    /* Nothing of this configuration is in use any more. Not told of what world_free ends. */
    void (*on_retired)(void *ctx, void *owner);
};

int world_new(const struct world_options *options, const struct world_callbacks *callbacks,
              void *ctx, struct world **ret_world, struct err *reterr) MUST_CHECK;
void world_start(struct world *world);
/*
 * Ends scheduling: no further pod is tried, bindings under way are waited for (not long), the lease
 * is given back; then on_stopped.
 */
void world_stop(struct world *world);
/* Without a word to anybody. NULL is fine; returns NULL. */
struct world *world_free(struct world *world);

/*
 * Asks the engine's thread for all attempts that it remembers (see engine_explain); fn is told on
 * the loop's thread, unless the world ends first. json lives until it returns.
 */
typedef void world_explain_fn(void *ctx, struct str json, size_t attempts);
void world_explain(struct world *world, world_explain_fn *fn, void *ctx);
/* The same for one pod. */
void world_explain_pod(struct world *world, struct str namespace, struct str name,
                       world_explain_fn *fn, void *ctx);

/* All pods as the watch has shown them last, in no order; the loop's thread. */
typedef void world_pod_fn(void *ctx, struct object *pod);
void world_each_pod(const struct world *world, world_pod_fn *fn, void *ctx);

/*
 * Writes to the log what the engine believes of nodes and pods, and where that differs from what
 * the API server has told: not at once, but before anything that happens later is taken in.
 */
void world_dump(struct world *world);

/*
 * Another configuration, which has been checked: its extenders, profiles and settings take the
 * place of those there are, between two attempts. What concerns the API server and the election
 * stays as it is. Where extenders are to be sent objects in a form in which they have not been
 * kept, these are fetched first. on_reloaded tells what came of it, before what it replaced is
 * retired; where another reload overtakes it, it is retired without a word.
 *
 * config lives until on_retired is told its owner; where it is refused, here (negative) or by
 * on_reloaded, it is the caller's again.
 */
int world_reload(struct world *world, const struct scheduler_config *config, void *owner,
                 struct err *reterr) MUST_CHECK;

/* For health checks. */
bool world_has_synced(const struct world *world);
/* Whether this instance stands for a coordinated election, and has found out if it is known. */
bool world_is_candidate(const struct world *world);
bool world_candidate_has_synced(const struct world *world);
bool world_is_healthy(const struct world *world);

#endif
