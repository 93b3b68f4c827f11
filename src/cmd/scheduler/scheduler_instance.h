/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_instance.h - one scheduler on a loop: its configuration, its world and its reloads.
 *
 * Purpose:   what `berth scheduler` and the scheduler inside `berth up` share. Signals, endpoints
 *            and the end of the process are the caller's. In this order: load, check, connect,
 *            start, world_start; then world_stop, release.
 * Ownership: the caller owns the struct and the options, features and loop, which live longer.
 * Threading: load, check and connect on any one thread; from start on, that of the loop.
 */
#ifndef BERTH_CMD_SCHEDULER_SCHEDULER_INSTANCE_H
#define BERTH_CMD_SCHEDULER_SCHEDULER_INSTANCE_H

#include "cmd/scheduler/reload.h"

struct scheduler_instance {
    const struct scheduler_options *options;
    struct features features;
    /* Called by the world and when another configuration is in use; on_config may be NULL. */
    void (*on_lost)(void *ctx);
    void (*on_stopped)(void *ctx);
    void (*on_config)(void *ctx);
    void *ctx;

    struct loaded_config *loaded;          /* until the reloader owns it */
    const struct scheduler_config *config; /* in use */
    const struct registry *registry;       /* its plugins */
    struct kube_config kube;
    struct metrics *metrics; /* of the whole scheduler: /metrics */
    struct world *world;
    struct reloader *reloader;
};

/* Loads the plugins and the configuration. On failure there is nothing to release. */
int scheduler_instance_load(struct scheduler_instance *s, struct err *reterr) MUST_CHECK;
/* Whether the configuration is valid; prints or logs its problems. */
bool scheduler_instance_check(const struct scheduler_instance *s);
/* The API server and the credentials that the configuration names. */
int scheduler_instance_connect(struct scheduler_instance *s, struct err *reterr) MUST_CHECK;
/* The same for a server of this process: that of the kubeconfig, without a limit of requests. */
int scheduler_instance_connect_to(struct scheduler_instance *s, const char *kubeconfig,
                                  struct err *reterr) MUST_CHECK;
/* Makes the world and watches the configuration's files. Call world_start next. */
int scheduler_instance_start(struct scheduler_instance *s, struct loop *loop,
                             struct err *reterr) MUST_CHECK;
/* Ends the world at once. The loop must not run; release follows. */
void scheduler_instance_end(struct scheduler_instance *s);
/* After the loop was freed. */
void scheduler_instance_release(struct scheduler_instance *s);

#endif
