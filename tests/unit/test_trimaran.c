/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugins that score by measured load, and where they get it from. tests/sigs compares the
 * scores with those of scheduler-plugins on random clusters.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "plugin_trial.h"
#include "plugins/sigs/beta.h"
#include "plugins/sigs/load_table.h"

#define PACKING   "TargetLoadPacking"
#define VARIATION "LoadVariationRiskBalancing"
#define RISK      "LowRiskOverCommitment"

#define CONFIG(args)                                     \
    "apiVersion: kubescheduler.config.k8s.io/v1\n"       \
    "kind: KubeSchedulerConfiguration\n"                 \
    "profiles:\n"                                        \
    "- plugins:\n"                                       \
    "    score: {enabled: [{name: " PACKING "}, {name: " \
    "" VARIATION "}, {name: " RISK "}]}\n"               \
    "  pluginConfig:\n"                                  \
    "  - name: " PACKING "\n"                            \
    "    args: {" args "}\n"                             \
    "  - name: " VARIATION "\n"                          \
    "    args: {" args "}\n"                             \
    "  - name: " RISK "\n"                               \
    "    args: {" args "}\n"

static const char by_watcher[] = CONFIG("watcherAddress: 'http://watcher:2020/'");

/* --- answers ---------------------------------------------------------------------------------- */

/* Answers the last request. */
static void answer(struct fixture *f, int status, const char *text)
{
    assert_true(f->gets.n > 0);
    uint64_t id = strtoull(f->gets.v[f->gets.n - 1], NULL, 10);
    struct berth_http_result result = {.struct_size = sizeof(result), .status = status};
    const char *body = json_quotes(text);
    if (status)
        result.body = (struct berth_str){body, strlen(body)};
    else
        result.message = (struct berth_str){text, strlen(text)};
    engine_http_done(f->engine, id, &result);
}

/* An answer of a load watcher about node a, with a window that ends now. */
static const char *load_of_a(const char *metrics)
{
    return textf("{'window':{'end':1000},'data':{'NodeMetricsMap':{'a':{'metrics':[%s]}}}}",
                 metrics);
}
#define METRIC(type, op, value) "{'type':'" type "','operator':'" op "','value':" #value "}"

static const char *url_of(const struct fixture *f, size_t i)
{
    return strchr(f->gets.v[i], ' ') + 1;
}

static size_t count_logs(const struct fixture *f, const char *text)
{
    size_t n = 0;
    for (size_t i = 0; i < f->logs.n; i++)
        n += strstr(f->logs.v[i], text) != NULL;
    return n;
}

static void begin(struct fixture *f, const char *config)
{
    fixture_init(f, config, NULL);
    ADD_NODE(f, .name = "a",
             .status = "'capacity':{'cpu':'1','memory':'1Gi'},"
                       "'allocatable':{'cpu':'1','memory':'1Gi','pods':'10'}");
}

static int64_t packing(struct fixture *f)
{
    return trial_score_of(f, PACKING,
                          POD(.name = "p", .spec = "'containers':[{'resources':{'limits':"
                                                   "{'cpu':'100m'}}}]"),
                          "a");
}

static void texts_of_watchers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error; /* error NULL: it is read */
    } rows[] = {
        {"{'data':{'NodeMetricsMap':{}}}", NULL},
        {"{'data':{'NodeMetricsMap':{'a':{'metrics':null,'tags':{}}}},'x':[1]}", NULL},
        {"{'data':{'NodeMetricsMap':{'a':{'metrics':[" METRIC("CPU", "AVG", 1) "]}}}}", NULL},
        {"", "line 1"},
        {"<html>", "line 1"},
        {"[]", "line 1"},
        {"{}", "no data.NodeMetricsMap"},
        {"{'data':{}}", "no data.NodeMetricsMap"},
        {"{'data':{'NodeMetricsMap':[]}}", "expected"},
        {"{'data':{'NodeMetricsMap':{'a':{'metrics':[{'value':'x'}]}}}}", "a: "},
        {"{'data':{'NodeMetricsMap':{'a':{'metrics':[{'value':1e999}]}}}}", "a: "},
        {"{'data':{'NodeMetricsMap':{'a':7}}}", "a: "},
        {"{'window':{'end':'soon'},'data':{'NodeMetricsMap':{}}}", "end"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct load_table t = {0};
        struct err err = {0};
        int r = load_table_read_watcher(&t, json_quotes_str(rows[i].text), &err);
        if (rows[i].error ? r == 0 || !strstr(err.msg, rows[i].error) : r < 0)
            fail_msg("%s: %d, %s", rows[i].text, r, err.msg);
        load_table_release(&t);
    }
}

