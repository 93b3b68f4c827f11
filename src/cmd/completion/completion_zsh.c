/* SPDX-License-Identifier: Apache-2.0 */
/* For zsh: one function a command, which hands its flags to _arguments. */
#include "cmd/completion/completion.h"

static const char engine[] =
    "# Names of gates, then true or false, any number of them with commas between.\n"
    "_berth_gates() {\n"
    "    compset -P '*,'\n"
    "    if compset -P '*='; then\n"
    "        compadd -S ',' -q -- true false\n"
    "    else\n"
    "        compadd -S '=' -q -- \"$@\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "_berth() {\n"
    "    if [[ $service == kube-scheduler ]]; then\n"
    "        _berth_scheduler\n"
    "    elif ((CURRENT == 2)); then\n"
    "        _describe command _berth_commands\n"
    "    else\n"
    "        local command=$words[2]\n"
    "        shift words\n"
    "        ((CURRENT--))\n"
    "        ((!$+functions[_berth_$command])) || _berth_$command\n"
    "    fi\n"
    "}\n"
    "\n"
    "if [[ $funcstack[1] == _berth ]]; then\n"
    "    _berth \"$@\"\n"
    "else\n"
    "    compdef _berth berth kube-scheduler\n"
    "fi\n";

static void add_quoted(struct buf *out, struct str text)
{
    outline_quote(out, text, "'\\''", "[]:\\");
}

static void add_action(const struct outline_flag *f, struct buf *out)
{
    switch (f->offer) {
    case OFFER_FILES:
        buf_add_cstr(out, "_files");
        break;
    case OFFER_DIRS:
        buf_add_cstr(out, "_directories");
        break;
    case OFFER_WORDS:
        buf_add_printf(out, "(%.*s)", STR_ARG(f->words));
        break;
    case OFFER_LIST:
        buf_add_printf(out, "_sequence compadd - %.*s", STR_ARG(f->words));
        break;
    case OFFER_GATES:
        buf_add_printf(out, "_berth_gates %.*s", STR_ARG(f->words));
        break;
    case OFFER_NOTHING:
        buf_add_char(out, ' ');
        break;
    }
}

/* "--name=[help]:type:action"; an optional value has two colons. */
static void add_spec(const struct outline_flag *f, bool letter, struct buf *out)
{
    buf_add_cstr(out, " \\\n        '*");
    if (letter)
        buf_add_printf(out, "-%c", f->letter);
    else
        buf_add_printf(out, "--%.*s", STR_ARG(f->name));
    if (f->type.n)
        buf_add_cstr(out, letter ? "+" : f->without.n ? "=-" : "=");
    buf_add_char(out, '[');
    add_quoted(out, outline_summary(f->help));
    buf_add_char(out, ']');
    if (f->type.n) {
        buf_add_cstr(out, f->without.n ? "::" : ":");
        add_quoted(out, f->type);
        buf_add_char(out, ':');
        add_action(f, out);
    }
    buf_add_char(out, '\'');
}

static void add_command(const struct outline_command *c, struct buf *out)
{
    buf_add_printf(out, "_berth_%.*s() {\n    _arguments -s", STR_ARG(c->name));
    for (size_t i = 0; i < c->flags.n; i++) {
        add_spec(&c->flags.v[i], false, out);
        if (c->flags.v[i].letter)
            add_spec(&c->flags.v[i], true, out);
    }
    if (c->words.n)
        buf_add_printf(out, " \\\n        '1:what:(%.*s)'", STR_ARG(c->words));
    if (c->takes_files)
        buf_add_cstr(out, " \\\n        '*:file:_files'");
    buf_add_cstr(out, "\n}\n\n");
}

void completion_zsh(const struct outline *o, struct buf *out)
{
    buf_add_cstr(out, "#compdef berth kube-scheduler\n"
                      "# Completion of berth for zsh, made by `berth completion zsh`.\n\n"
                      "_berth_commands=(\n");
    for (size_t i = 0; i < o->commands.n; i++) {
        buf_add_printf(out, "    '%.*s:", STR_ARG(o->commands.v[i].name));
        add_quoted(out, o->commands.v[i].help);
        buf_add_cstr(out, "'\n");
    }
    buf_add_cstr(out, ")\n\n");
    for (size_t i = 0; i < o->commands.n; i++)
        add_command(&o->commands.v[i], out);
    buf_add_cstr(out, engine);
}
