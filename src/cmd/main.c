/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/cmd.h"
#include "cmd/flags.h"

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

int cmd_fail(int exit_code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("berth: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return exit_code;
}

int cmd_help(const char *usage, const struct flag *flags, size_t n)
{
    struct buf text = BUF_INIT;
    flags_help(flags, n, &text);
    printf("%s%s", usage, buf_cstr(&text));
    buf_release(&text);
    return EXIT_DONE;
}

static int read_all(int fd, const char *path, struct buf *out, struct err *reterr)
{
    for (;;) {
        if (!buf_reserve(out, 65536))
            return err_set(reterr, -EFBIG, "%s: larger than %zu MiB", path, CMD_MAX_FILE >> 20);
        ssize_t n = read(fd, out->p + out->n, 65536);
        if (n == 0)
            return 0;
        if (n > 0)
            out->n += (size_t)n;
        else if (errno != EINTR)
            return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    }
}

int cmd_read_file(const char *path, struct arena *a, struct str *ret_text, struct err *reterr)
{
    bool standard_input = strcmp(path, "-") == 0;
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    struct buf text;
    buf_init(&text, CMD_MAX_FILE);
    int r = read_all(fd, path, &text, reterr);
    if (r == 0)
        *ret_text = arena_dup(a, buf_str(&text));
    buf_release(&text);
    if (!standard_input)
        close(fd);
    return r;
}

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
        puts("berth " BERTH_VERSION);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return cmd_fail(EXIT_USAGE, "unknown command \"%s\"; `berth --help` lists them", argv[1]);
}