static void which_measurement_counts(void **state)
{
    (void)state;
    static const struct {
        const char *metrics;
        double average, deviation, last;
        bool found, has_last;
    } rows[] = {
        {METRIC("CPU", "AVG", 10) "," METRIC("CPU", "Latest", 20), 10, 0, 20, true, true},
        {METRIC("CPU", "Latest", 20) "," METRIC("CPU", "AVG", 10), 10, 0, 10, true, true},
        {METRIC("CPU", "AVG", 10) "," METRIC("CPU", "AVG", 30), 30, 0, 30, true, true},
        {METRIC("CPU", "", 20) "," METRIC("CPU", "STD", 5), 20, 5, 0, true, false},
        {METRIC("CPU", "AVG", 1) "," METRIC("CPU", "", 20), 1, 0, 1, true, true},
        {METRIC("CPU", "SUM", 20), 0, 0, 0, true, false},
        {METRIC("Memory", "AVG", 20), 0, 0, 0, false, false},
        {METRIC("CPU", "AVG", -3), 0, 0, 0, true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct load_table t = {0};
        struct err err;
        if (load_table_read_watcher(&t, json_quotes_str(load_of_a(rows[i].metrics)), &err) < 0)
            fail_msg("%s: %s", rows[i].metrics, err.msg);
        const struct load_usage *cpu = &load_table_node(&t, STR("a"))->usage[LOAD_CPU];
        if (cpu->average != rows[i].average || cpu->deviation != rows[i].deviation ||
            cpu->last != rows[i].last || cpu->found != rows[i].found ||
            cpu->has_last != rows[i].has_last)
            fail_msg("%s: %g %g %g %d %d", rows[i].metrics, cpu->average, cpu->deviation, cpu->last,
                     cpu->found, cpu->has_last);
        load_table_release(&t);
    }
}

/* --- sources ---------------------------------------------------------------------------------- */

static void a_watcher_is_asked_every_30_seconds_by_all_plugins_together(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, by_watcher);
    assert_int_equal(f.gets.n, 1);
    assert_string_equal(url_of(&f, 0), "http://watcher:2020/watcher");
    fixture_pass(&f, 60 * NSEC_PER_SEC);
    assert_int_equal(f.gets.n, 1); /* it has not answered */
    answer(&f, 200, load_of_a(METRIC("CPU", "AVG", 20)));
    fixture_pass(&f, 29 * NSEC_PER_SEC);
    assert_int_equal(f.gets.n, 1);
    fixture_pass(&f, NSEC_PER_SEC);
    assert_int_equal(f.gets.n, 2);
    fixture_release(&f);
}

static void failures_are_logged_once_and_the_last_answer_counts(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *text, *log;
    } rows[] = {
        {0, "connection refused", "connection refused"},
        {500, "", "received status code 500"},
        {200, "garbage", "line 1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        begin(&f, by_watcher);
        assert_int_equal(packing(&f), 0);
        answer(&f, rows[i].status, rows[i].text);
        assert_int_equal(packing(&f), 0);
        fixture_pass(&f, 30 * NSEC_PER_SEC);
        answer(&f, rows[i].status, rows[i].text);
        assert_int_equal(count_logs(&f, "Unable to update metrics"), 1);
        assert_int_equal(count_logs(&f, rows[i].log), 1);
        fixture_pass(&f, 30 * NSEC_PER_SEC);
        answer(&f, 200, load_of_a(METRIC("CPU", "AVG", 20)));
        assert_int_equal(count_logs(&f, "Metrics are updated again"), 1);
        assert_int_equal(packing(&f), 85);
        fixture_pass(&f, 30 * NSEC_PER_SEC);
        answer(&f, rows[i].status, rows[i].text);
        assert_int_equal(count_logs(&f, "Unable to update metrics"), 2);
        assert_int_equal(packing(&f), 85);
        fixture_release(&f);
    }
}

