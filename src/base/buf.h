/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - a growing byte buffer with a limit.
 *
 * Purpose:   output of encoders, input from sockets. Every buffer has a maximum: data beyond it is
 *            dropped and the buffer is marked `overflow`, so that a writer checks once at the end
 *            instead of at every byte.
 * Ownership: owns its bytes; buf_release frees them, buf_take transfers them.
 * Threading: one thread at a time.
 */
#ifndef BERTH_BASE_BUF_H
#define BERTH_BASE_BUF_H

#include <stdarg.h>

#include "base/str.h"

struct buf {
    char *p;
    size_t n, cap; /* cap <= max; one more byte is allocated for a NUL */
    size_t max;    /* 0: BUF_MAX_DEFAULT */
    bool overflow;
};

#define BUF_MAX_DEFAULT ((size_t)1 << 30)
#define BUF_INIT        {0}

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);
/* Empties the buffer and keeps its memory. */
static inline void buf_clear(struct buf *b)
{
    b->n = 0;
    b->overflow = false;
}

/*
 * Makes room for n more bytes at p + n. Returns false and sets overflow if that exceeds the
 * maximum.
 */
bool buf_reserve(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *data, size_t n);
void buf_add_str(struct buf *b, struct str s);
void buf_add_cstr(struct buf *b, const char *s);
void buf_add_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_add_vprintf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
static inline void buf_add_char(struct buf *b, char c)
{
    if (LIKELY(b->n < b->cap))
        b->p[b->n++] = c;
    else
        buf_add(b, &c, 1);
}

/* Removes the first n bytes. */
void buf_consume(struct buf *b, size_t n);
static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->p, b->n};
}
/* Terminates the bytes with a NUL (not counted in n) and returns them, borrowed. */
const char *buf_cstr(struct buf *b);
/*
 * Transfers the NUL-terminated bytes to the caller, who frees them. The buffer is empty afterwards.
 */
char *buf_take(struct buf *b);

#endif
