/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>

#include "base/metrics.h"
#include "objects.h"

static const double bounds[] = {0.001, 0.01, 0.1, 1};

static const struct metric_desc attempts = {
    .name = "scheduler_schedule_attempts_total",
    .help = "Number of attempts to schedule pods, by the result.",
    .stability = "STABLE",
    .kind = METRIC_COUNTER,
    .labels = {"result", "profile"},
};
static const struct metric_desc pending = {
    .name = "scheduler_pending_pods",
    .help = "Back\\slash,\nline and \"quotes\"",
    .stability = "ALPHA",
    .kind = METRIC_GAUGE,
};
static const struct metric_desc duration = {
    .name = "scheduler_attempt_duration_seconds",
    .help = "Latency",
    .stability = "STABLE",
    .kind = METRIC_HISTOGRAM,
    .labels = {"result"},
    .buckets = bounds,
    .n_buckets = ARRAY_LEN(bounds),
};

static void assert_text(struct metrics *m, const char *want)
{
    struct buf out = BUF_INIT;
    metrics_write(m, &out);
    assert_string_equal(buf_cstr(&out), want);
    buf_release(&out);
}

static struct metric *one(struct metric_family *f, const char *value)
{
    return metric_with(f, &(struct str){value, strlen(value)});
}

/* Byte for byte what client_golang's text encoder writes for the same values. */
static void exposition(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    assert_text(m, "");
    struct metric_family *gauge = metrics_add(m, &pending);
    struct metric_family *counter = metrics_add(m, &attempts);
    struct metric_family *histogram = metrics_add(m, &duration);
    /* A family with labels but without series is not shown, one without labels is. */
    assert_text(m, "# HELP scheduler_pending_pods [ALPHA] Back\\\\slash,\\nline and \"quotes\"\n"
                   "# TYPE scheduler_pending_pods gauge\n"
                   "scheduler_pending_pods 0\n");
    metric_set(metric_with(gauge, NULL), -2.5);
    metric_add(metric_with(counter, (struct str[]){STR("scheduled"), STR("b")}), 1);
    metric_add(metric_with(counter, (struct str[]){STR("error"), STR("b")}), 1048576);
    metric_add(metric_with(counter, (struct str[]){STR("scheduled"), STR("a\"\\\n")}), 0.5);
    metric_observe(one(histogram, "x"), 0.001);
    metric_observe(one(histogram, "x"), 0.0011);
    metric_observe(one(histogram, "x"), 5);
    assert_text(m,
                "# HELP scheduler_attempt_duration_seconds [STABLE] Latency\n"
                "# TYPE scheduler_attempt_duration_seconds histogram\n"
                "scheduler_attempt_duration_seconds_bucket{result=\"x\",le=\"0.001\"} 1\n"
                "scheduler_attempt_duration_seconds_bucket{result=\"x\",le=\"0.01\"} 2\n"
                "scheduler_attempt_duration_seconds_bucket{result=\"x\",le=\"0.1\"} 2\n"
                "scheduler_attempt_duration_seconds_bucket{result=\"x\",le=\"1\"} 2\n"
                "scheduler_attempt_duration_seconds_bucket{result=\"x\",le=\"+Inf\"} 3\n"
                "scheduler_attempt_duration_seconds_sum{result=\"x\"} 5.0021\n"
                "scheduler_attempt_duration_seconds_count{result=\"x\"} 3\n"
                "# HELP scheduler_pending_pods [ALPHA] Back\\\\slash,\\nline and \"quotes\"\n"
                "# TYPE scheduler_pending_pods gauge\n"
                "scheduler_pending_pods -2.5\n"
                "# HELP scheduler_schedule_attempts_total [STABLE] Number of attempts to schedule "
                "pods, by the result.\n"
                "# TYPE scheduler_schedule_attempts_total counter\n"
                "scheduler_schedule_attempts_total{profile=\"a\\\"\\\\\\n\",result=\"scheduled\"} "
                "0.5\n"
                "scheduler_schedule_attempts_total{profile=\"b\",result=\"error\"} 1.048576e+06\n"
                "scheduler_schedule_attempts_total{profile=\"b\",result=\"scheduled\"} 1\n");
    assert_null(metrics_free(m));
    assert_null(metrics_free(NULL));
}

