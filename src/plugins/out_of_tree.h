/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out_of_tree.h - out-of-tree plugins that are compiled into the program.
 *
 * Purpose:   berth has none. A program with such plugins defines this table itself and links
 *            src/cmd and libberth.a, whose empty table is then not used: see tests/plugins and
 *            berth-test in the Makefile.
 * Ownership: constant.
 * Threading: any.
 */
#ifndef BERTH_PLUGINS_OUT_OF_TREE_H
#define BERTH_PLUGINS_OUT_OF_TREE_H

#include "berth/plugin.h"

extern const struct berth_plugin *const out_of_tree_plugins[]; /* NULL-terminated */

#endif
