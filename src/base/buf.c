/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdio.h>

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_release(struct buf *b)
{
    free(b->p);
    *b = (struct buf){.max = b->max};
}

static void set_cap(struct buf *b, size_t cap)
{
    b->p = xrealloc(b->p, cap + 1);
    b->cap = cap;
}

bool buf_reserve(struct buf *b, size_t n)
{
    if (LIKELY(b->cap - b->n >= n))
        return true;
    size_t max = b->max ? b->max : BUF_MAX_DEFAULT;
    if (b->overflow || n > max || b->n > max - n) {
        b->overflow = true;
        return false;
    }
    size_t wish = MAX(b->cap * 2, (size_t)64);
    set_cap(b, MAX(b->n + n, MIN(wish, max)));
    return true;
}

void buf_add(struct buf *b, const void *data, size_t n)
{
    if (n == 0 || !buf_reserve(b, n))
        return;
    memcpy(b->p + b->n, data, n);
    b->n += n;
}

void buf_add_str(struct buf *b, struct str s)
{
    buf_add(b, s.p, s.n);
}

void buf_add_cstr(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_add_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0 && buf_reserve(b, (size_t)n)) {
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_add_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_consume(struct buf *b, size_t n)
{
    assert(n <= b->n);
    if (n < b->n)
        memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}

const char *buf_cstr(struct buf *b)
{
    if (!b->p)
        set_cap(b, 0);
    b->p[b->n] = '\0';
    return b->p;
}

char *buf_take(struct buf *b)
{
    buf_cstr(b);
    char *p = b->p;
    *b = (struct buf){.max = b->max};
    return p;
}
