/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines about requests, level by level. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kube/rest/http_log.h"

static FILE *file;

static int set_up(void **state)
{
    (void)state;
    file = tmpfile();
    assert_non_null(file);
    log_set_fd(fileno(file));
    log_set_format(LOG_FORMAT_TEXT);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    log_set_fd(2);
    log_set_verbosity(0);
    log_set_modules(NULL, 0);
    fclose(file);
    return 0;
}

/* The lines since the last call, without their headers. */
static const char *written(struct buf *out)
{
    char bytes[65536];
    ssize_t n = pread(fileno(file), bytes, sizeof(bytes) - 1, 0);
    assert_true(n >= 0);
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    lseek(fileno(file), 0, SEEK_SET);
    buf_clear(out);
    struct str rest = {bytes, (size_t)n}, line;
    while (rest.n && str_split(&rest, '\n', &line)) {
        size_t head = str_search(line, STR("] "));
        buf_add_str(out, head < line.n ? str_slice(line, head + 2, line.n) : line);
        buf_add_char(out, '\n');
    }
    return buf_cstr(out);
}

static const struct http_header request_headers[] = {
    {STR_INIT("User-Agent"), STR_INIT("x/1")},
    {STR_INIT("Authorization"), STR_INIT("Bearer secret")},
};

static void exchange(int level)
{
    struct http_timing timing = {.sent = 1, .started = 2000001, .answered = 5000001};
    struct http_log_exchange x = {.verb = "GET",
                                  .url = STR("https://h:1/p?q=1"),
                                  .status = 200,
                                  .timing = &timing,
                                  .now = 7000001};
    struct http_header answer[] = {{STR_INIT("date"), STR_INIT("now")}};
    struct http_headers headers = {.list = {answer, 1, 1}};
    snprintf(timing.trace.address, sizeof(timing.trace.address), "127.0.0.1:1");
    timing.trace.connect = 1000000;
    log_set_verbosity(level);
    http_log_body(&x, "Request Body", STR("{}"), false);
    http_log_request(&x, request_headers, 2);
    http_log_response(&x, &headers, NULL);
}

static void test_levels(void **state)
{
    (void)state;
    struct buf out = BUF_INIT;
    exchange(5);
    assert_string_equal(written(&out), "");
    exchange(6);
    assert_string_equal(written(&out), "\"Response\" verb=\"GET\" url=\"https://h:1/p?q=1\" "
                                       "status=\"200 OK\" milliseconds=7\n");
    exchange(7);
    assert_string_equal(written(&out),
                        "\"Request\" verb=\"GET\" url=\"https://h:1/p?q=1\" headers=<\n"
                        "\tAuthorization: Bearer <masked>\n\tUser-Agent: x/1\n >\n"
                        "\"Response\" status=\"200 OK\" milliseconds=7\n");
    exchange(8);
    assert_string_equal(written(&out),
                        "\"Request Body\" body=\"{}\"\n"
                        "\"Request\" verb=\"GET\" url=\"https://h:1/p?q=1\" headers=<\n"
                        "\tAuthorization: Bearer <masked>\n\tUser-Agent: x/1\n >\n"
                        "\"Response\" status=\"200 OK\" headers=<\n\tDate: now\n > "
                        "milliseconds=7\n");
    exchange(10);
    assert_string_equal(
        written(&out),
        "\"Request Body\" body=\"{}\"\n"
        "\"Request\" curlCommand=<\n\tcurl -v -XGET  -H \"Authorization: Bearer <masked>\" -H "
        "\"User-Agent: x/1\" 'https://h:1/p?q=1'\n >\n"
        "\"HTTP Trace: Dial succeed\" network=\"tcp\" address=\"127.0.0.1:1\"\n"
        "\"Response\" verb=\"GET\" url=\"https://h:1/p?q=1\" status=\"200 OK\" headers=<\n"
        "\tDate: now\n > milliseconds=7 dnsLookupMilliseconds=0 dialMilliseconds=1 "
        "tlsHandshakeMilliseconds=0 serverProcessingMilliseconds=3\n");
    buf_release(&out);
}

