/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_kube.h"
#include "kube/lease/lease.h"
#include "live/pod_writes.h"
#include "objects.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define LEASE  LEASES "/kube-scheduler"

static struct fake_kube k;
static struct lease_elector *elector;
static struct buf seen; /* "start ", "stop ", "losing ", "lost ", "leader=X " */
static size_t renewals;
static int64_t clock_ahead; /* relative to the machine's clock, as after a suspend */
static size_t wanted;

static void on_started(void *ctx)
{
    (void)ctx;
    buf_add_cstr(&seen, "start ");
}

static void on_stopped(void *ctx, bool lost)
{
    (void)ctx;
    buf_add_cstr(&seen, lost ? "lost " : "stop ");
}

static void on_new_leader(void *ctx, struct str identity)
{
    (void)ctx;
    buf_add_printf(&seen, "leader=%.*s ", STR_ARG(identity));
}

static void on_lost(void *ctx)
{
    (void)ctx;
    buf_add_cstr(&seen, "losing ");
}

static void on_renewed(void *ctx)
{
    (void)ctx;
    renewals++;
}

static int64_t now(void)
{
    return time_boot() + clock_ahead;
}

static const struct lease_callbacks callbacks = {.on_started_leading = on_started,
                                                 .on_renewed = on_renewed,
                                                 .on_lost = on_lost,
                                                 .on_stopped_leading = on_stopped,
                                                 .on_new_leader = on_new_leader};
static bool coordinated, events;
static int64_t retry_period;
static struct metrics *metrics;

static int set_up(void **state)
{
    (void)state;
    fake_kube_begin(&k, NULL);
    seen = (struct buf)BUF_INIT;
    coordinated = events = false;
    renewals = 0;
    clock_ahead = 0;
    retry_period = 2 * NSEC_PER_MSEC;
    metrics = metrics_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    elector = lease_elector_free(elector);
    fake_kube_end(&k);
    buf_release(&seen);
    metrics = metrics_free(metrics);
    return 0;
}

static bool has_seen(void *ctx)
{
    (void)ctx;
    return seen.n >= wanted;
}

static void expect(const char *text)
{
    wanted = strlen(text);
    if (!fake_run_until(k.loop, has_seen, NULL))
        fail_msg("waited for \"%s\", got \"%s\"\n%s", text, buf_cstr(&seen), fake_log_text());
    assert_string_equal(buf_cstr(&seen), text);
    buf_clear(&seen);
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

/* For tests in which no deadline may expire, however busy the machine is. */
#define UNHURRIED (250 * NSEC_PER_MSEC)

/* A lease lasts at least one second, so retries are much shorter. */
static void start(void)
{
    struct lease_options options = {
        .namespace = STR_INIT("kube-system"),
        .name = STR_INIT("kube-scheduler"),
        .identity = STR_INIT("me"),
        .lease_duration = 15 * NSEC_PER_SEC + 20 * retry_period,
        .renew_deadline = 20 * retry_period,
        .retry_period = retry_period,
        .coordinated = coordinated,
        .event_client = events ? k.client : NULL,
        .component = STR_INIT("default-scheduler"),
        .metrics = metrics,
        .clock = now,
    };
    struct err err;

    assert_int_equal(lease_elector_new(k.client, &options, &callbacks, NULL, &elector, &err), 0);
    /* By default the lease may be read and not watched. */
    fake_api_answer(k.api, &(struct fake_answer){.method = "GET",
                                                 .path = LEASES,
                                                 .status = 403,
                                                 .body = fake_status(&k, 403, "Forbidden", "no"),
                                                 .forever = true});
    lease_elector_start(elector);
}

static struct str lease(const char *holder, int seconds, int transitions, int version)
{
    return arena_jsonf(
        &k.arena,
        "{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','metadata':{'name':"
        "'kube-scheduler','namespace':'kube-system','uid':'u','resourceVersion':'%d',"
        "'labels':{'kept':'yes'}},'spec':{'holderIdentity':'%s',"
        "'leaseDurationSeconds':%d,'acquireTime':'2020-01-01T00:00:00.000000Z',"
        "'renewTime':'2020-01-01T00:00:00.000000Z','leaseTransitions':%d}}",
        version, holder, seconds, transitions);
}

static void answer(const char *method, const char *path, int status, struct str body)
{
    fake_api_json(k.api, method, path, NULL, status, body.p);
}

static void not_found(void)
{
    answer("GET", LEASE, 404, fake_status(&k, 404, "NotFound", "no lease"));
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, json_quotes(part)))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static const char *body_json(size_t request)
{
    const struct fake_request *r = fake_api_request(k.api, request);
    struct wire wire = {.kind = kind_get(KIND_LEASE), .encoding = ENCODING_PROTO};
    struct object *object;
    struct buf out = BUF_INIT;
    struct str copy;
    struct err err;

    if (strcmp(r->content_type, FAKE_JSON) == 0)
        return r->body;
    assert_int_equal(object_decode(&wire, (struct str){r->body, r->body_n}, &object, &err), 0);
    object_encode(wire.kind, object_body(object), ENCODING_JSON, &out);
    copy = arena_dup(&k.arena, buf_str(&out));
    object_unref(object);
    buf_release(&out);
    return copy.p;
}