static void same_values_same_series(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    struct metric_family *f = metrics_add(m, &attempts);
    assert_ptr_equal(metrics_add(m, &attempts), f);
    char result[] = "ok", profile[] = "p";
    struct str values[] = {str_of(result), str_of(profile)};
    struct metric *s = metric_with(f, values);
    metric_add(s, 2);
    /* The family has copied them. */
    memset(result, 'x', 2);
    assert_ptr_equal(metric_with(f, (struct str[]){STR("ok"), STR("p")}), s);
    assert_ptr_not_equal(metric_with(f, values), s);
    /* Values are not confused across their boundary. */
    assert_ptr_not_equal(metric_with(f, (struct str[]){STR("a"), STR("bc")}),
                         metric_with(f, (struct str[]){STR("ab"), STR("c")}));
    assert_true(metric_value(s) == 2);
    metrics_free(m);
}

static void values_that_are_no_utf8(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    struct metric_family *f = metrics_add(m, &duration);
    struct metric *s = one(f, "a\xff");
    assert_ptr_equal(one(f, "a\xfe"), s);
    assert_ptr_equal(one(f, "a\xef\xbf\xbd"), s);
    metrics_free(m);
}

static void buckets(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    struct metric *s = one(metrics_add(m, &duration), "x");
    for (int i = 0; i < 1000; i++)
        metric_observe(s, i / 100.0);
    assert_true(metric_value(s) == 1000);
    metric_observe(s, NAN);
    metric_observe(s, -INFINITY);
    struct buf out = BUF_INIT;
    metrics_write(m, &out);
    /* 0 and -Inf; 0 … 0.1; 0 … 1; all of them. */
    assert_non_null(strstr(buf_cstr(&out), json_quotes("le='0.001'} 2\n")));
    assert_non_null(strstr(buf_cstr(&out), json_quotes("le='0.1'} 12\n")));
    assert_non_null(strstr(buf_cstr(&out), json_quotes("le='1'} 102\n")));
    assert_non_null(strstr(buf_cstr(&out), json_quotes("le='+Inf'} 1002\n")));
    assert_non_null(strstr(buf_cstr(&out), json_quotes("_sum{result='x'} NaN\n")));
    buf_release(&out);
    metrics_free(m);
}

static void series_are_bounded(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    struct metric_family *f = metrics_add(m, &duration);
    struct metric *overflow = NULL;
    for (int i = 0; i < METRIC_MAX_SERIES + 100; i++) {
        char value[16];
        snprintf(value, sizeof(value), "%d", i);
        struct metric *s = one(f, value);
        metric_observe(s, 1);
        if (i == METRIC_MAX_SERIES)
            overflow = s;
        if (i > METRIC_MAX_SERIES)
            assert_ptr_equal(s, overflow);
    }
    assert_true(metric_value(overflow) == 100);
    assert_ptr_equal(one(f, "overflow"), overflow);
    assert_true(metric_value(one(f, "77")) == 1);
    metrics_free(m);
}

#define THREADS 4
#define ROUNDS  5000

struct shared {
    struct metrics *m;
    struct metric_family *counter, *histogram;
};

static void *update(void *arg)
{
    struct shared *shared = arg;
    for (int i = 0; i < ROUNDS; i++) {
        char value[16];
        snprintf(value, sizeof(value), "%d", i % 50);
        metric_add(metric_with(shared->counter, (struct str[]){STR("ok"), str_of(value)}), 1);
        metric_observe(one(shared->histogram, value), 0.5);
        if (i % 500 == 0) {
            struct buf out = BUF_INIT;
            metrics_write(shared->m, &out);
            buf_release(&out);
        }
    }
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    struct shared shared = {.m = metrics_new()};
    shared.counter = metrics_add(shared.m, &attempts);
    shared.histogram = metrics_add(shared.m, &duration);
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, update, &shared), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    double counted = 0, observed = 0;
    for (int i = 0; i < 50; i++) {
        char value[16];
        snprintf(value, sizeof(value), "%d", i);
        counted +=
            metric_value(metric_with(shared.counter, (struct str[]){STR("ok"), str_of(value)}));
        observed += metric_value(one(shared.histogram, value));
    }
    assert_true(counted == THREADS * ROUNDS);
    assert_true(observed == THREADS * ROUNDS);
    metrics_free(shared.m);
}

/* --- resets ----------------------------------------------------------------------------------- */

