/* SPDX-License-Identifier: Apache-2.0 */
/* berth-test: a scheduler with these plugins in its registry. */
#include <berth/scheduler.h>

#include "test_plugins.h"

static const struct berth_plugin *const plugins[] = {
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
    &test_sleep_plugin,
    &test_thread_plugin,
    &test_fault_plugin,
    &test_rack_plugin,
    NULL,
};

int main(int argc, char **argv)
{
    return berth_scheduler_main(argc, argv, plugins);
}
