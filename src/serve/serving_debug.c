/* SPDX-License-Identifier: Apache-2.0 */
/* /debug: flags that can be changed at run time, explanations, cmdline and symbol of pprof. */
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "serve/serving_internal.h"
#include "serve/serving_symbols.h"

#define CMDLINE_MAX ((size_t)1 << 20)

/* --- flags ------------------------------------------------------------------------------------ */

void serve_debug_flags(struct serving_request *r)
{
    serving_respond(r, 200, HTML_TEXT, 0,
                    STR("<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n"
                        "/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n<tr>v<br>\n</table>\n<br>\n"
                        "full flags configurable<br>\n</body>\n</html>\n"));
}

void serve_log_level(struct serving_request *r)
{
    int64_t level;
    struct buf text = BUF_INIT;
    int status = 200;
    if (!str_is(r->x->method, "PUT")) {
        status = 406;
        buf_add_cstr(&text, "unsupported http method\n");
    } else if (!str_to_i64(r->x->body, &level) || level < 0 || level > INT32_MAX) {
        status = 400;
        buf_add_printf(&text, "strconv.ParseUint: parsing \"%.*s\": invalid syntax\n",
                       STR_ARG(str_slice(r->x->body, 0, 100)));
    } else {
        log_set_verbosity((int)level);
        buf_add_printf(&text, "successfully set klog.logging.verbosity to %lld\n",
                       (long long)level);
    }
    serving_respond(r, status, "text/plain", RESPOND_NOSNIFF, buf_str(&text));
    buf_release(&text);
}

/* --- explanations ----------------------------------------------------------------------------- */

static void on_explained(void *ctx, struct str json, size_t attempts)
{
    struct serving *s = ctx;
    struct serving_request *r = s->explained;
    s->explained = NULL;
    s->explaining = false;
    if (!r)
        return; /* the client has disconnected */
    if (attempts)
        serving_respond(r, 200, "application/x-ndjson", RESPOND_NOSNIFF, json);
    else
        serving_respond(r, 404, PLAIN_TEXT, RESPOND_NOSNIFF,
                        STR("no recorded attempts for this pod\n"));
}

/* ?pod=NAMESPACE/NAME, or ?namespace=NAMESPACE&pod=NAME; false: all pods. */
static bool asked_pod(struct serving_request *r, struct str *ret_namespace, struct str *ret_name)
{
    if (!serving_query(r, "pod", ret_name) || !ret_name->n)
        return false;
    size_t slash = str_find(*ret_name, '/');
    if (slash < ret_name->n) {
        *ret_namespace = str_slice(*ret_name, 0, slash);
        *ret_name = str_slice(*ret_name, slash + 1, ret_name->n);
    } else if (!serving_query(r, "namespace", ret_namespace) || !ret_namespace->n) {
        *ret_namespace = STR("default");
    }
    return true;
}

/* One request at a time: an explanation may be large, and blocks the engine's thread. */
void serve_explain(struct serving_request *r)
{
    struct serving *s = r->serving;
    struct str namespace, pod;
    if (!s->options.world) {
        serving_respond_not_found(r);
        return;
    }
    if (s->explaining) {
        serving_respond(r, 429, PLAIN_TEXT, RESPOND_NOSNIFF,
                        STR("another request for explanations is in progress, try again later\n"));
        return;
    }
    s->explaining = true;
    s->explained = r;
    if (asked_pod(r, &namespace, &pod))
        world_explain_pod(s->options.world, namespace, pod, on_explained, s);
    else
        world_explain(s->options.world, on_explained, s);
}

/* --- pprof ------------------------------------------------------------------------------------ */

void serve_pprof_redirect(struct serving_request *r)
{
    serving_redirect(r, "/debug/pprof/");
}

void serve_pprof(struct serving_request *r)
{
    if (!str_is(r->path, "/debug/pprof/")) {
        serving_respond(r, 404, PLAIN_TEXT, RESPOND_NOSNIFF, STR("Unknown profile\n"));
        return;
    }
    serving_respond(
        r, 200, HTML_TEXT, RESPOND_NOSNIFF,
        STR("<html>\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n/debug/pprof/<br>\n"
            "<br>\n<table>\n"
            "<tr><td><a href='profile?seconds=30'>profile</a></td><td>CPU profile, for go tool "
            "pprof</td></tr>\n"
            "<tr><td><a href='cmdline'>cmdline</a></td><td>command line of the process</td></tr>\n"
            "<tr><td><a href='symbol'>symbol</a></td><td>function names of the addresses in the "
            "body, separated by +</td></tr>\n"
            "</table>\n</body>\n</html>\n"));
}

/* Arguments separated by NUL, as in /proc/self/cmdline without the last NUL. */
void serve_cmdline(struct serving_request *r)
{
    struct buf text;
    buf_init(&text, CMDLINE_MAX);
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    for (ssize_t n = 1; fd >= 0 && n > 0 && buf_reserve(&text, 4096);) {
        n = read(fd, text.p + text.n, 4096);
        text.n += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    serving_respond(r, 200, PLAIN_TEXT, RESPOND_NOSNIFF,
                    str_slice(buf_str(&text), 0, text.n ? text.n - 1 : 0));
    buf_release(&text);
}

static bool parse_address(struct str text, uint64_t *ret_address)
{
    if (str_starts(text, STR("0x")))
        text = str_slice(text, 2, text.n);
    if (text.n == 0 || text.n > 16)
        return false;
    *ret_address = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *ret_address = *ret_address << 4 | (unsigned)digit;
    }
    return true;
}

void serve_symbol(struct serving_request *r)
{
    struct str rest = str_is(r->x->method, "POST") ? r->x->body : r->x->query, word;
    struct buf text = BUF_INIT;
    struct symbols *symbols = symbols_new();
    buf_add_cstr(&text, "num_symbols: 1\n");
    while (str_split(&rest, '+', &word)) {
        uint64_t address;
        struct str name;
        if (parse_address(str_trim(word), &address) && symbols_find(symbols, address, &name))
            buf_add_printf(&text, "%#llx %.*s\n", (unsigned long long)address, STR_ARG(name));
    }
    symbols_free(symbols);
    serving_respond(r, 200, PLAIN_TEXT, RESPOND_NOSNIFF, buf_str(&text));
    buf_release(&text);
}
