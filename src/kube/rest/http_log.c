/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/rest/http_log.h"

#include <ctype.h>

#include "base/buf.h"
#include "codec/json.h"

/* The highest level that is enabled here, up to 9: it decides what a line contains. */
static int detail(void)
{
    for (int level = 9; level > HTTP_LOG_LEVEL; level--)
        if (log_wanted(__FILE__, level))
            return level;
    return HTTP_LOG_LEVEL;
}

static void write_line(int level, int line, const char *message, const struct log_kv *kvs, size_t n)
{
    struct log_site site = {LOG_INFO, level, __FILE__, line, false};
    log_write(&site, message, kvs, n);
}

size_t http_log_context(const struct http_log_exchange *x, struct log_kv kvs[2])
{
    size_t n = 0;
    if (x->logger)
        kvs[n++] = KV_CSTR("logger", x->logger);
    if (x->pod_name.n)
        kvs[n++] = KV_REF("pod", x->pod_namespace, x->pod_name);
    return n;
}

/* --- headers ---------------------------------------------------------------------------------- */

/* "content-type" becomes "Content-Type". */
static struct str canonical(struct str name, struct arena *a)
{
    struct str copy = arena_dup(a, name);
    char *p = (char *)(uintptr_t)copy.p;
    bool first = true;
    for (size_t i = 0; i < copy.n; i++) {
        p[i] = (char)(first ? toupper((unsigned char)p[i]) : tolower((unsigned char)p[i]));
        first = p[i] == '-';
    }
    return copy;
}

/* Shows only the scheme of credentials. */
static struct str masked(const struct http_header *h, struct arena *a)
{
    static const char *const known[] = {"bearer", "basic", "negotiate"};
    if (!str_eq_fold(h->name, STR("authorization")) || str_empty(h->value))
        return h->value;
    size_t blank = str_find(h->value, ' ');
    struct str type = str_slice(h->value, 0, blank);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq_fold(type, str_of(known[i])))
            return blank + 1 < h->value.n ? arena_printf(a, "%.*s <masked>", STR_ARG(type)) : type;
    return STR("<masked>");
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct http_header *)a)->name, ((const struct http_header *)b)->name);
}

static struct http_header *sorted(const struct http_header *headers, size_t n, struct arena *a)
{
    struct http_header *v = arena_array(a, struct http_header, MAX(n, 1));
    for (size_t i = 0; i < n; i++)
        v[i] = (struct http_header){canonical(headers[i].name, a), masked(&headers[i], a)};
    qsort(v, n, sizeof(*v), by_name);
    return v;
}

/* Lines "Name: value", or in a JSON log {"Name":["value"]}. */
static struct log_kv kv_headers(const struct http_header *headers, size_t n, struct arena *a,
                                struct buf *out)
{
    const struct http_header *v = sorted(headers, n, a);
    bool json = log_get_format() == LOG_FORMAT_JSON;
    for (size_t i = 0; i < n; i++) {
        if (!json) {
            buf_add_printf(out, "%.*s: %.*s\n", STR_ARG(v[i].name), STR_ARG(v[i].value));
            continue;
        }
        bool again = i && str_eq(v[i].name, v[i - 1].name);
        buf_add_cstr(out, again ? "," : i ? "]," : "{");
        if (!again) {
            json_write_str(out, v[i].name);
            buf_add_cstr(out, ":[");
        }
        json_write_str(out, v[i].value);
    }
    if (json)
        buf_add_cstr(out, n ? "]}" : "{}");
    return json ? KV_JSON("headers", buf_str(out)) : KV_DUMP("headers", buf_str(out));
}

/* --- requests --------------------------------------------------------------------------------- */

static void write_curl(const struct http_log_exchange *x, const struct http_header *headers,
                       size_t n, struct arena *a, struct buf *out)
{
    const struct http_header *v = sorted(headers, n, a);
    buf_add_printf(out, "curl -v -X%s ", x->verb);
    for (size_t i = 0; i < n; i++) {
        buf_add_cstr(out, " -H ");
        log_quote(out, arena_printf(a, "%.*s: %.*s", STR_ARG(v[i].name), STR_ARG(v[i].value)));
    }
    buf_add_printf(out, " '%.*s'\n", STR_ARG(x->url));
}

