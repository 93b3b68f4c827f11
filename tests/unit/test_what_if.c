/* SPDX-License-Identifier: Apache-2.0 */
/* What if pods were added to a node, or removed from it? */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/cycle/what_if.h"
#include "engine/rooms.h"
#include "engine_fixture.h"
#include "puppet.h"

/* A pod that is tried on node n, where `old` is. */
struct scene {
    struct berth_cycle *cycle;
    struct berth_pod *pod, *old, *more;
    struct berth_node *node;
    struct what_if w;
};

static struct berth_pod *info(struct fixture *f, struct object *o)
{
    struct berth_pod *pod = pod_info_new(o, &f->engine->names);
    object_unref(o);
    return pod;
}

static void begin(struct scene *s, struct fixture *f)
{
    struct engine *e = f->engine;
    ADD_NODE(f, .name = "n", .cpu = "2", .memory = "8Gi");
    ADD_POD(f, .name = "old", .cpu = "1500m", .memory = "1Gi", .node = "n");
    s->cycle = cycle_new(&e->cycles, e->framework.setup->profiles.v[0]);
    s->pod = info(f, POD(.name = "p", .cpu = "1", .memory = "1Gi"));
    s->more = info(f, POD(.name = "more", .cpu = "1500m", .memory = "1Gi"));
    s->node = cache_node(&e->cache, STR("n"));
    s->old = s->node->pods.v[0];
    const handle_list *list = &s->cycle->profile->at[POINT_PRE_FILTER];
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i]->plugin->pre_filter(list->v[i]->self, s->cycle, s->pod, &e->cycles.status) ==
            BERTH_SKIP)
            plugin_set_add(&s->cycle->skip_filter, list->v[i]->id);
    what_if_init(&s->w, s->pod, &e->cycles.status);
    what_if_begin(&s->w, s->cycle, s->node);
}

static void end(struct scene *s)
{
    what_if_release(&s->w);
    pod_info_unref(s->pod);
    pod_info_unref(s->more);
    cycle_free(s->cycle);
}

static void the_filters_see_the_node_as_it_would_be(void **state)
{
    (void)state;
    struct fixture f;
    struct scene s;
    const struct berth_handle *plugin = NULL;
    fixture_init(&f, NULL, NULL);
    begin(&s, &f);
    assert_int_equal(what_if_filter(&s.w, &plugin), BERTH_UNSCHEDULABLE);
    assert_string_equal(plugin->plugin->name, "NodeResourcesFit");
    assert_true(what_if_remove(&s.w, s.old));
    assert_int_equal(what_if_filter(&s.w, &plugin), BERTH_SUCCESS);
    assert_true(what_if_add(&s.w, s.more));
    assert_int_equal(what_if_filter(&s.w, &plugin), BERTH_UNSCHEDULABLE);
    /* The node itself is unchanged. */
    assert_int_equal(s.node->pods.n, 1);
    assert_int_equal(s.node->requested.milli_cpu, 1500);
    end(&s);
    fixture_release(&f);
}

static void plugins_see_pods_added_and_removed(void **state)
{
    (void)state;
    struct fixture f;
    struct scene s;
    puppet_clear();
    puppet_add("A", AT(PRE_FILTER) | AT(ADD_POD) | AT(REMOVE_POD) | AT(FILTER));
    puppet_scene(&f, 0);
    begin(&s, &f);
    assert_true(what_if_remove(&s.w, s.old));
    assert_true(what_if_add(&s.w, s.old));
    assert_string_equal(puppet_calls(AT(ADD_POD) | AT(REMOVE_POD)), "A.RemovePod(n) A.AddPod(n)");
    end(&s);
    fixture_release(&f);
}

static void a_failing_remove_pod_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    struct scene s;
    struct buf text = BUF_INIT;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PRE_FILTER) | AT(REMOVE_POD) | AT(FILTER));
    a->code[PUPPET_REMOVE_POD] = BERTH_UNSCHEDULABLE;
    a->reason_at[PUPPET_REMOVE_POD] = "ouch";
    puppet_scene(&f, 0);
    begin(&s, &f);
    assert_false(what_if_remove(&s.w, s.old));
    status_write(&f.engine->cycles.status, &f.engine->framework.reasons, &text);
    assert_string_equal(buf_cstr(&text), "running RemovePod on PreFilter plugin \"A\": ouch");
    buf_release(&text);
    end(&s);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_filters_see_the_node_as_it_would_be),
        cmocka_unit_test(plugins_see_pods_added_and_removed),
        cmocka_unit_test(a_failing_remove_pod_is_an_error),
    };
    return cmocka_run_group_tests_name("what_if", tests, NULL, NULL);
}
