/* SPDX-License-Identifier: Apache-2.0 */
/* A control plane with its components: nodes, pods that run, restarts from disk. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <unistd.h>

#include "apiserver/nodes.h"
#include "base/time.h"

#define START (1700000000 * NSEC_PER_SEC)

struct scene {
    struct control_plane *plane;
    struct arena arena;
    int64_t now;
};

static void open_scene(struct scene *s, const char *dir)
{
    struct err err;
    arena_init(&s->arena, 0);
    s->now = START;
    assert_int_equal(control_plane_new(&(struct control_plane_options){.data_dir = dir, .seed = 1},
                                       &s->plane, &err),
                     0);
    assert_int_equal(
        control_plane_bootstrap(s->plane, &(struct bootstrap_options){0}, s->now, &err), 0);
    control_plane_settle(s->plane, s->now);
}

static void close_scene(struct scene *s)
{
    control_plane_free(s->plane);
    arena_release(&s->arena);
}

static struct json_value parse(struct scene *s, const char *text)
{
    char *json = str_dup(str_of(text));
    struct json_value v;
    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    struct str kept = arena_dup(&s->arena, str_of(json));
    free(json);
    assert_int_equal(json_parse(kept, 0, &s->arena, &v, NULL), 0);
    return v;
}

static void create(struct scene *s, const char *text)
{
    struct json_value object = parse(s, text);
    struct api_status status = {0};
    if (control_plane_create(s->plane, &object, s->now, &s->arena, &status))
        fail_msg("%.*s", STR_ARG(status.message));
}

static const struct resource *resource(struct scene *s, const char *plural)
{
    return resources_named(registry_resources(control_plane_registry(s->plane)), STR(""),
                           str_of(plural));
}

static struct json_value get(struct scene *s, const char *plural, const char *namespace,
                             const char *name)
{
    struct store *store = registry_store(control_plane_registry(s->plane));
    const struct revision *rev =
        store_get(store, resource(s, plural), str_of(namespace), str_of(name));
    struct json_value v = json_null();
    if (rev)
        assert_int_equal(json_parse(arena_dup(&s->arena, rev->text), 0, &s->arena, &v, NULL), 0);
    return v;
}

static size_t count(struct scene *s, const char *plural)
{
    return store_count(registry_store(control_plane_registry(s->plane)), resource(s, plural));
}

static void run_for(struct scene *s, int64_t duration)
{
    int64_t end = s->now + duration;
    while (s->now <= end) {
        int64_t next = control_plane_step(s->plane, s->now);
        if (next > s->now)
            s->now = next;
    }
    s->now = end;
}

static void write_object(struct scene *s, enum api_verb verb, const char *subresource,
                         const char *name, const char *body)
{
    struct json_value tree = parse(s, body);
    struct api_response response;
    struct api_request request = {.verb = verb,
                                  .resource = resource(s, "pods"),
                                  .subresource = str_of(subresource),
                                  .namespace = STR("default"),
                                  .name = str_of(name),
                                  .body = &tree,
                                  .user = STR("system:kube-scheduler"),
                                  .now = s->now,
                                  .arena = &s->arena};
    int code = registry_serve(control_plane_registry(s->plane), &request, &response);
    if (response.status.code)
        fail_msg("%d %.*s", code, STR_ARG(response.status.message));
    registry_response_release(&response);
}

static void need_account(struct scene *s)
{
    if (get(s, "serviceaccounts", "default", "default").kind == JSON_NULL)
        create(s, "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'default'}}");
}

static void bind_pod(struct scene *s, const char *name)
{
    char *binding = xasprintf("{'apiVersion':'v1','kind':'Binding','metadata':{'name':'%s'},"
                              "'target':{'kind':'Node','name':'node-1'}}",
                              name);
    write_object(s, API_CREATE, "binding", name, binding);
    free(binding);
}

static void add_nodes(struct scene *s, size_t n, const struct node_templates *templates)
{
    static const struct str zones[] = {STR_INIT("a"), STR_INIT("b")};
    struct err err;
    int r = control_plane_add_nodes(
        s->plane, &(struct node_set){.n = n, .templates = templates, .zones = zones, .n_zones = 2},
        s->now, &err);
    if (r < 0)
        fail_msg("%s", err.msg);
    control_plane_settle(s->plane, s->now);
}

#define POD(name)                                                                     \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" name                       \
    "'},'spec':{'terminationGracePeriodSeconds':5,'containers':[{'name':'c','image':" \
    "'i'}]}}"

static void test_nodes(void **state UNUSED)
{
    struct scene s;
    open_scene(&s, NULL);
    add_nodes(&s, 5, NULL);
    assert_int_equal(count(&s, "nodes"), 5);
    struct json_value node = get(&s, "nodes", "", "node-3");
    const struct json_value *labels = json_at(&node, "metadata.labels");
    assert_true(str_is(json_get_text(labels, STR("topology.kubernetes.io/zone")), "b"));
    assert_true(str_is(json_get_text(labels, STR("kubernetes.io/hostname")), "node-3"));
    assert_true(str_is(json_text_at(&node, "status.allocatable.cpu"), "32"));
    assert_int_equal(json_items_at(&node, "status.conditions").n, 4);
    assert_int_equal(json_items_at(&node, "spec.taints").n, 0);
    add_nodes(&s, 7, NULL); /* those that exist stay */
    assert_int_equal(count(&s, "nodes"), 7);
    close_scene(&s);
}

