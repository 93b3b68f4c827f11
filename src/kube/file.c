/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"

static int read_all(int fd, const char *path, size_t max, struct buf *out, struct err *reterr)
{
    size_t total = 0;

    for (;;) {
        char chunk[8192];
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
        if (n == 0)
            return 0;
        total += (size_t)n;
        if (total > max)
            return err_set(reterr, -EFBIG, "%s: too large, more than %zu bytes", path, max);
        buf_add(out, chunk, (size_t)n);
    }
}

int file_read(const char *path, size_t max, struct buf *out, struct err *reterr)
{
    /* O_NONBLOCK: do not hang on a FIFO. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r;

    if (fd < 0)
        return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    r = read_all(fd, path, max, out, reterr);
    close(fd);
    return r;
}

int file_stamp_of(const char *path, struct file_stamp *ret_stamp)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return -errno;
    *ret_stamp = (struct file_stamp){
        .inode = st.st_ino,
        .size = st.st_size,
        .mtime = st.st_mtim.tv_sec * NSEC_PER_SEC + st.st_mtim.tv_nsec,
        .ctime = st.st_ctim.tv_sec * NSEC_PER_SEC + st.st_ctim.tv_nsec,
    };
    return 0;
}
