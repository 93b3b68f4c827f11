/* SPDX-License-Identifier: Apache-2.0 */
/* CronJobs: schedules, and Jobs on the real registry with kubelets. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/workloads/cron.h"
#include "workload_host.h"

#define SECOND NSEC_PER_SEC

static int64_t at(const char *text)
{
    struct timestamp t;
    assert_true(timestamp_parse(str_of(text), &t));
    return timestamp_ns(t);
}

/* From robfig/cron's own table (spec_test.go, TestNext), without seconds and time zones. */
static void test_next(void **state UNUSED)
{
    static const struct {
        const char *from, *spec, *next;
    } rows[] = {
        {"2012-07-09T14:45:00Z", "0/15 * * * *", "2012-07-09T15:00:00Z"},
        {"2012-07-09T14:59:00Z", "0/15 * * * *", "2012-07-09T15:00:00Z"},
        {"2012-07-09T14:59:59Z", "0/15 * * * *", "2012-07-09T15:00:00Z"},
        {"2012-07-09T15:45:00Z", "20-35/15 * * * *", "2012-07-09T16:20:00Z"},
        {"2012-07-09T23:46:00Z", "*/15 * * * *", "2012-07-10T00:00:00Z"},
        {"2012-07-09T23:45:00Z", "20-35/15 * * * *", "2012-07-10T00:20:00Z"},
        {"2012-07-09T23:35:51Z", "20-35/15 1/2 * * *", "2012-07-10T01:20:00Z"},
        {"2012-07-09T23:35:51Z", "20-35/15 10-12 * * *", "2012-07-10T10:20:00Z"},
        {"2012-07-09T23:35:51Z", "20-35/15 1/2 */2 * *", "2012-07-11T01:20:00Z"},
        {"2012-07-09T23:35:51Z", "20-35/15 * 9-20 * *", "2012-07-10T00:20:00Z"},
        {"2012-07-09T23:35:51Z", "20-35/15 * 9-20 Jul *", "2012-07-10T00:20:00Z"},
        {"2012-07-09T23:35:00Z", "0 0 9 Apr-Oct ?", "2012-08-09T00:00:00Z"},
        {"2012-07-09T23:35:00Z", "0 0 */5 Apr,Aug,Oct Mon", "2012-08-01T00:00:00Z"},
        {"2012-07-09T23:35:00Z", "0 0 */5 Oct Mon", "2012-10-01T00:00:00Z"},
        {"2012-07-09T23:35:00Z", "0 0 * Feb Mon", "2013-02-04T00:00:00Z"},
        {"2012-07-09T23:35:00Z", "0 0 * Feb Mon/2", "2013-02-01T00:00:00Z"},
        {"2012-12-31T23:59:45Z", "* * * * *", "2013-01-01T00:00:00Z"},
        {"2012-07-09T23:35:00Z", "0 0 29 Feb ?", "2016-02-29T00:00:00Z"},
        {"2012-07-09T23:35:00Z", "@hourly", "2012-07-10T00:00:00Z"},
        {"2012-07-09T23:35:00Z", "@yearly", "2013-01-01T00:00:00Z"},
        {"2012-07-09T23:35:00Z", "@weekly", "2012-07-15T00:00:00Z"},
        {"2012-07-09T23:35:00Z", "@every 1h30m", "2012-07-10T01:05:00Z"},
        {"2012-07-09T23:35:00Z", "0 0 31 4 *", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cron cron;
        struct err err = {0};
        assert_int_equal(cron_parse(str_of(rows[i].spec), &cron, &err), 0);
        int64_t next = cron_next(&cron, 0, at(rows[i].from));
        if (next != (rows[i].next ? at(rows[i].next) : 0))
            fail_msg("%s after %s: %lld", rows[i].spec, rows[i].from, (long long)next);
    }
}

static void test_refused(void **state UNUSED)
{
    static const char *const bad[] = {
        "",          "* * * *",     "* * * * * *", "60 * * * *", "* 24 * * *", "x * * * *",
        "* * 0 * *", "5-1 * * * *", "*/0 * * * *", "@never",     "@every x",   "* * * * 7"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct cron cron;
        struct err err = {0};
        if (cron_parse(str_of(bad[i]), &cron, &err) != -EINVAL)
            fail_msg("%s is accepted", bad[i]);
        assert_true(strlen(err.msg) > 0);
    }
}

static void test_zones(void **state UNUSED)
{
    int64_t offset;
    struct cron cron;
    assert_true(cron_zone(STR("Etc/UTC"), &offset) && offset == 0);
    assert_true(cron_zone(STR("Etc/GMT+5"), &offset) && offset == -5 * 3600);
    assert_int_equal(cron_parse(STR("0 6 * * *"), &cron, NULL), 0);
    assert_int_equal(cron_next(&cron, offset, at("2026-01-01T00:00:00Z")),
                     at("2026-01-01T11:00:00Z"));
    assert_true(cron_zone(STR("Etc/GMT-14"), &offset) && offset == 14 * 3600);
    assert_false(cron_zone(STR("Europe/Berlin"), &offset));
    assert_false(cron_zone(STR("Etc/GMT+99"), &offset));
}

#define CRON(schedule, more, time)                                                          \
    "{'metadata':{'name':'tick'},'spec':{'schedule':'" schedule "'," more                   \
    "'successfulJobsHistoryLimit':3,'failedJobsHistoryLimit':1,'jobTemplate':{'metadata':{" \
    "'labels':{'a':'b'}},'spec':{'parallelism':1,'completions':1,'backoffLimit':6,"         \
    "'template':{'metadata':{'annotations':{'berth.dev/run-time':'" time                    \
    "'}},'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}}}"
#define TICK "cronjobs.batch tick"

static void begin(struct host *h, const char *json)
{
    host_begin(h);
    host_add_nodes(h, 2);
    assert_int_equal(host_create(h, "cronjobs.batch", json), 201);
}

static void test_every_minute(void **state UNUSED)
{
    struct host h;
    begin(&h, CRON("* * * * *", "'concurrencyPolicy':'Allow',", "5s"));
    host_run_for(&h, 30 * SECOND);
    assert_int_equal(host_count(&h, "jobs.batch", "", NULL), 0);
    host_run_for(&h, 12 * SECOND); /* 22:14:00 */
    assert_string_equal(host_names(&h, "jobs.batch"), "tick-28333334");
    assert_string_equal(host_at(&h, TICK, "status.lastScheduleTime"), "2023-11-14T22:14:00Z");
    const struct json_value *active = json_at(host_get(&h, TICK), "status.active");
    assert_true(active && active->n == 1);
    assert_true(host_has_event(&h, "SuccessfulCreate", "Created job tick-28333334"));
    host_run_for(&h, 20 * SECOND);
    assert_string_equal(host_at(&h, TICK, "status.active"), "");
    assert_true(strlen(host_at(&h, TICK, "status.lastSuccessfulTime")) > 0);
    assert_true(host_has_event(&h, "SawCompletedJob",
                               "Saw completed job: tick-28333334, condition: Complete"));
    /* Three finished Jobs are kept. */
    host_run_for(&h, 600 * SECOND);
    assert_in_range(host_count(&h, "jobs.batch", "", NULL), 3, 4);
    host_patch(&h, TICK, "{'spec':{'suspend':true}}");
    host_run_for(&h, 60 * SECOND);
    size_t n = host_count(&h, "jobs.batch", "", NULL);
    host_run_for(&h, 600 * SECOND);
    assert_int_equal(host_count(&h, "jobs.batch", "", NULL), n);
    host_end(&h);
}

static void test_policies(void **state UNUSED)
{
    struct host h;
    begin(&h, CRON("* * * * *", "'concurrencyPolicy':'Forbid',", "90s"));
    host_run_for(&h, 130 * SECOND);
    assert_int_equal(host_count(&h, "jobs.batch", "", NULL), 1);
    assert_true(host_has_event(&h, "JobAlreadyActive",
                               "Not starting job because prior execution is running and "
                               "concurrency policy is Forbid"));
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "jobs.batch", "", NULL), 2);
    host_end(&h);

    begin(&h,
          CRON("*/2 * * * *", "'concurrencyPolicy':'Replace','startingDeadlineSeconds':30,", "1h"));
    host_run_for(&h, 400 * SECOND);
    assert_int_equal(host_count(&h, "jobs.batch", "status.active", "1"), 1);
    host_end(&h);
}

static void test_after_downtime(void **state UNUSED)
{
    struct host h;
    begin(&h, CRON("0 * * * *", "'concurrencyPolicy':'Allow',", "5s"));
    h.now += (int64_t)86400 * 30 * SECOND; /* a month without a run */
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "jobs.batch", "", NULL), 1);
    assert_string_equal(host_at(&h, TICK, "status.lastScheduleTime"), "2023-12-14T22:00:00Z");
    host_end(&h);
}

/* A schedule that never comes is a warning, not an error. */
static void test_never(void **state UNUSED)
{
    struct host h;
    begin(&h, CRON("59 23 31 2 *", "'concurrencyPolicy':'Allow',", "5s"));
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "jobs.batch", "", NULL), 0);
    assert_true(host_has_event(&h, "InvalidSchedule",
                               "invalid schedule: 59 23 31 2 * : time difference between two "
                               "schedules is less than 1 second"));
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_zones),    cmocka_unit_test(test_every_minute),
        cmocka_unit_test(test_policies), cmocka_unit_test(test_after_downtime),
        cmocka_unit_test(test_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