/* The n-th request of this kind, from 1; fails if there are fewer. */
static size_t find_request(const char *method, const char *path, size_t n)
{
    for (size_t i = 0; i < fake_api_count(k.api); i++) {
        const struct fake_request *r = fake_api_request(k.api, i);
        if (strcmp(r->method, method) == 0 && strcmp(r->path, path) == 0 && --n == 0)
            return i;
    }
    fail_msg("there are not so many %s %s", method, path);
    return 0;
}

/* --- acquiring -------------------------------------------------------------------------------- */

static void test_the_first_creates_the_lease_and_renews_it(void **state)
{
    (void)state;
    retry_period = UNHURRIED;
    not_found();
    answer("POST", LEASES, 201, lease("me", 15, 0, 1));
    answer("PUT", LEASE, 200, lease("me", 15, 0, 2));
    answer("PUT", LEASE, 200, lease("me", 15, 0, 3));
    fake_api_answer(k.api, &(struct fake_answer){.path = LEASE, .manner = FAKE_HANG});
    start();
    expect("leader=me start ");
    assert_true(lease_elector_is_leader(elector));
    wait_requests(6);
    assert_string_equal(fake_api_request(k.api, 1)->method, "POST");
    assert_holds(body_json(1), "'holderIdentity':'me'");
    assert_holds(body_json(1), "'leaseDurationSeconds':20");
    assert_holds(body_json(1), "'leaseTransitions':0");
    /* Renewed without a read, based on the last version, keeping all other fields. */
    size_t second = find_request("PUT", LEASE, 2);
    assert_holds(body_json(second), "'resourceVersion':'2'");
    assert_holds(body_json(second), "'kept':'yes'");
    assert_holds(body_json(second), "'acquireTime':'2020-01-01T00:00:00.000000Z'");
    assert_null(strstr(body_json(second), json_quotes("'renewTime':'2020")));
    assert_true(lease_elector_is_healthy(elector, 0));
}

