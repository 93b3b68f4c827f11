/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/manifest_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Progress is shown on a terminal, once per so many bytes. */
#define PROGRESS_STEP ((size_t)32 << 20)

/* --- one file --------------------------------------------------------------------------------- */

struct input {
    const char *path;
    const struct manifest_reader *reader;
    int fd;
    size_t bytes, shown; /* read; when progress was shown last */
};

static void show_progress(struct input *in)
{
    if (in->bytes - in->shown < PROGRESS_STEP || !isatty(STDERR_FILENO))
        return;
    in->shown = in->bytes;
    fprintf(stderr, "\rberth: reading %s: %zu MiB, %zu objects", in->path, in->bytes >> 20,
            in->reader->n_objects(in->reader->ctx));
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

/* must: fails if the file contains no documents; otherwise returns 1 then. */
static int read_file(const struct manifest_reader *reader, const char *path, bool must,
                     struct err *reterr)
{
    bool standard_input = strcmp(path, "-") == 0;
    struct input in = {.path = path, .reader = reader};
    struct yaml_source source = {.read = read_input, .ctx = &in};
    in.fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in.fd < 0)
        return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    int r = reader->read(reader->ctx, path, &source, reterr);
    if (in.shown)
        fputs("\r\033[K", stderr);
    if (!standard_input)
        close(in.fd);
    if (r == -ENODATA)
        r = must ? err_set(reterr, r, "%s: contains no objects",
                           standard_input ? "standard input" : path)
                 : 1;
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
    const struct manifest_reader *reader;
    bool recursive;
    int depth;
    size_t n_files, n_empty;
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
        r = read_file(d->reader, buf_cstr(&path), false, reterr);
        if (r > 0) {
            d->n_empty++;
            r = 0;
        }
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

int manifest_files_read(const struct manifest_reader *reader, const char *path, bool recursive,
                        struct err *reterr)
{
    if (strcmp(path, "-") == 0 || !is_directory(path))
        return read_file(reader, path, true, reterr);
    struct directory d = {.reader = reader, .recursive = recursive};
    int r = read_directory(&d, path, reterr);
    if (r == 0 && d.n_files == 0)
        return err_set(reterr, -ENODATA, "%s: contains no .yaml, .yml or .json files%s", path,
                       recursive ? "" : "; use -R to read subdirectories");
    if (r == 0 && d.n_empty == d.n_files)
        return err_set(reterr, -ENODATA, "%s: the files contain no objects", path);
    return r;
}
