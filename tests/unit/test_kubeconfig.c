/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "codec/base64.h"
#include "kube/auth/client.h"
#include "net/tls.h"

/* --- files of a test -------------------------------------------------------------------------- */

static char dir[128];
static char path[64][256];
static size_t n_paths;

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/test_kubeconfig.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    while (n_paths > 0)
        unlink(path[--n_paths]);
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    return rmdir(dir);
}

static const char *file(const char *name, const char *text)
{
    char *p = path[n_paths++];
    FILE *f;

    snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
    f = fopen(p, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return p;
}

static int load(struct kube_config *c, const char *kubeconfig, struct err *err)
{
    return kube_config_load(c, &(struct kube_config_options){.kubeconfig = kubeconfig}, err);
}

#define ASSERT_STR(s, text) assert_true(str_is((s), (text)))

/* Loading must fail with a line that contains all of these. */
static void refuse(const char *text, const char *a, const char *b)
{
    const char *p = file("bad", text);
    struct kube_config c;
    struct err err = {0};

    assert_int_not_equal(load(&c, p, &err), 0);
    if (!strstr(err.msg, p) || !strstr(err.msg, a) || !strstr(err.msg, b))
        fail_msg("message: %s", err.msg);
    assert_null(strchr(err.msg, '\n'));
}

#define CONTEXT "contexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n"
#define CLUSTER "clusters: [{name: k, cluster: {server: 'https://h:1'}}]\n"

/* --- one file --------------------------------------------------------------------------------- */

/* A certificate and its key, and both in base64. */
static struct buf cert, key, cert_data, key_data;

static void make_certificate(void)
{
    struct tls_cert_request request = {.common_name = "me", .is_ca = true};
    struct err err;

    if (tls_make_certificate(&request, &cert, &key, &err) < 0)
        fail_msg("%s", err.msg);
    base64_encode(buf_str(&cert), &cert_data);
    base64_encode(buf_str(&key), &key_data);
}

static void release_certificate(void)
{
    buf_release(&cert);
    buf_release(&key);
    buf_release(&cert_data);
    buf_release(&key_data);
}

static void test_inline_data_and_token(void **state)
{
    struct buf text = BUF_INIT;
    struct kube_config c;
    struct err err;

    (void)state;
    make_certificate();
    buf_add_printf(&text,
                   "apiVersion: v1\nkind: Config\npreferences: {}\nextensions: []\n"
                   "unknown-field: 7\nclusters:\n- name: k\n  cluster:\n"
                   "    server: https://10.0.0.1:6443/prefix/?x=1\n"
                   "    certificate-authority-data: %s\n"
                   "    tls-server-name: other\n    disable-compression: true\n"
                   "    proxy-url: http://proxy:3128\n"
                   "users:\n- name: u\n  user:\n    token: abc\n"
                   "    client-certificate-data: %s\n    client-key-data: %s\n"
                   "    as: bob\n    as-uid: '7'\n    as-groups: [a, b]\n"
                   "    as-user-extra: {k: [v, w]}\n"
                   "contexts:\n- name: c\n  context: {cluster: k, user: u, namespace: ns}\n"
                   "current-context: c\n",
                   buf_cstr(&cert_data), buf_cstr(&cert_data), buf_cstr(&key_data));
    if (load(&c, file("config", buf_cstr(&text)), &err) < 0)
        fail_msg("%s", err.msg);
    ASSERT_STR(c.server, "https://10.0.0.1:6443/prefix");
    ASSERT_STR(c.ca_data, buf_cstr(&cert));
    ASSERT_STR(c.cert_data, buf_cstr(&cert));
    ASSERT_STR(c.key_data, buf_cstr(&key));
    ASSERT_STR(c.tls_server_name, "other");
    ASSERT_STR(c.proxy_url, "http://proxy:3128");
    ASSERT_STR(c.token, "abc");
    ASSERT_STR(c.namespace, "ns");
    ASSERT_STR(c.as, "bob");
    ASSERT_STR(c.as_uid, "7");
    assert_int_equal(c.as_groups.n, 2);
    assert_int_equal(c.as_extra.n, 2);
    ASSERT_STR(c.as_extra.v[1].key, "k");
    ASSERT_STR(c.as_extra.v[1].value, "w");
    ASSERT_STR(c.content_type, KUBE_CONTENT_PROTOBUF);
    assert_true(str_starts(c.user_agent, STR("berth/v")));
    assert_true(c.tls);
    kube_config_release(&c);
    buf_release(&text);
    release_certificate();
}

static void refuse_data(const char *ca, const char *crt, const char *k, const char *field)
{
    struct buf text = BUF_INIT;

    buf_add_printf(&text,
                   "clusters: [{name: k, cluster: {server: 'https://h',"
                   " certificate-authority-data: %s}}]\n"
                   "users: [{name: u, user: {client-certificate-data: %s,"
                   " client-key-data: %s}}]\n" CONTEXT,
                   ca, crt, k);
    refuse(buf_cstr(&text), field, "");
    buf_release(&text);
}

static void test_bad_certificates_are_named_by_their_field(void **state)
{
    const char *good, *good_key, *bad = "bm9uc2Vuc2U=";

    (void)state;
    make_certificate();
    good = buf_cstr(&cert_data);
    good_key = buf_cstr(&key_data);
    refuse_data(bad, good, good_key, ": certificate-authority-data: ");
    refuse_data(good, bad, good_key, ": client-certificate-data: ");
    refuse_data(good, good, bad, ": client-key-data: ");
    release_certificate();
}

static void test_paths_are_relative_to_their_file(void **state)
{
    char expected[256];
    const char *p;
    struct kube_config c;
    struct err err;

    (void)state;
    file("ca.crt", "x");
    file("me.crt", "x");
    file("me.key", "x");
    file("token", "x");
    p = file(
        "config",
        "clusters: [{name: k, cluster: {server: 'https://h', certificate-authority: ca.crt}}]\n"
        "users: [{name: u, user: {client-certificate: me.crt, client-key: ./me.key,"
        " tokenFile: token}}]\n" CONTEXT);
    assert_int_equal(load(&c, p, &err), 0);
    snprintf(expected, sizeof(expected), "%s/ca.crt", dir);
    ASSERT_STR(c.ca_file, expected);
    snprintf(expected, sizeof(expected), "%s/./me.key", dir);
    ASSERT_STR(c.key_file, expected);
    snprintf(expected, sizeof(expected), "%s/token", dir);
    ASSERT_STR(c.token_file, expected);
    kube_config_release(&c);
    /* A token next to a token file is used until the file exists. */
    p = file("config", CLUSTER "users: [{name: u, user: {token: t, tokenFile: none}}]\n" CONTEXT);
    assert_int_equal(load(&c, p, &err), 0);
    ASSERT_STR(c.token, "t");
    kube_config_release(&c);
}

static void test_credentials_do_not_travel_in_clear_text(void **state)
{
    const char *p = file("config", "clusters: [{name: k, cluster: {server: 'http://h'}}]\n"
                                   "users: [{name: u, user: {token: t}}]\n" CONTEXT);
    struct kube_config c;
    struct err err;

    (void)state;
    assert_int_equal(load(&c, p, &err), 0);
    assert_false(c.tls);
    assert_true(str_empty(c.token));
    kube_config_release(&c);
}

static void test_exec_plugin(void **state)
{
    const char *p =
        file("config", CLUSTER "users: [{name: u, user: {exec: {command: ./plugin, args: [a],"
                               " apiVersion: client.authentication.k8s.io/v1,"
                               " env: [{name: NAME, value: V}],"
                               " interactiveMode: Never}}}]\n" CONTEXT);
    char expected[256];
    struct kube_config c;
    struct err err;

    (void)state;
    assert_int_equal(load(&c, p, &err), 0);
    assert_non_null(c.exec);
    snprintf(expected, sizeof(expected), "%s/./plugin", dir);
    ASSERT_STR(c.exec->command, expected);
    ASSERT_STR(c.exec->env.v[0].value, "V");
    kube_config_release(&c);
    /* A token next to the plugin wins. */
    p = file("config2", CLUSTER "users: [{name: u, user: {token: t, exec: {command: p,"
                                " apiVersion: client.authentication.k8s.io/v1beta1}}}]\n" CONTEXT);
    assert_int_equal(load(&c, p, &err), 0);
    assert_null(c.exec);
    kube_config_release(&c);
}

static void test_context_may_be_chosen(void **state)
{
    const char *p =
        file("config", CLUSTER "users: [{name: u, user: {token: t}}]\n"
                               "contexts: [{name: c, context: {cluster: k, user: u}},"
                               " {name: d, context: {cluster: k, user: u, namespace: x}}]\n"
                               "current-context: c\n");
    struct kube_config_options o = {.kubeconfig = p, .context = "d"};
    struct kube_config c;
    struct err err;

    (void)state;
    assert_int_equal(kube_config_load(&c, &o, &err), 0);
    ASSERT_STR(c.namespace, "x");
    kube_config_release(&c);
    o.context = "e";
    assert_int_equal(kube_config_load(&c, &o, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "no context named \"e\""));
}

/* --- rejected files, with the error's line ---------------------------------------------------- */

static void test_refusals(void **state)
{
    (void)state;
    refuse("{", "line", "");
    refuse("clusters: 7\n", "clusters", "");
    refuse("kind: Pod\n", "kind", "Pod");
    refuse("apiVersion: v2\n", "apiVersion", "v2");
    refuse("", "current-context", "not set");
    refuse("current-context: x\n", "current-context", "no context named \"x\"");
    refuse("contexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n",
           "contexts[c].context.cluster", "no cluster named \"k\"");
    refuse(CLUSTER CONTEXT, "contexts[c].context.user", "no user named \"u\"");
    refuse("clusters: [{name: k, cluster: {}}]\nusers: [{name: u}]\n" CONTEXT,
           "clusters[k].cluster.server", "missing");
    refuse("clusters: [{name: k, cluster: {server: ftp://x}}]\nusers: [{name: u}]\n" CONTEXT,
           "server", "ftp://x");
    refuse("clusters: [{name: k, cluster: {server: x}}, {name: k}]\n", "clusters", "duplicate");
    refuse("clusters: [{name: k, cluster: {server: 'https://h', proxy-url: 'ftp://p'}}]\n"
           "users: [{name: u}]\n" CONTEXT,
           "clusters[k].cluster.proxy-url", "ftp://p");
    refuse("clusters: [{name: k, cluster: {server: 'https://h', certificate-authority: none}}]\n"
           "users: [{name: u}]\n" CONTEXT,
           "clusters[k].cluster.certificate-authority", "No such file");
    refuse("clusters: [{name: k, cluster: {server: 'https://h',"
           " certificate-authority-data: '!'}}]\n",
           "certificate-authority-data", "");
    refuse(CLUSTER "users: [{name: u, user: {client-certificate-data: eA==}}]\n" CONTEXT,
           "users[u].user.client-key", "required");
    refuse(CLUSTER "users: [{name: u, user: {tokenFile: none}}]\n" CONTEXT,
           "users[u].user.tokenFile", "No such file");
    refuse(CLUSTER "users: [{name: u, user: {token: t, username: x, password: pw}}]\n" CONTEXT,
           "users[u].user.token", "username");
    refuse(CLUSTER "users: [{name: u, user: {auth-provider: {name: gcp}}}]\n" CONTEXT,
           "users[u].user.auth-provider", "gcp");
    refuse(CLUSTER "users: [{name: u, user: {as-uid: x}}]\n" CONTEXT, "users[u].user.as", "");
    refuse(CLUSTER "users: [{name: u, user: {as: x, as-user-extra: {a: b}}}]\n" CONTEXT,
           "as-user-extra", "");
    refuse(CLUSTER "users: [{name: u, user: {exec: {command: x}}}]\n" CONTEXT,
           "users[u].user.exec.apiVersion", "");
    refuse(CLUSTER "users: [{name: u, user: {exec: {command: x,"
                   " apiVersion: client.authentication.k8s.io/v1}}}]\n" CONTEXT,
           "users[u].user.exec.interactiveMode", "");
}

static void test_missing_and_unreadable_files(void **state)
{
    struct kube_config c;
    struct err err;

    (void)state;
    assert_int_equal(load(&c, "/nonexistent/config", &err), -ENOENT);
    assert_string_equal(err.msg, "kubeconfig: /nonexistent/config: No such file or directory");
    assert_int_equal(load(&c, dir, &err), -EISDIR);
    assert_non_null(strstr(err.msg, dir));
}

/* --- lists of files --------------------------------------------------------------------------- */

static void test_first_file_wins_per_entry(void **state)
{
    char list[1024];
    const char *a = file("a", "clusters: [{name: k, cluster: {server: 'https://first'}}]\n"
                              "contexts: [{name: c, context: {cluster: k, user: u}}]\n");
    const char *b = file("b", "clusters: [{name: k, cluster: {server: 'https://second',"
                              " tls-server-name: second}}]\n"
                              "users: [{name: u, user: {token: t}}]\n"
                              "contexts: [{name: c, context: {cluster: x}}]\n"
                              "current-context: c\n");
    const char *d = file("d", "current-context: other\n");
    struct kube_config c;
    struct err err;

    (void)state;
    snprintf(list, sizeof(list), "%s:%s/none::%s:%s:%s", a, dir, b, d, a);
    setenv("KUBECONFIG", list, 1);
    assert_int_equal(load(&c, NULL, &err), 0);
    ASSERT_STR(c.server, "https://first");
    assert_true(str_empty(c.tls_server_name));
    ASSERT_STR(c.token, "t");
    kube_config_release(&c);
    setenv("KUBECONFIG", "/nonexistent/a:/nonexistent/b", 1);
    assert_int_equal(load(&c, NULL, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "/nonexistent/a"));
}

/* --- without a file --------------------------------------------------------------------------- */

static void test_in_cluster(void **state)
{
    struct kube_config_options o = {.service_account_dir = dir};
    struct kube_config c;
    struct err err;
    char expected[256];

    (void)state;
    assert_int_equal(kube_config_load(&c, &o, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "--kubeconfig"));
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(kube_config_load(&c, &o, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "in-cluster"));
    file("token", "secret\n");
    file("ca.crt", "x");
    file("namespace", "kube-system\n");
    assert_int_equal(kube_config_load(&c, &o, &err), 0);
    ASSERT_STR(c.server, "https://[fd00::1]:443");
    ASSERT_STR(c.namespace, "kube-system");
    snprintf(expected, sizeof(expected), "%s/token", dir);
    ASSERT_STR(c.token_file, expected);
    kube_config_release(&c);
}

static void test_master_overrides(void **state)
{
    const char *p = file("config", "clusters: [{name: k, cluster: {server: 'https://h',"
                                   " tls-server-name: name, insecure-skip-tls-verify: true}}]\n"
                                   "users: [{name: u, user: {token: t}}]\n" CONTEXT);
    struct kube_config_options o = {.kubeconfig = p, .master = "https://m:1/"};
    struct kube_config c;
    struct err err;

    (void)state;
    assert_int_equal(kube_config_load(&c, &o, &err), 0);
    ASSERT_STR(c.server, "https://m:1");
    ASSERT_STR(c.token, "t");
    assert_true(c.insecure);
    assert_true(str_empty(c.tls_server_name));
    kube_config_release(&c);
    o.kubeconfig = NULL;
    o.master = "m:8080";
    assert_int_equal(kube_config_load(&c, &o, &err), 0);
    ASSERT_STR(c.server, "http://m:8080");
    kube_config_release(&c);
    o.master = "https://a b";
    assert_int_not_equal(kube_config_load(&c, &o, &err), 0);
    o.master = "https://a:99999";
    assert_int_not_equal(kube_config_load(&c, &o, &err), 0);
    assert_non_null(strstr(err.msg, "--master: server: "));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_inline_data_and_token),
        TEST(test_bad_certificates_are_named_by_their_field),
        TEST(test_paths_are_relative_to_their_file),
        TEST(test_credentials_do_not_travel_in_clear_text),
        TEST(test_exec_plugin),
        TEST(test_context_may_be_chosen),
        TEST(test_refusals),
        TEST(test_missing_and_unreadable_files),
        TEST(test_first_file_wins_per_entry),
        TEST(test_in_cluster),
        TEST(test_master_overrides),
    };

    return cmocka_run_group_tests_name("kubeconfig", tests, NULL, NULL);
}
