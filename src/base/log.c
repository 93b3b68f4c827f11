/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <math.h>
#include <unistd.h>

#include "base/log_internal.h"
#include "base/num.h"
#include "base/time.h"

static _Atomic enum log_format output_format = LOG_FORMAT_TEXT;

void log_set_format(enum log_format format)
{
    atomic_store_explicit(&output_format, format, memory_order_relaxed);
}

enum log_format log_get_format(void)
{
    return atomic_load_explicit(&output_format, memory_order_relaxed);
}

/* --- quoting ---------------------------------------------------------------------------------- */

/*
 * Whether a character is written unescaped. Go escapes everything that is not a letter, mark,
 * number, punctuation, symbol or the ASCII space. This covers controls, spaces, format characters
 * (including those that change the writing direction), private and non-characters; unassigned code
 * points are not escaped.
 */
static bool is_printable(uint32_t rune)
{
    static const struct {
        uint32_t from, to;
    } hidden[] = {
        {0x00, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},
        {0x61c, 0x61c},      {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
        {0x8e2, 0x8e2},      {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
        {0x2028, 0x202f},    {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},
        {0xfdd0, 0xfdef},    {0xfeff, 0xfeff},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},
        {0x110bd, 0x110bd},  {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
        {0x1d173, 0x1d17a},  {0x1fffe, 0x1ffff}, {0x2fffe, 0x2ffff}, {0x3fffe, 0xe00ff},
        {0xe01f0, 0x10ffff},
    };
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        if (rune <= hidden[i].to)
            return rune < hidden[i].from;
    return false;
}

/* The letter after the backslash for characters that have one, otherwise 0. */
static char short_escape(uint32_t rune)
{
    static const char letters[] = "abtnvfr"; /* from 7 on */
    if (rune == '"' || rune == '\\')
        return (char)rune;
    return rune >= '\a' && rune <= '\r' ? letters[rune - '\a'] : 0;
}

void log_quote(struct buf *out, struct str s)
{
    assert(s.p || !s.n);
    buf_add_char(out, '"');
    while (s.n) {
        struct str from = s;
        uint32_t rune = str_next_rune(&s);
        if (rune == STR_BAD_RUNE)
            buf_add_printf(out, "\\x%02x", (unsigned char)from.p[0]);
        else if (short_escape(rune))
            buf_add_printf(out, "\\%c", short_escape(rune));
        else if (is_printable(rune))
            buf_add(out, from.p, from.n - s.n);
        else if (rune < 0x80)
            buf_add_printf(out, "\\x%02x", rune);
        else
            buf_add_printf(out, rune < 0x10000 ? "\\u%04x" : "\\U%08x", rune);
    }
    buf_add_char(out, '"');
}

static void add_json_string(struct buf *out, struct str s)
{
    assert(s.p || !s.n);
    buf_add_char(out, '"');
    while (s.n) {
        struct str from = s;
        uint32_t rune = str_next_rune(&s);
        if (rune == STR_BAD_RUNE)
            buf_add_cstr(out, "\\ufffd");
        else if (short_escape(rune) && rune != '\a' && rune != '\v')
            buf_add_printf(out, "\\%c", short_escape(rune));
        else if (rune < 0x20)
            buf_add_printf(out, "\\u%04x", rune);
        else
            buf_add(out, from.p, from.n - s.n);
    }
    buf_add_char(out, '"');
}

/* The part of a value that is written. */
static struct str bounded(struct str s)
{
    return str_slice(s, 0, LOG_VALUE_MAX);
}

/* --- text ------------------------------------------------------------------------------------- */

/* One line: ="…". Several lines: each after a tab, between "=<" and " >". */
static void add_text(struct buf *out, struct str value)
{
    if (str_find(value, '\n') == value.n) {
        buf_add_char(out, '=');
        log_quote(out, value);
        return;
    }
    buf_add_cstr(out, "=<\n");
    while (value.n) {
        size_t end = str_find(value, '\n');
        buf_add_char(out, '\t');
        buf_add_str(out, str_slice(value, 0, end));
        buf_add_char(out, '\n');
        value = str_slice(value, end + 1, value.n);
    }
    buf_add_cstr(out, " >");
}

static void add_ref(struct buf *out, const struct log_kv *kv)
{
    buf_add_printf(out, "\"%.*s%s%.*s\"", STR_ARG(kv->namespace),
                   str_empty(kv->namespace) ? "" : "/", STR_ARG(kv->name));
}

static void add_text_value(struct buf *out, const struct log_kv *kv)
{
    switch (kv->kind) {
    case LOG_KV_STR:
        add_text(out, bounded(kv->str));
        break;
    case LOG_KV_DUMP:
        add_text(out, kv->str);
        break;
    case LOG_KV_JSON:
        buf_add_char(out, '=');
        buf_add_str(out, kv->str);
        break;
    case LOG_KV_REF:
        buf_add_char(out, '=');
        add_ref(out, kv);
        break;
    case LOG_KV_REFS:
        buf_add_cstr(out, "=[");
        for (size_t i = 0; i < kv->n_refs; i++) {
            buf_add_cstr(out, i ? "," : "");
            add_ref(out, &kv->refs[i]);
        }
        buf_add_char(out, ']');
        break;
    case LOG_KV_INT:
        buf_add_printf(out, "=%lld", (long long)kv->i);
        break;
    case LOG_KV_BOOL:
        buf_add_cstr(out, kv->i ? "=true" : "=false");
        break;
    case LOG_KV_DOUBLE:
        buf_add_char(out, '=');
        num_format(kv->d, NUM_STYLE_JSON, out);
        break;
    case LOG_KV_DURATION:
        buf_add_cstr(out, "=\"");
        duration_format(kv->i, out);
        buf_add_char(out, '"');
        break;
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void format_text(struct buf *out, const struct log_site *site, const char *message,
                        const struct log_kv *kvs, size_t n)
{
    struct timestamp now = timestamp_of(time_wall());
    time_t sec = (time_t)now.sec;
    struct tm tm;
    localtime_r(&sec, &tm);
    buf_add_printf(out, "%c%02d%02d %02d:%02d:%02d.%06d %7d %s:%d] ", "IWE"[site->severity],
                   tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                   (int)(now.nsec / NSEC_PER_USEC), (int)getpid(), base_name(site->file),
                   site->line);
    if (site->plain)
        buf_add_str(out, bounded(str_of(message)));
    else
        log_quote(out, bounded(str_of(message)));
    for (size_t i = 0; i < n; i++) {
        buf_add_char(out, ' ');
        buf_add_cstr(out, kvs[i].key);
        add_text_value(out, &kvs[i]);
    }
    buf_add_char(out, '\n');
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void add_json_ref(struct buf *out, const struct log_kv *kv)
{
    buf_add_cstr(out, "{\"name\":");
    add_json_string(out, kv->name);
    if (!str_empty(kv->namespace)) {
        buf_add_cstr(out, ",\"namespace\":");
        add_json_string(out, kv->namespace);
    }
    buf_add_char(out, '}');
}

static void add_json_value(struct buf *out, const struct log_kv *kv)
{
    switch (kv->kind) {
    case LOG_KV_STR:
        add_json_string(out, bounded(kv->str));
        break;
    case LOG_KV_DUMP:
        add_json_string(out, kv->str);
        break;
    case LOG_KV_JSON:
        buf_add_str(out, kv->str);
        break;
    case LOG_KV_REF:
        add_json_ref(out, kv);
        break;
    case LOG_KV_REFS:
        buf_add_char(out, '[');
        for (size_t i = 0; i < kv->n_refs; i++) {
            buf_add_cstr(out, i ? "," : "");
            add_json_ref(out, &kv->refs[i]);
        }
        buf_add_char(out, ']');
        break;
    case LOG_KV_INT:
        buf_add_printf(out, "%lld", (long long)kv->i);
        break;
    case LOG_KV_BOOL:
        buf_add_cstr(out, kv->i ? "true" : "false");
        break;
    case LOG_KV_DOUBLE:
        /* JSON cannot represent non-finite numbers: write a string. */
        if (!isfinite(kv->d))
            buf_add_char(out, '"');
        num_format(kv->d, NUM_STYLE_F, out);
        if (!isfinite(kv->d))
            buf_add_char(out, '"');
        break;
    case LOG_KV_DURATION:
        buf_add_char(out, '"');
        duration_format(kv->i, out);
        buf_add_char(out, '"');
        break;
    }
}

/* The last directory and the file, where upstream has package and file. */
static const char *short_path(const char *path)
{
    const char *at = base_name(path);
    if (at == path)
        return path;
    for (at--; at > path && at[-1] != '/'; at--)
        ;
    return at;
}

static void format_json(struct buf *out, const struct log_site *site, const char *message,
                        const struct log_kv *kvs, size_t n)
{
    buf_add_cstr(out, "{\"ts\":");
    num_format((double)time_wall() / (double)NSEC_PER_MSEC, NUM_STYLE_F, out);
    buf_add_printf(out, ",\"caller\":\"%s:%d\",\"msg\":", short_path(site->file), site->line);
    add_json_string(out, bounded(str_of(message)));
    if (site->severity != LOG_ERROR)
        buf_add_printf(out, ",\"v\":%d", site->level);
    for (size_t i = 0; i < n; i++) {
        buf_add_char(out, ',');
        add_json_string(out, str_of(kvs[i].key));
        buf_add_char(out, ':');
        add_json_value(out, &kvs[i]);
    }
    buf_add_cstr(out, "}\n");
}

/* --- writing ---------------------------------------------------------------------------------- */

void log_write(const struct log_site *site, const char *message, const struct log_kv *kvs, size_t n)
{
    if (site->severity == LOG_INFO && !log_wanted(site->file, site->level))
        return;
    /* Callers log while they pass an error on: preserve errno. */
    int saved = errno;
    struct buf line = BUF_INIT;
    bool json = log_get_format() == LOG_FORMAT_JSON;
    if (json)
        format_json(&line, site, message, kvs, n);
    else
        format_text(&line, site, message, kvs, n);
    log_send(buf_str(&line), site->severity == LOG_ERROR || (site->severity != LOG_INFO && !json));
    buf_release(&line);
    errno = saved;
}