void http_log_request(const struct http_log_exchange *x, const struct http_header *headers,
                      size_t n)
{
    struct log_kv kvs[5];
    struct buf text = BUF_INIT;
    struct arena a;
    int level = detail();
    if (level < 7)
        return;
    size_t k = http_log_context(x, kvs);
    arena_init(&a, 1024);
    if (level >= 9) {
        write_curl(x, headers, n, &a, &text);
        kvs[k++] = KV_DUMP("curlCommand", buf_str(&text));
    } else {
        kvs[k++] = KV_CSTR("verb", x->verb);
        kvs[k++] = KV_STR("url", x->url);
        kvs[k++] = kv_headers(headers, n, &a, &text);
    }
    write_line(level, __LINE__, "Request", kvs, k);
    arena_release(&a);
    buf_release(&text);
}

/* --- responses -------------------------------------------------------------------------------- */

static void log_trace(const struct http_log_exchange *x, int level, const struct err *err)
{
    const struct dial_trace *trace = &x->timing->trace;
    struct url url;
    if (x->timing->reused || !trace->address[0])
        return;
    if (trace->looked_up && url_parse(x->url, &url, NULL) == 0) {
        struct log_kv kvs[] = {KV_STR("host", url.host), KV_CSTR("address", trace->address)};
        write_line(level, __LINE__, "HTTP Trace: DNS Lookup resolved", kvs, ARRAY_LEN(kvs));
    }
    struct log_kv kvs[] = {KV_CSTR("network", "tcp"), KV_CSTR("address", trace->address),
                           KV_CSTR("err", err ? err->msg : "")};
    bool failed = err && !x->timing->started;
    write_line(level, __LINE__, failed ? "HTTP Trace: Dial failed" : "HTTP Trace: Dial succeed",
               kvs, failed ? 3 : 2);
}

static int64_t msec(int64_t ns)
{
    return MAX(ns, 0) / NSEC_PER_MSEC;
}

/* The durations of the phases of a request. */
static size_t add_timing(const struct http_timing *t, struct log_kv *kvs)
{
    size_t n = 0;
    if (!t->reused) {
        kvs[n++] = KV_INT("dnsLookupMilliseconds", msec(t->trace.lookup));
        kvs[n++] = KV_INT("dialMilliseconds", msec(t->trace.connect));
        kvs[n++] = KV_INT("tlsHandshakeMilliseconds", msec(t->trace.tls));
    } else {
        kvs[n++] = KV_INT("getConnectionMilliseconds", msec(t->started - t->sent));
    }
    if (t->answered)
        kvs[n++] = KV_INT("serverProcessingMilliseconds", msec(t->answered - t->started));
    return n;
}

void http_log_response(const struct http_log_exchange *x, const struct http_headers *headers,
                       const struct err *err)
{
    struct log_kv kvs[14];
    struct buf text = BUF_INIT;
    struct arena a;
    char status[64] = "";
    size_t n = http_log_context(x, kvs);
    int level = detail();
    arena_init(&a, 1024);
    if (x->status)
        snprintf(status, sizeof(status), "%d %s", x->status, http_status_text(x->status));
    if (level >= 9)
        log_trace(x, level, err);
    if (level == 6 || level >= 9) {
        kvs[n++] = KV_CSTR("verb", x->verb);
        kvs[n++] = KV_STR("url", x->url);
    }
    kvs[n++] = KV_CSTR("status", status);
    if (level >= 8)
        kvs[n++] =
            kv_headers(headers ? headers->list.v : NULL, headers ? headers->list.n : 0, &a, &text);
    kvs[n++] = KV_INT("milliseconds", msec(x->now - x->timing->sent));
    if (level >= 9)
        n += add_timing(x->timing, kvs + n);
    write_line(level, __LINE__, "Response", kvs, n);
    arena_release(&a);
    buf_release(&text);
}
