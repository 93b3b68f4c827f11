/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_flags.h - starts the HTTPS endpoints from the scheduler's flags.
 *
 * Purpose:   turns flags into the options of serving.h: certificates, the API server for reviews,
 *            the contents of /configz and /flagz.
 * Ownership: owns the serving and the kubeconfigs for reviews. What the parts point to must outlive
 *            it. Free it before the world (see serving.h).
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
    const struct health_check *checks; /* called with ctx */
    size_t n_checks;
    void *ctx;
    /* The lookup failed, and --authentication-tolerate-lookup-failure is false. */
    void (*on_failed)(void *ctx, const struct err *err);
};

/* --secure-port must not be 0. */
int scheduler_serving_new(struct loop *loop, const struct serving_parts *parts,
                          struct scheduler_serving **ret_serving, struct err *reterr) MUST_CHECK;
/* Sets the configuration that /configz shows, and the plugins that it is about. */
void scheduler_serving_set_config(struct scheduler_serving *serving,
                                  const struct scheduler_config *config,
                                  const struct registry *registry);
/* The address it listens on: "[::]:10259". */
const char *scheduler_serving_address(const struct scheduler_serving *serving);
/* See serving_shutdown. */
void scheduler_serving_shutdown(struct scheduler_serving *serving, int64_t patience,
                                void (*fn)(void *ctx), void *ctx);
/* NULL is allowed; returns NULL. */
struct scheduler_serving *scheduler_serving_free(struct scheduler_serving *serving);

#endif
