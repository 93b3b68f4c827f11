/* SPDX-License-Identifier: Apache-2.0 */
#include "net/h1_parser.h"

void h1_parser_init(struct h1_parser *p, enum h1_role role, size_t max_head)
{
    *p = (struct h1_parser){.role = role, .max_head = max_head};
    buf_init(&p->line, MAX(max_head, H1_MAX_CHUNK_LINE) + 1);
    arena_init(&p->arena, 1024);
}

void h1_parser_release(struct h1_parser *p)
{
    buf_release(&p->line);
    vec_release(&p->headers.list);
    arena_release(&p->arena);
}

void h1_parser_reset(struct h1_parser *p)
{
    p->state = H1_STATE_HEAD;
    buf_clear(&p->line);
    vec_clear(&p->headers.list);
    arena_reset(&p->arena);
    p->method = p->target = (struct str){0};
    p->status = 0;
    p->left = 0;
    p->keep_alive = p->has_body = p->expects_continue = false;
}

bool h1_parser_is_idle(const struct h1_parser *p)
{
    return p->state == H1_STATE_HEAD && p->line.n == 0;
}

static int refuse(struct err *reterr, const char *why)
{
    return err_set(reterr, -EPROTO, "not HTTP/1.1: %s", why);
}

/* --- lines ------------------------------------------------------------------------------------ */

/*
 * Moves bytes up to and including the next LF into p->line. Returns 1: a line ended; 0: more bytes
 * are needed; negative: error.
 */
static int take_line(struct h1_parser *p, struct str *in, size_t max, struct err *reterr)
{
    const char *lf = in->n ? memchr(in->p, '\n', in->n) : NULL;
    size_t n = lf ? (size_t)(lf - in->p) + 1 : in->n;
    if (n > max || p->line.n > max - n)
        return err_set(reterr, -EMSGSIZE, "HTTP/1.1 head or chunk line larger than %zu bytes", max);
    buf_add(&p->line, in->p, n);
    in->p += n;
    in->n -= n;
    if (!lf)
        return 0;
    if (p->line.n < 2 || p->line.p[p->line.n - 2] != '\r')
        return refuse(reterr, "line ends in LF without CR");
    return 1;
}

/* The next line without its CRLF. */
static struct str next_line(struct str *text)
{
    size_t n = str_search(*text, STR("\r\n"));
    struct str line = str_slice(*text, 0, n);
    *text = str_slice(*text, n + 2, text->n);
    return line;
}

/* --- head ------------------------------------------------------------------------------------- */

static bool parse_version(struct h1_parser *p, struct str text)
{
    if (text.n != 8 || !str_starts(text, STR("HTTP/1.")) || (text.p[7] != '0' && text.p[7] != '1'))
        return false;
    p->minor = text.p[7] - '0';
    return true;
}

/* "http://host/path" counts as "/path": proxies and old clients send it. */
static struct str origin_form(struct str target)
{
    size_t scheme = str_search(target, STR("://"));
    if (scheme == target.n || target.p[0] == '/')
        return target;
    struct str rest = str_slice(target, scheme + 3, target.n);
    size_t slash = str_find(rest, '/');
    return slash < rest.n ? str_slice(rest, slash, rest.n) : STR("/");
}

static int parse_request_line(struct h1_parser *p, struct str line, struct err *reterr)
{
    struct str rest = line, method, target;
    if (!str_split(&rest, ' ', &method) || !str_split(&rest, ' ', &target) ||
        !parse_version(p, rest))
        return refuse(reterr, "bad request line");
    target = origin_form(target);
    if (!http_is_token(method) || !http_is_target(target))
        return refuse(reterr, "bad method or target");
    p->method = arena_dup(&p->arena, method);
    p->target = arena_dup(&p->arena, target);
    return 0;
}

static int parse_status_line(struct h1_parser *p, struct str line, struct err *reterr)
{
    uint64_t status;
    if (!parse_version(p, str_slice(line, 0, 8)) || line.n < 12 || line.p[8] != ' ' ||
        (line.n > 12 && line.p[12] != ' ') || !str_to_u64(str_slice(line, 9, 12), &status) ||
        status < 100 || !http_is_value(line))
        return refuse(reterr, "bad status line");
    p->status = (int)status;
    return 0;
}

