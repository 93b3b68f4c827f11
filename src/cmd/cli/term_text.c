/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/term_text.h"

#define ELLIPSIS "..."

struct range {
    uint32_t first, last;
};

static bool is_in(const struct range *ranges, size_t n, uint32_t rune)
{
    for (size_t i = 0; i < n; i++)
        if (rune >= ranges[i].first && rune <= ranges[i].last)
            return true;
    return false;
}

/* Combining and invisible characters. */
static bool is_zero_width(uint32_t rune)
{
    static const struct range ranges[] = {
        {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
        {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D}, {0x20D0, 0x20FF},
        {0x2060, 0x2060}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF},
    };
    return is_in(ranges, ARRAY_LEN(ranges), rune);
}

/* East Asian Wide and Fullwidth, and emoji. */
static bool is_wide(uint32_t rune)
{
    static const struct range ranges[] = {
        {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97F},
        {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
        {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
        {0x20000, 0x3FFFD},
    };
    return rune >= 0x1100 && is_in(ranges, ARRAY_LEN(ranges), rune);
}

static bool is_control(uint32_t rune)
{
    static const struct range ranges[] = {
        {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C},
        {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069},
    };
    return is_in(ranges, ARRAY_LEN(ranges), rune);
}

struct str term_clean(struct arena *a, struct str text)
{
    struct buf out = BUF_INIT;
    while (text.n) {
        struct str before = text;
        uint32_t rune = str_next_rune(&text);
        if (rune == STR_BAD_RUNE)
            buf_add_char(&out, '?');
        else if (rune == '\n' || rune == '\r' || rune == '\t')
            buf_add_char(&out, ' ');
        else if (is_control(rune))
            buf_add_printf(&out, rune < 0x100 ? "\\x%02x" : "\\u%04x", rune);
        else
            buf_add(&out, before.p, before.n - text.n);
    }
    struct str clean = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return clean;
}

static size_t rune_width(uint32_t rune)
{
    return is_zero_width(rune) ? 0 : is_wide(rune) ? 2 : 1;
}

size_t term_width(struct str clean)
{
    size_t width = 0;
    while (clean.n)
        width += rune_width(str_next_rune(&clean));
    return width;
}

void term_add_blanks(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_add_char(out, ' ');
}

/* The longest prefix of at most width columns. */
static struct str head_of(struct str text, size_t width)
{
    struct str rest = text;
    while (rest.n) {
        struct str before = rest;
        size_t w = rune_width(str_next_rune(&rest));
        if (w > width)
            return str_slice(text, 0, text.n - before.n);
        width -= w;
    }
    return text;
}

/* The longest suffix of at most width columns. */
static struct str tail_of(struct str text, size_t width)
{
    size_t all = term_width(text);
    while (all > width)
        all -= rune_width(str_next_rune(&text));
    return text;
}

/* Cuts in the middle: names differ at their ends. Returns the columns used. */
static size_t add_cut(struct buf *out, struct str clean, size_t width)
{
    size_t all = term_width(clean), dots = sizeof(ELLIPSIS) - 1;
    if (all <= width) {
        buf_add_str(out, clean);
        return all;
    }
    if (width <= dots) {
        buf_add_str(out, head_of(clean, width));
        return term_width(head_of(clean, width));
    }
    struct str head = head_of(clean, (width - dots + 1) / 2);
    struct str tail = tail_of(clean, (width - dots) / 2);
    buf_add_str(out, head);
    buf_add_cstr(out, ELLIPSIS);
    buf_add_str(out, tail);
    return term_width(head) + dots + term_width(tail);
}

void term_add_left(struct buf *out, struct str clean, size_t width)
{
    term_add_blanks(out, width - add_cut(out, clean, width));
}

void term_add_right(struct buf *out, struct str clean, size_t width)
{
    size_t all = term_width(clean);
    term_add_blanks(out, all < width ? width - all : 0);
    add_cut(out, clean, width);
}

bool term_next_line(struct str *rest, size_t width, struct str *ret_line)
{
    *rest = str_trim(*rest);
    if (!rest->n)
        return false;
    struct str line = head_of(*rest, MAX(width, 2));
    if (line.n < rest->n && rest->p[line.n] != ' ') {
        size_t end = line.n;
        while (end && line.p[end - 1] != ' ')
            end--;
        if (end)
            line.n = end;
    }
    *rest = str_slice(*rest, line.n, rest->n);
    *ret_line = str_trim(line);
    return true;
}
