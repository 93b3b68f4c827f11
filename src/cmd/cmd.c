/* SPDX-License-Identifier: Apache-2.0 */
/* What all commands have in common. */
#include "cmd/cmd.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/flags.h"

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

static int read_all(int fd, const char *path, struct buf *out, struct err *reterr)
{
    for (;;) {
        if (!buf_reserve(out, 65536))
            return err_set(reterr, -EFBIG, "%s: larger than %zu MiB", path, CMD_MAX_FILE >> 20);
        ssize_t n = read(fd, out->p + out->n, 65536);
        if (n == 0)
            return 0;
        if (n > 0)
            out->n += (size_t)n;
        else if (errno != EINTR)
            return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    }
}

int cmd_read_file(const char *path, struct arena *a, struct str *ret_text, struct err *reterr)
{
    bool standard_input = strcmp(path, "-") == 0;
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    struct buf text;
    buf_init(&text, CMD_MAX_FILE);
    int r = read_all(fd, path, &text, reterr);
    if (r == 0)
        *ret_text = arena_dup(a, buf_str(&text));
    buf_release(&text);
    if (!standard_input)
        close(fd);
    return r;
}