static int parse_header(struct h1_parser *p, struct str line, struct err *reterr)
{
    size_t colon = str_find(line, ':');
    struct str name = str_slice(line, 0, colon);
    struct str value = str_trim(str_slice(line, colon + 1, line.n));
    if (colon == line.n || !http_is_token(name) || !http_is_value(value))
        return refuse(reterr, "bad header line");
    if (p->headers.list.n >= H1_MAX_HEADERS)
        return err_set(reterr, -EMSGSIZE, "more than %d headers", H1_MAX_HEADERS);
    char *lower = arena_alloc(&p->arena, name.n + 1, 1);
    for (size_t i = 0; i < name.n; i++)
        lower[i] = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] | 0x20) : name.p[i];
    vec_push(&p->headers.list,
             ((struct http_header){{lower, name.n}, arena_dup(&p->arena, value)}));
    return 0;
}

static size_t count(const struct h1_parser *p, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < p->headers.list.n; i++)
        n += str_is(p->headers.list.v[i].name, name);
    return n;
}

/* How the body is delimited (RFC 9112 6.3). */
static int decide_body(struct h1_parser *p, struct err *reterr)
{
    size_t lengths = count(p, "content-length"), codings = count(p, "transfer-encoding");
    if (lengths && codings)
        return refuse(reterr, "both Content-Length and Transfer-Encoding");
    if (lengths > 1 || codings > 1)
        return refuse(reterr, "repeated Content-Length or Transfer-Encoding");
    bool no_body = p->role == H1_RESPONSES && (p->answers_head || !http_status_has_body(p->status));
    if (codings) {
        struct str coding = http_headers_get(&p->headers, "transfer-encoding");
        if (!str_eq_fold(coding, STR("chunked")) || p->minor == 0)
            return refuse(reterr, "transfer coding other than chunked");
        p->state = H1_STATE_CHUNK_SIZE;
    } else if (lengths) {
        struct str text = http_headers_get(&p->headers, "content-length");
        if (text.n == 0 || text.p[0] < '0' || text.p[0] > '9' || !str_to_u64(text, &p->left) ||
            p->left > INT64_MAX)
            return refuse(reterr, "bad Content-Length");
        p->state = p->left ? H1_STATE_LENGTH : H1_STATE_END;
    } else if (p->role == H1_RESPONSES && !no_body) {
        p->state = H1_STATE_UNTIL_EOF;
        p->keep_alive = false;
    } else {
        p->state = H1_STATE_END;
    }
    if (no_body)
        p->state = H1_STATE_END;
    p->has_body = p->state != H1_STATE_END;
    return 0;
}

static int parse_head(struct h1_parser *p, struct err *reterr)
{
    struct str text = buf_str(&p->line), line = next_line(&text);
    int r = p->role == H1_REQUESTS ? parse_request_line(p, line, reterr)
                                   : parse_status_line(p, line, reterr);
    while (r == 0 && (line = next_line(&text)).n)
        r = parse_header(p, line, reterr);
    if (r < 0)
        return r;
    if (p->role == H1_REQUESTS && count(p, "host") > 1)
        return refuse(reterr, "more than one Host");
    if (p->role == H1_REQUESTS && p->minor == 1 && count(p, "host") == 0)
        return refuse(reterr, "no Host");
    p->keep_alive = p->minor == 1 ? !http_headers_has_token(&p->headers, "connection", "close")
                                  : http_headers_has_token(&p->headers, "connection", "keep-alive");
    p->expects_continue =
        p->minor == 1 && http_headers_has_token(&p->headers, "expect", "100-continue");
    r = decide_body(p, reterr);
    buf_clear(&p->line);
    return r;
}

/* Returns 1 if the head is complete. */
static int take_head(struct h1_parser *p, struct str *in, struct err *reterr)
{
    for (;;) {
        int r = take_line(p, in, p->max_head, reterr);
        if (r <= 0)
            return r;
        if (p->line.n == 2) { /* an empty line before the first is tolerated (RFC 9112 2.2) */
            if (p->role == H1_RESPONSES)
                return refuse(reterr, "empty status line");
            buf_clear(&p->line);
        } else if (p->line.n >= 4 && memcmp(p->line.p + p->line.n - 4, "\r\n\r\n", 4) == 0) {
            r = parse_head(p, reterr);
            return r < 0 ? r : 1;
        } else if (p->role == H1_RESPONSES && !str_starts(buf_str(&p->line), STR("HTTP/1."))) {
            return refuse(reterr, "bad status line"); /* another protocol: do not wait for more */
        }
    }
}

/* --- body ------------------------------------------------------------------------------------- */

