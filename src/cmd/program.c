/* SPDX-License-Identifier: Apache-2.0 */
/* The program: berth itself, and schedulers that others build with berth/scheduler.h. */
#include "berth/scheduler.h"
#include "cmd/commands.h"
#include "loader/loaded_plugins.h"
#include "serve/kube_version.h"

static void help(FILE *out)
{
    fputs("berth is a Kubernetes scheduler: a drop-in replacement for kube-scheduler.\n"
          "\nUsage: berth COMMAND [FLAGS]\n\nCommands:\n",
          out);
    for (size_t i = 0; i < commands.n; i++)
        if (commands.v[i].help)
            fprintf(out, "  %-12s %s\n", commands.v[i].name, commands.v[i].help);
    fputs("\nUse `berth COMMAND --help` for more about a command and `berth --version` for the\n"
          "version. A copy or link with another name runs the scheduler if it is called with\n"
          "flags only.\n",
          out);
}

/* `berth help`, `berth help COMMAND`. */
static int help_on(char *name)
{
    const struct command *command = name ? command_find(name) : NULL;
    if (name && !command)
        return cmd_fail(EXIT_USAGE, "unknown command \"%s\"; see `berth --help`", name);
    if (!command) {
        help(stdout);
        return EXIT_DONE;
    }
    char flag[] = "--help";
    return command->run(2, (char *[]){name, flag, NULL});
}

/*
 * A copy or link with another name is the scheduler if it is called with flags only, like a
 * scheduler that was built with plugins of its own. kube-scheduler has no commands at all.
 */
static bool is_scheduler(int argc, char **argv)
{
    const char *name = argc > 0 ? cmd_program_name(argv[0]) : "berth";
    if (strcmp(name, "kube-scheduler") == 0)
        return true;
    return strcmp(name, "berth") != 0 && (argc < 2 || argv[1][0] == '-');
}

int berth_scheduler_main(int argc, char **argv, const struct berth_plugin *const *plugins)
{
    compiled_in_plugins_set(plugins);
    if (is_scheduler(argc, argv))
        return cmd_kube_scheduler(argc, argv);
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help_on(NULL);
    if (strcmp(argv[1], "help") == 0)
        return help_on(argv[2]);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        puts("berth " BERTH_VERSION "\nKubernetes " KUBE_GIT_VERSION);
        return EXIT_DONE;
    }
    const struct command *command = command_find(argv[1]);
    if (command)
        return command->run(argc - 1, argv + 1);
    return cmd_fail(EXIT_USAGE, "unknown command \"%s\"; see `berth --help`", argv[1]);
}
