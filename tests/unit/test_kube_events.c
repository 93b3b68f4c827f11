/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_kube.h"
#include "live/events.h"
#include "objects.h"

#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"

static struct fake_kube k;
static struct event_recorder *recorder;

static int set_up(void **state)
{
    (void)state;
    fake_kube_begin(&k, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    recorder = event_recorder_free(recorder);
    fake_kube_end(&k);
    return 0;
}

static void start(struct event_recorder_options options)
{
    options.hostname = "host";
    if (options.retry == 0)
        options.retry = NSEC_PER_MSEC;
    recorder = event_recorder_new(k.client, &options);
}

static void emit_as(const char *type, const char *pod, const char *note)
{
    struct object_reference node = {.kind = STR_INIT("Node"), .name = STR_INIT("n1")};
    struct event_info info = {
        .regarding = {.kind = STR_INIT("Pod"),
                      .namespace = STR_INIT("ns"),
                      .name = str_of(pod),
                      .uid = str_of(pod),
                      .api_version = STR_INIT("v1")},
        .related = &node,
        .type = str_of(type),
        .reason = STR_INIT("Scheduled"),
        .action = STR_INIT("Binding"),
        .note = str_of(note),
        .reporting_controller = STR_INIT("default-scheduler"),
    };

    event_emit(recorder, &info);
}

static void emit(const char *pod, const char *note)
{
    emit_as("Normal", pod, note);
}

static size_t wanted;
static struct event_recorder_stats stats;

static bool has_written(void *ctx)
{
    (void)ctx;
    event_recorder_get_stats(recorder, &stats);
    return stats.written >= wanted;
}

static void wait_written(size_t n)
{
    wanted = n;
    if (!fake_run_until(k.loop, has_written, NULL))
        fail_msg("%llu written\n%s", (unsigned long long)stats.written, fake_log_text());
}

static bool is_idle(void *ctx)
{
    (void)ctx;
    event_recorder_get_stats(recorder, &stats);
    return stats.queued == 0 && stats.in_flight == 0 &&
           stats.written + stats.rejected + stats.dropped >= wanted;
}

static struct object *event_of(size_t request)
{
    const struct fake_request *r = fake_api_request(k.api, request);
    struct wire wire = {.kind = kind_get(KIND_EVENT),
                        .encoding = strcmp(r->content_type, FAKE_JSON) == 0 ? ENCODING_JSON
                                                                            : ENCODING_PROTO};
    struct object *object;
    struct err err;

    if (object_decode(&wire, (struct str){r->body, r->body_n}, &object, &err) < 0)
        fail_msg("%s", err.msg);
    return object;
}

static void accept_all(void)
{
    fake_api_answer(
        k.api,
        &(struct fake_answer){
            .method = "POST", .path = EVENTS, .status = 201, .body = STR("{}"), .forever = true});
}

static void test_an_event_is_written_whole(void **state)
{
    struct object *object;
    const struct event *e;

    (void)state;
    accept_all();
    start((struct event_recorder_options){0});
    emit("p", "all is well");
    wait_written(1);
    object = event_of(0);
    e = object_event(object);
    assert_true(str_starts(e->metadata.name, STR("p.")));
    assert_true(str_is(e->metadata.namespace, "ns"));
    assert_true(e->event_time.set);
    assert_null(e->series);
    assert_true(str_is(e->reporting_controller, "default-scheduler"));
    assert_true(str_is(e->reporting_instance, "default-scheduler-host"));
    assert_true(str_is(e->action, "Binding"));
    assert_true(str_is(e->regarding.name, "p"));
    assert_true(str_is(e->related->name, "n1"));
    assert_true(str_is(e->note, "all is well"));
    assert_true(str_is(e->type, "Normal"));
    object_unref(object);
}

static void test_long_notes_are_cut_between_characters(void **state)
{
    char note[1202] = "x";
    struct object *object;
    struct str cut;

    (void)state;
    /* Three bytes each, so that a naive cut would split a character. */
    for (size_t i = 0; i < 400; i++)
        memcpy(note + 1 + 3 * i, "\xe2\x82\xac", 3);
    accept_all();
    start((struct event_recorder_options){0});
    emit("p", note);
    wait_written(1);
    object = event_of(0);
    cut = object_event(object)->note;
    assert_true(cut.n <= EVENT_NOTE_MAX && cut.n > EVENT_NOTE_MAX - 4);
    assert_true(str_ends(cut, STR("\xe2\x82\xac ...")));
    object_unref(object);
}

static void test_a_repetition_becomes_a_series(void **state)
{
    const struct fake_request *r;
    struct object *first;
    char path[256];

    (void)state;
    accept_all();
    start((struct event_recorder_options){.finish = 30 * NSEC_PER_MSEC});
    emit("p", "one");
    wait_written(1);
    first = event_of(0);
    snprintf(path, sizeof(path), EVENTS "/%.*s", STR_ARG(object_meta(first)->name));
    object_unref(first);
    fake_api_answer(
        k.api,
        &(struct fake_answer){.method = "PATCH", .path = path, .body = STR("{}"), .forever = true});
    emit("p", "two");
    wait_written(2);
    emit("p", "three");
    emit("p", "four");
    /* Counted, not written, until the series ends. */
    assert_int_equal(fake_api_count(k.api), 2);
    wait_written(3);
    r = fake_api_request(k.api, 1);
    assert_string_equal(r->content_type, "application/strategic-merge-patch+json");
    assert_memory_equal(r->body, json_quotes("{'series':{'count':2,'lastObservedTime':'"), 41);
    r = fake_api_request(k.api, 2);
    assert_memory_equal(r->body, json_quotes("{'series':{'count':4,"), 20);
    /* After the series it is a new event. */
    emit("p", "five");
    wait_written(4);
    assert_string_equal(fake_api_request(k.api, 3)->method, "POST");
    event_recorder_get_stats(recorder, &stats);
    assert_int_equal(stats.emitted, 5);
}

static void test_a_repetition_at_once_waits_for_the_first(void **state)
{
    (void)state;
    accept_all();
    start((struct event_recorder_options){0});
    emit("p", "one");
    emit("p", "two");
    emit("p", "three");
    /* The event's path is not scripted, so its patch gets 599 and fails: only its order matters
     * here. */
    wanted = 2;
    assert_true(fake_run_until(k.loop, is_idle, NULL));
    assert_int_equal(fake_api_count(k.api), 2);
    assert_string_equal(fake_api_request(k.api, 0)->method, "POST");
    assert_string_equal(fake_api_request(k.api, 1)->method, "PATCH");
}

static void test_a_series_whose_event_is_gone_is_made_anew(void **state)
{
    struct object *first, *second;
    char path[256];

    (void)state;
    accept_all();
    start((struct event_recorder_options){0});
    emit("p", "one");
    wait_written(1);
    first = event_of(0);
    snprintf(path, sizeof(path), EVENTS "/%.*s", STR_ARG(object_meta(first)->name));
    object_unref(first);
    fake_api_json(k.api, "PATCH", path, NULL, 404, fake_status(&k, 404, "NotFound", "gone").p);
    emit("p", "two");
    wait_written(2);
    assert_int_equal(fake_api_count(k.api), 3);
    second = event_of(2);
    assert_non_null(object_event(second)->series);
    assert_int_equal(object_event(second)->series->count, 2);
    object_unref(second);
}

static void test_lost_connections_are_retried_and_refusals_are_not(void **state)
{
    (void)state;
    fake_api_answer(k.api, &(struct fake_answer){.path = EVENTS, .manner = FAKE_ABORT});
    fake_api_answer(k.api, &(struct fake_answer){.path = EVENTS, .manner = FAKE_ABORT});
    fake_api_json(k.api, "POST", EVENTS, NULL, 201, "{}");
    fake_api_json(k.api, "POST", EVENTS, NULL, 403,
                  fake_status(&k, 403, "Forbidden", "namespace is being terminated").p);
    start((struct event_recorder_options){0});
    emit("p", "x");
    wait_written(1);
    assert_int_equal(fake_api_count(k.api), 3);
    emit("q", "x");
    wanted = 2;
    assert_true(fake_run_until(k.loop, is_idle, NULL));
    assert_int_equal(stats.rejected, 1);
    assert_int_equal(fake_api_count(k.api), 4);
    assert_non_null(strstr(fake_log_text(), "namespace is being terminated"));
    assert_non_null(strstr(fake_log_text(), "\"Server rejected event (will not retry!)\""));
}

static void test_giving_up(void **state)
{
    (void)state;
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = EVENTS, .manner = FAKE_ABORT, .forever = true});
    start((struct event_recorder_options){.max_tries = 3});
    emit("p", "x");
    wanted = 1;
    assert_true(fake_run_until(k.loop, is_idle, NULL));
    assert_int_equal(stats.rejected, 1);
    assert_non_null(strstr(fake_log_text(), "\"Unable to write event (retry limit exceeded!)\""));
    assert_int_equal(fake_api_count(k.api), 3);
}

