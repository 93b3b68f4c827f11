/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on the real registry with kubelets. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "workload_host.h"

#define SECOND    NSEC_PER_SEC
#define JOB(more) TEMPLATED(more, "", "Never")
#define TEMPLATED(more, annotations, policy)                                                  \
    "{'metadata':{'name':'pi'},'spec':{" more                                                 \
    "'manualSelector':true,'selector':{'matchLabels':{'job':'pi'}},'template':{'metadata':{"  \
    "'labels':{'job':'pi'},'annotations':{" annotations "}},'spec':{'restartPolicy':'" policy \
    "','containers':[{'name':'c','image':'i'}]}}}}"
#define PI "jobs.batch pi"

static void assert_at(struct host *h, const char *what, const char *path, const char *expected)
{
    assert_string_equal(host_at(h, what, path), expected);
}

static void begin(struct host *h, const char *job)
{
    host_begin(h);
    host_add_nodes(h, 4);
    assert_int_equal(host_create(h, "jobs.batch", job), 201);
}

static void end(struct host *h)
{
    assert_true(host_is_idle(h));
    host_end(h);
}

static void test_completes(void **state UNUSED)
{
    struct host h;
    begin(&h, JOB("'parallelism':2,'completions':5,'backoffLimit':6,"));
    host_run_for(&h, SECOND / 2);
    assert_at(&h, PI, "status.active", "2");
    assert_at(&h, PI, "status.ready", "2");
    host_run_for(&h, 30 * SECOND);
    assert_string_equal(host_condition(&h, PI, "SuccessCriteriaMet"), "True CompletionsReached");
    assert_string_equal(host_condition(&h, PI, "Complete"), "True CompletionsReached");
    assert_at(&h, PI, "status.succeeded", "5");
    assert_at(&h, PI, "status.active", "");
    assert_at(&h, PI, "status.uncountedTerminatedPods", "{}");
    assert_true(strlen(host_at(&h, PI, "status.completionTime")) > 0);
    assert_int_equal(host_count(&h, "pods", "status.phase", "Succeeded"), 5);
    assert_int_equal(host_count(&h, "pods", "metadata.finalizers", ""), 5);
    assert_true(host_has_event(&h, "Completed", "Job completed"));
    end(&h);
}

static void test_twenty_with_failures(void **state UNUSED)
{
    struct host h;
    begin(&h, JOB("'parallelism':5,'completions':20,'backoffLimit':100,"));
    h.fail_every = 4;
    host_run_for(&h, 3600 * SECOND);
    assert_string_equal(host_condition(&h, PI, "Complete"), "True CompletionsReached");
    assert_at(&h, PI, "status.succeeded", "20");
    size_t failed = host_count(&h, "pods", "status.phase", "Failed");
    assert_in_range(failed, 5, 9);
    char text[16];
    snprintf(text, sizeof(text), "%zu", failed);
    assert_at(&h, PI, "status.failed", text);
    end(&h);
}

static void test_backoff_limit(void **state UNUSED)
{
    struct host h;
    begin(&h, TEMPLATED("'parallelism':1,'completions':1,'backoffLimit':2,",
                        "'berth.dev/exit-code':'1'", "Never"));
    host_run_for(&h, 5 * SECOND);
    /* The second one waits for ten seconds. */
    assert_int_equal(host_count(&h, "pods", "", NULL), 1);
    host_run_for(&h, 10 * SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 2);
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 3);
    assert_string_equal(host_condition(&h, PI, "FailureTarget"), "True BackoffLimitExceeded");
    assert_string_equal(host_condition(&h, PI, "Failed"), "True BackoffLimitExceeded");
    assert_at(&h, PI, "status.failed", "3");
    assert_at(&h, PI, "status.completionTime", "");
    assert_true(
        host_has_event(&h, "BackoffLimitExceeded", "Job has reached the specified backoff limit"));
    end(&h);
}

static void test_deadline_and_ttl(void **state UNUSED)
{
    struct host h;
    begin(&h, TEMPLATED("'parallelism':3,'activeDeadlineSeconds':20,'backoffLimit':6,"
                        "'ttlSecondsAfterFinished':100,",
                        "'berth.dev/run-time':'1h'", "Never"));
    host_run_for(&h, 15 * SECOND);
    assert_at(&h, PI, "status.active", "3");
    host_run_for(&h, 50 * SECOND);
    assert_string_equal(host_condition(&h, PI, "Failed"), "True DeadlineExceeded");
    /* The containers ended with 0 when they were stopped. */
    assert_at(&h, PI, "status.succeeded", "3");
    assert_int_equal(host_count(&h, "pods", "", NULL), 0);
    host_run_for(&h, 100 * SECOND);
    /* Foreground: the garbage collector would finish the deletion. */
    assert_true(!host_get(&h, PI) || strlen(host_at(&h, PI, "metadata.deletionTimestamp")) > 0);
    host_end(&h);
}

