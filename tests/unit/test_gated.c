/* SPDX-License-Identifier: Apache-2.0 */
/* Effects of gates in the engine: which plugins they enable, and tie-breaking. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/rooms.h"
#include "engine_fixture.h"

/* --- plugins behind gates --------------------------------------------------------------------- */

/* With the gates that depend on it. */
#define OFF                                                                                     \
    "NodeDeclaredFeatures=false,ExtendWebSocketsToKubelet=false,"                               \
    "InPlacePodVerticalScalingInitContainers=false,RestartAllContainersOnContainerExits=false," \
    "InPlacePodLevelResourcesVerticalScaling=false"

static bool profile_has(const struct fixture *f, const char *plugin)
{
    const struct profile *p = f->engine->framework.setup->profiles.v[0];
    for (size_t i = 0; i < p->instances.n; i++)
        if (strcmp(p->instances.v[i]->plugin->name, plugin) == 0)
            return true;
    return false;
}

static void a_gate_decides_on_a_default_plugin(void **state)
{
    (void)state;
    static const char named[] =
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- plugins: {multiPoint: {enabled: [{name: NodeDeclaredFeatures}]}}\n";
    static const struct {
        const char *config, *gates;
        bool has;
    } cases[] = {
        {NULL, "", true},
        {NULL, OFF, false},
        /* A configuration that names it gets it. */
        {named, OFF, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        fixture_init_features(&f, cases[i].config, cases[i].gates);
        assert_int_equal(profile_has(&f, "NodeDeclaredFeatures"), cases[i].has);
        assert_true(profile_has(&f, "NodeResourcesFit"));
        fixture_release(&f);
    }
}

/* --- ties ------------------------------------------------------------------------------------- */

#define TIED  4
#define DRAWS 2000

/* Equal nodes, and one that is fuller. Counts the choices of a pod that is never bound. */
static void place_tied(const char *gates, size_t ret_counts[TIED + 1])
{
    struct fixture f;
    fixture_init_features(&f, NULL, gates);
    for (int i = 0; i <= TIED; i++)
        ADD_NODE(&f, .name = textf("n%d", i), .cpu = "4", .memory = "8Gi");

    ADD_POD(&f, .name = "fills", .cpu = "3", .memory = "6Gi", .node = "n2");
    for (int i = 0; i < DRAWS; i++) {
        ADD_POD(&f, .name = "p", .cpu = "1", .memory = "1Gi");
        fixture_schedule(&f);
        struct fixture_write *w = fixture_binding(&f, "p");
        assert_non_null(w);
        ret_counts[w->node[1] - '0']++;
        fixture_answer(&f, w, 409, "try again"); /* its resources are free again */
        fixture_delete(&f, POD(.name = "p", .cpu = "1", .memory = "1Gi"));
    }
    fixture_release(&f);
}

static void ties_are_drawn_evenly(void **state)
{
    (void)state;
    size_t counts[TIED + 1] = {0}, again[TIED + 1] = {0};
    place_tied("BerthRandomTies=true", counts);
    for (int i = 0; i <= TIED; i++)
        if (i == 2)
            assert_int_equal(counts[i], 0);
        else
            assert_in_range(counts[i], DRAWS / TIED * 3 / 4, DRAWS / TIED * 5 / 4);
    /* By the engine's own generator: the same seed makes the same choices. */
    place_tied("BerthRandomTies=true", again);
    assert_memory_equal(counts, again, sizeof(counts));
}

static void without_the_gate_nothing_is_drawn(void **state)
{
    (void)state;
    struct fixture f;
    size_t counts[TIED + 1] = {0};
    place_tied("", counts);
    assert_int_equal(counts[2], 0);
    fixture_init(&f, NULL, NULL);
    uint64_t before = f.engine->framework.rand.s[0];
    ADD_NODE(&f, .name = "a", .cpu = "4", .memory = "8Gi");
    ADD_NODE(&f, .name = "b", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "1", .memory = "1Gi");
    fixture_settle(&f);
    assert_true(f.engine->framework.rand.s[0] == before);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gate_decides_on_a_default_plugin),
        cmocka_unit_test(ties_are_drawn_evenly),
        cmocka_unit_test(without_the_gate_nothing_is_drawn),
    };
    return cmocka_run_group_tests_name("gated", tests, NULL, NULL);
}
