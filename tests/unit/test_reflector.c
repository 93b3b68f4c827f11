/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_kube.h"
#include "kube/watch/informers.h"
#include "objects.h"

#define PODS   "/api/v1/pods"
#define NODES  "/api/v1/nodes"
#define SLICES "/apis/resource.k8s.io/v1/resourceslices"
#define GROUP  "/apis/resource.k8s.io/v1"

static struct fake_kube k;
static struct reflector *reflector;
static struct buf seen; /* "A a@1 M a@1>2 D a@2 S …" */
static size_t wanted;

static const struct reflector_options quick = {
    .healthy = 1, /* any watch counts as one that lasted */
    .backoff = {NSEC_PER_MSEC, 2 * NSEC_PER_MSEC, 2, 0.1, 0},
    .missing = {NSEC_PER_MSEC, 2 * NSEC_PER_MSEC, 2, 0.1, 0},
    .seed = 1,
};

static void on_event(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object)
{
    const struct object_meta *meta = object_meta(object);

    (void)ctx;
    assert_true((type == WATCH_ADDED) == (old == NULL));
    if (type == WATCH_MODIFIED)
        buf_add_printf(&seen, "M%.*s@%.*s>%.*s ", STR_ARG(meta->name),
                       STR_ARG(object_meta(old)->resource_version),
                       STR_ARG(meta->resource_version));
    else
        buf_add_printf(&seen, "%c%.*s@%.*s ", type == WATCH_ADDED ? 'A' : 'D', STR_ARG(meta->name),
                       STR_ARG(meta->resource_version));
}

static void on_synced(void *ctx, const struct kind *kind)
{
    (void)ctx;
    (void)kind;
    buf_add_cstr(&seen, "S ");
}

static void on_refetched(void *ctx, struct reflector *r)
{
    (void)ctx;
    assert_false(reflector_is_refetching(r));
    buf_add_cstr(&seen, "R ");
}

static const struct reflector_sink sink = {
    .on_event = on_event, .on_synced = on_synced, .on_refetched = on_refetched};

static int set_up(void **state)
{
    (void)state;
    fake_kube_begin(&k, NULL);
    seen = (struct buf)BUF_INIT;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    reflector = reflector_free(reflector);
    fake_kube_end(&k);
    buf_release(&seen);
    return 0;
}

static void start(struct reflector_options options)
{
    if (!options.kind)
        options.kind = kind_get(KIND_POD);
    reflector = reflector_new(k.client, &options, &sink, NULL);
    reflector_start(reflector);
}

static struct reflector_options paging(void)
{
    struct reflector_options o = quick;

    o.no_streaming = true;
    return o;
}

static bool has_seen(void *ctx)
{
    (void)ctx;
    return seen.n >= wanted;
}

/* Waits for that much output, which must equal this. */
static void expect(const char *text)
{
    wanted = strlen(text);
    if (!fake_run_until(k.loop, has_seen, NULL))
        fail_msg("waited for \"%s\", got \"%s\"\n%s", text, buf_cstr(&seen), fake_log_text());
    assert_string_equal(buf_cstr(&seen), text);
    buf_clear(&seen);
}

static bool is_open(void *ctx)
{
    return fake_api_is_open(k.api, ctx);
}

static void wait_open(const char *path)
{
    if (!fake_run_until(k.loop, is_open, (void *)(uintptr_t)path))
        fail_msg("no watch was opened\n%s", fake_log_text());
}

static size_t wanted_requests;
static bool has_requested(void *ctx)
{
    (void)ctx;
    return fake_api_count(k.api) >= wanted_requests;
}

static void wait_requests(size_t n)
{
    wanted_requests = n;
    assert_true(fake_run_until(k.loop, has_requested, NULL));
}

static size_t count_in_log(const char *text)
{
    size_t n = 0;

    for (const char *p = fake_log_text(); (p = strstr(p, text)); p++)
        n++;
    return n;
}

/* --- answers ---------------------------------------------------------------------------------- */

static struct str list_of(const char *items, const char *version, const char *next)
{
    return arena_jsonf(&k.arena,
                       "{'kind':'PodList','apiVersion':'v1','metadata':"
                       "{'resourceVersion':'%s','continue':'%s'},'items':[%s]}",
                       version, next, items);
}

static const char *pods(const char *names, int version)
{
    struct buf out = BUF_INIT;
    struct str text;

    for (const char *p = names; *p; p++)
        buf_add_printf(&out, "%s%s", out.n ? "," : "", fake_pod(&k, (char[]){*p, '\0'}, version).p);
    text = arena_dup(&k.arena, buf_str(&out));
    buf_release(&out);
    return text.p;
}

