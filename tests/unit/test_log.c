/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/time.h"

/* Lines go into a file in memory, from which each test reads what it has written. */
static int fd = -1;

static int setup(void **state)
{
    (void)state;
    fd = memfd_create("log", MFD_CLOEXEC);
    if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0)
        return -1;
    log_set_fd(fd);
    log_set_verbosity(2);
    log_set_format(LOG_FORMAT_TEXT);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    log_set_fd(2);
    log_set_verbosity(0);
    log_set_format(LOG_FORMAT_TEXT);
    return close(fd);
}

/* What was written since the last call; the caller frees it. */
static char *written(void)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = xcalloc((size_t)size + 1, 1);
    assert_int_equal(pread(fd, text, (size_t)size, 0), size);
    assert_int_equal(ftruncate(fd, 0), 0);
    lseek(fd, 0, SEEK_SET);
    return text;
}

static bool matches(const char *text, const char *pattern)
{
    regex_t re;
    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return found;
}

/* What stands behind "file:line] ". */
static void assert_body(const char *want)
{
    char *text = written();
    char *body = strstr(text, "] ");
    assert_non_null(body);
    assert_string_equal(body + 2, want);
    free(text);
}

static void header(void **state)
{
    (void)state;
    log_info(0, "Starting");
    char *text = written();
    char pattern[200];
    snprintf(pattern, sizeof(pattern),
             "^I[01][0-9][0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{6} %7d "
             "test_log\\.c:%d\\] \"Starting\"\n$",
             (int)getpid(), __LINE__ - 6);
    if (!matches(text, pattern))
        fail_msg("%s", text);
    free(text);
}

static void severities_and_levels(void **state)
{
    (void)state;
    log_info(2, "two");
    log_info(3, "three");
    log_warning("careful");
    log_error("bad");
    char *text = written();
    assert_true(matches(text, "^I[^\n]*\"two\"\nW[^\n]*\"careful\"\nE[^\n]*\"bad\"\n$"));
    free(text);
    log_set_verbosity(3);
    assert_int_equal(log_verbosity(), 3);
    log_info(3, "three");
    assert_body("\"three\"\n");
    assert_false(log_on(4));
}

static void values(void **state)
{
    (void)state;
    struct err e;
    err_set(&e, -EIO, "no \"route\"");
    log_info(1, "Bound pod", KV_STR("pod", STR("default/a")), KV_INT("nodes", 5),
             KV_INT("least", INT64_MIN), KV_BOOL("ok", true), KV_BOOL("late", false),
             KV_DOUBLE("share", 0.25), KV_DURATION("took", 1500 * NSEC_PER_MSEC), KV_ERR(&e),
             KV_CSTR("none", NULL));
    assert_body("\"Bound pod\" pod=\"default/a\" nodes=5 least=-9223372036854775808 ok=true "
                "late=false share=0.25 took=\"1.5s\" err=\"no \\\"route\\\"\" none=\"\"\n");
}

