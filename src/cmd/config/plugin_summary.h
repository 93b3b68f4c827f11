/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_summary.h - one-line summaries of what a plugin does.
 *
 * Purpose:   `berth config diff` prints them for plugins that are added or removed.
 * Ownership: constant.
 * Threading: any.
 */
#ifndef BERTH_CMD_CONFIG_PLUGIN_SUMMARY_H
#define BERTH_CMD_CONFIG_PLUGIN_SUMMARY_H

#include "base/str.h"

struct plugin_summary {
    const char *plugin;
    const char *rules;   /* at all points except score; NULL: nothing */
    const char *prefers; /* at score, as in "prefers nodes that …"; NULL: nothing */
};

/* NULL if none. */
const struct plugin_summary *plugin_summary_find(struct str plugin);

#endif
