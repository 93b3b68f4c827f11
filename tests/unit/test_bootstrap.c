/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/access/bootstrap.h"
#include "codec/json_edit.h"
#include "codec/yaml.h"

#define POLICY "k8s.io/kubernetes@v1.36.3/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata"

static bool read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "r");
    char part[4096];
    if (!f)
        return false;
    for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
        buf_add(out, part, n);
    fclose(f);
    return true;
}

/* Where Go keeps modules; false: not on this machine. */
static bool read_policy(const char *file, struct buf *out)
{
    char path[512];
    const char *cache = getenv("GOMODCACHE"), *home = getenv("HOME");
    if (cache)
        snprintf(path, sizeof(path), "%s/" POLICY "/%s", cache, file);
    else
        snprintf(path, sizeof(path), "%s/go/pkg/mod/" POLICY "/%s", home ? home : "", file);
    return read_file(path, out);
}

static const struct json_value *find(const struct bootstrap_list *list,
                                     const struct json_value *like)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct json_value *v = &list->v[i].object;
        if (str_eq(json_text_at(v, "kind"), json_text_at(like, "kind")) &&
            str_eq(json_text_at(v, "metadata.name"), json_text_at(like, "metadata.name")) &&
            str_eq(json_text_at(v, "metadata.namespace"), json_text_at(like, "metadata.namespace")))
            return v;
    }
    return NULL;
}

static size_t compare(const struct bootstrap_list *list, const char *file, struct arena *a)
{
    struct buf text = BUF_INIT, mine = BUF_INIT, theirs = BUF_INIT;
    struct json_value *docs;
    size_t n_docs;
    struct err err;
    size_t n = 0;
    if (!read_policy(file, &text))
        skip();
    assert_int_equal(yaml_parse(buf_str(&text), 0, a, &docs, &n_docs, &err), 0);
    const struct json_value *items = json_get(&docs[0], STR("items"));
    for (size_t i = 0; i < items->n; i++, n++) {
        const struct json_value *v = find(list, &items->items[i]);
        if (v && json_value_equal(v, &items->items[i]))
            continue;
        json_write(&items->items[i], &theirs);
        if (v)
            json_write(v, &mine);
        fail_msg("%s: expected\n%s\nfound\n%s", file, buf_cstr(&theirs), buf_cstr(&mine));
    }
    buf_release(&text);
    return n;
}

/* Upstream's test data has every role and binding, and there are no others but one binding. */
static void policy(void **state)
{
    (void)state;
    static const char *const files[] = {
        "cluster-roles-featuregates.yaml",
        "controller-roles.yaml",
        "namespace-roles.yaml",
        "cluster-role-bindings.yaml",
        "controller-role-bindings.yaml",
        "namespace-role-bindings.yaml",
    };
    struct arena a;
    struct bootstrap_list list;
    size_t n = 0, n_rbac = 0;
    arena_init(&a, 0);
    bootstrap_objects(&(struct bootstrap_options){0}, &a, &list);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        n += compare(&list, files[i], &a);
    for (size_t i = 0; i < list.n; i++)
        n_rbac += str_is(list.v[i].group, "rbac.authorization.k8s.io");
    assert_int_equal(n_rbac, n + 1);
    arena_release(&a);
}

static void others(void **state)
{
    (void)state;
    struct arena a;
    struct bootstrap_list list;
    struct buf out = BUF_INIT;
    arena_init(&a, 0);
    bootstrap_objects(&(struct bootstrap_options){.address = STR("192.0.2.1"),
                                                  .port = 6443,
                                                  .ca_pem = STR("PEM\n")},
                      &a, &list);
    assert_string_equal(list.v[0].name.p, "default");
    size_t n = list.n;
    static const char *const expected[] = {
        "{\"apiVersion\":\"v1\",\"kind\":\"Endpoints\",\"metadata\":{\"name\":\"kubernetes\","
        "\"namespace\":\"default\",\"labels\":{\"endpointslice.kubernetes.io/skip-mirror\":"
        "\"true\"}},\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.1\"}],\"ports\":[{\"name\":"
        "\"https\",\"port\":6443,\"protocol\":\"TCP\"}]}]}",
        "{\"apiVersion\":\"discovery.k8s.io/v1\",\"kind\":\"EndpointSlice\",\"metadata\":{"
        "\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":{"
        "\"kubernetes.io/service-name\":\"kubernetes\"}},\"addressType\":\"IPv4\",\"endpoints\":[{"
        "\"addresses\":[\"192.0.2.1\"],\"conditions\":{\"ready\":true}}],\"ports\":[{\"name\":"
        "\"https\",\"port\":6443,\"protocol\":\"TCP\"}]}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
        "\"extension-apiserver-authentication\",\"namespace\":\"kube-system\"},\"data\":{"
        "\"client-ca-file\":\"PEM\\n\"}}",
    };
    for (size_t i = 0; i < 3; i++) {
        buf_clear(&out);
        json_write(&list.v[n - 3 + i].object, &out);
        assert_string_equal(buf_cstr(&out), expected[i]);
    }
    buf_release(&out);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policy),
        cmocka_unit_test(others),
    };
    return cmocka_run_group_tests_name("bootstrap", tests, NULL, NULL);
}