/* strconv.Quote of Go 1.26 for the same bytes. */
static void quoting(void **state)
{
    (void)state;
    static const struct {
        struct str text;
        const char *want;
    } cases[] = {
        {STR_INIT("a\"b\\c"), "a\\\"b\\\\c"},
        {STR_INIT("\a\b\f\r\t\v\0\x1f\x7f"), "\\a\\b\\f\\r\\t\\v\\x00\\x1f\\x7f"},
        {STR_INIT("h\xc3\xa9llo \xe6\x97\xa5 \xf0\x9f\x9a\x80"),
         "h\xc3\xa9llo \xe6\x97\xa5 \xf0\x9f\x9a\x80"},
        {STR_INIT("\xff\xc0\xafx"), "\\xff\\xc0\\xafx"},
        {STR_INIT("\xc2\xa0\xc2\xad\xe2\x80\x8b\xe2\x80\xa8\xe2\x80\xae\xef\xbb\xbf\xee\x80\x80"),
         "\\u00a0\\u00ad\\u200b\\u2028\\u202e\\ufeff\\ue000"},
        {STR_INIT("\xf3\xa0\x80\x81\xf3\xb0\x80\x80\xf4\x8f\xbf\xbf"),
         "\\U000e0001\\U000f0000\\U0010ffff"},
        {STR_INIT("\xed\xa0\x80\xef\xbf\xbd"), "\\xed\\xa0\\x80\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        log_info(0, "q", KV_STR("k", cases[i].text));
        struct buf want = BUF_INIT;
        buf_add_printf(&want, "\"q\" k=\"%s\"\n", cases[i].want);
        assert_body(buf_cstr(&want));
        buf_release(&want);
    }
    /* The message is one line whatever it holds. */
    log_info(0, "two\nlines");
    assert_body("\"two\\nlines\"\n");
}

static void several_lines(void **state)
{
    (void)state;
    log_info(0, "m", KV_CSTR("k", "one\ntwo"), KV_INT("n", 1));
    assert_body("\"m\" k=<\n\tone\n\ttwo\n > n=1\n");
    log_info(0, "m", KV_CSTR("k", "one\n"));
    assert_body("\"m\" k=<\n\tone\n >\n");
    log_info(0, "m", KV_CSTR("k", "\n\nx"));
    assert_body("\"m\" k=<\n\t\n\t\n\tx\n >\n");
}

static void long_values_are_cut(void **state)
{
    (void)state;
    size_t n = 3 * LOG_VALUE_MAX;
    char *longer = xmalloc(n);
    memset(longer, 'x', n);
    log_info(0, "m", KV_STR("k", ((struct str){longer, n})));
    char *text = written();
    assert_in_range(strlen(text), LOG_VALUE_MAX, LOG_VALUE_MAX + 200);
    assert_true(matches(text, "x\"\n$"));
    free(text);
    free(longer);
}

static void json(void **state)
{
    (void)state;
    log_set_format(LOG_FORMAT_JSON);
    log_info(2, "Bound \"pod\"", KV_CSTR("pod", "a\n\t\x01\xff\\\a"), KV_INT("n", 5),
             KV_BOOL("ok", true), KV_DOUBLE("share", 1e-7), KV_DOUBLE("odd", NAN),
             KV_DURATION("took", NSEC_PER_SEC));
    char *text = written();
    if (!matches(text, "^\\{\"ts\":[0-9]{13}(\\.[0-9]+)?,\"caller\":\"unit/test_log\\.c:[0-9]+\","
                       "\"msg\":\"Bound \\\\\"pod\\\\\"\",\"v\":2,"
                       "\"pod\":\"a\\\\n\\\\t\\\\u0001\\\\ufffd\\\\\\\\\\\\u0007\",\"n\":5,"
                       "\"ok\":true,\"share\":0\\.0000001,\"odd\":\"NaN\",\"took\":\"1s\"\\}\n$"))
        fail_msg("%s", text);
    free(text);
    log_error("bad", KV_CSTR("err", "x"));
    text = written();
    assert_true(matches(text, "\"msg\":\"bad\",\"err\":\"x\"\\}\n$"));
    free(text);
}

static void errno_stays(void **state)
{
    (void)state;
    log_set_fd(-1);
    errno = ENOENT;
    log_error("nobody reads this");
    assert_int_equal(errno, ENOENT);
}

#define THREADS 4
#define LINES   500

static void *write_lines(void *arg)
{
    for (int i = 0; i < LINES; i++)
        log_info(0, "line", KV_CSTR("by", arg), KV_INT("n", i));
    return NULL;
}

/* Lines of several threads do not mix, and none is lost. */
static void threads(void **state)
{
    (void)state;
    static const char *const names[THREADS] = {"a", "b", "c", "d"};
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, write_lines, (void *)(uintptr_t)names[i]),
                         0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    char *text = written();
    struct str rest = str_of(text), line;
    size_t next[THREADS] = {0};
    while (str_split(&rest, '\n', &line) && line.n) {
        /* …] "line" by="a" n=7 */
        struct str marker = STR("] \"line\" by=\"");
        struct str body = str_slice(line, str_search(line, marker) + marker.n, line.n);
        assert_true(body.n > 5 && body.p[0] >= 'a' && body.p[0] < 'a' + THREADS);
        uint64_t n = 0;
        assert_true(str_to_u64(str_slice(body, 5, body.n), &n));
        assert_int_equal(n, next[body.p[0] - 'a']++);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(next[i], LINES);
    free(text);
}

#define log_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        log_test(header),  log_test(severities_and_levels), log_test(values),
        log_test(quoting), log_test(several_lines),         log_test(long_values_are_cut),
        log_test(json),    log_test(errno_stays),           log_test(threads),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