/* By the record's times it expired in 2020; by our clock it was just seen for the first time. */
static void test_a_held_lease_is_not_taken_however_old_it_looks(void **state)
{
    (void)state;
    fake_api_answer(k.api, &(struct fake_answer){.method = "GET",
                                                 .path = LEASE,
                                                 .body = lease("other", 3600, 4, 1),
                                                 .forever = true});
    start();
    wait_requests(4);
    expect("leader=other ");
    assert_false(lease_elector_is_leader(elector));
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

static void test_an_expired_or_released_lease_is_taken(void **state)
{
    (void)state;
    /* Duration 0: expires as soon as it is seen. */
    answer("GET", LEASE, 200, lease("other", 0, 4, 7));
    answer("PUT", LEASE, 200, lease("me", 15, 5, 8));
    fake_api_answer(k.api, &(struct fake_answer){.path = LEASE, .manner = FAKE_HANG});
    start();
    expect("leader=me start ");
    assert_holds(body_json(1), "'leaseTransitions':5");
    assert_holds(body_json(1), "'resourceVersion':'7'");
    assert_null(strstr(body_json(1), json_quotes("'acquireTime':'2020")));
}

static void test_a_count_of_transitions_that_is_full_stays_so(void **state)
{
    (void)state;
    answer("GET", LEASE, 200, lease("", 1, INT32_MAX, 8));
    answer("PUT", LEASE, 200, lease("me", 3600, INT32_MAX, 9));
    fake_api_answer(k.api, &(struct fake_answer){.path = LEASE, .manner = FAKE_HANG});
    start();
    expect("leader=me start ");
    assert_holds(body_json(1), "'leaseTransitions':2147483647");
}

static void test_losing_the_race_is_no_harm(void **state)
{
    (void)state;
    answer("GET", LEASE, 200, lease("", 1, 4, 7));
    answer("PUT", LEASE, 409, fake_status(&k, 409, "Conflict", "changed"));
    fake_api_answer(k.api, &(struct fake_answer){.method = "GET",
                                                 .path = LEASE,
                                                 .body = lease("other", 3600, 5, 8),
                                                 .forever = true});
    start();
    expect("leader= leader=other ");
    wait_requests(4);
    assert_false(lease_elector_is_leader(elector));
}

static void assert_counted(const char *line, bool there)
{
    struct buf page = BUF_INIT;

    metrics_write(metrics, &page);
    if (!!strstr(buf_cstr(&page), json_quotes(line)) != there)
        fail_msg("%s %s\n%s", line, there ? "is not in" : "is in", buf_cstr(&page));
    buf_release(&page);
}

#define LEADS    "leader_election_master_status{name='kube-scheduler'} 1\n"
#define STANDS   "leader_election_master_status{name='kube-scheduler'} 0\n"
#define SLOWLY   "leader_election_slowpath_total{name='kube-scheduler'} 1\n"
#define SLOWPATH "leader_election_slowpath_total"

/* --- losing and releasing --------------------------------------------------------------------- */

static void acquire(void)
{
    not_found();
    answer("POST", LEASES, 201, lease("me", 15, 0, 1));
    start();
    assert_counted(STANDS, true);
    expect("leader=me start ");
    assert_counted(LEADS, true);
    assert_counted(SLOWPATH, false);
}

static void test_a_failed_renewal_falls_back_to_asking(void **state)
{
    (void)state;
    retry_period = UNHURRIED;
    answer("PUT", LEASE, 409, fake_status(&k, 409, "Conflict", "changed"));
    acquire();
    answer("GET", LEASE, 200, lease("me", 15, 0, 9));
    answer("PUT", LEASE, 200, lease("me", 15, 0, 10));
    fake_api_answer(k.api, &(struct fake_answer){.path = LEASE, .manner = FAKE_HANG});
    wait_requests(7);
    assert_holds(body_json(find_request("PUT", LEASE, 2)), "'resourceVersion':'9'");
    assert_int_equal(seen.n, 0);
    assert_true(lease_elector_is_leader(elector));
    assert_counted(LEADS, true);
    assert_counted(SLOWLY, true);
}

static void test_lost_when_it_cannot_be_renewed(void **state)
{
    (void)state;
    acquire();
    fake_api_answer(
        k.api, &(struct fake_answer){.path = LEASE,
                                     .status = 500,
                                     .body = fake_status(&k, 500, "InternalError", "etcd is gone"),
                                     .forever = true});
    expect("losing lost ");
    assert_counted(STANDS, true);
    assert_holds(fake_log_text(), "Failed to renew lease");
    assert_holds(fake_log_text(), "etcd is gone");
}

static void answer_always(const char *method, const char *path, struct str body)
{
    fake_api_answer(k.api, &(struct fake_answer){
                               .method = method, .path = path, .body = body, .forever = true});
}

/* How many such requests were made. */
static size_t count_requests(const char *method, const char *path)
{
    size_t n = 0;

    for (size_t i = 0; i < fake_api_count(k.api); i++) {
        const struct fake_request *r = fake_api_request(k.api, i);
        n += strcmp(r->method, method) == 0 && strcmp(r->path, path) == 0;
    }
    return n;
}

static const char *last_sent(const char *method)
{
    for (size_t i = fake_api_count(k.api); i-- > 0;)
        if (strcmp(fake_api_request(k.api, i)->method, method) == 0)
            return body_json(i);
    fail_msg("there was no %s", method);
    return "";
}

static const char *last_put(void)
{
    return last_sent("PUT");
}

/* The lease is read first: a renewal may have succeeded without an answer. */
static void test_stop_gives_the_lease_back(void **state)
{
    (void)state;
    retry_period = UNHURRIED;
    answer_always("PUT", LEASE, lease("me", 15, 3, 2));
    acquire();
    answer("GET", LEASE, 200, lease("me", 15, 3, 77));
    lease_elector_stop(elector);
    expect("stop ");
    assert_counted(STANDS, true);
    assert_holds(last_put(), "'holderIdentity':''");
    assert_holds(last_put(), "'leaseDurationSeconds':1");
    assert_holds(last_put(), "'leaseTransitions':3");
    assert_holds(last_put(), "'resourceVersion':'77'");
}

static void test_stop_leaves_the_lease_of_another_alone(void **state)
{
    (void)state;
    retry_period = UNHURRIED;
    answer_always("PUT", LEASE, lease("me", 15, 0, 2));
    acquire();
    answer("GET", LEASE, 200, lease("other", 15, 1, 3));
    lease_elector_stop(elector);
    expect("stop ");
    assert_null(strstr(last_put(), json_quotes("'holderIdentity':''")));
}

/* --- permission to write ---------------------------------------------------------------------- */

static size_t wanted_renewals;
static bool has_renewed(void *ctx)
{
    (void)ctx;
    return renewals >= wanted_renewals;
}

static void wait_renewed(size_t n)
{
    wanted_renewals = n;
    if (!fake_run_until(k.loop, has_renewed, NULL))
        fail_msg("%zu renewals\n%s", renewals, fake_log_text());
}

static void answer_later(const char *method)
{
    fake_api_answer(k.api,
                    &(struct fake_answer){.method = method, .path = LEASE, .manner = FAKE_STREAM});
}

static bool is_asked(void *ctx)
{
    (void)ctx;
    return fake_api_is_open(k.api, LEASE);
}

/* Sends the answer that answer_later holds back. */
static void answer_now(struct str body)
{
    assert_true(fake_run_until(k.loop, is_asked, NULL));
    fake_api_push(k.api, LEASE, body);
    fake_api_end(k.api, LEASE);
}

/* The next renewal is hours away, and so is its deadline. */
static void lead_for_hours(void)
{
    retry_period = 3600 * NSEC_PER_SEC;
    answer("PUT", LEASE, 200, lease("me", 15, 0, 2));
    acquire();
    wait_renewed(1);
    assert_true(lease_elector_may_write(elector));
}

static void test_another_holder_ends_it_at_once(void **state)
{
    (void)state;
    retry_period = 3600 * NSEC_PER_SEC;
    answer("PUT", LEASE, 409, fake_status(&k, 409, "Conflict", "changed"));
    answer("GET", LEASE, 404, fake_status(&k, 404, "NotFound", "no lease"));
    answer("POST", LEASES, 201, lease("me", 15, 0, 1));
    answer("GET", LEASE, 200, lease("other", 15, 1, 5));
    start();
    expect("leader=me start leader=other losing lost ");
    assert_false(lease_elector_may_write(elector));
    assert_holds(fake_log_text(), "Failed to renew lease' lock='kube-system/kube-scheduler' "
                                  "err='lease is held by other'");
}

static void test_nothing_may_be_written_once_the_lease_has_run_out(void **state)
{
    (void)state;
    lead_for_hours();
    clock_ahead += 14 * NSEC_PER_SEC;
    assert_true(lease_elector_may_write(elector));
    clock_ahead += 2 * NSEC_PER_SEC;
    assert_false(lease_elector_may_write(elector));
}

/* No other candidate has taken it: it is read and renewed, and writes are allowed again. */
static void test_a_renewal_after_a_pause_allows_writing_again(void **state)
{
    (void)state;
    retry_period = UNHURRIED;
    answer("PUT", LEASE, 200, lease("me", 15, 0, 2));
    answer_later("PUT");
    acquire();
    assert_true(fake_run_until(k.loop, is_asked, NULL));
    clock_ahead += 16 * NSEC_PER_SEC;
    answer("GET", LEASE, 200, lease("me", 15, 0, 3));
    answer("PUT", LEASE, 200, lease("me", 15, 0, 4));
    fake_api_answer(k.api, &(struct fake_answer){.path = LEASE, .manner = FAKE_HANG});
    /* The pending renewal counts from when it was sent, which is long ago. */
    answer_now(lease("me", 15, 0, 3));
    assert_int_equal(renewals, 1);
    assert_false(lease_elector_may_write(elector));
    wait_renewed(2);
    assert_true(lease_elector_may_write(elector));
    assert_int_equal(count_requests("GET", LEASE), 2);
}

static void test_a_lease_acquired_before_a_pause_is_acquired_again(void **state)
{
    (void)state;
    not_found();
    fake_api_answer(k.api,
                    &(struct fake_answer){.method = "POST", .path = LEASES, .manner = FAKE_STREAM});
    start();
    wait_requests(2);
    clock_ahead += 16 * NSEC_PER_SEC;
    answer("GET", LEASE, 200, lease("other", 15, 1, 2));
    answer_always("GET", LEASE, lease("other", 15, 1, 2));
    fake_api_push(k.api, LEASES, lease("me", 15, 0, 1));
    fake_api_end(k.api, LEASES);
    expect("leader=other ");
    assert_false(lease_elector_may_write(elector));
}

/* The lease was changed: its holder is unknown until it was read. */
static void test_nothing_may_be_written_after_a_conflict(void **state)
{
    (void)state;
    retry_period = UNHURRIED;
    answer("PUT", LEASE, 409, fake_status(&k, 409, "Conflict", "changed"));
    acquire();
    assert_true(lease_elector_may_write(elector));
    answer_later("GET");
    answer("PUT", LEASE, 200, lease("me", 15, 0, 7));
    fake_api_answer(k.api, &(struct fake_answer){.path = LEASE, .manner = FAKE_HANG});
    assert_true(fake_run_until(k.loop, is_asked, NULL));
    assert_false(lease_elector_may_write(elector));
    answer_now(lease("me", 15, 0, 6));
    wait_renewed(1);
    assert_true(lease_elector_may_write(elector));
}

static bool is_watched(void *ctx)
{
    (void)ctx;
    return fake_api_is_open(k.api, LEASES);
}

static void follow_for_hours(void)
{
    fake_api_answer(k.api,
                    &(struct fake_answer){.method = "GET", .path = LEASES, .manner = FAKE_STREAM});
    lead_for_hours();
    assert_true(fake_run_until(k.loop, is_watched, NULL));
}

/* A suspended virtual machine does not notice it by its clocks. */
static void test_the_watch_tells_a_leader_that_another_leads(void **state)
{
    (void)state;
    follow_for_hours();
    answer("GET", LEASE, 200, lease("other", 15, 1, 9));
    fake_api_push(k.api, LEASES, fake_frame(&k, "MODIFIED", lease("me", 15, 0, 2)));
    fake_api_push(k.api, LEASES, fake_frame(&k, "MODIFIED", lease("other", 15, 1, 9)));
    expect("leader=other losing lost ");
    assert_int_equal(count_requests("GET", LEASE), 2);
}

static void test_a_deleted_lease_is_made_anew_before_anything_is_written(void **state)
{
    (void)state;
    follow_for_hours();
    answer_later("GET");
    answer("POST", LEASES, 201, lease("me", 15, 0, 12));
    fake_api_push(k.api, LEASES, fake_frame(&k, "DELETED", lease("me", 15, 0, 11)));
    assert_true(fake_run_until(k.loop, is_asked, NULL));
    assert_false(lease_elector_may_write(elector));
    fake_api_cut(k.api, LEASE);
    not_found();
    wait_renewed(2);
    assert_true(lease_elector_may_write(elector));
    assert_int_equal(seen.n, 0);
}

static bool may_write(void *ctx)
{
    (void)ctx;
    return lease_elector_may_write(elector);
}

static void ignore(void *ctx, const struct rest_result *result)
{
    (void)ctx;
    (void)result;
}

#define BINDING "/api/v1/namespaces/ns/pods/a/binding"

static bool has_bound(void *ctx)
{
    (void)ctx;
    return count_requests("POST", BINDING) > 0;
}

/* Bindings wait in the rate limiter, in retries and for the connection. */
static void test_a_leader_that_was_stopped_and_deposed_binds_nothing(void **state)
{
    struct kube_config slow;
    struct rest_client *writer;
    struct object_meta pod = {.namespace = STR("ns"), .name = STR("a"), .uid = STR("u")};
    struct err err;

    (void)state;
    retry_period = UNHURRIED;
    answer("PUT", LEASE, 200, lease("me", 15, 0, 2));
    answer_later("PUT");
    acquire();
    slow = k.config;
    slow.qps = 500;
    slow.burst = 2;
    assert_int_equal(rest_client_new(k.loop, &slow, NULL, &writer, &err), 0);
    rest_client_guard_writes(writer, may_write, NULL);
    fake_api_answer(k.api, &(struct fake_answer){.method = "POST",
                                                 .path = BINDING,
                                                 .status = 429,
                                                 .retry_after = "0",
                                                 .body = fake_status(&k, 429, "Busy", "later"),
                                                 .forever = true});
    for (int i = 0; i < 20; i++)
        pod_bind(writer, &pod, STR("n"), ignore, NULL);
    assert_true(fake_run_until(k.loop, is_asked, NULL));
    assert_true(fake_run_until(k.loop, has_bound, NULL));
    /* It is stopped here; another candidate takes the lease; it resumes. Sent requests still
     * arrive. */
    clock_ahead += 20 * NSEC_PER_SEC;
    for (int i = 0; i < 10; i++)
        loop_step(k.loop, NSEC_PER_MSEC);
    size_t before = count_requests("POST", BINDING);
    for (int i = 0; i < 20; i++)
        pod_bind(writer, &pod, STR("n"), ignore, NULL);
    for (int i = 0; i < 50; i++)
        loop_step(k.loop, NSEC_PER_MSEC);
    answer("GET", LEASE, 200, lease("other", 15, 1, 9));
    answer_now(lease("me", 15, 0, 3));
    expect("leader=other losing lost ");
    size_t sent = count_requests("POST", BINDING) - before;
    rest_client_free(writer);
    assert_int_equal(sent, 0);
}

/* --- watching the lease ----------------------------------------------------------------------- */

/* Another candidate holds it for this long; the next read is hours away. */
static void watch_other(int seconds)
{
    retry_period = 3600 * NSEC_PER_SEC;
    answer("GET", LEASE, 200, lease("other", seconds, 4, 7));
    fake_api_answer(k.api,
                    &(struct fake_answer){
                        .method = "GET",
                        .path = LEASES,
                        .query = "fieldSelector=metadata.name%3Dkube-scheduler&resourceVersion=7",
                        .manner = FAKE_STREAM});
    start();
    expect("leader=other ");
    assert_true(fake_run_until(k.loop, is_watched, NULL));
}

static void take_over(struct str found)
{
    answer("GET", LEASE, 200, found);
    answer("PUT", LEASE, 200, lease("me", 15, 5, 9));
    fake_api_answer(k.api, &(struct fake_answer){.path = LEASE, .manner = FAKE_HANG});
}

static void test_a_released_lease_is_taken_at_once(void **state)
{
    (void)state;
    watch_other(7200);
    take_over(lease("", 1, 4, 8));
    fake_api_push(k.api, LEASES, fake_frame(&k, "MODIFIED", lease("", 1, 4, 8)));
    expect("leader= leader=me start ");
    assert_holds(last_put(), "'resourceVersion':'8'");
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

static void test_a_lease_that_is_deleted_is_made_anew_at_once(void **state)
{
    (void)state;
    watch_other(7200);
    not_found();
    answer("POST", LEASES, 201, lease("me", 15, 0, 9));
    fake_api_answer(k.api, &(struct fake_answer){.path = LEASE, .manner = FAKE_HANG});
    fake_api_push(k.api, LEASES, fake_frame(&k, "DELETED", lease("other", 7200, 4, 8)));
    expect("leader=me start ");
    assert_holds(last_sent("POST"), "'leaseTransitions':0");
}

/* A record known from the watch does not count as new when it is read: its expiry stays. */
static void test_a_renewal_counts_from_when_it_was_told(void **state)
{
    int64_t told;

    (void)state;
    watch_other(7200);
    told = loop_now(k.loop);
    take_over(lease("other", 1, 4, 8));
    fake_api_push(k.api, LEASES, fake_frame(&k, "MODIFIED", lease("other", 1, 4, 8)));
    expect("leader=me start ");
    assert_true(loop_now(k.loop) - told >= NSEC_PER_SEC);
    assert_int_equal(count_requests("GET", LEASE), 2);
}

static bool is_watched_again(void *ctx)
{
    (void)ctx;
    return count_requests("GET", LEASES) == 2 && fake_api_is_open(k.api, LEASES);
}

static void test_a_watch_that_ends_is_begun_again(void **state)
{
    (void)state;
    answer_always("GET", LEASE, lease("other", 3600, 4, 7));
    for (int i = 0; i < 2; i++)
        fake_api_answer(
            k.api, &(struct fake_answer){.method = "GET", .path = LEASES, .manner = FAKE_STREAM});
    start();
    assert_true(fake_run_until(k.loop, is_watched, NULL));
    fake_api_cut(k.api, LEASES);
    assert_true(fake_run_until(k.loop, is_watched_again, NULL));
}

static void test_who_may_not_watch_does_not_ask_again(void **state)
{
    (void)state;
    answer_always("GET", LEASE, lease("other", 3600, 4, 7));
    start();
    wait_requests(8);
    assert_int_equal(count_requests("GET", LEASES), 1);
    assert_int_equal(fake_api_unexpected(k.api), 0);
}

/* --- events ----------------------------------------------------------------------------------- */

#define EVENTS "/api/v1/namespaces/kube-system/events"

static size_t count_events(const char *part)
{
    size_t n = 0;
    for (size_t i = 0; i < fake_api_count(k.api); i++) {
        const struct fake_request *r = fake_api_request(k.api, i);
        for (size_t at = 0; strcmp(r->path, EVENTS) == 0 && at + strlen(part) <= r->body_n; at++)
            if (memcmp(r->body + at, part, strlen(part)) == 0) {
                n++;
                break;
            }
    }
    return n;
}

static void test_who_leads_is_told_by_events(void **state)
{
    (void)state;
    retry_period = UNHURRIED;
    events = true;
    answer_always("PUT", LEASE, lease("me", 15, 0, 2));
    answer_always("GET", LEASE, lease("me", 15, 0, 2));
    answer_always("POST", LEASES, lease("me", 15, 0, 2));
    fake_api_answer(
        k.api,
        &(struct fake_answer){
            .method = "POST", .path = EVENTS, .status = 201, .body = STR("{}"), .forever = true});
    start();
    expect("leader=me start ");
    lease_elector_stop(elector);
    expect("stop ");
    assert_int_equal(count_events("me stopped leading"), 1);
    assert_int_equal(count_events("LeaderElection"), count_events("default-scheduler"));
}

/* The event is never accepted: shutdown does not wait for it forever. */
static void test_an_event_that_hangs_holds_nobody_up(void **state)
{
    (void)state;
    retry_period = UNHURRIED;
    events = true;
    answer_always("PUT", LEASE, lease("me", 15, 0, 2));
    answer_always("GET", LEASE, lease("me", 15, 0, 2));
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = EVENTS, .manner = FAKE_HANG, .forever = true});
    start();
    expect("leader=me start ");
    lease_elector_stop(elector);
    expect("stop ");
}

