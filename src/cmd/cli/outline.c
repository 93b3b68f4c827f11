/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/outline.h"

#include "cmd/cli/flags.h"

/* --- completion of values --------------------------------------------------------------------- */

/* Flags with a fixed set of values. */
static const struct {
    const char *command, *flag, *words;
} word_rows[] = {
    {"simulate", "validate", "strict warn ignore"},
    {"bench", "output", "table json"},
    {"simulate", "output", "table wide json"},
    {"explain", "output", "table wide json"},
    {"config", "output", "yaml json text"},
    {"scheduler", "kube-api-content-type", "application/vnd.kubernetes.protobuf application/json"},
    {"scheduler", "leader-elect-resource-lock", "leases"},
    {"scheduler", "logging-format", "text json"},
    {"scheduler", "tls-min-version", "VersionTLS10 VersionTLS11 VersionTLS12 VersionTLS13"},
    {"scheduler", "version", "true false raw"},
};

/* Recognized by name, so that new flags are completed without a change here. */
static bool names_file(const struct outline_flag *flag)
{
    static const char *const ends[] = {"-file", "config", "-config-to", "-manifest"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (str_ends(flag->name, str_of(ends[i])) && str_is(flag->type, "string"))
            return true;
    return str_is(flag->type, "FILE");
}

/* The first word of every line; of "kube:Name=true|false (…)", the name. */
static struct str words_of(struct arena *a, struct str lines)
{
    struct buf words = BUF_INIT;
    struct str line;
    while (str_split(&lines, '\n', &line)) {
        size_t end = MIN(str_find(line, ' '), str_find(line, '='));
        size_t colon = str_find(line, ':');
        struct str word = str_slice(line, colon < end ? colon + 1 : 0, end);
        if (word.n == 0)
            continue;
        if (words.n)
            buf_add_char(&words, ' ');
        buf_add_str(&words, word);
    }
    struct str kept = arena_dup(a, buf_str(&words));
    buf_release(&words);
    return kept;
}

static void set_offer(struct arena *a, struct str command, struct outline_flag *flag)
{
    for (size_t i = 0; i < ARRAY_LEN(word_rows); i++) {
        if (str_is(command, word_rows[i].command) && str_is(flag->name, word_rows[i].flag)) {
            flag->offer = OFFER_WORDS;
            flag->words = str_of(word_rows[i].words);
            return;
        }
    }
    if (flag->options.n) {
        flag->offer = str_is(flag->name, "feature-gates") ? OFFER_GATES : OFFER_LIST;
        flag->words = words_of(a, flag->options);
    } else if (names_file(flag)) {
        flag->offer = OFFER_FILES;
    } else if (str_ends(flag->name, STR("-dir"))) {
        flag->offer = OFFER_DIRS;
    }
}

/* --- building --------------------------------------------------------------------------------- */

struct building {
    struct outline *outline;
    struct outline_command *command;
};

static struct str keep(struct arena *a, struct buf *text)
{
    struct str kept = arena_dup(a, buf_str(text));
    buf_release(text);
    return kept;
}

static struct str dup(struct arena *a, const char *text)
{
    return text ? arena_dup(a, str_of(text)) : STR("");
}

static struct str options_of(struct arena *a, const struct flag_custom *custom)
{
    struct buf text = BUF_INIT;
    if (custom && custom->write_options)
        custom->write_options(&text);
    return keep(a, &text);
}

static struct str default_of(struct arena *a, const struct flag *flag)
{
    struct buf text = BUF_INIT;
    if (!flag_is_zero(flag))
        flag_write_value(flag, &text);
    return keep(a, &text);
}

static void add_flags(void *ctx, const struct flag *flags, size_t n)
{
    struct building *b = ctx;
    struct arena *a = &b->outline->arena;
    const char *group = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct flag *f = &flags[i];
        const struct flag_custom *custom = f->kind == FLAG_CUSTOM ? f->value : NULL;
        group = f->group ? f->group : group;
        if (f->deprecated)
            continue;
        struct outline_flag row = {.group = dup(a, group),
                                   .name = dup(a, f->name),
                                   .letter = f->letter,
                                   .type = dup(a, flag_type(f)),
                                   .without = dup(a, custom ? custom->without : NULL),
                                   .help = dup(a, f->help),
                                   .options = options_of(a, custom),
                                   .value = default_of(a, f)};
        set_offer(a, b->command->name, &row);
        vec_push(&b->command->flags, row);
        group = NULL;
    }
}

/* "convert diff FILE": words, and whether files may follow. */
static void set_arguments(struct arena *a, struct outline_command *command, const char *arguments)
{
    struct str text = str_of(arguments);
    command->takes_files = str_ends(text, STR("FILE"));
    command->words =
        arena_dup(a, str_trim(str_slice(text, 0, text.n - (command->takes_files ? 4 : 0))));
}

void outline_init(struct outline *o, const struct command_list *commands)
{
    *o = (struct outline){0};
    arena_init(&o->arena, 64 << 10);
    for (size_t i = 0; i < commands->n; i++) {
        if (!commands->v[i].help)
            continue;
        struct outline_command command = {.name = str_of(commands->v[i].name),
                                          .help = str_of(commands->v[i].help)};
        set_arguments(&o->arena, &command, commands->v[i].arguments);
        struct building b = {o, &command};
        commands->v[i].flags(add_flags, &b);
        vec_push(&o->commands, command);
    }
}

void outline_release(struct outline *o)
{
    for (size_t i = 0; i < o->commands.n; i++)
        vec_release(&o->commands.v[i].flags);
    vec_release(&o->commands);
    arena_release(&o->arena);
}

const struct outline_command *outline_find(const struct outline *o, struct str name)
{
    for (size_t i = 0; i < o->commands.n; i++)
        if (str_eq(o->commands.v[i].name, name))
            return &o->commands.v[i];
    return NULL;
}

/* --- helpers for writers ---------------------------------------------------------------------- */

bool outline_needs_value(const struct outline_flag *flag)
{
    return flag->type.n && !flag->without.n;
}

struct str outline_summary(struct str help)
{
    struct str line = str_slice(help, 0, str_find(help, '\n'));
    for (size_t i = 0; i + 1 < line.n; i++)
        if (line.p[i] == '.' && line.p[i + 1] == ' ')
            return str_slice(line, 0, i);
    while (line.n && (line.p[line.n - 1] == '.' || line.p[line.n - 1] == ':'))
        line.n--;
    return line;
}

void outline_quote(struct buf *out, struct str text, const char *quote, const char *special)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'') {
            buf_add_cstr(out, quote);
            continue;
        }
        if (strchr(special, text.p[i]))
            buf_add_char(out, '\\');
        buf_add_char(out, text.p[i]);
    }
}
