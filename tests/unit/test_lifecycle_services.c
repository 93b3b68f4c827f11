/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints and EndpointSlices of services. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "lifecycle_scene.h"

#define SLICES "endpointslices.discovery.k8s.io"

static void add_pod(struct scene *s, const char *name, const char *more)
{
    char *body = xasprintf("{'metadata':{'name':'%s','labels':{'app':'web'}},'spec':{'nodeName':"
                           "'n1','terminationGracePeriodSeconds':30,'containers':[{'name':'c',"
                           "'image':'i','ports':[{'name':'http','containerPort':8080}]}]%s}}",
                           name, more);
    scene_do(s, API_CREATE, "pods", NULL, body);
    free(body);
}

static void set_pod(struct scene *s, const char *name, const char *ip, bool ready)
{
    char *body = xasprintf("{'status':{'phase':'Running','podIP':'%s','podIPs':[{'ip':'%s'}],"
                           "'conditions':[{'type':'Ready','status':'%s'}]}}",
                           ip, ip, ready ? "True" : "False");
    scene_do(s, API_PATCH_MERGE, "pods/status", name, body);
    free(body);
}

static void begin(struct scene *s)
{
    scene_begin(s, false);
    scene_do(s, API_CREATE, "nodes", NULL,
             "{'metadata':{'name':'n1','labels':{'topology.kubernetes.io/zone':'z1'}}}");
}

static void add_service(struct scene *s, const char *spec)
{
    char *body = xasprintf("{'metadata':{'name':'web','labels':{'team':'a'}},'spec':{'selector':{"
                           "'app':'web'},'clusterIP':'10.0.0.7','clusterIPs':['10.0.0.7'],%s}}",
                           spec);
    scene_do(s, API_CREATE, "services", NULL, body);
    free(body);
}

#define PORT "'ports':[{'name':'p','port':80,'targetPort':'http','protocol':'TCP'}]"

/* The slices of the namespace, as one text: "ip+ ip- ip~|…", + ready, - not, ~ terminating. */
static const char *slices(struct scene *s)
{
    struct buf b = BUF_INIT;
    assert_int_equal(kit_serve(&s->kit, API_LIST, SLICES, NULL, NULL), 200);
    for (size_t i = 0; i < s->kit.response.n_items; i++) {
        struct json_value slice;
        assert_int_equal(json_parse(s->kit.response.items[i]->text, 0, &s->kit.arena, &slice, NULL),
                         0);
        struct json_items list = json_items_at(&slice, "endpoints");
        buf_add_cstr(&b, i ? "|" : "");
        for (size_t e = 0; e < list.n; e++) {
            const struct json_value *addresses = json_get(&list.v[e], STR("addresses"));
            bool ready = json_bool_at(&list.v[e], "conditions.ready", false);
            bool ends = json_bool_at(&list.v[e], "conditions.terminating", false);
            buf_add_printf(&b, "%s%.*s%s", e ? " " : "", STR_ARG(addresses->items[0].text),
                           ends    ? "~"
                           : ready ? "+"
                                   : "-");
        }
    }
    const char *text = arena_dup(&s->kit.arena, buf_str(&b)).p;
    buf_release(&b);
    return text;
}

/* The Endpoints: "ip ip / ip", ready and not. */
static const char *endpoints(struct scene *s)
{
    struct buf b = BUF_INIT;
    if (!scene_has(s, "endpoints", "web"))
        return "none";
    struct json_items subsets = json_items_at(kit_tree(&s->kit), "subsets");
    for (size_t i = 0; i < subsets.n; i++) {
        static const char *const keys[] = {"addresses", "notReadyAddresses"};
        for (size_t k = 0; k < 2; k++) {
            struct json_items list = json_items_at(&subsets.v[i], keys[k]);
            buf_add_cstr(&b, k ? " /" : "");
            for (size_t a = 0; a < list.n; a++)
                buf_add_printf(&b, " %.*s", STR_ARG(json_get_text(&list.v[a], STR("ip"))));
        }
    }
    const char *text = arena_dup(&s->kit.arena, buf_str(&b)).p;
    buf_release(&b);
    return text;
}

