/* SPDX-License-Identifier: Apache-2.0 */
/* The table that takes the place of src/plugins/out_of_tree.c in berth-test. */
#include "plugins/out_of_tree.h"
#include "test_plugins.h"

const struct berth_plugin *const out_of_tree_plugins[] = {
    &test_pair_plugin,
    &test_node_label_plugin,
    &test_gates_plugin,
    &test_only_plugin,
    &test_pause_plugin,
    &test_look_plugin,
    &test_through_plugin,
    &test_favourite_plugin,
    &test_cpu_label_plugin,
    &test_left_plugin,
    &test_right_plugin,
    &test_together_plugin,
    NULL,
};
