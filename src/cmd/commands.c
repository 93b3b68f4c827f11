/* SPDX-License-Identifier: Apache-2.0 */
/* The table of berth's commands. */
#include "cmd/cli/cmd.h"

const struct command commands[] = {
    {"scheduler", cmd_scheduler, cmd_scheduler_flags, "",
     "schedule the pods of a cluster, in place of kube-scheduler"},
    {"simulate", cmd_simulate, cmd_simulate_flags, "FILE",
     "schedule the pods of manifest files, without a cluster"},
    {"explain", cmd_explain, cmd_explain_flags, "",
     "show why a running scheduler placed a pod, or did not"},
    {"config", cmd_config, cmd_config_flags, "convert validate diff FILE",
     "convert, check and compare configuration files"},
    {"bench", cmd_bench, cmd_bench_flags, "engine", "measure the scheduling engine"},
    {"completion", cmd_completion, cmd_completion_flags, "bash zsh fish",
     "print a shell completion script"},
    {"kube-scheduler", cmd_kube_scheduler, NULL, "", NULL}, /* as if called with that name */
    {"mdoc", cmd_mdoc, NULL, "", NULL},                     /* for `make man` */
};
const size_t n_commands = ARRAY_LEN(commands);

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}
