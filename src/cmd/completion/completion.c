/* SPDX-License-Identifier: Apache-2.0 */
/* berth completion: prints shell completion scripts. */
#include "cmd/completion/completion.h"

#include "cmd/cli/cmd.h"
#include "cmd/cli/flags.h"

static const char usage[] =
    "Print a shell completion script for berth, and for kube-scheduler if that is a\n"
    "link to berth.\n"
    "\nUsage: berth completion bash|zsh|fish\n"
    "\nLoad completion in the current shell:\n"
    "  source <(berth completion bash)\n"
    "  source <(berth completion zsh)\n"
    "  berth completion fish | source\n"
    "\nLoad completion in every new shell:\n"
    "  berth completion bash > /etc/bash_completion.d/berth\n"
    "  berth completion zsh > /usr/local/share/zsh/site-functions/_berth\n"
    "  berth completion fish > ~/.config/fish/completions/berth.fish\n";

static const struct {
    const char *name;
    void (*write)(const struct outline *o, struct buf *out);
} shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};

static struct flag help_flag(bool *help)
{
    return (struct flag){.group = "Completion",
                         .name = "help",
                         .letter = 'h',
                         .kind = FLAG_BOOL,
                         .value = help,
                         .help = "Print help and exit."};
}

static int print_for(const char *shell, const struct command_list *commands)
{
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        if (strcmp(shell, shells[i].name) != 0)
            continue;
        struct outline outline;
        struct buf out = BUF_INIT;
        outline_init(&outline, commands);
        shells[i].write(&outline, &out);
        fwrite(out.p, 1, out.n, stdout);
        buf_release(&out);
        outline_release(&outline);
        return EXIT_DONE;
    }
    return cmd_fail(EXIT_USAGE, "shell \"%s\" is not supported: use bash, zsh or fish", shell);
}

int cmd_completion(const struct command_list *commands, int argc, char **argv)
{
    bool help = false;
    struct flag flag = help_flag(&help);
    struct err err;
    int n;
    if (flags_parse(&flag, 1, argc, argv, &n, &err) < 0)
        return cmd_fail(EXIT_USAGE, "%s; see `berth completion --help`", err.msg);
    if (help)
        return cmd_help(usage, &flag, 1);
    if (n != 1)
        return cmd_fail(EXIT_USAGE, "expected one shell: bash, zsh or fish");
    return print_for(argv[1], commands);
}

void cmd_completion_flags(cmd_flags_fn *fn, void *ctx)
{
    bool help = false;
    struct flag flag = help_flag(&help);
    fn(ctx, &flag, 1);
}
