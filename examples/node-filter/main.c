/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler with the plugin of node-filter.c compiled in. */
#include <berth/scheduler.h>

extern const struct berth_plugin *const berth_plugins[];

int main(int argc, char **argv)
{
    return berth_scheduler_main(argc, argv, berth_plugins);
}