static void answer_list(const char *query, struct str body)
{
    fake_api_json(k.api, "GET", PODS, query, 200, body.p);
}

static void answer_watch(const char *query, struct str body)
{
    fake_api_answer(k.api, &(struct fake_answer){
                               .path = PODS, .query = query, .manner = FAKE_STREAM, .body = body});
}

static void push(const char *type, const char *name, int version)
{
    fake_api_push(k.api, PODS, fake_frame(&k, type, fake_pod(&k, name, version)));
}

static struct str joined(struct str a, struct str b)
{
    return arena_printf(&k.arena, "%.*s%.*s", STR_ARG(a), STR_ARG(b));
}

/* --- the usual course ------------------------------------------------------------------------- */

static void test_pages_then_watch(void **state)
{
    struct reflector_options o = paging();

    (void)state;
    o.page_size = 2;
    o.field_selector = STR("spec.nodeName=");
    answer_list("limit=2&fieldSelector=spec.nodeName%3D", list_of(pods("ab", 1), "10", "tok en"));
    answer_list("limit=2&continue=tok%20en&fieldSelector=", list_of(pods("c", 1), "10", ""));
    answer_watch("resourceVersion=10", STR(""));
    start(o);
    expect("Aa@1 Ab@1 Ac@1 S ");
    assert_true(reflector_has_synced(reflector));
    wait_open(PODS);
    push("ADDED", "d", 11);
    push("MODIFIED", "a", 12);
    push("DELETED", "b", 13);
    expect("Ad@11 Ma@1>12 Db@13 ");
    assert_true(str_is(reflector_resource_version(reflector), "13"));
    assert_non_null(reflector_get(reflector, STR("ns"), STR("d")));
    assert_null(reflector_get(reflector, STR("ns"), STR("b")));
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

static void test_streaming_list(void **state)
{
    (void)state;
    answer_watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                 joined(fake_frame(&k, "ADDED", fake_pod(&k, "a", 5)),
                        fake_frame(&k, "ADDED", fake_pod(&k, "b", 3))));
    start(quick);
    expect("Aa@5 Ab@3 ");
    assert_false(reflector_has_synced(reflector));
    assert_int_equal(reflector_resource_version(reflector).n, 0);
    /* A bookmark that does not end the initial events. */
    fake_api_push(k.api, PODS, fake_bookmark(&k, 6, false));
    push("MODIFIED", "b", 4);
    expect("Mb@3>4 ");
    assert_false(reflector_has_synced(reflector));
    fake_api_push(k.api, PODS, fake_bookmark(&k, 7, true));
    expect("S ");
    assert_true(str_is(reflector_resource_version(reflector), "7"));
    push("MODIFIED", "b", 8);
    expect("Mb@4>8 ");
    fake_api_push(k.api, PODS, fake_bookmark(&k, 20, false));
    fake_api_end(k.api, PODS);
    /* Ended properly: continues from the bookmark, without a list. */
    answer_watch("resourceVersion=20", fake_frame(&k, "DELETED", fake_pod(&k, "a", 21)));
    expect("Da@21 ");
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

static void test_protobuf_throughout(void **state)
{
    struct str frame =
        fake_proto_frame(&k, "ADDED", fake_proto(&k, KIND_POD, fake_pod(&k, "a", 5)));
    struct str end = fake_proto_frame(
        &k, "BOOKMARK",
        fake_proto(&k, KIND_POD,
                   json_quotes_str("{'kind':'Pod','apiVersion':'v1','metadata':{'resourceVersion':"
                                   "'9','annotations':{'k8s.io/initial-events-end':'true'}}}")));

    (void)state;
    fake_api_answer(k.api, &(struct fake_answer){.path = PODS,
                                                 .type = FAKE_PROTO ";stream=watch",
                                                 .manner = FAKE_STREAM,
                                                 .body = frame});
    start(quick);
    expect("Aa@5 ");
    fake_api_push(k.api, PODS, end);
    expect("S ");
}

static void test_streaming_refused_falls_back_to_pages(void **state)
{
    (void)state;
    fake_api_json(k.api, "GET", PODS, "sendInitialEvents", 422,
                  fake_status(&k, 422, "Invalid", "sendInitialEvents is forbidden").p);
    answer_list("limit=500", list_of(pods("a", 1), "10", ""));
    answer_watch("resourceVersion=10", fake_frame(&k, "ADDED", fake_pod(&k, "b", 11)));
    start(quick);
    expect("Aa@1 S Ab@11 ");
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

/* Any error except a rejection of streaming: pages now, and streaming the next time. */
static void test_streaming_that_fails_is_made_up_by_pages(void **state)
{
    (void)state;
    answer_watch("sendInitialEvents", json_quotes_str("{'kind':'PodList'}"));
    fake_api_json(k.api, "GET", PODS, "limit=500", 403,
                  fake_status(&k, 403, "Forbidden", "cannot list").p);
    answer_watch("sendInitialEvents",
                 joined(fake_frame(&k, "ADDED", fake_pod(&k, "a", 1)), fake_bookmark(&k, 5, true)));
    start(quick);
    expect("Aa@1 S ");
    assert_int_equal(count_in_log("cannot list"), 1);
    assert_int_equal(count_in_log("Failed to watch"), 1);
    assert_int_equal(fake_api_count(k.api), 3);
}

static void test_streaming_without_end_falls_back_to_pages(void **state)
{
    struct reflector_options o = quick;

    (void)state;
    o.streaming_silence = 5 * NSEC_PER_MSEC;
    answer_watch("sendInitialEvents", fake_frame(&k, "ADDED", fake_pod(&k, "a", 1)));
    answer_list("limit=500", list_of(pods("ab", 1), "10", ""));
    answer_watch("resourceVersion=10", STR(""));
    start(o);
    expect("Aa@1 Ab@1 S ");
}

/* --- pages that are too large ----------------------------------------------------------------- */

/* Three pods fit into an answer, four do not. */
static void limit_lists(void)
{
    struct rest_options o = {.max_list = list_of(pods("abc", 1), "10", "next").n};

    fake_kube_end(&k);
    fake_kube_begin(&k, &o);
}

static size_t count_queries(const char *part)
{
    size_t n = 0;

    for (size_t i = 0; i < fake_api_count(k.api); i++)
        n += strstr(fake_api_request(k.api, i)->query, part) != NULL;
    return n;
}

/* With and without a length from the server. */
static void answer_too_much(const char *query, bool says)
{
    fake_api_answer(k.api, &(struct fake_answer){.path = PODS,
                                                 .query = query,
                                                 .manner = says ? FAKE_REPLY : FAKE_STREAM,
                                                 .body = list_of(pods("abcdef", 1), "10", "")});
}

static void test_a_page_that_is_too_large_is_halved(void **state)
{
    struct reflector_options o = paging();

    (void)state;
    limit_lists();
    o.page_size = 32;
    answer_too_much("limit=32", true);
    answer_too_much("limit=16", false);
    answer_list("limit=4", list_of(pods("ab", 1), "10", "t1"));
    /* Larger ones follow: the same page, of the same snapshot. */
    answer_too_much("limit=4&continue=t1", true);
    answer_list("limit=2&continue=t1", list_of(pods("c", 1), "10", "t2"));
    answer_list("limit=2&continue=t2", list_of(pods("d", 1), "10", ""));
    fake_api_json(k.api, "GET", PODS, "resourceVersion=10", 410,
                  fake_status(&k, 410, "Expired", "too old").p);
    /* The next list starts with the size that worked. */
    answer_list("limit=2", list_of(pods("a", 1), "20", "t3"));
    fake_api_json(k.api, "GET", PODS, "limit=2&continue=t3", 410,
                  fake_status(&k, 410, "Expired", "the snapshot is gone").p);
    answer_list("limit=2", list_of(pods("a", 2), "30", ""));
    fake_api_json(k.api, "GET", PODS, "resourceVersion=30", 410,
                  fake_status(&k, 410, "Expired", "too old").p);
    /* A page far below the limit makes the next list start with larger pages again. */
    answer_list("limit=2", list_of("", "40", ""));
    fake_api_json(k.api, "GET", PODS, "resourceVersion=40", 410,
                  fake_status(&k, 410, "Expired", "too old").p);
    answer_list("limit=4", list_of(pods("ab", 3), "50", ""));
    answer_watch("resourceVersion=50", STR(""));
    start(o);
    expect("Aa@1 Ab@1 Ac@1 Ad@1 S Ma@1>2 Db@1 Dc@1 Dd@1 Da@2 Aa@3 Ab@3 ");
    assert_int_equal(count_queries("limit=32") + count_queries("limit=16"), 2);
    assert_int_equal(count_in_log("listing with a smaller limit"), 3);
    assert_int_equal(count_in_log("Failed to watch"), 0);
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

static void test_an_object_that_is_too_large_is_told_of(void **state)
{
    struct reflector_options o = paging();

    (void)state;
    limit_lists();
    o.page_size = 2;
    answer_too_much("limit=2", true);
    answer_too_much("limit=1", true);
    answer_list("limit=1", list_of(pods("a", 1), "10", ""));
    answer_watch("resourceVersion=10", STR(""));
    start(o);
    expect("Aa@1 S ");
    assert_int_equal(count_in_log("failed to list *v1.Pod: GET "), 1);
    assert_int_equal(count_in_log("/api/v1/pods?limit=1: response larger than "), 1);
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

/* --- missed changes are found ----------------------------------------------------------------- */

static void relist_after(struct str last_frame, int status)
{
    answer_list("limit=500", list_of(pods("abc", 1), "10", ""));
    if (status)
        fake_api_json(k.api, "GET", PODS, "resourceVersion=10", status,
                      fake_status(&k, status, "Expired", "too old").p);
    else
        answer_watch("resourceVersion=10", last_frame);
    /* a: changed, b: unchanged, c: deleted, d: new */
    answer_list("limit=500", list_of(joined(joined(fake_pod(&k, "a", 12), STR(",")),
                                            joined(joined(fake_pod(&k, "b", 1), STR(",")),
                                                   fake_pod(&k, "d", 15)))
                                         .p,
                                     "20", ""));
    answer_watch("resourceVersion=20", fake_frame(&k, "ADDED", fake_pod(&k, "e", 21)));
    start(paging());
    expect("Aa@1 Ab@1 Ac@1 S Ma@1>12 Ad@15 Dc@1 Ae@21 ");
    assert_int_equal(fake_api_unexpected(k.api), 0);
    assert_int_equal(count_in_log("Failed to watch"), 0);
}

static void test_410_within_the_watch(void **state)
{
    (void)state;
    relist_after(fake_frame(&k, "ERROR", fake_status(&k, 410, "Expired", "too old")), 0);
}

static void test_410_at_the_watchs_begin(void **state)
{
    (void)state;
    relist_after(STR(""), 410);
}

static void test_410_with_streaming_asks_for_the_newest(void **state)
{
    (void)state;
    answer_watch("sendInitialEvents",
                 joined(fake_frame(&k, "ADDED", fake_pod(&k, "a", 1)), fake_bookmark(&k, 5, true)));
    start(quick);
    expect("Aa@1 S ");
    answer_watch("sendInitialEvents", joined(fake_frame(&k, "ADDED", fake_pod(&k, "b", 30)),
                                             fake_bookmark(&k, 40, true)));
    fake_api_push(k.api, PODS, fake_frame(&k, "ERROR", fake_status(&k, 410, "Gone", "too old")));
    expect("Ab@30 Da@1 ");
    assert_null(strstr(fake_api_request(k.api, 1)->query, "resourceVersion=5"));
}

static void test_list_expires_between_pages(void **state)
{
    (void)state;
    answer_list("limit=500", list_of(pods("ab", 1), "10", "next"));
    fake_api_json(k.api, "GET", PODS, "continue=next", 410,
                  fake_status(&k, 410, "Expired", "the list expired").p);
    answer_list("limit=500", list_of(pods("bc", 2), "12", ""));
    answer_watch("resourceVersion=12", STR(""));
    start(paging());
    expect("Aa@1 Ab@1 Mb@1>2 Ac@2 Da@1 S ");
}

static void test_a_cut_watch_resumes(void **state)
{
    (void)state;
    answer_list("limit=500", list_of(pods("a", 1), "10", ""));
    answer_watch("resourceVersion=10", fake_frame(&k, "MODIFIED", fake_pod(&k, "a", 11)));
    start(paging());
    expect("Aa@1 S Ma@1>11 ");
    answer_watch("resourceVersion=11", fake_frame(&k, "MODIFIED", fake_pod(&k, "a", 12)));
    fake_api_cut(k.api, PODS);
    expect("Ma@11>12 ");
    fake_api_push(k.api, PODS, str_slice(fake_frame(&k, "ADDED", fake_pod(&k, "b", 13)), 0, 20));
    loop_step(k.loop, 0);
    answer_list("limit=500",
                list_of(joined(joined(fake_pod(&k, "a", 12), STR(",")), fake_pod(&k, "b", 13)).p,
                        "13", ""));
    answer_watch("resourceVersion=1", fake_frame(&k, "ADDED", fake_pod(&k, "b", 13)));
    fake_api_cut(k.api, PODS);
    expect("Ab@13 ");
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

static void test_nonsense_in_the_watch_lists_again(void **state)
{
    (void)state;
    answer_list("limit=500", list_of(pods("a", 1), "10", ""));
    answer_watch("resourceVersion=10", json_quotes_str("{'type':'ADDED','object':{'kind':7}}"));
    answer_list("limit=500", list_of(pods("a", 2), "12", ""));
    answer_watch("resourceVersion=12", STR(""));
    start(paging());
    expect("Aa@1 S Ma@1>2 ");
    assert_int_equal(count_in_log("Failed to watch"), 1);
}

static void test_nonsense_in_the_list_is_tried_again(void **state)
{
    (void)state;
    answer_list("limit=500", json_quotes_str("{'kind':'PodList','items':[{]"));
    answer_list("limit=500", list_of(pods("a", 2), "12", ""));
    answer_watch("resourceVersion=12", STR(""));
    start(paging());
    expect("Aa@2 S ");
    assert_int_equal(count_in_log("/api/v1/pods: list: "), 1);
}

static void test_events_for_the_unknown(void **state)
{
    (void)state;
    answer_list("limit=500", list_of("", "10", ""));
    answer_watch("resourceVersion=10", STR(""));
    start(paging());
    expect("S ");
    wait_open(PODS);
    push("MODIFIED", "a", 11);
    push("ADDED", "a", 12);
    push("DELETED", "x", 13);
    push("DELETED", "a", 14);
    expect("Aa@11 Ma@11>12 Da@14 ");
}

/* --- a server that rejects requests ----------------------------------------------------------- */

static void test_403_is_told_once_per_message(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        fake_api_json(k.api, "GET", PODS, NULL, 403,
                      fake_status(&k, 403, "Forbidden", i < 3 ? "pods: no" : "pods: never").p);
    answer_list("limit=500", list_of(pods("a", 1), "10", ""));
    answer_watch("resourceVersion=10", STR(""));
    start(paging());
    expect("Aa@1 S ");
    assert_int_equal(count_in_log("pods: no"), 1);
    assert_int_equal(count_in_log("pods: never"), 1);
    assert_int_equal(count_in_log("Watching again"), 1);
}

/* Discovery's next answer for the group of SLICES. */
static void answer_group(int status, const char *resource)
{
    struct str body =
        arena_jsonf(&k.arena, "{'resources':[{'name':'%s'}]}", resource ? resource : "");

    fake_api_json(k.api, "GET", GROUP, NULL, status, status == 200 ? body.p : "{}");
}

static struct reflector_options optional_slices(void)
{
    struct reflector_options o = paging();

    o.kind = kind_get(KIND_RESOURCE_SLICE);
    o.optional = true;
    return o;
}

static size_t asked_for(const char *path)
{
    size_t n = 0;

    for (size_t i = 0; i < fake_api_count(k.api); i++)
        n += strcmp(fake_api_request(k.api, i)->path, path) == 0;
    return n;
}

static void test_a_resource_that_appears_later(void **state)
{
    struct str missing =
        fake_status(&k, 404, "NotFound", "the server could not find the requested resource");

    (void)state;
    answer_group(404, NULL);
    answer_group(200, "other");
    answer_group(404, NULL);
    start(optional_slices());
    expect("S ");
    assert_true(reflector_is_missing(reflector));
    assert_true(reflector_has_synced(reflector));
    wait_requests(3);
    assert_int_equal(asked_for(SLICES), 0);
    answer_group(200, "resourceslices");
    fake_api_json(
        k.api, "GET", SLICES, "limit=500", 200,
        json_quotes("{'kind':'ResourceSliceList','apiVersion':'resource.k8s.io/v1','metadata':"
                    "{'resourceVersion':'5'},'items':[{'metadata':{'name':'s','resourceVersion':"
                    "'4'}}]}"));
    fake_api_answer(
        k.api,
        &(struct fake_answer){.path = SLICES, .query = "resourceVersion=5", .manner = FAKE_STREAM});
    expect("As@4 ");
    assert_false(reflector_is_missing(reflector));
    assert_int_equal(count_in_log("does not serve this resource"), 1);
    /* The resource is removed again: its objects are deleted. */
    wait_open(SLICES);
    fake_api_json(k.api, "GET", SLICES, NULL, 404, missing.p);
    answer_group(404, NULL);
    fake_api_cut(k.api, SLICES);
    expect("Ds@4 ");
}

/* If discovery does not list it, no request is made that could be rejected. */
static void test_discovery_comes_before_an_optional_list(void **state)
{
    struct reflector_options o = optional_slices();

    (void)state;
    for (int i = 0; i < 2; i++)
        fake_api_json(k.api, "GET", SLICES, NULL, 403,
                      fake_status(&k, 403, "Forbidden", "slices: no").p);
    answer_group(200, "resourceslices"); /* then a 403 is a denial */
    answer_group(500, NULL);             /* unknown: later */
    answer_group(403, NULL);             /* may still list */
    answer_group(404, NULL);
    start(o);
    expect("S ");
    assert_int_equal(asked_for(SLICES), 2);
    assert_int_equal(asked_for(GROUP), 4);
    assert_int_equal(count_in_log("slices: no"), 2);
    assert_int_equal(count_in_log("does not serve this resource"), 1);
    assert_string_equal(fake_api_request(k.api, 0)->accept, FAKE_JSON);
    assert_false(rest_is_json_only(k.client, o.kind));
}

/* The rights were revoked, or the resource was removed: discovery tells which. */
static void test_a_403_of_an_optional_watch(void **state)
{
    (void)state;
    answer_group(200, "resourceslices");
    fake_api_json(k.api, "GET", SLICES, "limit=500", 200,
                  json_quotes("{'kind':'ResourceSliceList','apiVersion':'resource.k8s.io/v1',"
                              "'metadata':{'resourceVersion':'5'},'items':[]}"));
    fake_api_json(k.api, "GET", SLICES, "resourceVersion=5", 403,
                  fake_status(&k, 403, "Forbidden", "slices: no").p);
    answer_group(404, NULL);
    start(optional_slices());
    expect("S ");
    wait_requests(4);
    for (int i = 0; i < 100 && !reflector_is_missing(reflector); i++)
        loop_step(k.loop, NSEC_PER_MSEC);
    assert_true(reflector_is_missing(reflector));
}

static void test_a_needed_resource_is_waited_for(void **state)
{
    (void)state;
    fake_api_json(k.api, "GET", PODS, NULL, 404, fake_status(&k, 404, "NotFound", "no pods").p);
    answer_list("limit=500", list_of(pods("a", 1), "10", ""));
    answer_watch("resourceVersion=10", STR(""));
    start(paging());
    expect("Aa@1 S ");
    assert_int_equal(count_in_log("no pods"), 1);
}

static void test_429_and_500_resume_the_watch(void **state)
{
    (void)state;
    answer_list("limit=500", list_of(pods("a", 1), "10", ""));
    fake_api_json(k.api, "GET", PODS, "resourceVersion=10", 429,
                  fake_status(&k, 429, "TooManyRequests", "busy").p);
    fake_api_json(k.api, "GET", PODS, "resourceVersion=10", 500,
                  fake_status(&k, 500, "InternalError", "oops").p);
    answer_watch("resourceVersion=10", fake_frame(&k, "ADDED", fake_pod(&k, "b", 11)));
    start(paging());
    expect("Aa@1 S Ab@11 ");
    assert_int_equal(fake_api_count(k.api), 4);
}

static void test_no_busy_loop(void **state)
{
    struct reflector_options o = paging();
    int64_t end;

    (void)state;
    o.healthy = NSEC_PER_SEC;
    o.backoff = (struct backoff_options){10 * NSEC_PER_SEC, 10 * NSEC_PER_SEC, 1, 0, 0};
    answer_list("limit=500", list_of(pods("a", 1), "10", ""));
    fake_api_answer(k.api, &(struct fake_answer){.path = PODS, .body = STR(""), .forever = true});
    start(o);
    expect("Aa@1 S ");
    wait_requests(2);
    end = time_mono() + 30 * NSEC_PER_MSEC;
    while (time_mono() < end)
        loop_step(k.loop, NSEC_PER_MSEC);
    assert_int_equal(fake_api_count(k.api), 2);
}

/* --- a set of reflectors ---------------------------------------------------------------------- */

static int synced_all;

static void on_all_synced(void *ctx)
{
    (void)ctx;
    synced_all++;
    buf_add_cstr(&seen, "ALL ");
}

static void test_informers_sync_together(void **state)
{
    static const struct informer_row rows[] = {
        {.kind = KIND_POD, .field_selector = "status.phase!=Failed"},
        {.kind = KIND_NODE},
        {.kind = KIND_RESOURCE_SLICE, .optional = true},
    };
    static const struct informers_sink all = {.on_event = on_event, .on_synced = on_all_synced};
    struct reflector_options o = paging();
    struct informers *in;

    (void)state;
    synced_all = 0;
    o.missing.initial = 10 * NSEC_PER_SEC;
    answer_group(404, NULL);
    answer_list("fieldSelector=status.phase%21%3DFailed", list_of("", "10", ""));
    answer_watch("fieldSelector=status.phase%21%3DFailed", STR(""));
    fake_api_json(k.api, "GET", NODES, NULL, 200,
                  json_quotes("{'kind':'NodeList','apiVersion':'v1','metadata':{'resourceVersion':"
                              "'5'},'items':[{'metadata':{'name':'n','resourceVersion':'3'}}]}"));
    fake_api_answer(k.api, &(struct fake_answer){.path = NODES, .manner = FAKE_STREAM});
    in = informers_new(k.client, rows, ARRAY_LEN(rows), &o, &all, NULL);
    assert_false(informers_have_synced(in));
    informers_start(in);
    expect("An@3 ALL ");
    assert_true(informers_have_synced(in));
    assert_int_equal(synced_all, 1);
    assert_true(reflector_is_missing(informers_get(in, KIND_RESOURCE_SLICE)));
    assert_null(informers_get(in, KIND_SERVICE));
    informers_free(in);
}

static void test_a_kick_ends_the_wait_for_a_lost_server(void **state)
{
    struct reflector_options o = paging();

    (void)state;
    o.backoff = (struct backoff_options){3600 * NSEC_PER_SEC, 3600 * NSEC_PER_SEC, 1, 0, 0};
    o.healthy = 3600 * NSEC_PER_SEC;
    answer_list("limit=500", list_of(pods("a", 1), "10", ""));
    answer_watch("resourceVersion=10", STR(""));
    start(o);
    expect("Aa@1 S ");
    wait_open(PODS);
    /* Not waiting: no effect. */
    reflector_kick(reflector);
    fake_api_cut(k.api, PODS);
    answer_watch("resourceVersion=10", fake_frame(&k, "ADDED", fake_pod(&k, "b", 11)));
    for (int i = 0; i < 20 && count_in_log("Failed to watch") == 0; i++)
        loop_step(k.loop, 20 * NSEC_PER_MSEC);
    assert_int_equal(fake_api_count(k.api), 2);
    reflector_kick(reflector);
    expect("Ab@11 ");
    /* Disconnected again: another kick so soon has no effect. */
    fake_api_cut(k.api, PODS);
    for (int i = 0; i < 5; i++) {
        loop_step(k.loop, NSEC_PER_MSEC);
        reflector_kick(reflector);
    }
    assert_int_equal(fake_api_count(k.api), 3);
}

static bool several_requests(void *ctx)
{
    (void)ctx;
    return fake_api_count(k.api) >= 4;
}

/* Two that get a head each time and then nothing must not kick each other forever. */
static void test_no_busy_loop_of_two(void **state)
{
    static const struct informer_row rows[] = {{.kind = KIND_POD}, {.kind = KIND_NODE}};
    static const struct informers_sink all = {.on_event = on_event};
    struct reflector_options o = quick;
    struct informers *in;
    int64_t end;

    (void)state;
    o.backoff = (struct backoff_options){3600 * NSEC_PER_SEC, 3600 * NSEC_PER_SEC, 1, 0, 0};
    for (int i = 0; i < 2; i++)
        fake_api_answer(k.api, &(struct fake_answer){.path = i ? NODES : PODS,
                                                     .manner = FAKE_STREAM,
                                                     .body = json_quotes_str("{'type':"),
                                                     .forever = true});
    in = informers_new(k.client, rows, ARRAY_LEN(rows), &o, &all, NULL);
    informers_start(in);
    end = time_mono() + 100 * NSEC_PER_MSEC;
    while (time_mono() < end && !several_requests(NULL)) {
        loop_step(k.loop, NSEC_PER_MSEC);
        if (fake_api_is_open(k.api, PODS))
            fake_api_cut(k.api, PODS);
        if (fake_api_is_open(k.api, NODES))
            fake_api_cut(k.api, NODES);
    }
    assert_int_equal(fake_api_count(k.api), 2);
    informers_free(in);
}

static bool all_failed(void *ctx)
{
    (void)ctx;
    return count_in_log("Failed to watch") > 0 && fake_api_count(k.api) >= 6;
}

static void test_informers_complain_with_one_voice(void **state)
{
    static const struct informer_row rows[] = {
        {.kind = KIND_POD}, {.kind = KIND_NODE}, {.kind = KIND_SERVICE}};
    static const struct informers_sink all = {.on_event = on_event};
    static const char *const paths[] = {PODS, NODES, "/api/v1/services"};
    struct reflector_options o = paging();
    struct informers *in;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        fake_api_answer(k.api,
                        &(struct fake_answer){.path = paths[i],
                                              .status = 401,
                                              .body = fake_status(&k, 401, "Unauthorized", "no"),
                                              .forever = true});
    in = informers_new(k.client, rows, ARRAY_LEN(rows), &o, &all, NULL);
    informers_start(in);
    assert_true(fake_run_until(k.loop, all_failed, NULL));
    assert_int_equal(count_in_log("Failed to watch"), 1);
    informers_free(in);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* --- another form ----------------------------------------------------------------------------- */

static bool has_json(const char *name)
{
    enum encoding encoding;
    const struct object *o = reflector_get(reflector, STR("ns"), str_of(name));

    assert_non_null(o);
    return object_wire(o, &encoding).p != NULL;
}

static void test_objects_are_fetched_in_another_form(void **state)
{
    (void)state;
    answer_list("limit=500", list_of(pods("ab", 1), "10", ""));
    answer_watch("resourceVersion=10", STR(""));
    start(paging());
    expect("Aa@1 Ab@1 S ");
    wait_open(PODS);
    assert_false(has_json("a"));
    /* The watch is cancelled; unchanged objects are reported as well. */
    fake_api_json(k.api, "GET", PODS, "limit=500", 500,
                  fake_status(&k, 500, "InternalError", "not now").p);
    answer_list("limit=500", list_of(pods("ac", 1), "12", ""));
    answer_watch("resourceVersion=12", STR(""));
    reflector_refetch(reflector, OBJECT_KEEP_JSON);
    assert_true(reflector_is_refetching(reflector));
    expect("Ma@1>1 Ac@1 Db@1 R ");
    assert_true(has_json("a") && has_json("c"));
    wait_open(PODS);
    push("MODIFIED", "a", 13);
    expect("Ma@1>13 ");
    assert_true(has_json("a"));
    /* Fewer fields are kept: of new objects, once the watch was reopened. */
    reflector_set_object_flags(reflector, 0);
    assert_false(reflector_is_refetching(reflector));
    answer_watch("resourceVersion=13", fake_frame(&k, "ADDED", fake_pod(&k, "d", 14)));
    fake_api_end(k.api, PODS);
    expect("Ad@14 ");
    assert_true(has_json("a"));
    assert_false(has_json("d"));
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

static void test_one_that_has_not_begun_only_keeps_it_in_mind(void **state)
{
    struct reflector_options o = paging();

    (void)state;
    o.kind = kind_get(KIND_POD);
    reflector = reflector_new(k.client, &o, &sink, NULL);
    reflector_refetch(reflector, OBJECT_KEEP_JSON);
    assert_false(reflector_is_refetching(reflector));
    answer_list("limit=500", list_of(pods("a", 1), "10", ""));
    answer_watch("resourceVersion=10", STR(""));
    reflector_start(reflector);
    expect("Aa@1 S ");
    assert_true(has_json("a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pages_then_watch),
        TEST(test_streaming_list),
        TEST(test_protobuf_throughout),
        TEST(test_streaming_refused_falls_back_to_pages),
        TEST(test_streaming_that_fails_is_made_up_by_pages),
        TEST(test_streaming_without_end_falls_back_to_pages),
        TEST(test_a_page_that_is_too_large_is_halved),
        TEST(test_an_object_that_is_too_large_is_told_of),
        TEST(test_410_within_the_watch),
        TEST(test_410_at_the_watchs_begin),
        TEST(test_410_with_streaming_asks_for_the_newest),
        TEST(test_list_expires_between_pages),
        TEST(test_a_cut_watch_resumes),
        TEST(test_nonsense_in_the_watch_lists_again),
        TEST(test_nonsense_in_the_list_is_tried_again),
        TEST(test_events_for_the_unknown),
        TEST(test_403_is_told_once_per_message),
        TEST(test_a_resource_that_appears_later),
        TEST(test_discovery_comes_before_an_optional_list),
        TEST(test_a_403_of_an_optional_watch),
        TEST(test_a_needed_resource_is_waited_for),
        TEST(test_429_and_500_resume_the_watch),
        TEST(test_objects_are_fetched_in_another_form),
        TEST(test_one_that_has_not_begun_only_keeps_it_in_mind),
        TEST(test_no_busy_loop),
        TEST(test_informers_sync_together),
        TEST(test_informers_complain_with_one_voice),
        TEST(test_a_kick_ends_the_wait_for_a_lost_server),
        TEST(test_no_busy_loop_of_two),
    };

    return cmocka_run_group_tests_name("reflector", tests, NULL, NULL);
}
