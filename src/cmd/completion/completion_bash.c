/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For bash 3.2 and later; does not need the package bash-completion. The script has lookup
 * functions, generated from the outline, and a fixed function that completes.
 */
#include "cmd/completion/completion.h"

/*
 * Readline splits words at COMP_WORDBREAKS, which contains "=" and ":", and replaces only the text
 * after the last of them. So the line is split again here, and the front is removed from replies.
 */
static const char engine[] =
    "_berth() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} cur='' command='' flag='' value='' front='' word\n"
    "    local -a words\n"
    "    COMPREPLY=()\n"
    "    IFS=$' \\t\\n' read -r -a words <<<\"$line\"\n"
    "    local last=$((${#words[@]} - 1))\n"
    "    if [[ $line != *[[:space:]] ]]; then\n"
    "        cur=${words[last]}\n"
    "        last=$((last - 1))\n"
    "    fi\n"
    "    if [[ ${words[0]##*/} == kube-scheduler ]]; then\n"
    "        command=scheduler\n"
    "    elif ((last < 1)); then\n"
    "        _berth_reply \"$(compgen -W \"$_berth_commands --help --version\" -- \"$cur\")\"\n"
    "        return\n"
    "    else\n"
    "        command=${words[1]}\n"
    "    fi\n"
    "    word=${words[last]}\n"
    "    if [[ $cur == -*=* ]]; then\n"
    "        flag=${cur%%=*} value=${cur#*=} front=${cur%%=*}=\n"
    "    elif [[ $word == -* && \" $(_berth_flags \"$command\") \" == *\" $word= \"* ]]; then\n"
    "        flag=$word value=$cur\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        _berth_reply \"$(compgen -W \"$(_berth_flags \"$command\")\" -- \"$cur\")\"\n"
    "        return\n"
    "    fi\n"
    "    if [[ -z $flag ]]; then\n"
    "        if [[ \" $(_berth_arguments \"$command\") \" == *\" $word \"* ]]; then\n"
    "            _berth_value '<files>' \"$cur\" ''\n"
    "        else\n"
    "            _berth_value \"$(_berth_arguments \"$command\")\" \"$cur\" ''\n"
    "        fi\n"
    "    else\n"
    "        _berth_value \"$(_berth_values \"$command $flag\")\" \"$value\" \"$front\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "# _berth_value OFFER VALUE FRONT: complete VALUE, which follows FRONT in the same word.\n"
    "_berth_value() {\n"
    "    local offer=$1 value=$2 front=$3 name\n"
    "    case $offer in\n"
    "    '<files>')\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        _berth_reply \"$(compgen -f -P \"$front\" -- \"$value\")\" ;;\n"
    "    '<dirs>')\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        _berth_reply \"$(compgen -d -P \"$front\" -- \"$value\")\" ;;\n"
    "    '<list> '* | '<gates> '*)\n"
    "        if [[ $value == *,* ]]; then\n"
    "            front+=${value%,*},\n"
    "            value=${value##*,}\n"
    "        fi\n"
    "        name=${value%%=*}\n"
    "        if [[ $offer == '<list> '* ]]; then\n"
    "            offer=${offer#<list> }\n"
    "        elif [[ $value == *=* ]]; then\n"
    "            offer=\"$name=true $name=false\"\n"
    "        else\n"
    "            offer=${offer#<gates> }\n"
    "            offer=${offer// /= }=\n"
    "        fi\n"
    "        _berth_reply \"$(compgen -P \"$front\" -W \"$offer\" -- \"$value\")\" ;;\n"
    "    *)\n"
    "        _berth_reply \"$(compgen -P \"$front\" -W \"$offer\" -- \"$value\")\" ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# _berth_reply LINES: set COMPREPLY, without the front of the word that readline keeps.\n"
    "_berth_reply() {\n"
    "    local reply front=${cur%\"${cur##*[=:]}\"}\n"
    "    [[ $COMP_WORDBREAKS == *=* ]] || front=\n"
    "    while IFS= read -r reply; do\n"
    "        [[ -n $reply ]] && COMPREPLY+=(\"${reply#\"$front\"}\")\n"
    "    done <<<\"$1\"\n"
    "    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then\n"
    "        compopt -o nospace 2>/dev/null\n"
    "    fi\n"
    "    return 0\n"
    "}\n"
    "\n"
    "complete -F _berth berth kube-scheduler\n";