static void a_reload_keeps_the_measurements(void **state)
{
    (void)state;
    struct fixture f;
    struct reload_result result;
    struct err err;
    begin(&f, by_watcher);
    answer(&f, 200, load_of_a(METRIC("CPU", "AVG", 20)));
    assert_int_equal(
        fixture_reload(&f, &(struct fixture_reload){.config = by_watcher}, &result, &err), 0);
    assert_int_equal(f.gets.n, 1);
    assert_int_equal(packing(&f), 85);
    assert_int_equal(
        fixture_reload(&f,
                       &(struct fixture_reload){.config = CONFIG("watcherAddress: 'http://other'")},
                       &result, &err),
        0);
    assert_int_equal(f.gets.n, 2);
    assert_string_equal(url_of(&f, 1), "http://other/watcher");
    assert_int_equal(packing(&f), 0);
    fixture_pass(&f, 90 * NSEC_PER_SEC); /* the old source is gone */
    assert_int_equal(f.gets.n, 2);
    fixture_release(&f);
}

#define VECTOR(value)                                    \
    "{'status':'success','data':{'resultType':'vector'," \
    "'result':[{'metric':{'instance':'a'},'value':[1.5,'" #value "']}]}}"

static void prometheus_is_asked_for_averages_and_deviations(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "http://p/api/v1/query?query=avg_over_time(instance:node_cpu:ratio%5B15m%5D)",
        "http://p/api/v1/query?query=avg_over_time(instance:node_memory_utilisation:ratio%5B15m%5D"
        ")",
        "http://p/api/v1/query?query=stddev_over_time(instance:node_cpu:ratio%5B15m%5D)",
        "http://p/api/v1/query?query=stddev_over_time("
        "instance:node_memory_utilisation:ratio%5B15m%5D)",
    };
    struct fixture f;
    begin(&f, CONFIG("metricProvider: {type: Prometheus, address: 'http://p'}"));
    answer(&f, 200, VECTOR(0.2));
    answer(&f, 200, VECTOR(0.1));
    answer(&f, 200, VECTOR(0.4));
    assert_int_equal(packing(&f), 0); /* not before all have been answered */
    answer(&f, 200, VECTOR(NaN));
    assert_int_equal(f.gets.n, ARRAY_LEN(urls));
    for (size_t i = 0; i < ARRAY_LEN(urls); i++)
        assert_string_equal(url_of(&f, i), urls[i]);
    assert_int_equal(packing(&f), 85);
    /* cpu: (0.2 + 0.4) / 2; memory: 0.1 / 2 */
    assert_int_equal(trial_score_of(&f, VARIATION, POD(.name = "p"), "a"), 70);
    fixture_pass(&f, 60 * NSEC_PER_SEC);
    answer(&f, 200, "{'status':'error','error':'too many samples'}");
    assert_int_equal(count_logs(&f, "too many samples"), 1);
    fixture_pass(&f, 60 * NSEC_PER_SEC);
    answer(&f, 200, "{'status':'success','data':{'resultType':'scalar','result':[1,'2']}}");
    assert_int_equal(count_logs(&f, "not a vector"), 1);
    assert_int_equal(packing(&f), 85);
    fixture_release(&f);
}

static void the_metrics_server_is_the_default(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, CONFIG(""));
    struct fixture_request *request = fixture_request(&f);
    assert_non_null(request);
    assert_string_equal(request->line, "GET nodes ");
    fixture_request_done(&f, request, 503, "ServiceUnavailable", NULL);
    assert_int_equal(count_logs(&f, "Unable to update metrics"), 1);
    fixture_pass(&f, 60 * NSEC_PER_SEC);
    enum kind_id list = kind_find(STR("metrics.k8s.io/v1beta1"), STR("NodeMetricsList"))->id;
    fixture_request_done(
        &f, fixture_request(&f), 200, "",
        object_jsonf(list, "{'kind':'NodeMetricsList','apiVersion':'metrics.k8s.io/v1beta1',"
                           "'metadata':{},'items':[{'metadata':{'name':'gone'},'usage':{'cpu':'1'}}"
                           ",{'metadata':{'name':'a'},'usage':{'cpu':'199999999n'}}]}"));
    assert_int_equal(packing(&f), 85);
    fixture_release(&f);
}

