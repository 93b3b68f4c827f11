/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.h - the configuration file is read again while the scheduler runs.
 *
 * Purpose:   when the file has changed, or somebody asks for it (SIGHUP), it is read, checked and
 *            given to the world; what changes for pods is logged. A file that is no good is refused
 *            with one line that says where and why, and the configuration in use stays.
 *
 *            The file is looked at every second, by the path that was given: one that is written,
 *            renamed over or reached by other links (as a mounted ConfigMap is) is noticed alike,
 *            on any file system. It is read when it looks the same twice, so that who writes it has
 *            time to, and counts as changed when its bytes have.
 * Ownership: owns the configuration in use and those that still are; parts outlive it.
 * Threading: the loop's thread.
 */
#ifndef BERTH_CMD_SCHEDULER_RELOAD_H
#define BERTH_CMD_SCHEDULER_RELOAD_H

#include "base/metrics.h"
#include "cmd/scheduler/loaded_config.h"
#include "live/world.h"

struct reload_parts {
    struct loop *loop;
    const struct scheduler_options *options;
    const struct features *features;
    const struct registry *registry;
    struct metrics *metrics; /* NULL: none */
    struct world *world;
    int64_t interval; /* between two looks at the file; 0: 1 s */
    /* Another configuration is in use from now on. */
    void (*on_config)(void *ctx, const struct scheduler_config *config);
    void *ctx;
};

struct reloader;

/* Takes the configuration that the world was made with over; its owner there is that struct. */
struct reloader *reloader_new(const struct reload_parts *parts, struct loaded_config *running);
/* Begins to look at the file. */
void reloader_start(struct reloader *reloader);
/* Reads the file again, changed or not; files that it names, such as certificates, too. */
void reloader_now(struct reloader *reloader);
/* The end has begun: nothing is read any more. */
void reloader_stop(struct reloader *reloader);
/* After the world is gone, and the loop, where it was stopped. NULL is fine; returns NULL. */
struct reloader *reloader_free(struct reloader *reloader);

/* See struct world_callbacks. */
void reloader_on_reloaded(struct reloader *reloader, void *owner,
                          const struct reload_result *result, const struct err *err);
void reloader_on_retired(struct reloader *reloader, void *owner);

#endif
