/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_summary.h - what a plugin does for pods, in a few words.
 *
 * Purpose:   whoever compares configurations wants to know what a plugin that comes or goes means.
 * Ownership: constant.
 * Threading: any.
 */
#ifndef BERTH_CMD_CONFIG_PLUGIN_SUMMARY_H
#define BERTH_CMD_CONFIG_PLUGIN_SUMMARY_H

#include "base/str.h"

struct plugin_summary {
    const char *plugin;
    const char *rules;   /* where it filters, gates, holds or acts; NULL: it does not */
    const char *prefers; /* where it scores; NULL: it does not */
};

/* NULL: nothing is known of it. */
const struct plugin_summary *plugin_summary_find(struct str plugin);

#endif