static void body(int level, struct str text, bool confidential)
{
    struct http_log_exchange x = {
        .pod_namespace = STR("ns"), .pod_name = STR("p"), .logger = "Bind.X"};
    log_set_verbosity(level);
    http_log_body(&x, "Response Body", text, confidential);
}

static void test_bodies(void **state)
{
    (void)state;
    struct buf out = BUF_INIT, text = BUF_INIT;
    for (int i = 0; i < 20000; i++)
        buf_add_char(&text, 'x');
    body(8, STR("token"), true);
    assert_string_equal(written(&out), "\"Response Body\" logger=\"Bind.X\" pod=\"ns/p\" "
                                       "body=\"<masked, 5 bytes>\"\n");
    body(8, (struct str){"\0k8s\n 0123456789abcdef", 21}, false);
    assert_string_equal(
        written(&out),
        "\"Response Body\" logger=\"Bind.X\" pod=\"ns/p\" body=<\n"
        "\t00000000  00 6b 38 73 0a 20 30 31  32 33 34 35 36 37 38 39  |.k8s. 0123456789|\n"
        "\t00000010  61 62 63 64 65                                    |abcde|\n >\n");
    body(8, buf_str(&text), false);
    written(&out);
    assert_non_null(strstr(out.p, "xx [truncated 18976 chars]\"\n"));
    body(9, buf_str(&text), false);
    written(&out);
    assert_non_null(strstr(out.p, "xx [truncated 9760 chars]\"\n"));
    body(10, buf_str(&text), false);
    written(&out);
    assert_true(out.n > 20000);
    assert_null(strstr(out.p, "truncated"));
    /* The length of a truncated dump is that of the whole dump. */
    text.p[0] = '\0';
    body(8, buf_str(&text), false);
    written(&out);
    assert_non_null(strstr(out.p, "[truncated 97726 chars]"));
    buf_release(&out);
    buf_release(&text);
}

static void test_files_of_their_own(void **state)
{
    (void)state;
    struct buf out = BUF_INIT;
    struct log_module module = {STR("http_log"), 6};
    log_set_modules(&module, 1);
    exchange(1);
    assert_string_equal(written(&out), "\"Response\" verb=\"GET\" url=\"https://h:1/p?q=1\" "
                                       "status=\"200 OK\" milliseconds=7\n");
    buf_release(&out);
}

static void test_no_answer(void **state)
{
    (void)state;
    struct buf out = BUF_INIT;
    struct http_timing timing = {.sent = 1};
    struct http_log_exchange x = {
        .verb = "GET", .url = STR("https://h:1/"), .timing = &timing, .now = 3000001};
    struct err err;
    err_set(&err, -ECONNREFUSED, "connection refused");
    snprintf(timing.trace.address, sizeof(timing.trace.address), "127.0.0.1:1");
    log_set_verbosity(6);
    http_log_response(&x, NULL, &err);
    assert_string_equal(written(&out), "\"Response\" verb=\"GET\" url=\"https://h:1/\" status=\"\" "
                                       "milliseconds=3\n");
    log_set_verbosity(9);
    http_log_response(&x, NULL, &err);
    written(&out);
    assert_non_null(strstr(out.p, "\"HTTP Trace: Dial failed\" network=\"tcp\" "
                                  "address=\"127.0.0.1:1\" err=\"connection refused\"\n"));
    log_set_format(LOG_FORMAT_JSON);
    log_set_verbosity(8);
    http_log_request(&x, request_headers, 2);
    written(&out);
    assert_non_null(strstr(out.p, "\"v\":8,\"verb\":\"GET\",\"url\":\"https://h:1/\",\"headers\":"
                                  "{\"Authorization\":[\"Bearer \\u003cmasked\\u003e\"],"
                                  "\"User-Agent\":[\"x/1\"]}}"));
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_of_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_answer, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