static void test_indexed(void **state UNUSED)
{
    struct host h;
    begin(&h, JOB("'parallelism':3,'completions':5,'completionMode':'Indexed','backoffLimit':9,"));
    h.fail_every = 3;
    host_run_for(&h, SECOND / 2);
    const char *names = host_names(&h, "pods");
    assert_true(strncmp(names, "pi-0-", 5) == 0 && strstr(names, " pi-1-") &&
                strstr(names, " pi-2-"));
    host_run_for(&h, 3600 * SECOND);
    assert_at(&h, PI, "status.completedIndexes", "0-4");
    assert_at(&h, PI, "status.succeeded", "5");
    assert_string_equal(host_condition(&h, PI, "Complete"), "True CompletionsReached");
    assert_int_equal(host_count(&h, "pods", "spec.hostname", "pi-4") >= 1, 1);
    end(&h);
}

static void test_limit_per_index(void **state UNUSED)
{
    struct host h;
    begin(&h, TEMPLATED("'parallelism':2,'completions':2,'completionMode':'Indexed',"
                        "'backoffLimitPerIndex':1,",
                        "'berth.dev/exit-code':'1'", "Never"));
    host_run_for(&h, 600 * SECOND);
    assert_at(&h, PI, "status.failedIndexes", "0,1");
    assert_string_equal(host_condition(&h, PI, "Failed"), "True FailedIndexes");
    /* Two pods per index. */
    assert_int_equal(host_count(&h, "pods", "", NULL), 4);
    assert_at(&h, PI, "status.failed", "4");
    end(&h);
}

static void test_policies(void **state UNUSED)
{
    struct host h;
    begin(&h, TEMPLATED("'parallelism':1,'completions':1,'backoffLimit':6,'podFailurePolicy':{"
                        "'rules':[{'action':'FailJob','onExitCodes':{'operator':'In','values':[1]"
                        "}}]},",
                        "'berth.dev/exit-code':'1'", "Never"));
    host_run_for(&h, 60 * SECOND);
    assert_string_equal(host_condition(&h, PI, "Failed"), "True PodFailurePolicy");
    assert_int_equal(host_count(&h, "pods", "", NULL), 1);
    end(&h);

    begin(&h, JOB("'parallelism':3,'completions':3,'completionMode':'Indexed','backoffLimit':6,"
                  "'successPolicy':{'rules':[{'succeededIndexes':'0','succeededCount':1}]},"));
    host_run_for(&h, 60 * SECOND);
    assert_string_equal(host_condition(&h, PI, "Complete"), "True SuccessPolicy");
    end(&h);
}

static void test_suspend(void **state UNUSED)
{
    struct host h;
    begin(&h, TEMPLATED("'parallelism':2,'completions':2,'backoffLimit':6,",
                        "'berth.dev/run-time':'100s'", "Never"));
    host_run_for(&h, SECOND);
    host_patch(&h, PI, "{'spec':{'suspend':true}}");
    host_run_for(&h, 60 * SECOND);
    assert_at(&h, PI, "status.active", "");
    assert_string_equal(host_condition(&h, PI, "Suspended"), "True JobSuspended");
    host_patch(&h, PI, "{'spec':{'suspend':false}}");
    host_run_for(&h, 60 * SECOND);
    assert_at(&h, PI, "status.active", "2");
    assert_string_equal(host_condition(&h, PI, "Suspended"), "False JobResumed");
    host_run_for(&h, 200 * SECOND);
    assert_string_equal(host_condition(&h, PI, "Complete"), "True CompletionsReached");
    end(&h);
}

static void test_deleted_job(void **state UNUSED)
{
    struct host h;
    begin(&h, TEMPLATED("'parallelism':2,'completions':2,'backoffLimit':6,",
                        "'berth.dev/run-time':'100s'", "Never"));
    host_run_for(&h, SECOND);
    assert_int_equal(host_delete(&h, PI), 200);
    host_run_for(&h, 10 * SECOND);
    /* The pods lose their finalizer, so that the garbage collector can delete them. */
    assert_int_equal(host_count(&h, "pods", "metadata.finalizers", ""), 2);
    host_end(&h);
}

static void test_parallelism_changes(void **state UNUSED)
{
    struct host h;
    begin(&h,
          TEMPLATED("'parallelism':2,'backoffLimit':6,", "'berth.dev/run-time':'1000s'", "Never"));
    host_run_for(&h, SECOND);
    host_patch(&h, PI, "{'spec':{'parallelism':5}}");
    host_run_for(&h, SECOND);
    assert_at(&h, PI, "status.active", "5");
    host_patch(&h, PI, "{'spec':{'parallelism':1}}");
    host_run_for(&h, 60 * SECOND);
    assert_at(&h, PI, "status.active", "1");
    host_run_for(&h, 2000 * SECOND);
    assert_string_equal(host_condition(&h, PI, "Complete"), "True CompletionsReached");
    end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_completes),     cmocka_unit_test(test_twenty_with_failures),
        cmocka_unit_test(test_backoff_limit), cmocka_unit_test(test_deadline_and_ttl),
        cmocka_unit_test(test_indexed),       cmocka_unit_test(test_limit_per_index),
        cmocka_unit_test(test_policies),      cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_deleted_job),   cmocka_unit_test(test_parallelism_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