/* --- scores ----------------------------------------------------------------------------------- */

static void packing_peaks_at_the_target(void **state)
{
    (void)state;
    static const struct {
        const char *metrics;
        int64_t want;
    } rows[] = {
        {METRIC("CPU", "AVG", 0), 55},                                     /* 60 * 10 / 40 + 40 */
        {METRIC("CPU", "Latest", 20), 85},                                 /* 60 * 30 / 40 + 40 */
        {METRIC("CPU", "AVG", 30), 100},   {METRIC("CPU", "AVG", 31), 39}, /* 40 * 59 / 60 */
        {METRIC("CPU", "AVG", 90), 0},     {METRIC("CPU", "AVG", 95), 0},
        {METRIC("CPU", "STD", 20), 0},     {METRIC("Memory", "AVG", 20), 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        begin(&f, by_watcher);
        answer(&f, 200, load_of_a(rows[i].metrics));
        if (packing(&f) != rows[i].want)
            fail_msg("%s: %d", rows[i].metrics, (int)packing(&f));
        fixture_release(&f);
    }
}

/* The score says how much cpu is predicted: 15 more are 10 % of the node. */
static void packing_predicts_pods_that_no_measurement_shows(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, by_watcher);
    answer(&f, 200, load_of_a(METRIC("CPU", "AVG", 0)));
    assert_int_equal(packing(&f), 55);
    /* Without a limit, one and a half times the request. */
    struct object *pod = POD(.name = "new", .cpu = "67m", .node = "a", .uid = "new");
    fixture_add(&f, object_ref(pod));
    assert_int_equal(packing(&f), 70);
    /* It was started long before the window. */
    ADD_POD(&f, .name = "old", .cpu = "67m", .node = "a",
            .status = "'startTime':'1970-01-01T00:10:00Z'");
    assert_int_equal(packing(&f), 70);
    /* A window that ends a minute later has it. */
    fixture_pass(&f, 59 * NSEC_PER_SEC);
    answer(&f, 200,
           "{'window':{'end':1059},'data':{'NodeMetricsMap':{'a':{'metrics':[" METRIC("CPU", "AVG",
                                                                                      0) "]}}}}");
    assert_int_equal(packing(&f), 70);
    fixture_pass(&f, 61 * NSEC_PER_SEC);
    answer(&f, 200,
           "{'window':{'end':1060},'data':{'NodeMetricsMap':{'a':{'metrics':[" METRIC("CPU", "AVG",
                                                                                      0) "]}}}}");
    assert_int_equal(packing(&f), 55);
    object_unref(pod);
    fixture_release(&f);
}

/* The watcher's clock is ahead: its window does not end after now. */
static void packing_counts_pods_whatever_the_clock_of_the_watcher(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, by_watcher);
    answer(&f, 200,
           "{'window':{'end':99999},'data':{'NodeMetricsMap':{'a':{'metrics':[" METRIC("CPU", "AVG",
                                                                                       0) "]}}}}");
    ADD_POD(&f, .name = "new", .cpu = "67m", .node = "a");
    assert_int_equal(packing(&f), 70);
    fixture_release(&f);
}

static void packing_forgets_pods_that_end(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, by_watcher);
    answer(&f, 200, load_of_a(METRIC("CPU", "AVG", 0)));
    struct object *gone = POD(.name = "gone", .cpu = "67m", .node = "a", .uid = "1");
    struct object *ends = POD(.name = "ends", .cpu = "67m", .node = "a", .uid = "2");
    fixture_add(&f, object_ref(gone));
    fixture_add(&f, object_ref(ends));
    assert_int_equal(packing(&f), 85);
    fixture_delete(&f, gone);
    assert_int_equal(packing(&f), 70);
    fixture_update(&f, ends,
                   POD(.name = "ends", .cpu = "67m", .node = "a", .uid = "2",
                       .status = "'phase':'Succeeded'"));
    assert_int_equal(packing(&f), 55);
    fixture_release(&f);
}