/* --- coordinated leader election -------------------------------------------------------------- */

static struct str granted(const char *holder, const char *preferred)
{
    return arena_jsonf(&k.arena,
                       "{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','metadata':{'name':"
                       "'kube-scheduler','namespace':'kube-system','resourceVersion':'5'},'spec':{"
                       "'holderIdentity':'%s','leaseDurationSeconds':15,'strategy':"
                       "'OldestEmulationVersion'%s%s}}",
                       holder, *preferred ? ",'preferredHolder':" : "", preferred);
}

static void test_a_coordinated_lease_is_waited_for(void **state)
{
    (void)state;
    coordinated = true;
    not_found();
    answer("GET", LEASE, 200, granted("other", ""));
    answer_always("GET", LEASE, granted("me", ""));
    answer_always("PUT", LEASE, granted("me", ""));
    start();
    expect("leader=other leader=me start ");
    assert_holds(last_put(), "'strategy':'OldestEmulationVersion'");
    /* A candidate never creates the lease, and reads it before each renewal. */
    wait_requests(8);
    for (size_t i = 0, about = 0; i < 8; i++) {
        const struct fake_request *r = fake_api_request(k.api, i);
        if (strcmp(r->path, LEASE) != 0)
            continue;
        assert_string_equal(r->method, about > 2 && about % 2 ? "PUT" : "GET");
        about++;
    }
    assert_int_equal(count_requests("POST", LEASES), 0);
}

