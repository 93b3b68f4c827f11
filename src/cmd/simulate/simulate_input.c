/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/simulate/simulate_input.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cmd.h"

/* Progress is shown on a terminal, once per so many bytes. */
#define PROGRESS_STEP ((size_t)32 << 20)

/* --- one file --------------------------------------------------------------------------------- */

struct input {
    const char *path;
    const struct scenario *scenario;
    int fd;
    size_t bytes, shown; /* read; when progress was shown last */
};

static void show_progress(struct input *in)
{
    if (in->bytes - in->shown < PROGRESS_STEP || !isatty(STDERR_FILENO))
        return;
    in->shown = in->bytes;
    fprintf(stderr, "\rberth: reading %s: %zu MiB, %zu objects", in->path, in->bytes >> 20,
            in->scenario->items.n);
}

static ssize_t read_input(void *ctx, char *to, size_t n, struct err *reterr)
{
    struct input *in = ctx;
    for (;;) {
        ssize_t got = read(in->fd, to, n);
        if (got >= 0) {
            in->bytes += (size_t)got;
            show_progress(in);
            return got;
        }
        if (errno != EINTR)
            return err_set(reterr, -errno, "%s", strerror(errno));
    }
}

/* must: fails if the file contains no documents. */
static int read_file(struct scenario *s, const char *path, bool must, struct err *reterr)
{
    bool standard_input = strcmp(path, "-") == 0;
    struct input in = {.path = path, .scenario = s};
    struct yaml_source source = {.read = read_input, .ctx = &in};
    in.fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in.fd < 0)
        return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    int r = scenario_read(s, path, &source, reterr);
    if (in.shown)
        fputs("\r\033[K", stderr);
    if (!standard_input)
        close(in.fd);
    if (r == -ENODATA)
        r = must ? err_set(reterr, r, "%s: contains no objects",
                           standard_input ? "standard input" : path)
                 : 0;
    return r;
}

/* --- directories ------------------------------------------------------------------------------ */

static bool is_manifest(const char *name)
{
    struct str s = str_of(name);
    return str_ends(s, STR(".yaml")) || str_ends(s, STR(".yml")) || str_ends(s, STR(".json"));
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

struct directory {
    struct scenario *scenario;
    bool recursive;
    int depth;
    size_t n_files;
};
#define MAX_DIRECTORY_DEPTH 64

static int read_directory(struct directory *d, const char *path, struct err *reterr);

static int read_entry(struct directory *d, const char *directory, const char *name,
                      struct err *reterr)
{
    int r = 0;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return 0;
    struct buf path = BUF_INIT;
    buf_add_printf(&path, "%s%s%s", directory, str_ends(str_of(directory), STR("/")) ? "" : "/",
                   name);
    if (is_directory(buf_cstr(&path))) {
        if (d->recursive)
            r = read_directory(d, buf_cstr(&path), reterr);
    } else if (is_manifest(name)) {
        d->n_files++;
        r = read_file(d->scenario, buf_cstr(&path), false, reterr);
    }
    buf_release(&path);
    return r;
}

static int read_directory(struct directory *d, const char *path, struct err *reterr)
{
    struct dirent **entries;
    if (d->depth >= MAX_DIRECTORY_DEPTH)
        return err_set(reterr, -ELOOP, "%s: directories are nested too deeply", path);
    int n = scandir(path, &entries, NULL, by_name), r = 0;
    if (n < 0)
        return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    d->depth++;
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = read_entry(d, path, entries[i]->d_name, reterr);
        free(entries[i]);
    }
    d->depth--;
    free((void *)entries);
    return r;
}

int simulate_input_read(struct scenario *s, const char *path, bool recursive, struct err *reterr)
{
    if (strcmp(path, "-") == 0 || !is_directory(path))
        return read_file(s, path, true, reterr);
    struct directory d = {.scenario = s, .recursive = recursive};
    size_t before = s->n_documents;
    int r = read_directory(&d, path, reterr);
    if (r == 0 && d.n_files == 0)
        return err_set(reterr, -ENODATA, "%s: contains no .yaml, .yml or .json files%s", path,
                       recursive ? "" : "; use -R to read subdirectories");
    if (r == 0 && s->n_documents == before)
        return err_set(reterr, -ENODATA, "%s: the files contain no objects", path);
    return r;
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