static void test_overflow_is_dropped_and_counted(void **state)
{
    char name[32];

    (void)state;
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = EVENTS, .manner = FAKE_HANG, .forever = true});
    start((struct event_recorder_options){.max_queue = 5, .max_in_flight = 2, .max_cache = 4});
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        emit(name, "x");
    }
    event_recorder_get_stats(recorder, &stats);
    assert_int_equal(stats.emitted, 20);
    assert_int_equal(stats.in_flight, 2);
    assert_int_equal(stats.queued, 5);
    assert_int_equal(stats.dropped, 13);
    assert_int_equal(stats.cached, 4);
}

static size_t bindings;

static size_t urgent(void *ctx)
{
    (void)ctx;
    return bindings;
}

static void test_events_leave_the_server_to_more_urgent_writes(void **state)
{
    char name[32];
    static const struct {
        size_t bindings;
        int events;
        size_t in_flight;
    } rows[] = {{100, 10, 2}, {8, 11, 2}, {7, 12, 3}, {0, 13, 10}, {100, 20, 10}};
    int n = 0;

    (void)state;
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = EVENTS, .manner = FAKE_HANG, .forever = true});
    start((struct event_recorder_options){.max_queue = 40, .max_in_flight = 10, .urgent = urgent});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bindings = rows[i].bindings;
        for (; n < rows[i].events; n++) {
            snprintf(name, sizeof(name), "p%d", n);
            emit(name, "x");
        }
        event_recorder_get_stats(recorder, &stats);
        assert_int_equal(stats.in_flight, rows[i].in_flight);
    }
}

