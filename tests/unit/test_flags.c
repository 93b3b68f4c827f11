/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "cmd/scheduler/scheduler_flags.h"
#include "engine/config/error_list.h"
#include "prop.h"
#include "serve/kube_version.h"

#define ARGS_MAX 16

/* Parses these arguments, separated by '|', with the scheduler's table. */
static int parse(struct scheduler_options *o, const char *line, int *ret_n, struct err *err)
{
    static char text[4096];
    static char name[] = "scheduler";
    char *argv[ARGS_MAX + 2] = {name};
    int argc = 1;
    snprintf(text, sizeof(text), "%s", line);
    scheduler_options_init(o);
    for (char *at = text; at && argc <= ARGS_MAX; argc++) {
        argv[argc] = strsep(&at, "|");
    }
    return flags_parse(o->flags, o->n_flags, argc, argv, ret_n, err);
}

static void assert_refused(const char *line, const char *why)
{
    struct scheduler_options o;
    struct err err;
    int n;
    assert_int_equal(parse(&o, line, &n, &err), -EINVAL);
    assert_string_equal(err.msg, why);
    scheduler_options_release(&o);
}

static void assert_shows(const char *line, const char *flag, const char *value)
{
    struct scheduler_options o;
    struct buf text = BUF_INIT;
    struct err err;
    int n;
    assert_int_equal(parse(&o, line, &n, &err), 0);
    for (size_t i = 0; i < o.n_flags; i++)
        if (strcmp(o.flags[i].name, flag) == 0)
            flag_write_value(&o.flags[i], &text);
    assert_string_equal(buf_cstr(&text), value);
    buf_release(&text);
    scheduler_options_release(&o);
}

static void test_forms(void **state)
{
    (void)state;
    assert_shows("--v=3", "v", "3");
    assert_shows("--v|3", "v", "3");
    assert_shows("-v=3", "v", "3");
    assert_shows("-v3", "v", "3");
    assert_shows("-v|3", "v", "3");
    assert_shows("--leader-elect=false|--leader_elect", "leader-elect", "true");
    assert_shows("--master=a|--master=", "master", "");
    assert_shows("--version", "version", "true");
    assert_refused("--nosuch=1", "unknown flag: --nosuch");
    assert_refused("-vx", "invalid argument \"x\" for \"-v, --v\" flag: strconv.ParseUint: parsing "
                          "\"x\": invalid syntax");
    assert_refused("-hx", "unknown shorthand flag: 'x' in -x");
    assert_refused("---v", "bad flag syntax: ---v");
    assert_refused("--config", "flag needs an argument: --config");
    assert_refused("-v", "flag needs an argument: 'v' in -v");
}

