/* SPDX-License-Identifier: Apache-2.0 */
/*
 * framework.h - what all profiles, cycles and plugins share (upstream: framework.Handle).
 *
 * Purpose:   the ports, the log, the random numbers, the texts of reasons, the feature gates, the
 *            cluster's state, and the current configuration with its profiles.
 * Ownership: the engine owns it. It owns names, keys, reasons and setups; cache, cluster and
 *            metrics are borrowed. The rooms at the end are there for the functions that plugins
 *            call with their handle: this room and those before it never look into them.
 * Threading: the engine's thread; filters and scores read on the pool's threads.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_FRAMEWORK_H
#define BERTH_ENGINE_FRAMEWORK_FRAMEWORK_H

#include "base/metrics.h"
#include "base/rand.h"
#include "engine/config/features.h"
#include "engine/framework/plugin_calls.h"
#include "engine/framework/profile.h"
#include "engine/framework/reason.h"
#include "engine/index/cluster.h"
#include "engine/ports/ports.h"

struct framework {
    struct ports ports;
    struct engine_log log;
    struct rand rand;
    struct reasons reasons;
    struct features features;
    struct cache *cache;
    struct cluster *cluster;
    int64_t max_pd_volumes;            /* KUBE_MAX_PD_VOLS; 0: unset */
    struct scheduler_metrics *metrics; /* NULL: metrics are off */
    struct metrics *registry;          /* the same: for metrics of plugins */

    const struct berth_host *host;     /* what plugins are created with */
    VEC(struct str) plugin_names;      /* index: plugin id; texts owned; NULL text: free */
    VEC(struct str) state_keys;        /* index: key - 1; texts owned */
    struct setup *setup;               /* of the current configuration */
    struct setup *replaced;            /* earlier ones that cycles still use */
    uint64_t last_id;                  /* of writes and extender calls */
    struct plugin_calls calls;         /* requests and timers of plugins */
    VEC(struct shared_state *) shared; /* shared_state.h, in the order in which they were made */
    bool watched[KIND_SPACE];          /* kinds that plugins asked for: lister.h */
    bool unsynced[KIND_SPACE];         /* of them: not all objects have arrived */
    struct map handles;                /* instances and shared states, by serial → berth_handle */
    uint64_t last_serial;

    struct queue *queue;
    struct bindings *bindings;
    struct evictions *evictions;
    struct groups *groups;
};

struct framework_options {
    struct ports ports;
    uint64_t seed;
    const struct features *features; /* copied; NULL: the defaults */
    const struct berth_host *host;
    struct cache *cache;
    struct cluster *cluster;
    int64_t max_pd_volumes;
};

void framework_init(struct framework *fw, const struct framework_options *options);
void framework_release(struct framework *fw);

static inline int64_t framework_now(const struct framework *fw)
{
    return fw->ports.now(fw->ports.ctx);
}

static inline void framework_submit(const struct framework *fw, const struct write *write)
{
    fw->ports.submit(fw->ports.ctx, write);
}

static inline bool framework_is_engine_thread(const struct framework *fw)
{
    return !fw->ports.is_engine_thread || fw->ports.is_engine_thread(fw->ports.ctx);
}

/* An id for a write or an extender call whose outcome is expected. */
static inline uint64_t framework_next_id(struct framework *fw)
{
    return ++fw->last_id;
}

/* The id of a plugin's name, given out on first use; -E2BIG if there are too many. */
int framework_plugin_id(struct framework *fw, struct str name);
berth_state_key framework_state_key(struct framework *fw, struct str name);
/* Handles can be found by their serial while they exist: posts from other threads name it. */
void framework_add_handle(struct framework *fw, struct berth_handle *h);
void framework_remove_handle(struct berth_handle *h);
/* The profile of the current configuration; NULL if there is none of this name. */
struct profile *framework_profile(const struct framework *fw, struct str scheduler_name);

/* --- for plugins ------------------------------------------------------------------------------ */

/* The cluster's indexes. */
struct cluster *handle_cluster(const struct berth_handle *h);
/* The engine's log; the pointer stays valid. */
const struct engine_log *handle_log(const struct berth_handle *h);
/* The time of day, for times in objects; ns since 1970. */
int64_t handle_wall(const struct berth_handle *h);
/*
 * Whether this instance may write what controllers write: it leads, and pods are being scheduled.
 * handle_may_lead is false where it never will, as in a simulation.
 */
bool handle_leads(const struct berth_handle *h);
bool handle_may_lead(const struct berth_handle *h);
/* Shared states are told of pods that have ended as well, from now on. */
void handle_watch_finished_pods(const struct berth_handle *h);
bool handle_feature(const struct berth_handle *h, enum feature feature);
/* KUBE_MAX_PD_VOLS; 0: unset. */
int64_t handle_max_pd_volumes(const struct berth_handle *h);
/* NULL: metrics are off. */
struct scheduler_metrics *handle_metrics(const struct berth_handle *h);

#endif
