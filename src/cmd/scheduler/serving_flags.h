/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_flags.h - the endpoints as the command line wants them.
 *
 * Purpose:   makes serving.h's options of the scheduler's flags: certificates, whom to ask about
 *            users and their rights, what /configz and /flagz show.
 * Ownership: owns the serving and the kubeconfigs that it needs. What the parts point to outlives
 *            it; the world is freed after it (see serving.h).
 * Threading: the loop's thread.
 */
#ifndef BERTH_CMD_SCHEDULER_SERVING_FLAGS_H
#define BERTH_CMD_SCHEDULER_SERVING_FLAGS_H

#include "cmd/scheduler/scheduler_flags.h"
#include "engine/config/config.h"
#include "serve/serving.h"

struct scheduler_serving;

struct serving_parts {
    const struct scheduler_options *options;
    const struct features *features;
    const struct scheduler_config *config;
    const struct registry *registry;
    struct world *world;
    struct metrics *metrics;           /* NULL: none */
    const struct health_check *checks; /* ctx is theirs */
    size_t n_checks;
    void *ctx;
    /* --authentication-tolerate-lookup-failure=false and the lookup failed; also ctx's. */
    void (*on_failed)(void *ctx, const struct err *err);
};

/* --secure-port=0 is not for this. */
int scheduler_serving_new(struct loop *loop, const struct serving_parts *parts,
                          struct scheduler_serving **ret_serving, struct err *reterr) MUST_CHECK;
/* /configz shows this one from now on. */
void scheduler_serving_set_config(struct scheduler_serving *serving,
                                  const struct scheduler_config *config);
/* What it listens on: "[::]:10259". */
const char *scheduler_serving_address(const struct scheduler_serving *serving);
/* See serving_shutdown. */
void scheduler_serving_shutdown(struct scheduler_serving *serving, int64_t patience,
                                void (*fn)(void *ctx), void *ctx);
/* NULL is fine; returns NULL. */
struct scheduler_serving *scheduler_serving_free(struct scheduler_serving *serving);

#endif