static void test_a_coordinated_lease_ends_with_its_term(void **state)
{
    (void)state;
    coordinated = true;
    answer("GET", LEASE, 200, granted("me", ""));
    answer("PUT", LEASE, 200, granted("me", ""));
    answer_always("GET", LEASE, granted("me", "'better'"));
    start();
    expect("leader=me start ");
    expect("losing lost ");
}

static void test_stop_without_lease_stops(void **state)
{
    (void)state;
    fake_api_answer(k.api, &(struct fake_answer){.path = LEASE, .manner = FAKE_HANG});
    start();
    lease_elector_stop(elector);
    expect("stop ");
}

static void test_times_must_fit(void **state)
{
    struct lease_options o = {.namespace = STR_INIT("a"),
                              .name = STR_INIT("b"),
                              .lease_duration = 10 * NSEC_PER_SEC,
                              .renew_deadline = 10 * NSEC_PER_SEC};
    struct err err;

    (void)state;
    assert_int_equal(lease_elector_new(k.client, &o, &callbacks, NULL, &elector, &err), -EINVAL);
    assert_holds(err.msg, "leaseDuration");
    o.renew_deadline = 2 * NSEC_PER_SEC;
    o.retry_period = 2 * NSEC_PER_SEC;
    assert_int_equal(lease_elector_new(k.client, &o, &callbacks, NULL, &elector, &err), -EINVAL);
    assert_holds(err.msg, "retryPeriod");
    o.retry_period = 0;
    o.renew_deadline = 5 * NSEC_PER_SEC;
    assert_int_equal(lease_elector_new(k.client, &o, &callbacks, NULL, &elector, &err), 0);
    /* <hostname>_<uuid> */
    assert_int_equal(str_find(lease_elector_identity(elector), '_') + 37,
                     lease_elector_identity(elector).n);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_creates_the_lease_and_renews_it),
        TEST(test_a_held_lease_is_not_taken_however_old_it_looks),
        TEST(test_an_expired_or_released_lease_is_taken),
        TEST(test_a_count_of_transitions_that_is_full_stays_so),
        TEST(test_losing_the_race_is_no_harm),
        TEST(test_a_failed_renewal_falls_back_to_asking),
        TEST(test_lost_when_it_cannot_be_renewed),
        TEST(test_stop_gives_the_lease_back),
        TEST(test_stop_leaves_the_lease_of_another_alone),
        TEST(test_another_holder_ends_it_at_once),
        TEST(test_nothing_may_be_written_once_the_lease_has_run_out),
        TEST(test_a_renewal_after_a_pause_allows_writing_again),
        TEST(test_a_lease_acquired_before_a_pause_is_acquired_again),
        TEST(test_nothing_may_be_written_after_a_conflict),
        TEST(test_the_watch_tells_a_leader_that_another_leads),
        TEST(test_a_deleted_lease_is_made_anew_before_anything_is_written),
        TEST(test_a_leader_that_was_stopped_and_deposed_binds_nothing),
        TEST(test_a_released_lease_is_taken_at_once),
        TEST(test_a_lease_that_is_deleted_is_made_anew_at_once),
        TEST(test_a_renewal_counts_from_when_it_was_told),
        TEST(test_a_watch_that_ends_is_begun_again),
        TEST(test_who_may_not_watch_does_not_ask_again),
        TEST(test_who_leads_is_told_by_events),
        TEST(test_an_event_that_hangs_holds_nobody_up),
        TEST(test_a_coordinated_lease_is_waited_for),
        TEST(test_a_coordinated_lease_ends_with_its_term),
        TEST(test_stop_without_lease_stops),
        TEST(test_times_must_fit),
    };

    return cmocka_run_group_tests_name("kube_lease", tests, NULL, NULL);
}
