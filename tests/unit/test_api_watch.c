/* SPDX-License-Identifier: Apache-2.0 */
/* Watches over HTTP: where they begin, what they see, forms, slow readers, many of them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <malloc.h>

#include "api_world.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

static void make_map(struct api_world *w, const char *name, const char *app)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"%s\"}},\"data\":{\"a\":\"1\"}}",
             name, app);
    assert_int_equal(api_world_post(w, MAPS, body), 201);
}

static void change_map(struct api_world *w, const char *name, const char *patch)
{
    char path[128];

    snprintf(path, sizeof(path), MAPS "/%s", name);
    assert_int_equal(
        api_world_send(w, "PATCH", path, "content-type: application/merge-patch+json", patch), 200);
}

static void delete_map(struct api_world *w, const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), MAPS "/%s", name);
    assert_int_equal(api_world_send(w, "DELETE", path, NULL, NULL), 200);
}

/* "ADDED one" */
static void assert_event(struct api_world *w, const struct api_stream *s, size_t i,
                         const char *expected)
{
    struct json_value event;
    char text[256];

    assert_int_equal(
        json_parse(arena_dup(&w->arena, api_stream_line(s, i)), 0, &w->arena, &event, NULL), 0);
    snprintf(text, sizeof(text), "%.*s %.*s", STR_ARG(json_text_at(&event, "type")),
             STR_ARG(json_text_at(&event, "object.metadata.name")));
    assert_string_equal(text, expected);
}

static void start(struct api_world *w)
{
    api_world_start(w, &(struct api_world_options){0});
}

static char *list_version(struct api_world *w)
{
    assert_int_equal(api_world_get(w, MAPS), 200);
    return str_dup(json_text_at(&w->json, "metadata.resourceVersion"));
}

/* --- events ----------------------------------------------------------------------------------- */

static void changes(void **state)
{
    struct api_world w;
    struct api_stream s;
    char *version, target[256];

    (void)state;
    start(&w);
    make_map(&w, "before", "x");
    version = list_version(&w);
    snprintf(target, sizeof(target), MAPS "?watch=true&resourceVersion=%s", version);
    make_map(&w, "one", "x");
    api_stream_open(&w, &s, target, NULL);
    assert_int_equal(s.status, 200);
    change_map(&w, "one", "{\"data\":{\"a\":\"2\"}}");
    delete_map(&w, "one");
    api_stream_wait(&w, &s, 3);
    assert_event(&w, &s, 0, "ADDED one");
    assert_event(&w, &s, 1, "MODIFIED one");
    assert_event(&w, &s, 2, "DELETED one");
    api_stream_close(&s);
    free(version);
    api_world_stop(&w);
}

static void initial_events(void **state)
{
    struct api_world w;
    struct api_stream s;

    (void)state;
    start(&w);
    make_map(&w, "a", "x");
    make_map(&w, "b", "x");
    api_stream_open(&w, &s, MAPS "?watch=1", NULL);
    api_stream_wait(&w, &s, 2);
    make_map(&w, "c", "x");
    api_stream_wait(&w, &s, 3);
    assert_event(&w, &s, 0, "ADDED a");
    assert_event(&w, &s, 1, "ADDED b");
    assert_event(&w, &s, 2, "ADDED c");
    api_stream_close(&s);
    api_stream_open(&w, &s,
                    MAPS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                         "allowWatchBookmarks=true",
                    NULL);
    api_stream_wait(&w, &s, 4);
    assert_event(&w, &s, 2, "ADDED c");
    assert_event(&w, &s, 3, "BOOKMARK ");
    assert_true(str_search(api_stream_line(&s, 3), STR("\"k8s.io/initial-events-end\":\"true\"")) <
                api_stream_line(&s, 3).n);
    api_stream_close(&s);
    assert_int_equal(api_world_get(&w, MAPS "?watch=1&sendInitialEvents=true"), 422);
    assert_int_equal(api_world_get(&w, MAPS "?watch=1&resourceVersion=x"), 422);
    api_world_stop(&w);
}