static void test_arguments_stay(void **state)
{
    (void)state;
    struct scheduler_options o;
    struct err err;
    int n;
    assert_int_equal(parse(&o, "a|--v=1|b|--|--v=2", &n, &err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(o.logs.verbosity, 1);
    assert_true(scheduler_options_given(&o, "v"));
    assert_false(scheduler_options_given(&o, "config"));
    scheduler_options_release(&o);
}

static void test_lists_grow_and_lose_their_defaults(void **state)
{
    (void)state;
    assert_shows("--v=0", "authorization-always-allow-paths", "[/healthz,/readyz,/livez]");
    assert_shows("--authorization-always-allow-paths=/a,/b|--authorization-always-allow-paths=/c",
                 "authorization-always-allow-paths", "[/a,/b,/c]");
    assert_shows("--disabled-metrics=\"a,b\",c|--disabled-metrics=", "disabled-metrics",
                 "[\"a,b\",c]");
    assert_shows("--disabled-metrics=\"say \"\"it\"\"\"", "disabled-metrics",
                 "[\"say \"\"it\"\"\"]");
    assert_shows("--tls-curve-preferences=29|--tls-curve-preferences=0x17,24",
                 "tls-curve-preferences", "[29,23,24]");
    assert_shows("--allow-metric-labels=m,l=a,b|--allow-metric-labels=\"k,l=c\",\"m,l=d\"",
                 "allow-metric-labels", "[\"k,l=c\",\"m,l=d\"]");
    assert_shows("--tls-sni-cert-key= a , b : c , d |--tls-sni-cert-key=e,f", "tls-sni-cert-key",
                 "[a,b:c,d;e,f]");
    assert_shows("--vmodule=a=1,,b*=2", "vmodule", "a=1,b*=2");
    assert_shows("--feature-gates=A=true, kube:B=false|--feature-gates=C=1", "feature-gates",
                 ":A=true,kube:B=false,:C=1");
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *want; /* NULL: rejected */
    } cases[] = {
        {"0", "0"},        {"-0x10", "-16"}, {"0b101", "5"}, {"0o17", "15"}, {"017", "15"},
        {"1_000", "1000"}, {"0x_f", "15"},   {"+7", "7"},    {"1__0", NULL}, {"_1", NULL},
        {"1_", NULL},      {"08", NULL},     {"0x", NULL},   {"", NULL},     {"-", NULL},
        {"1.0", NULL},     {" 1", NULL},     {"0xg", NULL},  {"1e3", NULL},  {"--1", NULL},
    };
    char line[64];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(line, sizeof(line), "--kube-api-burst=%s", cases[i].text);
        if (cases[i].want) {
            assert_shows(line, "kube-api-burst", cases[i].want);
        } else {
            struct scheduler_options o;
            struct err err;
            int n;
            assert_int_equal(parse(&o, line, &n, &err), -EINVAL);
            assert_non_null(strstr(err.msg, "invalid syntax"));
            scheduler_options_release(&o);
        }
    }
    assert_refused("--kube-api-burst=2147483648",
                   "invalid argument \"2147483648\" for \"--kube-api-burst\" flag: "
                   "strconv.ParseInt: parsing \"2147483648\": value out of range");
    assert_shows("--kube-api-burst=-2147483648", "kube-api-burst", "-2147483648");
    assert_shows("--secure-port=-9223372036854775808", "secure-port", "-9223372036854775808");
    assert_shows("--kube-api-qps=0.1", "kube-api-qps", "0.1");
    assert_shows("--kube-api-qps=1e7", "kube-api-qps", "1e+07");
    assert_refused("--kube-api-qps=1e39",
                   "invalid argument \"1e39\" for \"--kube-api-qps\" flag: strconv.ParseFloat: "
                   "parsing \"1e39\": value out of range");
}

/* Parsing always ends, and accepted values print in a form that is accepted again. */
static bool any_value(struct rand *r, size_t size, void *ctx)
{
    static const char alphabet[] = "\"\",,=:[]0129abms.-+_ x\\\n*/v";
    struct scheduler_options o;
    struct err err;
    bool good = true;
    (void)size, (void)ctx;
    scheduler_options_init(&o);
    for (int round = 0; round < 20; round++) {
        char text[16] = "";
        size_t n = rand_below(r, 13);
        struct flag *flag = &o.flags[rand_below(r, o.n_flags)];
        for (size_t i = 0; i < n; i++)
            text[i] = alphabet[rand_below(r, sizeof(alphabet) - 1)];
        if (flag_set_value(flag, text, &err) < 0)
            continue;
        struct buf shown = BUF_INIT;
        flag_write_value(flag, &shown);
        bool scalar = flag->kind == FLAG_INT || flag->kind == FLAG_INT32 ||
                      flag->kind == FLAG_DURATION || flag->kind == FLAG_BOOL;
        if (scalar)
            good &= flag_set_value(flag, buf_cstr(&shown), &err) == 0;
        buf_release(&shown);
    }
    scheduler_options_release(&o);
    return good;
}

static void test_any_value(void **state)
{
    (void)state;
    assert_true(prop_run("any value", 500, any_value, NULL));
}

/* Removes `word` from the front of *text, after white space. */
static bool next_word(struct str *text, struct str word)
{
    *text = str_trim(*text);
    if (!str_starts(*text, word))
        return false;
    *text = str_slice(*text, word.n, text->n);
    return true;
}

/* With any width: no word is lost, no line is too long unless its last word alone is. */
static bool any_width(struct rand *r, size_t size, void *ctx)
{
    const struct scheduler_options *o = ctx;
    struct buf wide = BUF_INIT, narrow = BUF_INIT;
    size_t width = 80 + rand_below(r, 120);
    (void)size;
    flags_help(o->flags, o->n_flags, 0, &wide);
    flags_help(o->flags, o->n_flags, width, &narrow);
    bool ok = true;
    struct str all = buf_str(&wide), rest = buf_str(&narrow), line;
    while (str_split(&rest, '\n', &line)) {
        struct str text = str_trim(line);
        struct str word = {NULL, 0};
        while (ok && str_split(&text, ' ', &word))
            ok = word.n == 0 || next_word(&all, word);
        ok &= line.n <= width || word.n > 24;
    }
    ok &= str_trim(all).n == 0;
    buf_release(&wide);
    buf_release(&narrow);
    return ok;
}

