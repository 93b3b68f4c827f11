/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth mdoc COMMAND: prints the options of a command in mdoc(7). `make man` puts them into the
 * manual pages of docs/man.
 */
#include "base/buf.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/outline.h"

/* Escapes backslashes and hyphens, and allows a line break after a comma. */
static void add_text(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\\')
            buf_add_cstr(out, "\\e");
        else if (text.p[i] == '-')
            buf_add_cstr(out, "\\-");
        else if (text.p[i] == ',')
            buf_add_cstr(out, ",\\:");
        else
            buf_add_char(out, text.p[i]);
    }
}

/* Escapes a first character that would make the line a macro. */
static void add_line(struct buf *out, struct str line)
{
    if (line.n && (line.p[0] == '.' || line.p[0] == '\''))
        buf_add_cstr(out, "\\&");
    add_text(out, line);
    buf_add_char(out, '\n');
}

/* mdoc: every sentence starts on a new line. */
static void add_sentences(struct buf *out, struct str line)
{
    for (size_t i = 0; i + 1 < line.n; i++) {
        if (line.p[i] == '.' && line.p[i + 1] == ' ') {
            add_line(out, str_slice(line, 0, i + 1));
            line = str_slice(line, i + 2, line.n);
            i = 0;
        }
    }
    add_line(out, line);
}

static void add_help(struct buf *out, struct str help)
{
    struct str line;
    for (bool first = true; str_split(&help, '\n', &line); first = false) {
        if (!first)
            buf_add_cstr(out, ".Pp\n");
        add_sentences(out, line);
    }
}

static void add_options(struct buf *out, struct str lines)
{
    struct str line;
    buf_add_cstr(out, ".Bd -literal -compact\n");
    while (str_split(&lines, '\n', &line))
        if (line.n)
            add_line(out, line);
    buf_add_cstr(out, ".Ed\n");
}

static void add_flag(struct buf *out, const struct outline_flag *f)
{
    buf_add_cstr(out, ".It ");
    if (f->letter)
        buf_add_printf(out, "Fl %c , ", f->letter);
    buf_add_cstr(out, "Fl \\-");
    add_text(out, f->name);
    if (f->type.n) {
        /* "Op" would add a space before the bracket. */
        buf_add_cstr(out, f->without.n ? " Ns Oo = Ns Ar " : " Ns = Ns Ar ");
        add_text(out, f->type);
        buf_add_cstr(out, f->without.n ? " Oc" : "");
    }
    buf_add_char(out, '\n');
    add_help(out, f->help);
    if (f->options.n)
        add_options(out, f->options);
    if (f->value.n) {
        buf_add_cstr(out, "The default is ");
        add_text(out, f->value);
        buf_add_cstr(out, ".\n");
    }
}

static void write_options(const struct outline_command *c, struct buf *out)
{
    for (size_t i = 0; i < c->flags.n; i++) {
        const struct outline_flag *f = &c->flags.v[i];
        if (f->group.n) {
            buf_add_printf(out, "%s.Ss %.*s flags\n.Bl -tag -width Ds\n", i ? ".El\n" : "",
                           STR_ARG(f->group));
        }
        add_flag(out, f);
    }
    buf_add_cstr(out, ".El\n");
}

int cmd_mdoc(const struct command_list *commands, int argc, char **argv)
{
    struct outline outline;
    outline_init(&outline, commands);
    const struct outline_command *command =
        argc == 2 ? outline_find(&outline, str_of(argv[1])) : NULL;
    int code = EXIT_DONE;
    if (command) {
        struct buf out = BUF_INIT;
        write_options(command, &out);
        fwrite(out.p, 1, out.n, stdout);
        buf_release(&out);
    } else {
        code = cmd_fail(EXIT_USAGE, "Usage: berth mdoc COMMAND");
    }
    outline_release(&outline);
    return code;
}
