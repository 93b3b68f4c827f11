/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth/scheduler.h - a scheduler of your own, with your plugins compiled in.
 *
 *     #include <berth/scheduler.h>
 *
 *     extern const struct berth_plugin my_plugin;
 *     static const struct berth_plugin *const plugins[] = {&my_plugin, NULL};
 *
 *     int main(int argc, char **argv)
 *     {
 *         return berth_scheduler_main(argc, argv, plugins);
 *     }
 *
 * Build it with `cc main.c my_plugin.c $(pkg-config --cflags --libs berth)`; add --static to link
 * libberth.a. The program may have any name. Called with flags only it is a scheduler with the
 * flags of kube-scheduler; the subcommands of berth work as well: `my-scheduler simulate ...`.
 */
#ifndef BERTH_SCHEDULER_H
#define BERTH_SCHEDULER_H

#include <berth/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs the program and returns its exit code. plugins: merged into the registry in addition to the
 * in-tree plugins; NULL-terminated, or NULL for none; they must stay valid until the program exits.
 * Profiles enable them by name. If two plugins have the same name, the program reports it and
 * exits. Call it once.
 */
__attribute__((visibility("default"))) int berth_scheduler_main(
    int argc, char **argv, const struct berth_plugin *const *plugins);

#ifdef __cplusplus
}
#endif

#endif
