/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/source.h"

#include <stdarg.h>

#include "codec/utf8.h"

/* As upstream: further problems are counted only, and longer lines are not shown. */
#define PROBLEMS_MAX 100
#define SNIPPET_MAX  16384
#define MESSAGE_MAX  ((size_t)65536)

void cel_source_init(struct cel_source *s, struct arena *a, struct str text)
{
    uint32_t *runes = arena_array(a, uint32_t, text.n + 1);
    uint32_t n = 0;
    while (text.n > 0) {
        uint32_t rune = str_next_rune(&text);
        runes[n++] = rune == STR_BAD_RUNE ? UTF8_REPLACEMENT : rune;
    }
    *s = (struct cel_source){.arena = a, .runes = runes, .n = n};
    s->last = &s->problems;
}

struct str cel_source_text(const struct cel_source *s, uint32_t from, uint32_t to)
{
    char *text = arena_alloc(s->arena, (size_t)(to - from) * UTF8_MAX + 1, 1);
    size_t n = 0;
    for (uint32_t i = from; i < to; i++)
        n += utf8_put(text + n, s->runes[i]);
    return (struct str){text, n};
}

void cel_source_report(struct cel_source *s, uint32_t offset, const char *fmt, ...)
{
    if (++s->n_problems > PROBLEMS_MAX)
        return;
    struct buf text;
    buf_init(&text, MESSAGE_MAX);
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(&text, fmt, ap);
    va_end(ap);
    struct cel_problem *p = arena_new(s->arena, struct cel_problem);
    p->offset = offset;
    p->message = arena_dup(s->arena, buf_str(&text));
    buf_release(&text);
    *s->last = p;
    s->last = &p->next;
}

static void write_snippet(const struct cel_source *s, uint32_t line, uint32_t offset,
                          struct buf *out)
{
    uint32_t end = line;
    size_t bytes = 0;
    for (; end < s->n && s->runes[end] != '\n'; end++) {
        char ignored[UTF8_MAX];
        bytes += utf8_put(ignored, s->runes[end]);
    }
    if (bytes > SNIPPET_MAX)
        return;
    buf_add_cstr(out, "\n | ");
    for (uint32_t i = line; i < end; i++) {
        char rune[UTF8_MAX];
        size_t n = utf8_put(rune, s->runes[i] == '\t' ? ' ' : s->runes[i]);
        buf_add(out, rune, n);
    }
    /* A character that takes several bytes is taken to be wide. */
    buf_add_cstr(out, "\n | ");
    for (uint32_t i = line; i < offset && i < end; i++)
        buf_add_cstr(out, s->runes[i] < 0x80 ? "." : "\xef\xbc\x8e");
    buf_add_cstr(out, offset < end && s->runes[offset] >= 0x80 ? "\xef\xbc\xbe" : "^");
}

static void write_problem(const struct cel_source *s, const struct cel_problem *p, struct buf *out)
{
    if (p->offset == CEL_NO_OFFSET) {
        buf_add_printf(out, "ERROR: <input>:-1:0: %.*s", STR_ARG(p->message));
        return;
    }
    if (s->n == 0) { /* no line, and so no column */
        buf_add_printf(out, "ERROR: <input>:1:0: %.*s", STR_ARG(p->message));
        return;
    }
    uint32_t number = 1, line = 0;
    for (uint32_t i = 0; i < p->offset && i < s->n; i++) {
        if (s->runes[i] == '\n') {
            number++;
            line = i + 1;
        }
    }
    buf_add_printf(out, "ERROR: <input>:%u:%u: %.*s", number, p->offset - line + 1,
                   STR_ARG(p->message));
    write_snippet(s, line, p->offset, out);
}

/* NoLocation sorts first: its line is -1. */
static bool comes_before(const struct cel_problem *a, const struct cel_problem *b)
{
    return (uint64_t)a->offset + 1 - ((uint64_t)(a->offset == CEL_NO_OFFSET) << 32) <
           (uint64_t)b->offset + 1 - ((uint64_t)(b->offset == CEL_NO_OFFSET) << 32);
}

void cel_source_write_problems(struct cel_source *s, struct buf *out)
{
    const struct cel_problem *sorted[PROBLEMS_MAX];
    size_t n = 0;
    /* Insertion sort of at most a hundred, stable. */
    for (const struct cel_problem *p = s->problems; p; p = p->next) {
        size_t at = n++;
        for (; at > 0 && comes_before(p, sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = p;
    }
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(out, '\n');
        write_problem(s, sorted[i], out);
    }
    if (s->n_problems > PROBLEMS_MAX)
        buf_add_printf(out, "\n%zu more errors were truncated", s->n_problems - PROBLEMS_MAX);
}
