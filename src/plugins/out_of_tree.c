/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/out_of_tree.h"

const struct berth_plugin *const out_of_tree_plugins[] = {NULL};
