/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_1_0.h - a plugin that was compiled with the first header of ABI 1.
 *
 * Purpose:   it must keep loading and working as the header grows; and no member of that header may
 *            move (tests/plugins/plugin-1.0.h, plugin-1.0.rows).
 * Ownership: constant, except for the counters.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_PLUGIN_1_0_H
#define BERTH_TESTS_PLUGIN_1_0_H

#include <stddef.h>

struct berth_plugin;
extern const struct berth_plugin plugin_1_0;
extern int plugin_1_0_filtered, plugin_1_0_bound; /* calls so far */

/* Offset and size of each member in the order of plugin-1.0.rows. */
struct member_1_0 {
    const char *name;
    size_t offset, size;
};
extern const struct member_1_0 members_1_0[];
extern const size_t n_members_1_0;

#endif