static void packing_counts_pods_that_are_being_bound_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, by_watcher);
    answer(&f, 200, load_of_a(METRIC("CPU", "AVG", 0)));
    ADD_POD(&f, .name = "new", .cpu = "67m");
    fixture_schedule(&f);
    struct fixture_write *binding = fixture_binding(&f, "new");
    assert_non_null(binding);
    assert_int_equal(packing(&f), 70);
    fixture_answer(&f, binding, 201, "");
    assert_int_equal(packing(&f), 70);
    fixture_release(&f);
}

static void variation_is_the_worse_of_cpu_and_memory(void **state)
{
    (void)state;
    static const struct {
        const char *metrics;
        int64_t want;
    } rows[] = {
        {METRIC("CPU", "AVG", 20) "," METRIC("CPU", "STD", 10), 80},
        {METRIC("CPU", "AVG", 20) "," METRIC("Memory", "AVG", 50), 75},
        {METRIC("Memory", "AVG", 50) "," METRIC("Memory", "STD", 50), 50},
        {METRIC("CPU", "AVG", 500) "," METRIC("CPU", "STD", 500), 0},
        {METRIC("Storage", "AVG", 1), 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        begin(&f, by_watcher);
        answer(&f, 200, load_of_a(rows[i].metrics));
        struct object *pod =
            POD(.name = "p", .spec = "'containers':[{'resources':{'requests':{'cpu':'100m'}}}]");
        int64_t got = trial_score_of(&f, VARIATION, pod, "a");
        if (got != rows[i].want)
            fail_msg("%s: %d", rows[i].metrics, (int)got);
        fixture_release(&f);
    }
}

#define RESOURCES(r, l) "'containers':[{'resources':{'requests':{" r "},'limits':{" l "}}}]"

static void commitment_beyond_the_node_is_a_risk(void **state)
{
    (void)state;
    static const struct {
        const char *running, *pod, *metrics;
        int64_t want;
    } rows[] = {
        /* Limits of 1.5 of 1 cpu, requests of 0.5: half of what is not requested is missing. */
        {RESOURCES("'cpu':'250m'", "'cpu':'750m'"), RESOURCES("'cpu':'250m'", "'cpu':'750m'"),
         METRIC("Storage", "AVG", 1), 75},
        /* The load is above all requests. */
        {RESOURCES("'cpu':'100m'", "'cpu':'1'"), RESOURCES("'cpu':'100m'", ""),
         METRIC("CPU", "AVG", 50), 44},
        /* The load is below all requests. */
        {RESOURCES("'cpu':'500m'", "'cpu':'500m'"), RESOURCES("'cpu':'100m'", ""),
         METRIC("CPU", "AVG", 50), 100},
        /* Best effort. */
        {RESOURCES("", ""), RESOURCES("", ""), METRIC("CPU", "AVG", 1), 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        begin(&f, by_watcher);
        answer(&f, 200, load_of_a(rows[i].metrics));
        ADD_POD(&f, .name = "running", .node = "a", .spec = rows[i].running);
        int64_t got = trial_score_of(&f, RISK, POD(.name = "p", .spec = rows[i].pod), "a");
        if (got != rows[i].want)
            fail_msg("row %zu: %d", i, (int)got);
        fixture_release(&f);
    }
}

/* The sums of a node are kept until it changes. */
static void commitment_sees_pods_come_and_go(void **state)
{
    (void)state;
    struct fixture f;
    const char *spec = RESOURCES("'cpu':'250m'", "'cpu':'750m'");
    begin(&f, by_watcher);
    answer(&f, 200, load_of_a(METRIC("Storage", "AVG", 1)));
    struct object *running = POD(.name = "r", .node = "a", .uid = "r", .spec = spec);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trial_score_of(&f, RISK, POD(.name = "p", .spec = spec), "a"), 100);
        fixture_add(&f, object_ref(running));
        assert_int_equal(trial_score_of(&f, RISK, POD(.name = "p", .spec = spec), "a"), 75);
        fixture_delete(&f, object_ref(running));
    }
    object_unref(running);
    fixture_release(&f);
}

