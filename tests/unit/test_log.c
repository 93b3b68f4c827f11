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

/* Lines go to a file in memory, from which each test reads its output. */
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
    log_set_modules(NULL, 0);
    return close(fd);
}

/* The output since the last call; the caller frees it. */
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

/* The part after "file:line] ". */
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
    /* The message is one line whatever it contains. */
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

/* Lines of several threads are not mixed, and none is lost. */
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

/* --- objects, dumps, raw values --------------------------------------------------------------- */

static void objects_are_shown_by_their_names(void **state)
{
    (void)state;
    log_info(0, "Moved", KV_REF("pod", STR("ns"), STR("p")), KV_REF("node", STR(""), STR("n")));
    char *text = written();
    assert_true(matches(text, "\"Moved\" pod=\"ns/p\" node=\"n\"\n$"));
    free(text);
    log_set_format(LOG_FORMAT_JSON);
    log_info(0, "Moved", KV_REF("pod", STR("ns"), STR("p")), KV_REF("node", STR(""), STR("n")));
    text = written();
    assert_non_null(strstr(text, "\"pod\":{\"name\":\"p\",\"namespace\":\"ns\"},"
                                 "\"node\":{\"name\":\"n\"}}"));
    free(text);
}

static void raw_values_are_shown_as_they_are(void **state)
{
    (void)state;
    for (int json = 0; json < 2; json++) {
        log_set_format(json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
        log_info(0, "Look", KV_JSON("set", STR("{\"A\":{}}")));
        char *text = written();
        assert_non_null(strstr(text, json ? "\"set\":{\"A\":{}}}\n" : "\"Look\" set={\"A\":{}}\n"));
        free(text);
    }
}

static void dumps_are_not_cut(void **state)
{
    (void)state;
    size_t n = LOG_VALUE_MAX * 3;
    char *big = xcalloc(n + 1, 1);
    memset(big, 'x', n);
    log_info(0, "Dump", KV_DUMP("all", str_of(big)), KV_CSTR("some", big));
    char *text = written();
    assert_true(strlen(text) > n + LOG_VALUE_MAX && strlen(text) < n + LOG_VALUE_MAX + 200);
    free(text);
    free(big);
}

/* --- levels of files -------------------------------------------------------------------------- */

static void write_levels(void)
{
    log_info(2, "two");
    log_info(3, "three");
    log_info(4, "four");
    log_info(5, "five");
}

static void assert_highest(const char *want)
{
    char *text = written(), *at = strrchr(text, ']');
    assert_non_null(at);
    if (strncmp(at + 3, want, strlen(want)) != 0)
        fail_msg("want %s, got %s", want, text);
    free(text);
}

static void a_file_may_have_a_level_of_its_own(void **state)
{
    (void)state;
    static const struct {
        struct log_module modules[2];
        const char *highest;
    } cases[] = {
        {{{STR_INIT("test_log"), 4}, {STR_INIT("other"), 9}}, "four"},
        {{{STR_INIT("test_*"), 3}, {STR_INIT("test_log"), 9}},
         "three"}, /* the first that matches */
        {{{STR_INIT("t?st_lo[e-h]"), 3}, {STR_INIT("x"), 9}}, "three"},
        {{{STR_INIT("test_log"), 0}, {STR_INIT("x"), 9}}, "two"}, /* at least the global level */
        {{{STR_INIT("test_log.c"), 4}, {STR_INIT("test"), 9}}, "two"},
        {{{STR_INIT("unit/test_log"), 4}, {STR_INIT("TEST_LOG"), 9}}, "two"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        log_set_modules(cases[i].modules, 2);
        assert_true(log_on(9) == (cases[i].modules[1].level == 9));
        write_levels();
        assert_highest(cases[i].highest);
        log_set_verbosity(5);
        write_levels();
        assert_highest("five");
        log_set_verbosity(2);
    }
    log_set_modules(NULL, 0);
    assert_false(log_on(3));
    write_levels();
    assert_highest("two");
}

/* --- streams ---------------------------------------------------------------------------------- */

static size_t size_of(int stream)
{
    return (size_t)lseek(stream, 0, SEEK_END);
}

static void errors_may_have_a_stream_of_their_own(void **state)
{
    (void)state;
    int errors = memfd_create("errors", MFD_CLOEXEC);
    log_set_streams(&(struct log_streams){.info_fd = fd, .error_fd = errors});
    for (int json = 0; json < 2; json++) {
        log_set_format(json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
        log_info(0, "info");
        assert_true(size_of(fd) > 0 && size_of(errors) == 0);
        free(written());
        log_error("error");
        assert_true(size_of(fd) == 0 && size_of(errors) > 0);
        assert_int_equal(ftruncate(errors, 0), 0);
        log_warning("warning");
        /* JSON has no warnings. */
        assert_true((size_of(fd) > 0) == json && (size_of(errors) > 0) == !json);
        free(written());
        assert_int_equal(ftruncate(errors, 0), 0);
    }
    log_set_fd(fd);
    close(errors);
}

static void info_lines_wait_in_their_buffer(void **state)
{
    (void)state;
    static char big[500];
    memset(big, 'x', sizeof(big) - 1);
    log_set_streams(&(struct log_streams){.info_fd = fd, .error_fd = fd, .info_buffer = 300});
    log_info(0, "first");
    log_info(0, "second");
    assert_int_equal(size_of(fd), 0);
    log_info(0, big); /* too large for the buffer, and stays behind earlier lines */
    char *text = written();
    assert_non_null(strstr(text, "second"));
    assert_true(strstr(text, "first") < strstr(text, "second") &&
                strstr(text, "second") < strstr(text, big));
    free(text);
    log_info(0, "third");
    log_error("an error waits for nobody");
    assert_highest("an error");
    log_flush();
    assert_highest("third");
    log_flush();
    assert_int_equal(size_of(fd), 0);
    log_set_fd(fd);
}

#define log_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        log_test(header),
        log_test(severities_and_levels),
        log_test(values),
        log_test(quoting),
        log_test(several_lines),
        log_test(long_values_are_cut),
        log_test(json),
        log_test(errno_stays),
        log_test(threads),
        log_test(objects_are_shown_by_their_names),
        log_test(raw_values_are_shown_as_they_are),
        log_test(dumps_are_not_cut),
        log_test(a_file_may_have_a_level_of_its_own),
        log_test(errors_may_have_a_stream_of_their_own),
        log_test(info_lines_wait_in_their_buffer),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
