/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, timers and shared states of plugins. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine/cache/pod_info.h"
#include "puppet.h"

/* What the plugin and the shared state saw, in order. */
static struct buf seen;

static const char *take_seen(void)
{
    static char text[512];
    snprintf(text, sizeof(text), "%.*s", STR_ARG(buf_str(&seen)));
    buf_clear(&seen);
    return text;
}

static void on_answer(void *ctx, const struct berth_api_result *result)
{
    buf_add_printf(&seen, "%s:%d:%.*s ", (const char *)ctx, result->status,
                   STR_ARG(str_abi(result->reason)));
    if (result->object)
        buf_add_printf(&seen, "%.*s ", STR_ARG(object_meta(object_of_abi(result->object))->name));
}

static void on_time(void *ctx)
{
    buf_add_printf(&seen, "%s ", (const char *)ctx);
}

static uint64_t timer(const struct puppet *p, int64_t delay, const char *name)
{
    return p->host->timer(p->handle, delay, on_time, (void *)(uintptr_t)name);
}

static uint64_t call(const struct puppet *p, const char *name)
{
    struct berth_api_call c = {.struct_size = sizeof(c),
                               .verb = BERTH_API_PATCH,
                               .api_version = BERTH_STR("v1"),
                               .resource = BERTH_STR("persistentvolumeclaims"),
                               .namespace_name = BERTH_STR("a"),
                               .name = abi_str(str_of(name)),
                               .body = BERTH_STR("{}")};
    return p->host->api_call(p->handle, &c, on_answer, (void *)(uintptr_t)name);
}

static void answers_reach_their_callers(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    const struct puppet *p = puppet_add("P", AT(FILTER));
    puppet_scene(&f, 1);
    call(p, "one");
    uint64_t two = call(p, "two");
    call(p, "three");
    assert_string_equal(take_seen(), "");
    assert_string_equal(f.requests.v[0].line, "PATCH persistentvolumeclaims a/one");
    p->host->api_forget(p->handle, two);
    fixture_request_done(&f, &f.requests.v[2], 409, "Conflict", NULL);
    fixture_request_done(&f, &f.requests.v[1], 200, "", NULL);
    fixture_request_done(&f, &f.requests.v[0], 200, "",
                         OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .namespace = "a", .name = "one"));
    assert_string_equal(take_seen(), "three:409:Conflict one:200: one ");
    call(p, "never");
    fixture_release(&f);
    assert_string_equal(take_seen(), "");
}

static void timers_run_in_order_and_once(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    const struct puppet *p = puppet_add("P", AT(FILTER));
    puppet_scene(&f, 1);
    timer(p, 2 * NSEC_PER_SEC, "two");
    timer(p, NSEC_PER_SEC, "one");
    uint64_t id = timer(p, NSEC_PER_SEC, "cancelled");
    timer(p, NSEC_PER_SEC, "also one");
    timer(p, INT64_MAX, "never");
    p->host->timer_cancel(p->handle, id);
    p->host->timer_cancel(p->handle, id);
    assert_true(engine_next_wake(f.engine) <= f.now + NSEC_PER_SEC);
    fixture_pass(&f, NSEC_PER_SEC - 1);
    assert_string_equal(take_seen(), "");
    fixture_pass(&f, 1);
    assert_string_equal(take_seen(), "one also one ");
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    assert_string_equal(take_seen(), "two ");
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    assert_string_equal(take_seen(), "");
    fixture_release(&f);
}

/* --- shared state ----------------------------------------------------------------------------- */

static int states;

static void *make_state(const struct berth_host *host, struct berth_handle *h)
{
    states++;
    host->timer(h, NSEC_PER_SEC, on_time, (void *)(uintptr_t)"state's timer");
    return &states;
}

static void free_state(void *data)
{
    assert_ptr_equal(data, &states);
    states--;
}

static void changed(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after)
{
    assert_ptr_equal(data, &states);
    const struct object *o = object_of_abi(after ? after : before);
    buf_add_printf(&seen, "%s%.*s:%d ",
                   !before  ? "+"
                   : !after ? "-"
                            : "~",
                   STR_ARG(object_meta(o)->name), (int)resource);
}

static const struct berth_shared_type shared_type = {sizeof(shared_type), "test", make_state,
                                                     free_state, changed};

static int create_sharing(const struct berth_host *host, struct berth_handle *h,
                          struct berth_str args, void **ret_self, struct berth_error *error)
{
    (void)args, (void)error;
    *ret_self = host->shared(h, &shared_type);
    assert_ptr_equal(*ret_self, host->shared(h, &shared_type));
    return 0;
}

static const char two_profiles[] = "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                   "kind: KubeSchedulerConfiguration\n"
                                   "profiles:\n"
                                   "- schedulerName: a\n"
                                   "- schedulerName: b\n";

static void a_state_is_shared_and_told_of_changes(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *p = puppet_add("P", AT(FILTER));
    const struct registry *registry = puppet_registry();
    p->plugin.create = create_sharing;
    fixture_init(&f, two_profiles, registry);
    assert_int_equal(states, 1);
    struct object *claim = OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .namespace = "a", .name = "c");
    fixture_add(&f, object_ref(claim));
    fixture_add(&f, SERVICE(.namespace = "a", .name = "not told"));
    ADD_NODE(&f, .name = "n");
    char expected[64];
    snprintf(expected, sizeof(expected), "+c:%d +n:%d ", BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM,
             BERTH_RESOURCE_NODE);
    assert_string_equal(take_seen(), expected);

    /* A reload keeps the state and its timers. */
    struct reload_result result;
    struct fixture_reload reload = {.registry = registry};
    assert_int_equal(fixture_reload(&f, &reload, &result, NULL), 0);
    assert_int_equal(states, 1);
    assert_string_equal(take_seen(), "");
    fixture_delete(&f, claim);
    fixture_pass(&f, NSEC_PER_SEC);
    snprintf(expected, sizeof(expected), "-c:%d state's timer ",
             BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM);
    assert_string_equal(take_seen(), expected);
    fixture_release(&f);
    assert_int_equal(states, 0);
    buf_release(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_reach_their_callers),
        cmocka_unit_test(timers_run_in_order_and_once),
        cmocka_unit_test(a_state_is_shared_and_told_of_changes),
    };
    return cmocka_run_group_tests_name("plugin_calls", tests, NULL, NULL);
}
