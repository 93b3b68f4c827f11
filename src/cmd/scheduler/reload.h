/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.h - reloads the configuration file and the plugins of a running scheduler.
 *
 * Purpose:   reads and checks the file when it has changed and on SIGHUP, passes it to the world,
 *            and logs what changes for pods. An invalid file is logged in one line with its errors,
 *            and the current configuration is kept. The same holds for shared objects with plugins
 *            and for directories of them: a file that cannot be loaded leaves all plugins as they
 *            are.
 *
 *            The path is checked every second, so that writes, renames and switched links (a
 *            mounted ConfigMap) are noticed on any file system. The file is read once it looks the
 *            same twice, to let its writer finish, and counts as changed if its bytes have changed.
 * Ownership: owns all configurations that the world uses. parts must outlive the reloader.
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
    struct metrics *metrics; /* NULL: none */
    struct world *world;
    int64_t interval; /* between two checks of the file, ns; 0: 1 s */
    /* Called when another configuration, or the same with other plugins, is in use. */
    void (*on_config)(void *ctx, const struct loaded_config *loaded);
    void *ctx;
};

struct reloader;

/* Takes ownership of `running`, the owner of the configuration that the world was made with. */
struct reloader *reloader_new(const struct reload_parts *parts, struct loaded_config *running);
/* Starts to watch the file. */
void reloader_start(struct reloader *reloader);
/* Reloads the file and the files it names, such as certificates, whether changed or not. */
void reloader_now(struct reloader *reloader);
/* Stops reloading: shutdown has begun. */
void reloader_stop(struct reloader *reloader);
/* Call reloader_stop and world_free before. NULL is allowed; returns NULL. */
struct reloader *reloader_free(struct reloader *reloader);

/* See struct world_callbacks. */
void reloader_on_reloaded(struct reloader *reloader, void *owner,
                          const struct reload_result *result, const struct err *err);
void reloader_on_retired(struct reloader *reloader, void *owner);

#endif
