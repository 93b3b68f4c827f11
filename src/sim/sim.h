/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h - the simulated world: the scheduler's engine in virtual time, without a cluster.
 *
 * Purpose:   feeds a scenario to an engine and applies its writes immediately: bindings bind pods,
 *            evictions delete them, requests of plugins change objects, controllers complete
 *            volumes and devices, and time advances to the next wake-up. Calls of plugins that may
 *            block are made in line; answers from threads of their own are waited for.
 * Ownership: owns the engine and the results.
 * Threading: one thread.
 */
#ifndef BERTH_SIM_SIM_H
#define BERTH_SIM_SIM_H

#include "apiserver/controllers/controllers.h"
#include "base/mailbox.h"
#include "base/map.h"
#include "engine/engine.h"
#include "sim/scenario.h"
#include "sim/sim_api.h"

/* The result for a pod that was loaded without a node. */
struct sim_pod {
    struct object *object;
    char *node;    /* NULL: none */
    char *message; /* of the latest attempt that failed; NULL if it has a node, or was not tried */
    uint32_t attempts;
    bool preempted; /* evicted after it was scheduled */
};

/* What a server outside of the simulation answers to a GET. */
struct sim_response {
    struct str
        url; /* or the path of a list of the API server: "/apis/metrics.k8s.io/v1beta1/nodes" */
    struct str body;
};

struct sim_eviction {
    struct object *victim, *preemptor;
};

struct sim {
    struct engine *engine;
    int64_t now;
    uint32_t max_attempts;
    struct sim_api api;
    struct controllers *controllers; /* NULL: none */
    bool controlled;                 /* a controller has changed something */
    VEC(struct sim_pod *) pods;      /* in the order of the scenario */
    struct map by_uid;
    size_t n_open;                      /* pods that are neither scheduled nor out of attempts */
    size_t n_idle;                      /* attempts in succession for pods that are not open */
    VEC(struct sim_write *) writes;     /* submitted, not yet applied */
    VEC(struct object *) leaving;       /* victims, deleted once all writes are applied */
    VEC(struct sim_eviction) evictions; /* in order */
    /* What threads of plugins have posted: the only part that is for other threads. */
    struct mailbox posts;
    const struct sim_response *responses; /* borrowed */
    size_t n_responses;
    char *unanswered;   /* the first URL that a plugin asked for and no response is given for */
    bool impatient;     /* nothing came in time: the simulation does not wait any more */
    const char *thread; /* the simulation's */
};

struct sim_options {
    const struct scheduler_config *config;
    const struct registry *registry;
    const struct features *features; /* NULL: the defaults */
    uint64_t seed;
    size_t explain_bytes;                   /* see engine_options */
    bool surveys;                           /* see engine_options */
    uint32_t max_attempts;                  /* per pod; 0: 3 */
    bool no_controllers;                    /* nobody binds claims or creates them from templates */
    struct provisioner_options provisioner; /* enabled is set by sim_new */
    const struct sim_response *responses;   /* for requests of plugins; must outlive the sim */
    size_t n_responses;
};

int sim_new(const struct sim_options *options, struct sim **ret_sim, struct err *reterr) MUST_CHECK;
struct sim *sim_free(struct sim *sim);
/*
 * Loads the objects of manifests, with bound pods and then pending pods last. Then applies watch
 * events in order.
 */
void sim_load(struct sim *sim, const struct scenario *scenario);
/* Runs until no pod can be tried. More can be loaded afterwards. */
void sim_run(struct sim *sim);

#endif