/* A flag that requires a value is listed as "--name=". */
static void add_flag_words(const struct outline_command *command, struct buf *out)
{
    for (size_t i = 0; i < command->flags.n; i++) {
        const struct outline_flag *f = &command->flags.v[i];
        const char *equals = outline_needs_value(f) ? "=" : "";
        buf_add_printf(out, "%s--%.*s%s", i ? " " : "", STR_ARG(f->name), equals);
        if (f->letter)
            buf_add_printf(out, " -%c%s", f->letter, equals);
    }
}

static void add_flags(const struct outline *o, struct buf *out)
{
    buf_add_cstr(out, "_berth_flags() {\n    case $1 in\n");
    for (size_t i = 0; i < o->commands.n; i++) {
        buf_add_printf(out, "    %.*s) echo '", STR_ARG(o->commands.v[i].name));
        add_flag_words(&o->commands.v[i], out);
        buf_add_cstr(out, "' ;;\n");
    }
    buf_add_cstr(out, "    esac\n}\n\n");
}

static void add_arguments(const struct outline *o, struct buf *out)
{
    buf_add_cstr(out, "_berth_arguments() {\n    case $1 in\n");
    for (size_t i = 0; i < o->commands.n; i++) {
        const struct outline_command *c = &o->commands.v[i];
        if (c->words.n)
            buf_add_printf(out, "    %.*s) echo '%.*s' ;;\n", STR_ARG(c->name), STR_ARG(c->words));
        else if (c->takes_files)
            buf_add_printf(out, "    %.*s) echo '<files>' ;;\n", STR_ARG(c->name));
    }
    buf_add_cstr(out, "    esac\n}\n\n");
}

static void add_value(const struct outline_command *c, const struct outline_flag *f,
                      struct buf *out)
{
    static const char *const kinds[] = {[OFFER_WORDS] = "",
                                        [OFFER_LIST] = "<list> ",
                                        [OFFER_GATES] = "<gates> ",
                                        [OFFER_FILES] = "<files>",
                                        [OFFER_DIRS] = "<dirs>"};
    if (f->offer == OFFER_NOTHING)
        return;
    buf_add_printf(out, "    '%.*s --%.*s'", STR_ARG(c->name), STR_ARG(f->name));
    if (f->letter)
        buf_add_printf(out, " | '%.*s -%c'", STR_ARG(c->name), f->letter);
    buf_add_printf(out, ") echo '%s%.*s' ;;\n", kinds[f->offer], STR_ARG(f->words));
}

void completion_bash(const struct outline *o, struct buf *out)
{
    buf_add_cstr(out, "# bash completion for berth, generated by `berth completion bash`.\n\n"
                      "_berth_commands='");
    for (size_t i = 0; i < o->commands.n; i++)
        buf_add_printf(out, "%s%.*s", i ? " " : "", STR_ARG(o->commands.v[i].name));
    buf_add_cstr(out, "'\n\n");
    add_flags(o, out);
    add_arguments(o, out);
    buf_add_cstr(out, "_berth_values() {\n    case $1 in\n");
    for (size_t i = 0; i < o->commands.n; i++)
        for (size_t k = 0; k < o->commands.v[i].flags.n; k++)
            add_value(&o->commands.v[i], &o->commands.v[i].flags.v[k], out);
    buf_add_cstr(out, "    esac\n}\n\n");
    buf_add_cstr(out, engine);
}