static void test_follows_pods(void **state UNUSED)
{
    struct scene s;
    begin(&s);
    add_service(&s, PORT);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(slices(&s), ""); /* one, empty */
    assert_int_equal(s.kit.response.n_items, 1);
    assert_string_equal(endpoints(&s), "");
    add_pod(&s, "a", "");
    add_pod(&s, "b", "");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(slices(&s), "");
    set_pod(&s, "a", "10.0.0.1", true);
    set_pod(&s, "b", "10.0.0.2", false);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(endpoints(&s), " 10.0.0.1 / 10.0.0.2");
    const char *now = slices(&s);
    assert_true(strcmp(now, "10.0.0.1+ 10.0.0.2-") == 0 || strcmp(now, "10.0.0.2- 10.0.0.1+") == 0);
    assert_int_equal(s.kit.response.n_items, 1);
    set_pod(&s, "b", "10.0.0.2", true);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(endpoints(&s), " 10.0.0.1 10.0.0.2 /");
    /* A pod that ends leaves Endpoints; in the slice it is terminating. */
    scene_do(&s, API_DELETE, "pods", "a", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(endpoints(&s), " 10.0.0.2 /");
    assert_non_null(strstr(slices(&s), "10.0.0.1~"));
    scene_do(&s, API_DELETE, "pods", "a", "{'gracePeriodSeconds':0}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(slices(&s), "10.0.0.2+");
    /* Another selector. */
    scene_do(&s, API_PATCH_MERGE, "services", "web", "{'spec':{'selector':{'app':'other'}}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(slices(&s), "");
    assert_string_equal(endpoints(&s), "");
    size_t before = s.n_writes;
    scene_run_for(&s, 10 * NSEC_PER_SEC);
    assert_int_equal(s.n_writes, before);
    scene_do(&s, API_DELETE, "services", "web", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(endpoints(&s), "none");
    assert_string_equal(slices(&s), "");
    assert_int_equal(s.kit.response.n_items, 0); /* collected */
    scene_end(&s);
}

static void test_content(void **state UNUSED)
{
    struct scene s;
    begin(&s);
    add_service(&s, PORT);
    add_pod(&s, "a", ",'hostname':'h','subdomain':'web'");
    set_pod(&s, "a", "10.0.0.1", true);
    scene_run_for(&s, NSEC_PER_SEC);
    char *uid = xstrdup(scene_at(&s, "pods", "a", "metadata.uid"));
    char *service = xstrdup(scene_at(&s, "services", "web", "metadata.uid"));
    assert_string_equal(slices(&s), "10.0.0.1+");
    struct json_value slice;
    assert_int_equal(json_parse(s.kit.response.items[0]->text, 0, &s.kit.arena, &slice, NULL), 0);
    char *expected = xasprintf(
        "[{\"addresses\":[\"10.0.0.1\"],\"conditions\":{\"ready\":true,\"serving\":true,"
        "\"terminating\":false},\"hostname\":\"h\",\"targetRef\":{\"kind\":\"Pod\",\"namespace\":"
        "\"ns\",\"name\":\"a\",\"uid\":\"%s\"},\"nodeName\":\"n1\",\"zone\":\"z1\"}]",
        uid);
    struct buf b = BUF_INIT;
    json_write(json_at(&slice, "endpoints"), &b);
    assert_string_equal(buf_cstr(&b), expected);
    buf_clear(&b);
    json_write(json_at(&slice, "metadata.labels"), &b);
    assert_string_equal(buf_cstr(&b), "{\"team\":\"a\",\"kubernetes.io/service-name\":\"web\","
                                      "\"endpointslice.kubernetes.io/managed-by\":"
                                      "\"endpointslice-controller.k8s.io\"}");
    assert_true(str_starts(json_text_at(&slice, "metadata.name"), STR("web-")));
    const struct json_value *ref = &json_at(&slice, "metadata.ownerReferences")->items[0];
    assert_true(str_is(json_get_text(ref, STR("uid")), service));
    const struct json_value *port = &json_at(&slice, "ports")->items[0];
    assert_int_equal(json_int_at(port, "port", 0), 8080);
    assert_true(str_is(json_get_text(port, STR("name")), "p"));
    assert_string_equal(scene_at(&s, "endpoints", "web", "metadata.labels"),
                        "{\"team\":\"a\",\"endpoints.kubernetes.io/managed-by\":"
                        "\"endpoint-controller\"}");
    buf_release(&b);
    free(expected);
    free(service);
    free(uid);
    scene_end(&s);
}

static void test_kinds(void **state UNUSED)
{
    struct scene s;
    begin(&s);
    add_pod(&s, "a", "");
    set_pod(&s, "a", "10.0.0.1", false);
    /* publishNotReadyAddresses */
    add_service(&s, "'publishNotReadyAddresses':true," PORT);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(endpoints(&s), " 10.0.0.1 /");
    assert_string_equal(slices(&s), "10.0.0.1+");
    scene_do(&s, API_DELETE, "services", "web", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    /* Headless without ports. */
    scene_do(&s, API_CREATE, "services", NULL,
             "{'metadata':{'name':'web'},'spec':{'selector':{'app':'web'},'clusterIP':'None',"
             "'clusterIPs':['None']}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(endpoints(&s), " / 10.0.0.1");
    assert_string_equal(slices(&s), "10.0.0.1-");
    struct str text = s.kit.response.items[0]->text;
    assert_true(str_search(text, STR("\"service.kubernetes.io/headless\":\"\"")) < text.n);
    scene_do(&s, API_DELETE, "services", "web", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    /* Without a selector: what clients make stays. */
    scene_do(&s, API_CREATE, "endpoints", NULL,
             "{'metadata':{'name':'web'},'subsets':[{'addresses':[{'ip':'1.2.3.4'}]}]}");
    scene_do(&s, API_CREATE, "services", NULL,
             "{'metadata':{'name':'web'},'spec':{'clusterIP':'10.0.0.7','clusterIPs':['10.0.0.7'],"
             "'ports':[{'port':80}]}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(endpoints(&s), " 1.2.3.4 /");
    assert_string_equal(slices(&s), "");
    assert_int_equal(s.kit.response.n_items, 0);
    scene_end(&s);
}

/* Many pods: slices of at most 100, few of them change with one pod. */
static void test_many(void **state UNUSED)
{
    enum { N = 1050 };
    struct scene s;
    begin(&s);
    add_service(&s, PORT);
    for (size_t i = 0; i < N; i++) {
        char name[16], ip[32];
        snprintf(name, sizeof(name), "p%zu", i);
        snprintf(ip, sizeof(ip), "10.1.%zu.%zu", i / 200, i % 200 + 1);
        add_pod(&s, name, "");
        set_pod(&s, name, ip, true);
    }
    scene_run_for(&s, 10 * NSEC_PER_SEC);
    slices(&s);
    size_t total = 0;
    for (size_t i = 0; i < s.kit.response.n_items; i++) {
        struct json_value slice;
        assert_int_equal(json_parse(s.kit.response.items[i]->text, 0, &s.kit.arena, &slice, NULL),
                         0);
        size_t n = json_items_at(&slice, "endpoints").n;
        assert_in_range(n, 1, 100);
        total += n;
    }
    assert_int_equal(total, N);
    assert_int_equal(s.kit.response.n_items, 11);
    assert_string_equal(scene_at(&s, "endpoints", "web", "metadata.annotations"),
                        "{\"endpoints.kubernetes.io/over-capacity\":\"truncated\"}");
    size_t before = s.n_writes;
    set_pod(&s, "p7", "10.1.0.8", false);
    scene_run_for(&s, 10 * NSEC_PER_SEC);
    assert_in_range(s.n_writes - before, 1, 2); /* one slice; Endpoints if it was among them */
    before = s.n_writes;
    scene_do(&s, API_DELETE, "pods", "p7", "{'gracePeriodSeconds':0}");
    scene_run_for(&s, 10 * NSEC_PER_SEC);
    assert_in_range(s.n_writes - before, 1, 2);
    scene_end(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_pods),
        cmocka_unit_test(test_content),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
