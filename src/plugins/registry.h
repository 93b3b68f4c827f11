/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - the in-tree plugins.
 *
 * Purpose:   the one table of in-tree plugins and the default multiPoint section.
 * Ownership: constant.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_REGISTRY_H
#define BERTH_PLUGINS_REGISTRY_H

#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"

extern const struct registry in_tree_registry;

#endif
