/* SPDX-License-Identifier: Apache-2.0 */
/* Usage of quotas, and aggregated ClusterRoles. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/access/rbac.h"
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

/* --- roles ------------------------------------------------------------------------------------ */

static struct rbac *rbac;

static bool stale_role(void *ctx UNUSED, struct arena *a, struct str *ret_name,
                       struct str *ret_rules)
{
    return rbac_stale_role(rbac, a, ret_name, ret_rules);
}

static void both_changed(void *ctx, const struct store_event *event)
{
    rbac_changed(rbac, event);
    scene_changed(ctx, event);
}

#define ROLES "clusterroles.rbac.authorization.k8s.io"

static void test_roles(void **state UNUSED)
{
    struct scene s;
    rbac = rbac_new();
    scene_begin_with(&s, false, &(struct lifecycle_options){.stale_role = stale_role},
                     both_changed);
    scene_do(&s, API_CREATE, ROLES, NULL,
             "{'metadata':{'name':'sum'},'aggregationRule':{'clusterRoleSelectors':[{'matchLabels':"
             "{'to':'sum'}}]},'rules':[]}");
    scene_do(&s, API_CREATE, ROLES, NULL,
             "{'metadata':{'name':'part','labels':{'to':'sum'}},'rules':[{'apiGroups':[''],"
             "'resources':['pods'],'verbs':['get']}]}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(scene_at(&s, ROLES, "sum", "rules"),
                        "[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]");
    scene_do(&s, API_DELETE, ROLES, "part", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(scene_at(&s, ROLES, "sum", "rules"), "[]");
    scene_end(&s);
    rbac = rbac_free(rbac);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
