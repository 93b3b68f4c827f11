/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h - the simulated world: the same engine, no cluster, virtual time.
 *
 * Purpose:   feeds a scenario to an engine and does at once what it asks for: a binding comes back
 *            as a bound pod, a victim is gone, time jumps to the next moment at which anything can
 *            happen.
 * Ownership: owns the engine and the outcome of every pod.
 * Threading: one thread.
 */
#ifndef BERTH_SIM_SIM_H
#define BERTH_SIM_SIM_H

#include "base/map.h"
#include "engine/engine.h"
#include "sim/scenario.h"

/* What became of a pod that had no node. */
struct sim_pod {
    struct object *object;
    char *node;    /* NULL: none */
    char *message; /* why none; NULL where it has one */
    uint32_t attempts;
    bool preempted; /* it had to leave its node again, and is no more */
};

/* A pod that had to make room for another. */
struct sim_eviction {
    struct object *victim, *preemptor;
};

struct sim {
    struct engine *engine;
    int64_t now;
    uint32_t max_attempts;
    struct map objects;         /* "Pod default/web" → struct sim_object, as it is now */
    VEC(struct sim_pod *) pods; /* in the scenario's order */
    struct map by_uid;
    size_t n_open;                      /* of these: being tried, neither placed nor given up */
    VEC(struct sim_write *) writes;     /* asked for, not yet told */
    VEC(struct object *) leaving;       /* pods that are deleted when all of that is told */
    VEC(struct sim_eviction) evictions; /* in their order */
    uint64_t next_version;
};

struct sim_options {
    const struct scheduler_config *config;
    const struct registry *registry;
    const struct features *features; /* NULL: the defaults */
    uint64_t seed;
    size_t explain_bytes;  /* see engine_options */
    bool surveys;          /* see engine_options */
    uint32_t max_attempts; /* a pod that finds no place is let be after so many; 0: three */
};

int sim_new(const struct sim_options *options, struct sim **ret_sim, struct err *reterr) MUST_CHECK;
struct sim *sim_free(struct sim *sim);
/*
 * Objects of manifests: pods come last, those without a node after the others. Then what watch
 * events say, one after the other.
 */
void sim_load(struct sim *sim, const struct scenario *scenario);
/* Until no pod is ready to be tried and nothing is under way. More may be loaded afterwards. */
void sim_run(struct sim *sim);

#endif
