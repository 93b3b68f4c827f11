/* SPDX-License-Identifier: Apache-2.0 */
/* What all commands have in common. */
#include "cmd/cli/cmd.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/cli/flags.h"

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

const char *cmd_program_name(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    return slash ? slash + 1 : argv0;
}

size_t cmd_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int cmd_help(const char *usage, const struct flag *flags, size_t n)
{
    struct buf text = BUF_INIT;
    flags_help(flags, n, cmd_columns(), &text);
    printf("%s%s", usage, buf_cstr(&text));
    buf_release(&text);
    return EXIT_DONE;
}

int cmd_file_error(const char *call, const char *path, int code, struct err *reterr)
{
    char why[128];
    snprintf(why, sizeof(why), "%s", strerror(-code));
    if (why[0] >= 'A' && why[0] <= 'Z')
        why[0] = (char)(why[0] - 'A' + 'a');
    return err_set(reterr, code, "%s %s: %s", call, path, why);
}

/* --- reading files ---------------------------------------------------------------------------- */

#define WRITER_WAIT_MS 5000 /* for somebody to open a pipe for writing */
#define LOOK_MS        50
#define SILENCE_MS     10000 /* until it is said that nothing comes */

/* A file that is being read. */
struct source {
    int fd;
    const char *path;
    bool pipe;        /* named or not; it is read without blocking */
    bool has_written; /* somebody holds or held its other end */
    bool told;        /* that nothing comes */
    int waited;       /* ms */
};

/* Nothing is there yet. Negative where nothing is to be expected any more. */
static int wait_for_bytes(struct source *s, bool no_writer, struct err *reterr)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    (void)poll(&p, 1, no_writer ? 0 : LOOK_MS);
    if (no_writer)
        (void)poll(NULL, 0, LOOK_MS); /* where there is no writer, there is no event either */
    s->waited += LOOK_MS;
    if (no_writer && s->waited >= WRITER_WAIT_MS)
        return err_set(reterr, -ETIMEDOUT,
                       "%s: a pipe that nothing writes to; waited %d s for a writer", s->path,
                       WRITER_WAIT_MS / 1000);
    if (!no_writer && !s->told && s->waited >= SILENCE_MS) {
        s->told = true;
        fprintf(stderr, "berth: waiting for %s: a pipe whose writer has not finished\n", s->path);
    }
    return 0;
}

/* *ret_end: all has been read. */
static int read_some(struct source *s, struct buf *out, bool *ret_end, struct err *reterr)
{
    ssize_t n = read(s->fd, out->p + out->n, 65536);
    int error = errno;
    if (n > 0) {
        out->n += (size_t)n;
        s->has_written = true;
        s->waited = 0;
        return 0;
    }
    if (n == 0 && s->pipe && !s->has_written)
        return wait_for_bytes(s, true, reterr);
    if (n == 0) {
        *ret_end = true;
        return 0;
    }
    if (error == EAGAIN && s->pipe) {
        s->has_written = true;
        return wait_for_bytes(s, false, reterr);
    }
    return error == EINTR ? 0 : err_set(reterr, -error, "%s: %s", s->path, strerror(error));
}

static int read_all(struct source *s, size_t max, struct buf *out, struct err *reterr)
{
    int r = 0;
    bool end = false;
    while (r == 0 && !end) {
        if (out->n > max || !buf_reserve(out, 65536))
            return err_set(reterr, -EFBIG, "%s: larger than %zu MiB", s->path, max >> 20);
        r = read_some(s, out, &end, reterr);
    }
    return r;
}

/* Standard input is read as it is: who types or pipes into it is there. */
static int open_source(const char *path, struct source *ret_source, struct err *reterr)
{
    struct source s = {.fd = STDIN_FILENO, .path = path};
    struct stat st;
    if (strcmp(path, "-") == 0) {
        *ret_source = s;
        return 0;
    }
    /* Opening a pipe must not wait; of files and directories O_NONBLOCK means nothing. */
    s.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (s.fd < 0)
        return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    s.pipe = fstat(s.fd, &st) == 0 && S_ISFIFO(st.st_mode);
    if (!s.pipe)
        (void)fcntl(s.fd, F_SETFL, 0);
    *ret_source = s;
    return 0;
}

int cmd_read_limited(const char *path, size_t max, struct arena *a, struct str *ret_text,
                     struct err *reterr)
{
    struct source source = {.fd = -1};
    struct buf text;
    int r = open_source(path, &source, reterr);
    if (r < 0)
        return r;
    buf_init(&text, max + 2 * (size_t)65536);
    r = read_all(&source, max, &text, reterr);
    if (r == 0)
        *ret_text = arena_dup(a, buf_str(&text));
    buf_release(&text);
    if (source.fd != STDIN_FILENO)
        close(source.fd);
    return r;
}

int cmd_read_file(const char *path, struct arena *a, struct str *ret_text, struct err *reterr)
{
    return cmd_read_limited(path, CMD_MAX_FILE, a, ret_text, reterr);
}
