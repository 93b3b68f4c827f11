/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"
#include "cmd/kube_version.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};

static const struct command commands[] = {
    {"scheduler", cmd_scheduler, "schedule the pods of a cluster, in place of kube-scheduler"},
    {"simulate", cmd_simulate, "schedule the pods of manifest files, without a cluster"},
    {"config", cmd_config, "convert, check and compare configuration files"},
    {"bench", cmd_bench, "measure the engine alone, without a cluster"},
};

static void help(FILE *out)
{
    fputs("berth decides which node each pod runs on: a drop-in replacement for kube-scheduler.\n"
          "\nUsage: berth COMMAND [FLAGS]\n\nCommands:\n",
          out);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
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
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return cmd_fail(EXIT_USAGE, "unknown command \"%s\"; `berth --help` lists them", argv[1]);
}
