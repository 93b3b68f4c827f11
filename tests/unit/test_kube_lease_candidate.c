/* SPDX-License-Identifier: Apache-2.0 */
/* LeaseCandidate: created if missing, renewed when the server requests it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_kube.h"
#include "kube/lease/lease_candidate.h"
#include "objects.h"

#define CANDIDATES "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates"
#define MINE       CANDIDATES "/me"

static struct fake_kube k;
static struct lease_candidature *candidature;

static int set_up(void **state)
{
    (void)state;
    fake_kube_begin(&k, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    candidature = lease_candidature_free(candidature);
    fake_kube_end(&k);
    return 0;
}

static struct str candidate(const char *pinged, const char *renewed, int version)
{
    return arena_jsonf(
        &k.arena,
        "{'kind':'LeaseCandidate','apiVersion':'coordination.k8s.io/v1beta1','metadata':{"
        "'name':'me','namespace':'kube-system','resourceVersion':'%d'},'spec':{"
        "'leaseName':'kube-scheduler','pingTime':'%s','renewTime':'%s',"
        "'binaryVersion':'1.2.3','strategy':'OldestEmulationVersion'}}",
        version, pinged, renewed);
}

/* The initial list; then the watch stays open. */
static void begin(const char *items)
{
    struct str list = arena_jsonf(&k.arena,
                                  "{'kind':'LeaseCandidateList','apiVersion':"
                                  "'coordination.k8s.io/v1beta1','metadata':{"
                                  "'resourceVersion':'1'},'items':[%s]}",
                                  items);
    /* The server does not support streaming lists. */
    fake_api_answer(k.api, &(struct fake_answer){.method = "GET",
                                                 .path = CANDIDATES,
                                                 .query = "sendInitialEvents",
                                                 .status = 400,
                                                 .body = fake_status(&k, 400, "BadRequest", "no")});
    fake_api_answer(
        k.api,
        &(struct fake_answer){.method = "GET", .path = CANDIDATES, .query = "limit", .body = list});
    fake_api_answer(
        k.api, &(struct fake_answer){
                   .method = "GET", .path = CANDIDATES, .query = "watch", .manner = FAKE_STREAM});
    struct lease_candidate_options options = {
        .namespace = STR_INIT("kube-system"),
        .name = STR_INIT("me"),
        .lease_name = STR_INIT("kube-scheduler"),
        .binary_version = STR_INIT("1.2.3"),
        .emulation_version = STR_INIT("1.2.0"),
        .strategy = STR_INIT("OldestEmulationVersion"),
    };
    candidature = lease_candidature_new(k.client, &options);
    assert_false(lease_candidature_has_synced(candidature));
    lease_candidature_start(candidature);
}

static struct {
    const char *method;
    size_t count;
} wanted;

static size_t count(const char *method)
{
    size_t n = 0;
    for (size_t i = 0; i < fake_api_count(k.api); i++)
        n += strcmp(fake_api_request(k.api, i)->method, method) == 0;
    return n;
}

static bool is_counted(void *ctx)
{
    (void)ctx;
    return count(wanted.method) >= wanted.count;
}

static void wait_for(const char *method, size_t n)
{
    wanted.method = method;
    wanted.count = n;
    if (!fake_run_until(k.loop, is_counted, NULL))
        fail_msg("no %zu %s\n%s", n, method, fake_log_text());
}

static bool is_open(void *ctx)
{
    (void)ctx;
    return fake_api_is_open(k.api, CANDIDATES);
}

static void push(struct str object)
{
    fake_api_push(k.api, CANDIDATES, fake_frame(&k, "MODIFIED", object));
}

static void it_is_made_when_it_is_not_there(void **state)
{
    (void)state;
    /* Not at the first attempt. */
    fake_api_answer(
        k.api, &(struct fake_answer){.method = "POST",
                                     .path = CANDIDATES,
                                     .status = 500,
                                     .body = fake_status(&k, 500, "InternalError", "no luck")});
    fake_api_answer(k.api,
                    &(struct fake_answer){.method = "POST",
                                          .path = CANDIDATES,
                                          .status = 201,
                                          .body = candidate("2020-01-01T00:00:00.000000Z",
                                                            "2020-01-01T00:00:00.000000Z", 2)});
    begin("");
    wait_for("POST", 2);
    assert_true(lease_candidature_has_synced(candidature));
    assert_non_null(strstr(fake_log_text(), "Ensuring lease failed"));
    assert_int_equal(count("PUT"), 0);
}

static void it_is_renewed_when_the_server_asks(void **state)
{
    (void)state;
    static const char old[] = "2020-01-01T00:00:00.000000Z", new[] = "2021-01-01T00:00:00.000000Z";
    fake_api_answer(
        k.api, &(struct fake_answer){
                   .method = "PUT", .path = MINE, .body = candidate(old, new, 3), .forever = true});
    begin(candidate(old, old, 2).p);
    wait_for("PUT", 1); /* at the start, since it exists */
    assert_true(fake_run_until(k.loop, is_open, NULL));
    /* Its own renewal arrives: nothing to do. Then a ping. */
    push(candidate(old, new, 3));
    push(candidate(new, old, 4));
    wait_for("PUT", 2);
    push(candidate(new, new, 5));
    push(candidate("2022-01-01T00:00:00.000000Z", new, 6));
    wait_for("PUT", 3);
    assert_int_equal(count("PUT"), 3);
    assert_int_equal(count("POST"), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_made_when_it_is_not_there),
        TEST(it_is_renewed_when_the_server_asks),
    };
    return cmocka_run_group_tests_name("lease_candidate", tests, NULL, NULL);
}