/* Objects that begin or stop to match are added or deleted. */
static void selectors(void **state)
{
    struct api_world w;
    struct api_stream s;
    struct str line;

    (void)state;
    start(&w);
    api_stream_open(&w, &s, MAPS "?watch=1&labelSelector=app%3Dx", NULL);
    make_map(&w, "one", "y");
    change_map(&w, "one", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}");
    change_map(&w, "one", "{\"metadata\":{\"labels\":{\"app\":\"y\"}}}");
    make_map(&w, "two", "x");
    api_stream_wait(&w, &s, 3);
    assert_event(&w, &s, 0, "ADDED one");
    assert_event(&w, &s, 1, "DELETED one");
    assert_event(&w, &s, 2, "ADDED two");
    /* The last state that matched, with the version of the change. */
    line = api_stream_line(&s, 1);
    assert_true(str_search(line, STR("\"app\":\"x\"")) < line.n);
    api_stream_close(&s);
    api_stream_open(&w, &s, "/api/v1/watch/namespaces/default/configmaps/two", NULL);
    api_stream_wait(&w, &s, 1);
    assert_event(&w, &s, 0, "ADDED two");
    api_stream_close(&s);
    api_stream_open(&w, &s, "/api/v1/namespaces/other/configmaps?watch=1&timeoutSeconds=1", NULL);
    api_stream_wait(&w, &s, 1);
    assert_true(s.done);
    assert_int_equal(s.text.n, 0);
    api_stream_close(&s);
    api_world_stop(&w);
}

