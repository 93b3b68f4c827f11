/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>

#include "base/metrics.h"

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

/* By the letter what client_golang's text encoder writes for the same values. */
static void exposition(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    assert_text(m, "");
    struct metric_family *gauge = metrics_add(m, &pending);
    struct metric_family *counter = metrics_add(m, &attempts);
    struct metric_family *histogram = metrics_add(m, &duration);
    /* A family with labels and without series does not show, one without labels does. */
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
    /* No confusion across the border between two values. */
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
    assert_non_null(strstr(buf_cstr(&out), "le=\"0.001\"} 2\n"));
    assert_non_null(strstr(buf_cstr(&out), "le=\"0.1\"} 12\n"));
    assert_non_null(strstr(buf_cstr(&out), "le=\"1\"} 102\n"));
    assert_non_null(strstr(buf_cstr(&out), "le=\"+Inf\"} 1002\n"));
    assert_non_null(strstr(buf_cstr(&out), "_sum{result=\"x\"} NaN\n"));
    buf_release(&out);
    metrics_free(m);
    /* The doubles of client_golang, which multiplies and adds step by step. */
    double list[20], product = 0.001;
    metric_buckets_exponential(0.001, 2, 15, list);
    for (int i = 0; i < 15; i++) {
        assert_true(list[i] == product);
        product *= 2;
    }
    metric_buckets_linear(1, 0.5, 3, list);
    assert_true(list[0] == 1 && list[1] == 1.5 && list[2] == 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exposition),
        cmocka_unit_test(same_values_same_series),
        cmocka_unit_test(values_that_are_no_utf8),
        cmocka_unit_test(buckets),
        cmocka_unit_test(series_are_bounded),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
