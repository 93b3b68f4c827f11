/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"
#include "cmd/kube_version.h"

static void help(FILE *out)
{
    fputs("berth decides which node each pod runs on: a drop-in replacement for kube-scheduler.\n"
          "\nUsage: berth COMMAND [FLAGS]\n\nCommands:\n",
          out);
    for (size_t i = 0; i < n_commands; i++)
        if (commands[i].help)
            fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].help);
    fputs("\n`berth COMMAND --help` tells more. `berth --version` prints the version.\n"
          "A link named kube-scheduler runs `berth scheduler`.\n",
          out);
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    if (strcmp(slash ? slash + 1 : argv[0], "kube-scheduler") == 0)
        return cmd_scheduler(argc, argv);
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        puts("berth " BERTH_VERSION "\nKubernetes " KUBE_GIT_VERSION);
        return EXIT_DONE;
    }
    const struct command *command = command_find(argv[1]);
    if (command)
        return command->run(argc - 1, argv + 1);
    return cmd_fail(EXIT_USAGE, "unknown command \"%s\"; `berth --help` lists them", argv[1]);
}