static void forms(void **state)
{
    struct api_world w;
    struct api_stream table, partial;
    struct str line;

    (void)state;
    start(&w);
    make_map(&w, "one", "x");
    api_stream_open(&w, &table, MAPS "?watch=1",
                    "accept: application/json;as=Table;v=v1;g=meta.k8s.io");
    api_stream_open(&w, &partial, MAPS "?watch=1",
                    "accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    make_map(&w, "two", "x");
    api_stream_wait(&w, &table, 2);
    api_stream_wait(&w, &partial, 2);
    line = api_stream_line(&table, 0);
    assert_true(str_search(line, STR("\"columnDefinitions\":[{")) < line.n);
    line = api_stream_line(&table, 1);
    assert_true(str_search(line, STR("\"cells\":[\"two\"")) < line.n);
    assert_false(str_search(line, STR("\"columnDefinitions\":[{")) < line.n);
    assert_event(&w, &partial, 1, "ADDED two");
    line = api_stream_line(&partial, 1);
    assert_false(str_search(line, STR("\"data\"")) < line.n);
    api_stream_close(&table);
    api_stream_close(&partial);
    assert_int_equal(api_world_send(&w, "GET", MAPS "?watch=1", "accept: application/yaml", NULL),
                     406);
    api_world_stop(&w);
}

static void expired(void **state)
{
    struct api_world w;
    struct api_stream s;
    struct str line;

    (void)state;
    /* A history of two changes. */
    api_world_start(&w, &(struct api_world_options){.server = {.seed = 2}});
    for (int i = 0; i < 10; i++) {
        char name[16];

        snprintf(name, sizeof(name), "m%d", i);
        make_map(&w, name, "x");
    }
    api_stream_open(&w, &s, MAPS "?watch=1&resourceVersion=1", NULL);
    api_stream_wait(&w, &s, 1);
    assert_int_equal(s.status, 200);
    line = api_stream_line(&s, 0);
    assert_true(str_starts(line, STR("{\"type\":\"ERROR\"")));
    assert_true(str_search(line, STR("\"reason\":\"Expired\"")) < line.n);
    assert_true(str_search(line, STR("\"code\":410")) < line.n);
    api_stream_close(&s);
    api_world_stop(&w);
}

static void bookmarks(void **state)
{
    struct api_world w;
    struct api_stream s;

    (void)state;
    api_world_start(&w,
                    &(struct api_world_options){.server = {.bookmark_period = 20 * NSEC_PER_MSEC}});
    api_stream_open(&w, &s, MAPS "?watch=1&allowWatchBookmarks=true", NULL);
    api_stream_wait(&w, &s, 2);
    assert_event(&w, &s, 0, "BOOKMARK ");
    assert_event(&w, &s, 1, "BOOKMARK ");
    api_stream_close(&s);
    api_world_stop(&w);
}

/* Nothing is seen before it is on disk. */
static void commits(void **state)
{
    struct api_world w;
    struct api_stream s;

    (void)state;
    start(&w);
    api_stream_open(&w, &s, MAPS "?watch=1", NULL);
    w.commit_result = -EIO;
    assert_int_equal(api_world_post(&w, MAPS, "{\"metadata\":{\"name\":\"one\"}}"), 500);
    for (int i = 0; i < 5; i++)
        loop_step(w.loop, NSEC_PER_MSEC);
    assert_int_equal(s.text.n, 0);
    w.commit_result = 0;
    make_map(&w, "two", "x");
    api_stream_wait(&w, &s, 2);
    assert_event(&w, &s, 0, "ADDED one");
    assert_event(&w, &s, 1, "ADDED two");
    api_stream_close(&s);
    api_world_stop(&w);
}

/* --- readers ---------------------------------------------------------------------------------- */

/* A reader that stops costs a bounded queue, and sees everything when it goes on. */
static void slow_reader(void **state)
{
    struct api_world w;
    struct api_stream s;
    char *large = xmalloc((size_t)200 * 1024 + 1), patch[64];
    char *body;

    (void)state;
    memset(large, 'x', (size_t)200 * 1024);
    large[(size_t)200 * 1024] = 0;
    start(&w);
    body = xasprintf("{\"metadata\":{\"name\":\"one\"},\"data\":{\"x\":\"%s\"}}", large);
    assert_int_equal(api_world_post(&w, MAPS, body), 201);
    api_stream_open(&w, &s, MAPS "?watch=1", NULL);
    api_stream_wait(&w, &s, 1);
    http_call_pause(s.call);
    for (int i = 0; i < 100; i++) {
        snprintf(patch, sizeof(patch), "{\"data\":{\"n\":\"%d\"}}", i);
        change_map(&w, "one", patch);
    }
    http_call_resume(s.call);
    api_stream_wait(&w, &s, 101);
    assert_event(&w, &s, 100, "MODIFIED one");
    api_stream_close(&s);
    free(body);
    free(large);
    api_world_stop(&w);
}

static void many_watches(void **state)
{
    static struct api_stream s[500];
    struct api_world w;
    size_t before, after;

    (void)state;
    api_world_start(&w, &(struct api_world_options){.tls = true}); /* HTTP/2 */
    make_map(&w, "one", "x");
    before = mallinfo2().uordblks;
    for (size_t i = 0; i < ARRAY_LEN(s); i++)
        api_stream_open(&w, &s[i], MAPS "?watch=1", NULL);
    for (size_t i = 0; i < ARRAY_LEN(s); i++)
        api_stream_wait(&w, &s[i], 1);
    after = mallinfo2().uordblks;
    /* Both ends of a watch: half of 50 MB for 1,000. */
    assert_true(after - before < (size_t)25 << 20);
    change_map(&w, "one", "{\"data\":{\"n\":\"1\"}}");
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        api_stream_wait(&w, &s[i], 2);
        assert_event(&w, &s[i], 1, "MODIFIED one");
    }
    for (size_t i = 0; i < ARRAY_LEN(s); i++)
        api_stream_close(&s[i]);
    api_world_stop(&w);
}

static void on_done(void *ctx)
{
    *(bool *)ctx = true;
}

static void shutdown_ends_watches(void **state)
{
    struct api_world w;
    struct api_stream s;
    bool done = false;

    (void)state;
    start(&w);
    api_stream_open(&w, &s, MAPS "?watch=1", NULL);
    api_server_shutdown(w.server, 10 * NSEC_PER_SEC, on_done, &done);
    api_stream_wait(&w, &s, 1);
    assert_true(s.done);
    while (!done)
        loop_step(w.loop, 10 * NSEC_PER_MSEC);
    api_stream_close(&s);
    api_world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes),      cmocka_unit_test(initial_events),
        cmocka_unit_test(selectors),    cmocka_unit_test(forms),
        cmocka_unit_test(expired),      cmocka_unit_test(bookmarks),
        cmocka_unit_test(commits),      cmocka_unit_test(slow_reader),
        cmocka_unit_test(many_watches), cmocka_unit_test(shutdown_ends_watches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