static struct str take_data(struct h1_parser *p, struct str *in)
{
    size_t n = p->state == H1_STATE_UNTIL_EOF ? in->n : (size_t)MIN(p->left, in->n);
    struct str data = {in->p, n};
    in->p += n;
    in->n -= n;
    if (p->state != H1_STATE_UNTIL_EOF) {
        p->left -= n;
        if (p->left == 0)
            p->state = p->state == H1_STATE_LENGTH ? H1_STATE_END : H1_STATE_CHUNK_END;
    }
    return data;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int take_chunk_size(struct h1_parser *p, struct str *in, struct err *reterr)
{
    int r = take_line(p, in, H1_MAX_CHUNK_LINE, reterr);
    if (r <= 0)
        return r;
    struct str line = str_slice(buf_str(&p->line), 0, p->line.n - 2);
    uint64_t size = 0;
    size_t i = 0;
    for (; i < line.n && hex(line.p[i]) >= 0; i++)
        size = size * 16 + (uint64_t)hex(line.p[i]);
    struct str extension = str_slice(line, i, line.n);
    if (i == 0 || i > 15 || !http_is_value(extension) ||
        (extension.n && extension.p[0] != ';' && extension.p[0] != ' ' && extension.p[0] != '\t'))
        return refuse(reterr, "bad chunk size");
    buf_clear(&p->line);
    p->left = size;
    p->state = size ? H1_STATE_CHUNK_DATA : H1_STATE_TRAILERS;
    return 1;
}

static int take_chunk_end(struct h1_parser *p, struct str *in, struct err *reterr)
{
    int r = take_line(p, in, 2, reterr);
    if (r < 0)
        return refuse(reterr, "chunk longer than its size");
    if (r == 0)
        return 0;
    buf_clear(&p->line);
    p->state = H1_STATE_CHUNK_SIZE;
    return 1;
}

/* Trailers are discarded. p->left counts them against the limit of a head. */
static int take_trailers(struct h1_parser *p, struct str *in, struct err *reterr)
{
    int r = take_line(p, in, p->max_head - (size_t)p->left, reterr);
    if (r <= 0)
        return r;
    bool empty = p->line.n == 2;
    p->left += p->line.n;
    buf_clear(&p->line);
    if (empty)
        p->state = H1_STATE_END;
    return 1;
}

/* One step. Returns 1: *ret_event is set; 0: more bytes are needed; 2: continue. */
static int step(struct h1_parser *p, struct str *in, enum h1_event *ret_event, struct str *ret_data,
                struct err *reterr)
{
    int r = 0;
    switch (p->state) {
    case H1_STATE_HEAD:
        *ret_event = H1_HEAD;
        return take_head(p, in, reterr);
    case H1_STATE_LENGTH:
    case H1_STATE_UNTIL_EOF:
    case H1_STATE_CHUNK_DATA:
        if (in->n == 0)
            return 0;
        *ret_data = take_data(p, in);
        *ret_event = H1_DATA;
        return 1;
    case H1_STATE_CHUNK_SIZE:
        r = take_chunk_size(p, in, reterr);
        break;
    case H1_STATE_CHUNK_END:
        r = take_chunk_end(p, in, reterr);
        break;
    case H1_STATE_TRAILERS:
        r = take_trailers(p, in, reterr);
        break;
    case H1_STATE_END:
        p->state = H1_STATE_DONE;
        *ret_event = H1_END;
        return 1;
    case H1_STATE_DONE:
        return 0;
    case H1_STATE_FAILED:
        return refuse(reterr, "parser used after an error");
    }
    return r == 1 ? 2 : r;
}

int h1_parser_next(struct h1_parser *p, struct str *in, enum h1_event *ret_event,
                   struct str *ret_data, struct err *reterr)
{
    int r;
    do
        r = step(p, in, ret_event, ret_data, reterr);
    while (r == 2);
    if (r < 0)
        p->state = H1_STATE_FAILED;
    else if (r == 0)
        *ret_event = H1_MORE;
    return MIN(r, 0);
}

int h1_parser_eof(struct h1_parser *p, bool *ret_ended, struct err *reterr)
{
    *ret_ended = p->state == H1_STATE_UNTIL_EOF;
    if (p->state == H1_STATE_UNTIL_EOF) {
        p->state = H1_STATE_DONE;
        return 0;
    }
    if (h1_parser_is_idle(p) || p->state == H1_STATE_DONE)
        return 0;
    return err_set(reterr, -ECONNRESET, "connection closed in the middle of a message");
}
