/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rooms.h - struct engine: the rooms that an engine consists of.
 *
 * Purpose:   for the files directly in src/engine, which join the rooms. A room knows only those
 *            above it in this list, and its functions take its own struct.
 * Ownership: owned by engine.c.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_ROOMS_H
#define BERTH_ENGINE_ROOMS_H

#include "engine/attempt.h"
#include "engine/bind/binding.h"
#include "engine/cache/cache.h"
#include "engine/engine.h"
#include "engine/explain/report.h"
#include "engine/framework/setup.h"
#include "engine/group/group_cycle.h"
#include "engine/index/cluster.h"
#include "engine/metrics/scheduler_metrics.h"
#include "engine/preempt/eviction.h"

struct engine {
    struct intern names;
    struct cache cache;
    struct cluster cluster;
    struct framework framework; /* configuration, profiles, ports, log, reasons, metrics */
    struct queue queue;
    struct cycles cycles;
    struct explain explain;
    struct report report;
    struct bindings bindings;
    struct evictions evictions;
    struct groups groups;
    struct attempt attempt;
    bool surveys; /* attempts are surveyed: survey.h */
};

/* The services that plugins are given: host.c. */
extern const struct berth_host engine_host;

static inline int64_t engine_now(const struct engine *engine)
{
    return framework_now(&engine->framework);
}

/*
 * Ends every call of the engine: continues the bindings that have been answered, and frees
 * configurations that are no longer used.
 */
void engine_settle(struct engine *engine);
/* Makes the setup the current one: backoff, metrics and plugins of its profiles. */
void engine_use_setup(struct engine *engine, struct setup *setup);
/* The setup's part of the options. */
struct setup_options engine_setup_options(const struct engine_options *options);
/* Frees replaced configurations that no cycle uses: reload.c. */
void engine_reap_setups(struct engine *engine);

#endif
