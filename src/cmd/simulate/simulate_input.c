/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/simulate/simulate_input.h"

#include "cmd/cli/manifest_files.h"

static int read_scenario(void *ctx, const char *path, const struct yaml_source *source,
                         struct err *reterr)
{
    return scenario_read(ctx, path, source, reterr);
}

static size_t count_objects(void *ctx)
{
    return ((const struct scenario *)ctx)->items.n;
}

int simulate_input_read(struct scenario *s, const char *path, bool recursive, struct err *reterr)
{
    struct manifest_reader reader = {.ctx = s, .read = read_scenario, .n_objects = count_objects};
    return manifest_files_read(&reader, path, recursive, reterr);
}

/* --- errors and warnings ---------------------------------------------------------------------- */

static void report_problems(const struct scenario *s, const char *prefix)
{
    struct str rest = buf_str(&s->problems), line;
    while (rest.n && str_split(&rest, '\n', &line))
        fprintf(stderr, "berth: %s%.*s\n", prefix, STR_ARG(line));
    if (s->n_problems > SCENARIO_MAX_PROBLEMS)
        fprintf(stderr, "berth: %sand %zu more\n", prefix, s->n_problems - SCENARIO_MAX_PROBLEMS);
}

static void report_skipped(const struct scenario *s)
{
    for (size_t i = 0; i < s->skipped.n; i++)
        fprintf(stderr, "%s%zu %s",
                i ? ", " : "berth: warning: ignored, not used for scheduling: ", s->skipped.v[i].n,
                s->skipped.v[i].kind);
    if (s->skipped.n)
        fputc('\n', stderr);
}

bool simulate_input_report(const struct scenario *s)
{
    bool strict = s->validation == VALIDATE_STRICT;
    if (s->validation != VALIDATE_IGNORE)
        report_problems(s, strict ? "" : "warning: ");
    if (strict && s->n_problems) {
        if (s->n_problems > s->n_types)
            fputs("berth: use --validate=warn or --validate=ignore to ignore unknown and duplicate "
                  "fields\n",
                  stderr);
        return false;
    }
    report_skipped(s);
    for (size_t i = 0; i < s->notes.n; i++) {
        const struct scenario_note *note = &s->notes.v[i];
        if (note->n == 1)
            fprintf(stderr, "berth: warning: %s (%s)\n", note->text, note->first);
        else
            fprintf(stderr, "berth: warning: %s (%zu objects, the first is %s)\n", note->text,
                    note->n, note->first);
    }
    return true;
}

/* --- --validate ------------------------------------------------------------------------------- */

static int set_validation(void *to, struct str text, struct err *reterr)
{
    enum scenario_validation *validation = to;
    bool on;
    if (str_is(text, "strict"))
        *validation = VALIDATE_STRICT;
    else if (str_is(text, "warn"))
        *validation = VALIDATE_WARN;
    else if (str_is(text, "ignore"))
        *validation = VALIDATE_IGNORE;
    else if (str_to_bool(text, &on))
        *validation = on ? VALIDATE_STRICT : VALIDATE_IGNORE;
    else
        return err_set(reterr, -EINVAL, "\"%.*s\" is not one of strict, warn, ignore",
                       STR_ARG(text));
    return 0;
}

static void write_validation(const void *from, struct buf *out)
{
    static const char *const names[] = {"strict", "warn", "ignore"};
    buf_add_cstr(out, names[*(const enum scenario_validation *)from]);
}

struct flag_custom simulate_input_flag(enum scenario_validation *to)
{
    return (struct flag_custom){
        .to = to, .set = set_validation, .write = write_validation, .without = "strict"};
}
