/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out_of_tree.h - out-of-tree plugins that are compiled into the program.
 *
 * Purpose:   berth itself has none. To build berth with other plugins, link everything except
 *            out_of_tree.o and define this table: see tests/plugins and berth-test in the
 *            Makefile.
 * Ownership: constant.
 * Threading: any.
 */
#ifndef BERTH_CMD_OUT_OF_TREE_H
#define BERTH_CMD_OUT_OF_TREE_H

#include "berth/plugin.h"

extern const struct berth_plugin *const out_of_tree_plugins[]; /* ends with NULL */

#endif