static void test_templates(void **state UNUSED)
{
    struct scene s;
    struct node_templates t;
    struct err err;
    open_scene(&s, NULL);
    node_templates_init(&t);
    struct json_value pod = parse(&s, POD("a"));
    struct json_value slice =
        parse(&s, "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceSlice','metadata':{'name':"
                  "'gpus'},'spec':{'driver':'gpu.example.com','pool':{'generation':1},'devices':[{"
                  "'name':'gpu-0'}]}}");
    assert_int_equal(node_templates_add(&t, &pod, &err), -EINVAL);
    assert_int_equal(node_templates_add(&t, &slice, &err), -EINVAL);
    struct json_value big = parse(&s, "{'apiVersion':'v1','kind':'Node','metadata':{'name':'x',"
                                      "'labels':{'topology.kubernetes.io/zone':'own'}},'status':{"
                                      "'allocatable':{'cpu':'96','pods':'10'}}}");
    struct json_value small = parse(&s, "{'apiVersion':'v1','kind':'Node','spec':{'taints':[{"
                                        "'key':'k','effect':'NoSchedule'}]}}");
    assert_int_equal(node_templates_add(&t, &big, &err), 0);
    assert_int_equal(node_templates_add(&t, &slice, &err), 0);
    assert_int_equal(node_templates_add(&t, &small, &err), 0);
    add_nodes(&s, 4, &t);
    struct json_value node = get(&s, "nodes", "", "node-2");
    assert_true(str_is(json_text_at(&node, "status.capacity.cpu"), "96"));
    assert_true(
        str_is(json_get_text(json_at(&node, "metadata.labels"), STR("topology.kubernetes.io/zone")),
               "own"));
    node = get(&s, "nodes", "", "node-1");
    assert_int_equal(json_items_at(&node, "spec.taints").n, 1);
    struct store *store = registry_store(control_plane_registry(s.plane));
    const struct resource *slices =
        resources_named(registry_resources(control_plane_registry(s.plane)), STR("resource.k8s.io"),
                        STR("resourceslices"));
    assert_int_equal(store_count(store, slices), 2);
    assert_non_null(store_get(store, slices, STR(""), STR("node-2-gpus")));
    struct json_value bad = parse(&s, "{'apiVersion':'v1','kind':'Node','metadata':{'labels':{"
                                      "'not valid':'x'}}}");
    node_templates_release(&t);
    node_templates_init(&t);
    assert_int_equal(node_templates_add(&t, &bad, &err), 0);
    struct node_set set = {.n = 100, .templates = &t};
    control_plane_free(s.plane);
    assert_int_equal(control_plane_new(&(struct control_plane_options){.seed = 1}, &s.plane, &err),
                     0);
    assert_int_equal(control_plane_add_nodes(s.plane, &set, s.now, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "Node \"node-0\""));
    assert_int_equal(count(&s, "nodes"), 0);
    node_templates_release(&t);
    close_scene(&s);
}

/* A pod that a scheduler has bound runs, and goes within its grace period. */
static void test_pod_runs(void **state UNUSED)
{
    struct scene s;
    open_scene(&s, NULL);
    add_nodes(&s, 2, NULL);
    need_account(&s);
    create(&s, POD("a"));
    run_for(&s, NSEC_PER_SEC);
    struct json_value pod = get(&s, "pods", "default", "a");
    assert_true(str_is(json_text_at(&pod, "status.phase"), "Pending"));
    bind_pod(&s, "a");
    run_for(&s, NSEC_PER_SEC);
    pod = get(&s, "pods", "default", "a");
    assert_true(str_is(json_text_at(&pod, "status.phase"), "Running"));
    assert_true(str_is(json_text_at(&pod, "spec.nodeName"), "node-1"));
    write_object(&s, API_DELETE, "", "a", "{'kind':'DeleteOptions','apiVersion':'v1'}");
    run_for(&s, 6 * NSEC_PER_SEC);
    assert_int_equal(count(&s, "pods"), 0);
    close_scene(&s);
}

