/* SPDX-License-Identifier: Apache-2.0 */
/* Watch events about pods in an attempt or in their binding. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/rooms.h"
#include "puppet.h"

static size_t most_pods; /* that Filter has seen on a node */

static void watch_filter(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER)
        most_pods = MAX(most_pods, call->puppet->host->node_pod_count(call->node));
    if (call->point == PUPPET_PERMIT)
        call->code = most_pods ? BERTH_SUCCESS : BERTH_WAIT;
}

/* The nominated node that is written while Permit holds a pod arrives by the watch. */
static void a_pod_held_in_permit_counts_once(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *p = puppet_add("Watch", AT(FILTER) | AT(ADD_POD) | AT(PERMIT));
    p->timeout = 60 * NSEC_PER_SEC;
    p->hook = watch_filter;
    most_pods = 0;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "held");
    fixture_schedule(&f);
    assert_int_equal(engine_get_stats(f.engine).assumed_pods, 1);
    fixture_update(&f, POD(.name = "held"), POD(.name = "held", .nominated = "n0"));
    ADD_POD(&f, .name = "other");
    fixture_settle(&f);
    assert_int_equal(most_pods, 1);
    assert_on(&f, "other", "n0");
    fixture_release(&f);
}

/* The same version in another form: it is stored, and no plugin gets an event. */
static void the_same_pod_in_another_form(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *p = puppet_add("No", AT(FILTER));
    p->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "waits", .version = "7");
    ADD_POD(&f, .name = "runs", .version = "7", .node = "n0");
    fixture_schedule(&f);
    assert_int_equal(engine_get_stats(f.engine).unschedulable, 1);
    struct object *waits = POD(.name = "waits", .version = "7"),
                  *runs = POD(.name = "runs", .version = "7", .node = "n0");
    object_ref(waits);
    object_ref(runs);
    fixture_update(&f, POD(.name = "waits", .version = "7"), waits);
    fixture_update(&f, POD(.name = "runs", .version = "7", .node = "n0"), runs);
    /* The puppet registered no events, so any event would requeue its pods. */
    assert_int_equal(engine_get_stats(f.engine).unschedulable, 1);
    assert_ptr_equal(queue_get(&f.engine->queue, STR("waits"))->pod->object, waits);
    assert_ptr_equal(cache_pod(&f.engine->cache, STR("runs"))->pod->object, runs);
    object_unref(waits);
    object_unref(runs);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_held_in_permit_counts_once),
        cmocka_unit_test(the_same_pod_in_another_form),
    };
    return cmocka_run_group_tests_name("intake", tests, NULL, NULL);
}
