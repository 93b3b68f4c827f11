/* SPDX-License-Identifier: Apache-2.0 */
/* SchedulingGates: pods wait until their gates are removed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"

#define PLUGIN "SchedulingGates"

static void gates_hold_the_pod(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n", .pods = "1");
    struct object *gated = POD(.gates = "a,x.io/b");
    fixture_add(&f, object_ref(gated));
    fixture_settle(&f);
    assert_null(fixture_node_of(&f, "p"));
    struct object *less = POD(.gates = "a");
    fixture_update(&f, gated, object_ref(less));
    fixture_settle(&f);
    assert_null(fixture_node_of(&f, "p"));
    fixture_update(&f, less, POD());
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n");
    fixture_release(&f);
}

static void the_text_names_all_gates(void **state)
{
    (void)state;
    struct fixture f;
    struct buf text = BUF_INIT;
    fixture_init(&f, NULL, NULL);
    const struct berth_handle *h = trial_instance(&f, PLUGIN);
    struct object *o = POD(.gates = "a,x.io/b"), *free_one = POD(.name = "q");
    struct berth_pod *gated = pod_info_new(o, &f.engine->names);
    struct berth_pod *ungated = pod_info_new(free_one, &f.engine->names);
    status_clear(&f.engine->cycles.status);
    assert_int_equal(h->plugin->pre_enqueue(h->self, ungated, &f.engine->cycles.status),
                     BERTH_SUCCESS);
    assert_int_equal(h->plugin->pre_enqueue(h->self, gated, &f.engine->cycles.status),
                     BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    status_write(&f.engine->cycles.status, &f.engine->framework.reasons, &text);
    assert_string_equal(buf_cstr(&text), "waiting for scheduling gates: [a x.io/b]");
    buf_release(&text);
    pod_info_unref(gated);
    pod_info_unref(ungated);
    object_unref(o);
    object_unref(free_one);
    fixture_release(&f);
}

static void only_the_pod_itself_helps(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    struct trial_change own = {BERTH_RESOURCE_POD,
                               BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
                               POD(.gates = "a"), POD()};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.gates = "a"), own), BERTH_QUEUE);
    struct trial_change other = {BERTH_RESOURCE_POD,
                                 BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
                                 POD(.name = "q", .gates = "a"), POD(.name = "q")};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.gates = "a"), other), BERTH_QUEUE_SKIP);
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_ALL));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_hold_the_pod),
        cmocka_unit_test(the_text_names_all_gates),
        cmocka_unit_test(only_the_pod_itself_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
