/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "live/write_metrics.h"
#include "objects.h"

static struct features features_with(const char *gates)
{
    struct features f;
    features_default(&f);
    assert_int_equal(features_parse(&f, str_of(gates), NULL), 0);
    return f;
}

static void writes(const struct write_metrics *m)
{
    write_metrics_pending(m, WRITE_BINDING, 1);
    write_metrics_pending(m, WRITE_POD_STATUS, 1);
    write_metrics_pending(m, WRITE_EVENT, 1);
    write_metrics_pending(m, WRITE_EVICTION, 1);
    write_metrics_pending(m, WRITE_BINDING, -1);
    write_metrics_done(m, WRITE_BINDING, true, 3 * NSEC_PER_SEC);
    write_metrics_done(m, WRITE_BINDING, false, NSEC_PER_SEC);
    write_metrics_done(m, WRITE_EVICTION, true, NSEC_PER_SEC);
}

static void writes_are_counted(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "scheduler_pending_async_api_calls{call_type='pod_binding'} 0\n",
        "scheduler_pending_async_api_calls{call_type='pod_status_patch'} 1\n",
        "scheduler_async_api_call_execution_total{call_type='pod_binding',result='error'} 1\n",
        "scheduler_async_api_call_execution_total{call_type='pod_binding',result='success'} "
        "1\n",
        "scheduler_async_api_call_execution_duration_seconds_sum{call_type='pod_binding',"
        "result='success'} 3\n",
    };
    struct metrics *registry = metrics_new();
    struct features features = features_with("SchedulerAsyncAPICalls=true");
    struct write_metrics m;
    struct buf page = BUF_INIT;
    write_metrics_init(&m, registry, &features);
    writes(&m);
    metrics_write(registry, &page);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!strstr(buf_cstr(&page), json_quotes(lines[i])))
            fail_msg("no line %s", json_quotes(lines[i]));
    assert_null(strstr(buf_cstr(&page), json_quotes("call_type=''")));
    buf_release(&page);
    metrics_free(registry);
}

static void without_the_gate_nothing_is(void **state)
{
    (void)state;
    struct metrics *registry = metrics_new();
    struct write_metrics m;
    struct buf page = BUF_INIT;
    write_metrics_init(&m, registry, NULL);
    writes(&m);
    metrics_write(registry, &page);
    assert_null(strstr(buf_cstr(&page), "async_api_call"));
    struct features features = features_with("SchedulerAsyncAPICalls=true");
    write_metrics_init(&m, NULL, &features);
    writes(&m);
    buf_release(&page);
    metrics_free(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_are_counted),
        cmocka_unit_test(without_the_gate_nothing_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
