/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/commands.h"

/* These two commands describe all commands. */
static int completion(int argc, char **argv)
{
    return cmd_completion(&commands, argc, argv);
}

static int mdoc(int argc, char **argv)
{
    return cmd_mdoc(&commands, argc, argv);
}

static const struct command table[] = {
    {"scheduler", cmd_scheduler, cmd_scheduler_flags, "",
     "schedule the pods of a cluster, in place of kube-scheduler"},
    {"up", cmd_up, cmd_up_flags, "",
     "run a cluster in one process: API server, scheduler, controllers, nodes"},
    {"simulate", cmd_simulate, cmd_simulate_flags, "FILE",
     "schedule the pods of manifest files, without a cluster"},
    {"explain", cmd_explain, cmd_explain_flags, "",
     "show why a running scheduler placed a pod, or did not"},
    {"config", cmd_config, cmd_config_flags, "convert validate diff FILE",
     "convert, check and compare configuration files"},
    {"plugin", cmd_plugin, cmd_plugin_flags, "list inspect new test FILE",
     "list, create, inspect and try plugins"},
    {"bench", cmd_bench, cmd_bench_flags, "engine", "measure the scheduling engine"},
    {"completion", completion, cmd_completion_flags, "bash zsh fish",
     "print a shell completion script"},
    {"kube-scheduler", cmd_kube_scheduler, NULL, "", NULL}, /* as if called with that name */
    {"mdoc", mdoc, NULL, "", NULL},                         /* for `make man` */
};
const struct command_list commands = {table, ARRAY_LEN(table)};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < commands.n; i++)
        if (strcmp(name, commands.v[i].name) == 0)
            return &commands.v[i];
    return NULL;
}
