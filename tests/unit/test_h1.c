/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "net/h1_parser.h"
#include "prop.h"

#define MAX_HEAD ((size_t)2000)

/* All results of a parser on some bytes, as text to compare. */
static void transcribe(enum h1_role role, struct str in, struct rand *split, struct buf *out)
{
    struct h1_parser p;
    struct err err;
    bool in_data = false;
    h1_parser_init(&p, role, MAX_HEAD);
    for (size_t at = 0; at <= in.n;) {
        size_t step = split ? 1 + rand_below(split, 9) : in.n;
        size_t n = MIN(step, in.n - at);
        char *piece = str_dup(str_slice(in, at, at + n)); /* so that ASan sees the edges */
        struct str rest = {piece, n};
        enum h1_event event = H1_MORE;
        int r;
        do {
            struct str data = {0};
            r = h1_parser_next(&p, &rest, &event, &data, &err);
            if (r < 0) {
                buf_add_printf(out, "|error %d", r);
            } else if (event == H1_HEAD) {
                buf_add_printf(out, "|head %.*s %.*s %d %d", STR_ARG(p.method), STR_ARG(p.target),
                               p.status, p.keep_alive);
                for (size_t i = 0; i < p.headers.list.n; i++)
                    buf_add_printf(out, ";%.*s=%.*s", STR_ARG(p.headers.list.v[i].name),
                                   STR_ARG(p.headers.list.v[i].value));
            } else if (event == H1_DATA) {
                if (!in_data)
                    buf_add_cstr(out, "|data ");
                buf_add_str(out, data);
            } else if (event == H1_END) {
                buf_add_cstr(out, "|end");
                h1_parser_reset(&p);
            }
            in_data = event == H1_DATA || (event == H1_MORE && in_data);
        } while (r == 0 && event != H1_MORE);
        free(piece);
        if (r < 0) {
            h1_parser_release(&p);
            return;
        }
        at += n;
        if (at == in.n)
            break;
    }
    bool ended;
    int r = h1_parser_eof(&p, &ended, &err);
    buf_add_printf(out, "|eof %d %d", r, ended);
    h1_parser_release(&p);
}

static const char *const requests[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /2 HTTP/1.0\r\n\r\n",
    "PUT /c HTTP/1.1\r\nHOST: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    "a;ext=1\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\nGET / HTTP/1.1\r\nHost: b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX:  spaces  \r\nY:\r\n\r\n",
    "\r\nGET http://a/path HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
    "GET / HTTP/1.1\nHost: a\n\n",
    "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n",
};

static const char *const responses[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "4\r\nwiki\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\n\r\nuntil the end of the connection",
    "HTTP/1.1 304\r\nContent-Length: 10\r\n\r\n",
    "SSH-2.0-OpenSSH_9.2\r\n",
};

static bool split_makes_no_difference(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    bool request = rand_below(r, 2);
    const char *text = request ? requests[rand_below(r, ARRAY_LEN(requests))]
                               : responses[rand_below(r, ARRAY_LEN(responses))];
    enum h1_role role = request ? H1_REQUESTS : H1_RESPONSES;
    char *bytes = xstrdup(text);
    size_t n = strlen(text);
    for (size_t i = rand_below(r, size / 20 + 1); i > 0; i--) /* corrupted in some places */
        bytes[rand_below(r, n)] = "\r\n :;0a\0\xff"[rand_below(r, 9)];
    struct buf whole = BUF_INIT, pieces = BUF_INIT;
    transcribe(role, (struct str){bytes, n}, NULL, &whole);
    transcribe(role, (struct str){bytes, n}, r, &pieces);
    bool same = str_eq(buf_str(&whole), buf_str(&pieces));
    if (!same)
        print_message("%s\n%s\n", buf_cstr(&whole), buf_cstr(&pieces));
    buf_release(&whole);
    buf_release(&pieces);
    free(bytes);
    return same;
}

static void test_splits(void **state)
{
    (void)state;
    assert_true(prop_run("h1 splits", 3000, split_makes_no_difference, NULL));
}

static void expect(enum h1_role role, const char *text, const char *want)
{
    struct buf out = BUF_INIT;
    transcribe(role, str_of(text), NULL, &out);
    if (!str_is(buf_str(&out), want))
        fail_msg("%s\ngot    %s\nwanted %s", text, buf_cstr(&out), want);
    buf_release(&out);
}