static void the_beta_distribution(void **state)
{
    (void)state;
    static const struct {
        double a, b, x, want, within;
    } rows[] = {
        {1, 1, 0.25, 0.25, 1e-12},
        {2, 3, 0.5, 0.6875, 1e-12},
        {5, 1, 0.9, 0.59049, 1e-12},      /* x^5 */
        {1, 5, 0.9, 0.99999, 1e-12},      /* 1 - (1-x)^5 */
        {0.5, 0.5, 0.25, 1.0 / 3, 1e-12}, /* arcsine */
        {0.5, 0.5, 0.75, 2.0 / 3, 1e-12},
        {3000, 3000, 0.5, 0.5, 1e-10},
        {1e9, 1e9, 0.5, 0.5, 1e-6},
        {1e9, 1e9, 0.5000111803, 0.8413447, 1e-4}, /* one deviation */
        {1e-5, 1e-5, 0.5, 0.5, 1e-10},
        {2, 3, 0, 0, 0},
        {2, 3, 1, 1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double got = beta_below(&(struct beta){rows[i].a, rows[i].b}, rows[i].x);
        double off = got > rows[i].want ? got - rows[i].want : rows[i].want - got;
        if (!(off <= rows[i].within))
            fail_msg("%g %g %g: %.15g", rows[i].a, rows[i].b, rows[i].x, got);
    }
    struct beta beta;
    assert_true(beta_fit(0.4, 0.2, &beta));
    assert_true(beta.a > 1.999 && beta.a < 2.001 && beta.b > 2.999 && beta.b < 3.001);
    assert_false(beta_fit(0.4, 0.5, &beta));
}

/* --- arguments -------------------------------------------------------------------------------- */

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *plugin, *args, *error;
    } rows[] = {
        {PACKING, "{}", ""},
        {PACKING, "{'targetUtilization':-1,'defaultRequestsMultiplier':'2'}", ""},
        {PACKING, "{'defaultRequestsMultiplier':'two'}",
         "defaultRequestsMultiplier: Invalid value: \"two\": unable to parse "
         "DefaultRequestsMultiplier"},
        {PACKING, "{'defaultRequestsMultiplier':'-1'}", "must be a number that is not negative"},
        {PACKING, "{'defaultRequestsMultiplier':''}", "must be a number"},
        {PACKING, "{'targetUtilization':101}", "targetUtilization: Invalid value: 101"},
        {PACKING, "{'defaultRequests':{'cpu':'x'}}", "defaultRequests"},
        {VARIATION, "{'metricProvider':{'type':'Graphite'}}",
         "metricProvider.type: Invalid value: \"Graphite\": invalid MetricProvider.Type, got "
         "Graphite"},
        {VARIATION, "{'watcherAddress':''}", "invalid MetricProvider.Type, got"},
        {VARIATION, "{'metricProvider':{'type':'Graphite'},'watcherAddress':'http://w'}", ""},
        {RISK, "{'metricProvider':{'type':'SignalFx'}}", "set watcherAddress"},
        {RISK, "{'riskLimitWeights':{'cpu':7},'smoothingWindowSize':0}", ""},
        {RISK, "{'riskLimitWeight':{}}", "unknown field"},
    };
    struct fixture f;
    begin(&f, by_watcher);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct berth_error error;
        const char *got = trial_args_error(&f, rows[i].plugin, rows[i].args, &error);
        if (*rows[i].error ? !strstr(got, rows[i].error) : *got)
            fail_msg("%s: got %s, want %s", rows[i].args, got, rows[i].error);
    }
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_watchers),
        cmocka_unit_test(which_measurement_counts),
        cmocka_unit_test(a_watcher_is_asked_every_30_seconds_by_all_plugins_together),
        cmocka_unit_test(failures_are_logged_once_and_the_last_answer_counts),
        cmocka_unit_test(a_reload_keeps_the_measurements),
        cmocka_unit_test(prometheus_is_asked_for_averages_and_deviations),
        cmocka_unit_test(the_metrics_server_is_the_default),
        cmocka_unit_test(packing_peaks_at_the_target),
        cmocka_unit_test(packing_predicts_pods_that_no_measurement_shows),
        cmocka_unit_test(packing_counts_pods_whatever_the_clock_of_the_watcher),
        cmocka_unit_test(packing_forgets_pods_that_end),
        cmocka_unit_test(packing_counts_pods_that_are_being_bound_once),
        cmocka_unit_test(variation_is_the_worse_of_cpu_and_memory),
        cmocka_unit_test(commitment_beyond_the_node_is_a_risk),
        cmocka_unit_test(commitment_sees_pods_come_and_go),
        cmocka_unit_test(the_beta_distribution),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
