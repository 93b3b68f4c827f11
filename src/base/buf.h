/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - bytes that grow, up to a limit.
 *
 * Purpose:   output of encoders, input from sockets. Every buffer has a declared maximum: what
 *            would pass it is dropped and the buffer is marked `overflow`, so that a writer checks
 *            once at the end and not at every byte.
 * Ownership: owns its bytes; buf_release gives them back, buf_take hands them over.
 * Threading: one thread at a time.
 */
#ifndef BERTH_BASE_BUF_H
#define BERTH_BASE_BUF_H

#include <stdarg.h>

#include "base/str.h"

struct buf {
    char *p;
    size_t n, cap; /* cap <= max; one byte more is there for a NUL */
    size_t max;    /* 0: BUF_MAX_DEFAULT */
    bool overflow;
};

#define BUF_MAX_DEFAULT ((size_t)1 << 30)
#define BUF_INIT        {0}

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);
/* Empties it and keeps its room. */
static inline void buf_clear(struct buf *b)
{
    b->n = 0;
    b->overflow = false;
}

/* Room for n more bytes at p + n. False, and overflow set, where that would pass the maximum. */
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

/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);
static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->p, b->n};
}
/* Ends it in NUL (not counted in n) and gives its bytes for reading. */
const char *buf_cstr(struct buf *b);
/* Hands the NUL-ended bytes over to the caller, who frees them; the buffer is empty afterwards. */
char *buf_take(struct buf *b);

#endif
