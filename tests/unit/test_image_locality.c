/* SPDX-License-Identifier: Apache-2.0 */
/* ImageLocality: the scores of images on a node. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define PLUGIN "ImageLocality"
#define MB     ((long long)1024 * 1024)

static void add_node(struct fixture *f, const char *name, const char *image, long long size)
{
    ADD_NODE(f, .name = name,
             .status = textf("'images':[{'names':['%s'],'sizeBytes':%lld}]", image, size));
}

static void larger_images_on_more_nodes_are_worth_more(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    add_node(&f, "n0", "web:latest", 500 * MB);
    add_node(&f, "n1", "web:latest", 1);
    add_node(&f, "n2", "reg:5000/db:latest", 4000 * MB);
    add_node(&f, "n3", "other:1", 20 * MB);
    /* 500 MB, on half of the nodes: (250 - 23) / (1000 - 23); the first report sets the size. */
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.image = "web"), "n0"), 23);
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.image = "web:latest"), "n1"), 23);
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.image = "web:2"), "n0"), 0);
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.image = "web"), "n2"), 0);
    /* A port is not a tag. 4000 MB on a quarter is the maximum that counts. */
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.image = "reg:5000/db"), "n2"), 100);
    /* Too small to count. */
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.image = "other:1"), "n3"), 0);
    fixture_release(&f);
}

static void all_containers_and_volumes_count(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    add_node(&f, "n", "web:latest", 500 * MB);
    static const struct {
        const char *spec;
        int64_t score;
    } cases[] = {
        {"'containers':[{'image':'web'},{'image':'web'}]", 49},
        {"'containers':[{'image':'web'}],'initContainers':[{'image':'x'}]", 24},
        {"'containers':[{'image':'x'}],'initContainers':[{'image':'web'}]", 24},
        /* Image volumes are not containers. */
        {"'containers':[{'image':'web'}],'volumes':[{'name':'v','image':{"
         "'reference':'web'}}]",
         100},
        {"'containers':[{'image':'x'}],'volumes':[{'name':'v','image':{"
         "'reference':'web'}},{'name':'w','emptyDir':{}}]",
         48},
        {"'volumes':[{'name':'v','image':{'reference':'web'}}]", 100},
        {"'volumes':[]", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        trial_begin(&t, &f, PLUGIN, POD(.spec = cases[i].spec));
        assert_int_equal(trial_score(&t, "n"), cases[i].score);
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
    }
    fixture_release(&f);
}

/* An image that was deleted everywhere and added again starts anew. */
static void images_come_back(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    for (int round = 0; round < 3; round++) {
        add_node(&f, "n0", "web:latest", 500 * MB);
        add_node(&f, "n1", "web:latest", 500 * MB);
        struct trial t;
        trial_begin(&t, &f, PLUGIN, POD(.image = "web"));
        assert_int_equal(trial_score(&t, "n0"), 48);
        assert_true(trial_batches_agree(&t));
        add_node(&f, round % 2 ? "n0" : "n1", "other:1", 1);
        assert_true(trial_batches_agree(&t));
        add_node(&f, round % 2 ? "n1" : "n0", "other:1", 1);
        assert_true(trial_batches_agree(&t));
        assert_int_equal(trial_score(&t, "n0"), 0);
        trial_end(&t);
    }
    fixture_release(&f);
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {PLUGIN, NULL};
    assert_true(prop_run(PLUGIN ": batch and single form", 300, node_random_agree, &plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(larger_images_on_more_nodes_are_worth_more),
        cmocka_unit_test(all_containers_and_volumes_count),
        cmocka_unit_test(images_come_back),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
