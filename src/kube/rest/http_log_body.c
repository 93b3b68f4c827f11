/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies in the log, in a file of their own as in client-go. */
#include "base/buf.h"
#include "kube/rest/http_log.h"

/* How much of a body is shown. */
static size_t shown(void)
{
    return log_wanted(__FILE__, 10) ? SIZE_MAX : log_wanted(__FILE__, 9) ? 10240 : 1024;
}

static bool is_binary(struct str body)
{
    for (size_t i = 0; i < body.n; i++)
        if ((unsigned char)body.p[i] < '\n')
            return true;
    return false;
}

/* Sixteen bytes per line, as hexdump -C shows them. */
static void add_dump_line(struct buf *out, size_t at, struct str bytes)
{
    buf_add_printf(out, "%08zx", at);
    for (size_t i = 0; i < 16; i++) {
        buf_add_cstr(out, i % 8 ? " " : "  ");
        if (i < bytes.n)
            buf_add_printf(out, "%02x", (unsigned char)bytes.p[i]);
        else
            buf_add_cstr(out, "  ");
    }
    buf_add_cstr(out, "  |");
    for (size_t i = 0; i < bytes.n; i++) {
        char c = bytes.p[i];
        buf_add_char(out, c >= ' ' && c <= '~' ? c : '.');
    }
    buf_add_cstr(out, "|\n");
}

#define DUMP_LINE_MAX 79 /* bytes of a full line */

/* The dump, up to max bytes; *ret_all is its full length. */
static void dump(struct str body, size_t max, struct buf *out, size_t *ret_all)
{
    size_t lines = (body.n + 15) / 16, last = body.n % 16 ? body.n % 16 : 16;
    *ret_all = (lines - 1) * DUMP_LINE_MAX + DUMP_LINE_MAX - 16 + last;
    for (size_t i = 0; i < lines && out->n < max; i++)
        add_dump_line(out, i * 16, str_slice(body, i * 16, i * 16 + 16));
}

void http_log_body(const struct http_log_exchange *x, const char *message, struct str body,
                   bool confidential)
{
    struct log_site site = {LOG_INFO, 8, __FILE__, __LINE__, false};
    struct log_kv kvs[3];
    struct buf text = BUF_INIT;
    size_t all = body.n, max;
    if (!log_wanted(__FILE__, 8))
        return;
    max = shown();
    if (confidential && body.n) {
        buf_add_printf(&text, "<masked, %zu bytes>", body.n);
        all = text.n;
    } else if (is_binary(body)) {
        dump(body, max, &text, &all);
    } else {
        buf_add_str(&text, str_slice(body, 0, max));
    }
    if (all > max) {
        text.n = MIN(text.n, max);
        buf_add_printf(&text, " [truncated %zu chars]", all - max);
    }
    size_t n = http_log_context(x, kvs);
    kvs[n++] = KV_DUMP("body", buf_str(&text));
    log_write(&site, message, kvs, n);
    buf_release(&text);
}
