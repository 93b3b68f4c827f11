/* SPDX-License-Identifier: Apache-2.0 */
/* Where lines are written: one stream or two, and the buffer for info lines. */
#include <pthread.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log_internal.h"

/* Set before a second thread exists, constant afterwards. */
static struct log_streams streams = {.info_fd = 2, .error_fd = 2};

/* Buffered info lines; whole lines only. */
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;
static struct buf waiting;

void log_set_streams(const struct log_streams *s)
{
    log_flush();
    streams = *s;
}

void log_set_fd(int fd)
{
    log_set_streams(&(struct log_streams){.info_fd = fd, .error_fd = fd});
}

/* One write(2), so that lines of several threads do not mix; a short write is continued. */
static void write_all(int fd, struct str line)
{
    while (line.n) {
        ssize_t n = write(fd, line.p, line.n);
        if (n < 0 && errno == EINTR)
            continue;
        /* A failure to log cannot be reported. */
        if (n <= 0)
            return;
        line = str_slice(line, (size_t)n, line.n);
    }
}

static void flush_locked(void)
{
    write_all(streams.info_fd, buf_str(&waiting));
    buf_clear(&waiting);
}

void log_flush(void)
{
    pthread_mutex_lock(&waiting_lock);
    flush_locked();
    pthread_mutex_unlock(&waiting_lock);
}

/* A line that does not fit is buffered after the buffer was written. */
static void send_buffered(struct str line)
{
    pthread_mutex_lock(&waiting_lock);
    if (waiting.n + line.n > streams.info_buffer)
        flush_locked();
    if (line.n > streams.info_buffer)
        write_all(streams.info_fd, line);
    else
        buf_add_str(&waiting, line);
    pthread_mutex_unlock(&waiting_lock);
}

void log_send(struct str line, bool to_errors)
{
    if (to_errors)
        write_all(streams.error_fd, line);
    else if (streams.info_buffer)
        send_buffered(line);
    else
        write_all(streams.info_fd, line);
}