static void test_requests(void **state)
{
    (void)state;
    expect(H1_REQUESTS, requests[0], "|head GET / 0 1;host=a|end|eof 0 0");
    expect(
        H1_REQUESTS, requests[1],
        "|head POST /x?y 0 1;host=a;content-length=5|data hello|end|head GET /2 0 0|end|eof 0 0");
    expect(H1_REQUESTS, requests[2],
           "|head PUT /c 0 1;host=a;transfer-encoding=chunked|data hello0123456789|end"
           "|head GET / 0 1;host=b|end|eof 0 0");
    expect(H1_REQUESTS, requests[3],
           "|head GET / 0 0;host=a;connection=close;x=spaces;y=|end|eof 0 0");
    expect(H1_REQUESTS, requests[4], "|head GET /path 0 1;host=a;expect=100-continue|end|eof 0 0");
    expect(H1_REQUESTS, "GET / HT", "|eof -104 0");
}

static void test_responses(void **state)
{
    (void)state;
    expect(H1_RESPONSES, responses[0],
           "|head   200 1;content-length=3|data abc|end|head   204 1|end|eof 0 0");
    expect(H1_RESPONSES, responses[1],
           "|head   100 1|end|head   200 1;transfer-encoding=chunked|data wiki|end|eof 0 0");
    expect(H1_RESPONSES, responses[2],
           "|head   200 0|data until the end of the connection|eof 0 1");
    expect(H1_RESPONSES, responses[3], "|head   304 1;content-length=10|end|eof 0 0");
    expect(H1_RESPONSES, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab",
           "|head   200 1;content-length=4|data ab|eof -104 0");
}

/* Input that two parsers could understand differently. */
static void test_ambiguity_is_refused(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 5,5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length:\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        " Transfer-Encoding: chunked\r\n",
        "X: a\r\n\tb\r\n",
        "X\r\n",
        ": x\r\n",
        "X: a\rb\r\n",
        "X: a\x01\r\n",
        "Host: b\r\n",
        "X: a\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        char text[300];
        snprintf(text, sizeof(text), "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n", heads[i]);
        struct buf out = BUF_INIT;
        transcribe(H1_REQUESTS, str_of(text), NULL, &out);
        if (!str_is(buf_str(&out), "|error -71"))
            fail_msg("%s: got %s", heads[i], buf_cstr(&out));
        buf_release(&out);
    }
    static const char *const lines[] = {
        "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET / HTTP/2.0",     "GET / http/1.1",       "GET /",
        "G@T / HTTP/1.1",  "GET x HTTP/1.1",  "GET /\x01 HTTP/1.1", "CONNECT a:1 HTTP/1.1",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char text[300];
        snprintf(text, sizeof(text), "%s\r\nHost: a\r\n\r\n", lines[i]);
        expect(H1_REQUESTS, text, "|error -71");
    }
    expect(H1_REQUESTS, "GET / HTTP/1.1\r\n\r\n", "|error -71"); /* no Host */
    static const char *const chunks[] = {
        "\r\n",  "g\r\n", "-1\r\n", "1\n", "1\r\nab\r\n", "1 x\x01\r\n", "ffffffffffffffff\r\n",
        "1x\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        char text[300];
        snprintf(text, sizeof(text),
                 "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%s", chunks[i]);
        struct buf out = BUF_INIT;
        transcribe(H1_REQUESTS, str_of(text), NULL, &out);
        if (!str_ends(buf_str(&out), STR("|error -71")))
            fail_msg("chunk %zu: got %s", i, buf_cstr(&out));
        buf_release(&out);
    }
}

static void test_bounds(void **state)
{
    (void)state;
    struct buf text = BUF_INIT;
    buf_add_cstr(&text, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    while (text.n < 3000)
        buf_add_char(&text, 'x');
    expect(H1_REQUESTS, buf_cstr(&text), "|error -90");
    buf_clear(&text);
    buf_add_cstr(&text, "GET / HTTP/1.1\r\n");
    while (text.n < 3000)
        buf_add_cstr(&text, "A: b\r\n");
    expect(H1_REQUESTS, buf_cstr(&text), "|error -90");
    buf_clear(&text);
    buf_add_cstr(&text, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
    while (text.n < 3000)
        buf_add_char(&text, 'x');
    expect(H1_RESPONSES, buf_cstr(&text), "|head   200 1;transfer-encoding=chunked|error -90");
    buf_clear(&text);
    buf_add_cstr(&text, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
    while (text.n < 4000)
        buf_add_cstr(&text, "Trailer: x\r\n");
    expect(H1_RESPONSES, buf_cstr(&text), "|head   200 1;transfer-encoding=chunked|error -90");
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests), cmocka_unit_test(test_responses),
        cmocka_unit_test(test_splits),   cmocka_unit_test(test_ambiguity_is_refused),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests_name("h1", tests, NULL, NULL);
}
