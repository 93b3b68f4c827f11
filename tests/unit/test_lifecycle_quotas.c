/* SPDX-License-Identifier: Apache-2.0 */
/* Usage of quotas. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "lifecycle_scene.h"

static void add_pod(struct scene *s, const char *name, const char *cpu)
{
    char *body = xasprintf("{'metadata':{'name':'%s'},'spec':{'containers':[{'name':'c','image':"
                           "'i','resources':{'requests':{'cpu':'%s'}}}]}}",
                           name, cpu);
    scene_do(s, API_CREATE, "pods", NULL, body);
    free(body);
}

static void test_usage(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add_pod(&s, "a", "500m");
    scene_do(&s, API_CREATE, "resourcequotas", NULL,
             "{'metadata':{'name':'q'},'spec':{'hard':{'requests.cpu':'2','pods':'5',"
             "'count/configmaps':'10'}}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(scene_at(&s, "resourcequotas", "q", "status.used.pods"), "1");
    struct json_members used = json_members_at(kit_tree(&s.kit), "status.used");
    assert_int_equal(used.n, 3);
    const struct json_value *cpu = json_at(kit_tree(&s.kit), "status.used");
    assert_true(str_is(json_get_text(cpu, STR("requests.cpu")), "500m"));
    assert_true(str_is(json_get_text(cpu, STR("count/configmaps")), "1")); /* the root CA */
    char *hard = xstrdup(kit_at(&s.kit, "status.hard"));
    assert_string_equal(hard, kit_at(&s.kit, "spec.hard"));
    free(hard);
    scene_do(&s, API_CREATE, "configmaps", NULL, "{'metadata':{'name':'d'}}");
    add_pod(&s, "b", "1");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(scene_at(&s, "resourcequotas", "q", "status.used.pods"), "2");
    /* A pod that has ended uses nothing; a pod that is deleted neither. */
    scene_do(&s, API_PATCH_MERGE, "pods/status", "b", "{'status':{'phase':'Succeeded'}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(scene_at(&s, "resourcequotas", "q", "status.used.pods"), "1");
    scene_do(&s, API_DELETE, "pods", "a", "{'gracePeriodSeconds':0}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(scene_at(&s, "resourcequotas", "q", "status.used.pods"), "0");
    /* Other limits. */
    scene_do(&s, API_PATCH_MERGE, "resourcequotas", "q",
             "{'spec':{'hard':{'requests.cpu':null,'pods':'7'}}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(scene_at(&s, "resourcequotas", "q", "status.hard.pods"), "7");
    used = json_members_at(kit_tree(&s.kit), "status.used");
    assert_int_equal(used.n, 2);
    size_t before = s.n_writes;
    scene_run_for(&s, 100 * NSEC_PER_SEC);
    assert_int_equal(s.n_writes, before);
    scene_end(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