static void a_reset_series_is_gone_until_updated(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    struct metric *gauge = metric_with(metrics_add(m, &pending), NULL);
    struct metric *s = one(metrics_add(m, &duration), "x");
    metric_set(gauge, 7);
    metric_observe(s, 0.5);
    metrics_reset(m);
    assert_text(m, "# HELP scheduler_pending_pods [ALPHA] Back\\\\slash,\\nline and \"quotes\"\n"
                   "# TYPE scheduler_pending_pods gauge\n"
                   "scheduler_pending_pods 7\n");
    metric_observe_all(s, (uint32_t[]){0, 0, 2, 0, 1}, 3.5);
    assert_true(metric_value(s) == 3);
    struct buf out = BUF_INIT;
    metrics_write(m, &out);
    assert_non_null(strstr(buf_cstr(&out), json_quotes("le='0.01'} 0\n")));
    assert_non_null(strstr(buf_cstr(&out), json_quotes("le='0.1'} 2\n")));
    assert_non_null(strstr(buf_cstr(&out), json_quotes("_sum{result='x'} 3.5\n")));
    buf_release(&out);
    metrics_free(m);
}

/* Many at once and one by one result in the same page. */
static void observations_may_be_gathered(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    struct metric_family *f = metrics_add(m, &duration);
    uint32_t counts[ARRAY_LEN(bounds) + 1] = {0};
    double sum = 0;
    for (int i = 0; i < 500; i++) {
        double value = i % 7 ? ldexp(1, i % 23 - 12) : bounds[(size_t)i % ARRAY_LEN(bounds)];
        metric_observe(one(f, "a"), value);
        counts[metric_bucket(metric_family_desc(f), value)]++;
        sum += value;
    }
    metric_observe_all(one(f, "b"), counts, sum);
    struct buf out = BUF_INIT;
    metrics_write(m, &out);
    char *a = strstr(buf_cstr(&out), json_quotes("_bucket{result='a'")),
         *b = strstr(a, json_quotes("_bucket{result='b'"));
    for (; b; a++, b++) {
        while (*b && *a == *b)
            a++, b++;
        if (!*b)
            break;
        assert_true(*a == 'a' && *b == 'b');
    }
    buf_release(&out);
    metrics_free(m);
}

/* --- rules ------------------------------------------------------------------------------------ */

static void assert_line(struct metrics *m, const char *line, bool there)
{
    struct buf out = BUF_INIT;
    metrics_write(m, &out);
    if (!!strstr(buf_cstr(&out), json_quotes(line)) != there)
        fail_msg("%s%s:\n%s", line, there ? " is not in" : " is in", buf_cstr(&out));
    buf_release(&out);
}

static void disabled_families_are_not_shown(void **state)
{
    (void)state;
    struct str disabled[] = {STR_INIT("scheduler_schedule_attempts_total"), STR_INIT("nothing"),
                             STR_INIT("nothing"), STR_INIT("raw")};
    static const struct metric_desc raw = {.name = "raw", .help = "", .kind = METRIC_GAUGE};
    struct metrics *m = metrics_new();
    metrics_govern(m, &(struct metrics_rules){.minor = 36, .disabled = disabled, .n_disabled = 4});
    struct metric_family *f = metrics_add(m, &attempts);
    struct metric *s = metric_with(f, (struct str[]){STR("a"), STR("b")});
    assert_ptr_equal(metric_with(f, (struct str[]){STR("c"), STR("d")}), s);
    metric_add(s, 1);
    metrics_add(m, &pending);
    metrics_add(m, &raw);
    assert_line(m, "scheduler_schedule_attempts_total", false);
    assert_line(m, "# HELP raw \n# TYPE raw gauge\nraw 0\n", true);
    assert_line(m, "\ndisabled_metrics_total 3\n", true);
    assert_line(m, "\nhidden_metrics_total 1\n", true);
    assert_line(m, "{deprecated_version='',stability_level='ALPHA'} 2\n", true);
    assert_line(m, "{deprecated_version='',stability_level='BETA'} 3\n", true);
    assert_line(m, "stability_level='STABLE'", false);
    metrics_free(m);
}