/* Otherwise some would be dropped. */
static void test_urgent_writes_do_not_fill_the_queue_of_events(void **state)
{
    char name[32];

    (void)state;
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = EVENTS, .manner = FAKE_HANG, .forever = true});
    start((struct event_recorder_options){.max_queue = 40, .max_in_flight = 12, .urgent = urgent});
    bindings = 100;
    for (int i = 0; i < 22; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        emit(name, "x");
    }
    event_recorder_get_stats(recorder, &stats);
    assert_int_equal(stats.in_flight, 2);
    emit("one more", "x");
    event_recorder_get_stats(recorder, &stats);
    assert_int_equal(stats.queued, 20);
    assert_int_equal(stats.in_flight, 3);
}

static void test_held_events_are_written(void **state)
{
    char name[32];

    (void)state;
    fake_api_answer(k.api, &(struct fake_answer){.method = "POST",
                                                 .path = EVENTS,
                                                 .status = 201,
                                                 .body = STR_INIT("{}"),
                                                 .forever = true});
    start((struct event_recorder_options){.urgent = urgent});
    bindings = 100;
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        emit(name, "x");
    }
    wait_written(50);
}

static void test_warnings_keep_to_their_limit_and_hold_up_nobody(void **state)
{
    char name[32];

    (void)state;
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = EVENTS, .manner = FAKE_HANG, .forever = true});
    start((struct event_recorder_options){
        .warning_qps = 0.01, .warning_burst = 3, .max_in_flight = 100, .max_warnings = 10});
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        emit_as("Warning", name, "x");
    }
    event_recorder_get_stats(recorder, &stats);
    assert_int_equal(stats.in_flight, 3);
    assert_int_equal(stats.queued, 10);
    assert_int_equal(stats.dropped, 7);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        emit(name, "x");
    }
    event_recorder_get_stats(recorder, &stats);
    assert_int_equal(stats.in_flight, 23);
    assert_int_equal(stats.queued, 10);
    assert_int_equal(stats.dropped, 7);
}

static void test_cluster_objects_go_to_default(void **state)
{
    struct event_info info = {.regarding = {.kind = STR_INIT("Node"), .name = STR_INIT("n")},
                              .type = STR_INIT("Normal"),
                              .reason = STR_INIT("R"),
                              .action = STR_INIT("A"),
                              .reporting_controller = STR_INIT("c")};

    (void)state;
    fake_api_json(k.api, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", NULL, 201,
                  "{}");
    start((struct event_recorder_options){0});
    event_emit(recorder, &info);
    wait_written(1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_event_is_written_whole),
        TEST(test_long_notes_are_cut_between_characters),
        TEST(test_a_repetition_becomes_a_series),
        TEST(test_a_repetition_at_once_waits_for_the_first),
        TEST(test_a_series_whose_event_is_gone_is_made_anew),
        TEST(test_lost_connections_are_retried_and_refusals_are_not),
        TEST(test_giving_up),
        TEST(test_overflow_is_dropped_and_counted),
        TEST(test_events_leave_the_server_to_more_urgent_writes),
        TEST(test_urgent_writes_do_not_fill_the_queue_of_events),
        TEST(test_held_events_are_written),
        TEST(test_warnings_keep_to_their_limit_and_hold_up_nobody),
        TEST(test_cluster_objects_go_to_default),
    };

    return cmocka_run_group_tests_name("kube_events", tests, NULL, NULL);
}