/* A claim and its volume: the controllers of volumes see what the store sees. */
static void test_volume_controllers(void **state UNUSED)
{
    struct scene s;
    open_scene(&s, NULL);
    create(&s, "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'pv'},'spec':{"
               "'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'hostPath':{'path':"
               "'/x'},'storageClassName':'manual'}}");
    create(&s, "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c'},'spec':{"
               "'accessModes':['ReadWriteOnce'],'storageClassName':'manual','resources':{"
               "'requests':{'storage':'1Gi'}}}}");
    run_for(&s, 2 * NSEC_PER_SEC);
    struct json_value claim = get(&s, "persistentvolumeclaims", "default", "c");
    assert_true(str_is(json_text_at(&claim, "status.phase"), "Bound"));
    assert_true(str_is(json_text_at(&claim, "spec.volumeName"), "pv"));
    close_scene(&s);
}

/* Rules of aggregated roles are written to their objects. */
static void test_aggregation(void **state UNUSED)
{
    struct scene s;
    open_scene(&s, NULL);
    const struct resource *roles =
        resources_named(registry_resources(control_plane_registry(s.plane)),
                        STR("rbac.authorization.k8s.io"), STR("clusterroles"));
    const struct revision *rev =
        store_get(registry_store(control_plane_registry(s.plane)), roles, STR(""), STR("view"));
    struct json_value role;
    assert_non_null(rev);
    assert_int_equal(json_parse(rev->text, 0, &s.arena, &role, NULL), 0);
    assert_true(json_items_at(&role, "rules").n > 5);
    close_scene(&s);
}

/* What a control plane had on disk is there again, and its pods go on. */
static void test_disk(void **state UNUSED)
{
    char dir[] = "/tmp/berth-control-plane-XXXXXX";
    struct scene s;
    struct err err;
    assert_non_null(mkdtemp(dir));
    open_scene(&s, dir);
    assert_true(control_plane_is_new(s.plane));
    add_nodes(&s, 2, NULL);
    need_account(&s);
    create(&s, POD("a"));
    bind_pod(&s, "a");
    assert_int_equal(control_plane_commit(s.plane, &err), 0);
    uint64_t version = store_version(registry_store(control_plane_registry(s.plane)));
    struct control_plane *second;
    assert_int_equal(
        control_plane_new(&(struct control_plane_options){.data_dir = dir}, &second, &err), -EBUSY);
    close_scene(&s);
    open_scene(&s, dir);
    assert_false(control_plane_is_new(s.plane));
    assert_true(store_version(registry_store(control_plane_registry(s.plane))) >= version);
    run_for(&s, NSEC_PER_SEC);
    struct json_value pod = get(&s, "pods", "default", "a");
    assert_true(str_is(json_text_at(&pod, "status.phase"), "Running"));
    assert_int_equal(count(&s, "nodes"), 2);
    close_scene(&s);
    char *command = xasprintf("rm -r %s", dir);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    free(command);
}

/* An object of another cluster keeps what the API would set. */
static void test_import(void **state UNUSED)
{
    struct scene s;
    struct api_status status = {0};
    open_scene(&s, NULL);
    struct json_value pod =
        parse(&s, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a','namespace':'default',"
                  "'uid':'u-1','resourceVersion':'77','creationTimestamp':'2020-01-01T00:00:00Z'},"
                  "'spec':{'nodeName':'n','containers':[{'name':'c','image':'i'}]},'status':{"
                  "'phase':'Running'}}");
    assert_int_equal(control_plane_import(s.plane, &pod, s.now, &s.arena, &status), 0);
    struct json_value stored = get(&s, "pods", "default", "a");
    assert_true(str_is(json_text_at(&stored, "metadata.uid"), "u-1"));
    assert_true(str_is(json_text_at(&stored, "status.phase"), "Running"));
    assert_false(str_is(json_text_at(&stored, "metadata.resourceVersion"), "77"));
    struct json_value unknown = parse(&s, "{'apiVersion':'x/v1','kind':'What'}");
    assert_int_equal(control_plane_import(s.plane, &unknown, s.now, &s.arena, &status), 404);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),       cmocka_unit_test(test_templates),
        cmocka_unit_test(test_pod_runs),    cmocka_unit_test(test_volume_controllers),
        cmocka_unit_test(test_aggregation), cmocka_unit_test(test_disk),
        cmocka_unit_test(test_import),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
