/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args_table.h - every kind of plugin arguments.
 *
 * Purpose:   the kinds of 1.36 and of older releases. Kinds of implemented plugins are defined with
 *            the plugin, the others in args_table.c.
 * Ownership: constant.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_ARGS_TABLE_H
#define BERTH_PLUGINS_ARGS_TABLE_H

#include "plugins/common/in_tree.h"

/* All kinds, NULL-terminated; also of plugins that berth does not implement. */
extern const struct args_kind *const in_tree_args[];

#endif
