/* SPDX-License-Identifier: Apache-2.0 */
/* Random changes of workloads, with writes that fail: everything comes to the desired state. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "workload_host.h"

#define SECOND NSEC_PER_SEC
#define POD(app)                                                                            \
    "'template':{'metadata':{'labels':{'app':'" app "'}},'spec':{'restartPolicy':'Always'," \
    "'containers':[{'name':'c','image':'%s'}]}}"

static const char *const images[] = {"a", "b", "c"};

struct desired {
    int64_t replicas[3]; /* Deployment, StatefulSet, ReplicaSet */
    const char *image[2];
};

static const char *const names[] = {"deployments.apps web", "statefulsets.apps db",
                                    "replicasets.apps rs"};

static void patch(struct host *h, const char *what, char *json)
{
    assert_int_equal(host_patch(h, what, json), 200);
    free(json);
}

static void set_up(struct host *h)
{
    host_begin(h);
    host_add_nodes(h, 3);
    char *json = xasprintf(
        "{'metadata':{'name':'web'},'spec':{'replicas':3,'selector':{'matchLabels':{'app':'web'}},"
        "'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':'25%%','maxUnavailable':"
        "'25%%'}}," POD("web") "}}",
        "a");
    assert_int_equal(host_create(h, "deployments.apps", json), 201);
    free(json);
    json = xasprintf("{'metadata':{'name':'db'},'spec':{'replicas':3,'serviceName':'s','selector':{"
                     "'matchLabels':{'app':'db'}},'updateStrategy':{'type':'RollingUpdate',"
                     "'rollingUpdate':{'partition':0}}," POD("db") "}}",
                     "a");
    assert_int_equal(host_create(h, "statefulsets.apps", json), 201);
    free(json);
    json = xasprintf("{'metadata':{'name':'rs'},'spec':{'replicas':3,'selector':{'matchLabels':{"
                     "'app':'rs'}}," POD("rs") "}}",
                     "a");
    assert_int_equal(host_create(h, "replicasets.apps", json), 201);
    free(json);
}

static void delete_any_pod(struct host *h, struct rand *r)
{
    struct str rest = str_of(host_names(h, "pods")), name;
    size_t n = host_count(h, "pods", "", NULL);
    size_t skip = n ? rand_below(r, n) : 0;
    for (size_t i = 0; rest.n && str_split(&rest, ' ', &name); i++)
        if (i == skip) {
            char *what = xasprintf("pods %.*s", STR_ARG(name));
            host_delete(h, what);
            free(what);
        }
}

static void change(struct host *h, struct rand *r, struct desired *d)
{
    size_t i = rand_below(r, 3);
    switch (rand_below(r, 4)) {
    case 0:
    case 1:
        d->replicas[i] = (int64_t)rand_below(r, 8);
        patch(h, names[i], xasprintf("{'spec':{'replicas':%d}}", (int)d->replicas[i]));
        break;
    case 2:
        i = rand_below(r, 2);
        d->image[i] = images[rand_below(r, ARRAY_LEN(images))];
        patch(h, names[i],
              i ? xasprintf("{'spec':{" POD("db") "}}", d->image[i])
                : xasprintf("{'spec':{" POD("web") "}}", d->image[i]));
        break;
    default:
        delete_any_pod(h, r);
    }
}

static void check(struct host *h, const struct desired *d)
{
    int64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[24];
        snprintf(text, sizeof(text), "%d", (int)d->replicas[i]);
        const char *ready = host_at(h, names[i], "status.readyReplicas");
        if (strcmp(*ready ? ready : "0", text) != 0)
            fail_msg("%s: %s ready, not %s: %s\n%s", names[i], ready, text,
                     host_at(h, names[i], "status"), host_names(h, "pods"));
        sum += d->replicas[i];
    }
    assert_int_equal(host_count(h, "pods", "", NULL), sum);
    assert_int_equal(host_count(h, "pods", "status.phase", "Running"), sum);
    for (size_t i = 0; i < 2; i++) {
        const char *updated = host_at(h, names[i], "status.updatedReplicas");
        char text[24];
        snprintf(text, sizeof(text), "%d", (int)d->replicas[i]);
        if (strcmp(*updated ? updated : "0", text) != 0)
            fail_msg("%s: %s updated, not %s", names[i], updated, text);
    }
}

static void storm(struct rand *r)
{
    struct host h;
    struct desired d = {{3, 3, 3}, {"a", "a"}};
    set_up(&h);
    h.faults = r;
    size_t n = 1 + rand_below(r, 25);
    for (size_t i = 0; i < n; i++) {
        host_run_for(&h, (int64_t)rand_below(r, 20) * SECOND);
        change(&h, r, &d);
    }
    host_run_for(&h, 400 * SECOND);
    h.faults = NULL;
    host_run_for(&h, 400 * SECOND);
    check(&h, &d);
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_storms(void **state UNUSED)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct rand r;
        rand_seed(&r, seed);
        storm(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_storms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
