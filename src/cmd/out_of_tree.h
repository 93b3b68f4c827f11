/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out_of_tree.h - plugins that are compiled into this program beside those of src/plugins.
 *
 * Purpose:   berth itself has none. A program that is berth with plugins of its own links
 *            everything of src/cmd but out_of_tree.o, and brings this table itself: see
 *            tests/plugins and berth-test in the Makefile.
 * Ownership: constant.
 * Threading: any.
 */
#ifndef BERTH_CMD_OUT_OF_TREE_H
#define BERTH_CMD_OUT_OF_TREE_H

#include "berth/plugin.h"

extern const struct berth_plugin *const out_of_tree_plugins[]; /* NULL-ended */

#endif