static void old_families_are_hidden(void **state)
{
    (void)state;
    static const struct metric_desc descs[] = {
        {.name = "alpha_36", .help = "h", .stability = "ALPHA", .deprecated = "1.36.0"},
        {.name = "alpha_37", .help = "h", .stability = "ALPHA", .deprecated = "1.37.0"},
        {.name = "beta_35", .help = "h", .stability = "BETA", .deprecated = "1.35.0"},
        {.name = "beta_36", .help = "h", .stability = "BETA", .deprecated = "1.36.0"},
        {.name = "stable_33", .help = "h", .stability = "STABLE", .deprecated = "1.33.0"},
        {.name = "stable_34", .help = "h", .stability = "STABLE", .deprecated = "1.34.0"},
    };
    for (int show = 0; show < 2; show++) {
        struct metrics *m = metrics_new();
        struct metric_family *families[ARRAY_LEN(descs)];
        metrics_govern(m, &(struct metrics_rules){.minor = 36, .show_hidden = show});
        metrics_add_all(m, descs, ARRAY_LEN(descs), families);
        assert_line(m, "\nalpha_36 0", show);
        assert_line(m, "\nalpha_37 0", true);
        assert_line(m, "\nbeta_35 0", show);
        assert_line(m, "# HELP beta_36 [BETA] (Deprecated since 1.36.0) h\n", true);
        assert_line(m, "\nstable_33 0", show);
        assert_line(m, "\nstable_34 0", true);
        assert_line(m, show ? "\nhidden_metrics_total 0\n" : "\nhidden_metrics_total 3\n", true);
        assert_line(m, "{deprecated_version='1.34.0',stability_level='STABLE'} 1\n", true);
        metrics_free(m);
    }
}

static void values_not_on_the_list_are_unexpected(void **state)
{
    (void)state;
    struct metric_allow allowed[] = {
        {STR_INIT("scheduler_schedule_attempts_total"), STR_INIT("result"), STR_INIT("ok,error")},
        {STR_INIT("scheduler_attempt_duration_seconds"), STR_INIT("nope"), STR_INIT("")},
    };
    struct metrics *m = metrics_new();
    metrics_govern(m, &(struct metrics_rules){.allowed = allowed, .n_allowed = 2});
    struct metric_family *f = metrics_add(m, &attempts);
    metric_add(metric_with(f, (struct str[]){STR("ok"), STR("p")}), 1);
    metric_add(metric_with(f, (struct str[]){STR("error"), STR("p")}), 1);
    metric_add(metric_with(f, (struct str[]){STR("ok,error"), STR("p")}), 1);
    metric_add(metric_with(f, (struct str[]){STR(""), STR("p")}), 1);
    metric_observe(one(metrics_add(m, &duration), "any"), 1);
    assert_line(m, "{profile='p',result='ok'} 1\n", true);
    assert_line(m, "{profile='p',result='error'} 1\n", true);
    assert_line(m, "{profile='p',result='unexpected'} 2\n", true);
    assert_line(m, "result='any'", true);
    assert_line(m, "\ncardinality_enforcement_unexpected_categorizations_total 2\n", true);
    metrics_free(m);
}

/* --- parts ------------------------------------------------------------------------------------ */

struct part_state {
    struct metric *gauge;
    int pages;
};

static void part_init(void *state, struct metrics *m)
{
    ((struct part_state *)state)->gauge = metric_with(metrics_add(m, &pending), NULL);
}

static void part_on_write(void *state)
{
    struct part_state *s = state;
    metric_set(s->gauge, ++s->pages);
}

static void a_part_is_made_once_and_called_for_each_page(void **state)
{
    (void)state;
    static const struct metrics_part part = {
        .size = sizeof(struct part_state), .init = part_init, .on_write = part_on_write};
    struct metrics *m = metrics_new();
    struct part_state *s = metrics_part(m, &part);
    assert_ptr_equal(metrics_part(m, &part), s);
    assert_line(m, "\nscheduler_pending_pods 1\n", true);
    assert_line(m, "\nscheduler_pending_pods 2\n", true);
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exposition),
        cmocka_unit_test(same_values_same_series),
        cmocka_unit_test(values_that_are_no_utf8),
        cmocka_unit_test(buckets),
        cmocka_unit_test(series_are_bounded),
        cmocka_unit_test(threads),
        cmocka_unit_test(a_reset_series_is_gone_until_updated),
        cmocka_unit_test(observations_may_be_gathered),
        cmocka_unit_test(disabled_families_are_not_shown),
        cmocka_unit_test(old_families_are_hidden),
        cmocka_unit_test(values_not_on_the_list_are_unexpected),
        cmocka_unit_test(a_part_is_made_once_and_called_for_each_page),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