static void test_help_fits_the_terminal(void **state)
{
    (void)state;
    struct scheduler_options o;
    scheduler_options_init(&o);
    assert_true(prop_run("any width", 50, any_width, &o));
    scheduler_options_release(&o);
}

static void test_help_is_in_columns(void **state)
{
    (void)state;
    struct scheduler_options o;
    struct buf text = BUF_INIT;
    scheduler_options_init(&o);
    flags_help(o.flags, o.n_flags, 0, &text);
    const char *help = buf_cstr(&text);
    assert_non_null(strstr(help, "\nMisc flags:\n\n      --config string                Path "));
    assert_non_null(strstr(help, "  -v, --v Level                              Log verbosity.\n"));
    assert_non_null(strstr(help, " (default [/healthz,/readyz,/livez])\n"));
    assert_non_null(strstr(help, "kube:AllAlpha=true|false (ALPHA - default=false)\n"));
    assert_non_null(strstr(help, "--version version[=true]   "));
    assert_null(strstr(help, "policy-config"));
    buf_release(&text);
    scheduler_options_release(&o);
}

static void test_versions(void **state)
{
    (void)state;
    struct version_flag flag = {0};
    struct buf text = BUF_INIT;
    struct err err;
    assert_false(version_flag_answer(&flag, &text));
    assert_int_equal(version_flag_set(&flag, STR("v1.36.3-berth.1+x"), &err), 0);
    assert_false(version_flag_answer(&flag, &text));
    assert_int_equal(version_flag_set(&flag, STR("1"), &err), 0);
    assert_true(version_flag_answer(&flag, &text));
    assert_string_equal(buf_cstr(&text), "Kubernetes v1.36.3-berth.1+x");
    static const char *const bad[] = {"v1.36.4", "v1.36", "v", "v1.36.3-", "v1.36.3-a..b", "x", ""};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(version_flag_set(&flag, str_of(bad[i]), &err), -EINVAL);
    buf_release(&text);
}

/* The scheduler's error about this combination of flags. */
static void assert_complaint(const char *line, const char *want)
{
    struct scheduler_options o;
    struct error_list errors = {0};
    struct features features;
    struct buf text = BUF_INIT;
    struct err err;
    int n;
    assert_int_equal(parse(&o, line, &n, &err), 0);
    assert_int_equal(scheduler_options_features(&o, &features, &err), 0);
    scheduler_options_check_logs(&o, &features, &errors);
    scheduler_options_check(&o, &features, &errors);
    error_list_write(&errors, &text);
    assert_string_equal(buf_cstr(&text), want);
    buf_release(&text);
    error_list_release(&errors);
    scheduler_options_release(&o);
}

static void test_complaints(void **state)
{
    (void)state;
    assert_complaint("--v=1", "");
    assert_complaint("--secure-port=65536",
                     "--secure-port 65536 must be between 1 and 65535, inclusive. It cannot be "
                     "turned off with 0");
    assert_complaint("--emulated-version=1.32|--secure-port=-1",
                     "[emulation version 1.32 is not between [1.33, 1.36.0], "
                     "minCompatibilityVersion version 1.33 is not between [1.33, 1.32], "
                     "--secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off "
                     "secure port]");
    assert_complaint("--logging-format=json|--vmodule=a=1",
                     "vmodule: Forbidden: Only supported for text log format");
    assert_complaint("--log-json-split-stream|--feature-gates=LoggingAlphaOptions=true", "");
    assert_complaint("--requestheader-allowed-names=a, ",
                     "empty value in \"requestheader-allowed-names\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_arguments_stay),
        cmocka_unit_test(test_lists_grow_and_lose_their_defaults),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_any_value),
        cmocka_unit_test(test_help_is_in_columns),
        cmocka_unit_test(test_help_fits_the_terminal),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_complaints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
