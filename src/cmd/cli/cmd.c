/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for all commands: errors, help, reading files. */
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

#define WRITER_WAIT_MS 5000 /* until a pipe without a writer is an error */
#define POLL_MS        50
#define SILENCE_MS     10000 /* until a silent writer is reported */

/* A file that is being read. */
struct source {
    int fd;
    const char *path;
    bool pipe;       /* named or not; read without blocking */
    bool had_writer; /* the other end is or was open */
    bool reported;   /* the silence of the writer */
    int waited;      /* ms */
};

/* Waits a moment for bytes. Fails if a pipe has no writer for too long. */
static int wait_for_bytes(struct source *s, bool no_writer, struct err *reterr)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    (void)poll(&p, 1, no_writer ? 0 : POLL_MS);
    if (no_writer)
        (void)poll(NULL, 0, POLL_MS); /* a pipe without a writer is ready at once */
    s->waited += POLL_MS;
    if (no_writer && s->waited >= WRITER_WAIT_MS)
        return err_set(reterr, -ETIMEDOUT,
                       "%s: no process has opened this pipe for writing after %d s", s->path,
                       WRITER_WAIT_MS / 1000);
    if (!no_writer && !s->reported && s->waited >= SILENCE_MS) {
        s->reported = true;
        fprintf(stderr, "berth: waiting for %s: the writer of this pipe has not finished\n",
                s->path);
    }
    return 0;
}

/* Sets *ret_end at the end of the file. */
static int read_some(struct source *s, struct buf *out, bool *ret_end, struct err *reterr)
{
    ssize_t n = read(s->fd, out->p + out->n, 65536);
    int error = errno;
    if (n > 0) {
        out->n += (size_t)n;
        s->had_writer = true;
        s->waited = 0;
        return 0;
    }
    if (n == 0 && s->pipe && !s->had_writer)
        return wait_for_bytes(s, true, reterr);
    if (n == 0) {
        *ret_end = true;
        return 0;
    }
    if (error == EAGAIN && s->pipe) {
        s->had_writer = true;
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
            return err_set(reterr, -EFBIG, "%s: file is larger than %zu MiB", s->path, max >> 20);
        r = read_some(s, out, &end, reterr);
    }
    return r;
}

/* Standard input may block: its writer is there. */
static int open_source(const char *path, struct source *ret_source, struct err *reterr)
{
    struct source s = {.fd = STDIN_FILENO, .path = path};
    struct stat st;
    if (strcmp(path, "-") == 0) {
        *ret_source = s;
        return 0;
    }
    /* Opening a pipe must not block. O_NONBLOCK has no effect on files and directories. */
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
