/* SPDX-License-Identifier: Apache-2.0 */
/* For fish: one line a flag, with the condition under which it holds. */
#include "cmd/completion/completion.h"

/* For which program and when. */
struct fish_context {
    struct buf *out;
    const char *program;
    struct str command; /* "": the program is the command */
};

static void add_quoted(struct buf *out, struct str text)
{
    buf_add_char(out, '\'');
    outline_quote(out, text, "\\'", "\\");
    buf_add_char(out, '\'');
}

static void begin_line(const struct fish_context *c)
{
    buf_add_printf(c->out, "complete -c %s", c->program);
    if (c->command.n)
        buf_add_printf(c->out, " -n '__fish_seen_subcommand_from %.*s'", STR_ARG(c->command));
}

/* Lists and gates are functions that print their members, a line each. */
static void add_function(struct buf *out, struct str command, const struct outline_flag *f)
{
    struct str words = f->words, word;
    if (f->offer != OFFER_LIST && f->offer != OFFER_GATES)
        return;
    buf_add_printf(out, "function __berth_%.*s_", STR_ARG(command));
    for (size_t i = 0; i < f->name.n; i++)
        buf_add_char(out, f->name.p[i] == '-' ? '_' : f->name.p[i]);
    buf_add_cstr(out, "\n    printf '%s\\n'");
    while (str_split(&words, ' ', &word)) {
        if (f->offer == OFFER_GATES)
            buf_add_printf(out, " %.*s=true %.*s=false", STR_ARG(word), STR_ARG(word));
        else
            buf_add_printf(out, " %.*s", STR_ARG(word));
    }
    buf_add_cstr(out, "\nend\n");
}

static void add_offer(const struct fish_context *c, struct str command,
                      const struct outline_flag *f)
{
    struct buf *out = c->out;
    const char *takes = outline_needs_value(f) ? "-x" : "-f";
    switch (f->offer) {
    case OFFER_FILES:
        buf_add_cstr(out, " -r -F");
        break;
    case OFFER_DIRS:
        buf_add_cstr(out, " -x -a '(__fish_complete_directories)'");
        break;
    case OFFER_WORDS:
        buf_add_printf(out, " %s -a '%.*s'", takes, STR_ARG(f->words));
        break;
    case OFFER_LIST:
    case OFFER_GATES:
        buf_add_printf(out, " -x -a '(__fish_complete_list , __berth_%.*s_", STR_ARG(command));
        for (size_t i = 0; i < f->name.n; i++)
            buf_add_char(out, f->name.p[i] == '-' ? '_' : f->name.p[i]);
        buf_add_cstr(out, ")'");
        break;
    case OFFER_NOTHING:
        if (f->type.n)
            buf_add_printf(out, " %s", takes);
        break;
    }
}

static void add_flags(const struct fish_context *c, const struct outline_command *command)
{
    for (size_t i = 0; i < command->flags.n; i++) {
        const struct outline_flag *f = &command->flags.v[i];
        begin_line(c);
        /* fish calls a letter -s, and a flag of one letter with two dashes is a long one. */
        buf_add_printf(c->out, " -l %.*s", STR_ARG(f->name));
        if (f->letter)
            buf_add_printf(c->out, " -s %c", f->letter);
        add_offer(c, command->name, f);
        buf_add_cstr(c->out, " -d ");
        add_quoted(c->out, outline_summary(f->help));
        buf_add_char(c->out, '\n');
    }
}

static void add_arguments(struct buf *out, const struct outline_command *c)
{
    if (c->words.n)
        buf_add_printf(out,
                       "complete -c berth -n '__fish_seen_subcommand_from %.*s; and not "
                       "__fish_seen_subcommand_from %.*s' -a '%.*s'\n",
                       STR_ARG(c->name), STR_ARG(c->words), STR_ARG(c->words));
    if (c->takes_files)
        buf_add_printf(out, "complete -c berth -n '__fish_seen_subcommand_from %.*s' -F\n",
                       STR_ARG(c->words.n ? c->words : c->name));
}

void completion_fish(const struct outline *o, struct buf *out)
{
    const struct outline_command *scheduler = outline_find(o, STR("scheduler"));
    buf_add_cstr(out, "# Completion of berth for fish, made by `berth completion fish`.\n\n");
    for (size_t i = 0; i < o->commands.n; i++)
        for (size_t k = 0; k < o->commands.v[i].flags.n; k++)
            add_function(out, o->commands.v[i].name, &o->commands.v[i].flags.v[k]);
    buf_add_cstr(out, "\ncomplete -c berth -f\ncomplete -c kube-scheduler -f\n");
    for (size_t i = 0; i < o->commands.n; i++) {
        const struct outline_command *c = &o->commands.v[i];
        buf_add_printf(out, "complete -c berth -n __fish_use_subcommand -a %.*s -d ",
                       STR_ARG(c->name));
        add_quoted(out, c->help);
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < o->commands.n; i++) {
        struct fish_context context = {out, "berth", o->commands.v[i].name};
        add_flags(&context, &o->commands.v[i]);
        add_arguments(out, &o->commands.v[i]);
    }
    struct fish_context link = {out, "kube-scheduler", STR("")};
    add_flags(&link, scheduler);
}
