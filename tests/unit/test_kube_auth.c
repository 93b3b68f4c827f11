/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "fake_api.h"
#include "kube/auth/auth.h"
#include "kube/auth/exec.h"
#include "objects.h"

#define V1      "client.authentication.k8s.io/v1"
#define V1BETA1 "client.authentication.k8s.io/v1beta1"
#define HEAD    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\","

static struct loop *loop;
static char dir[64];
static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/test_kube_auth.XXXXXX");
    arena_init(&arena, 0);
    fake_log_begin();
    return mkdtemp(dir) && loop_new(&loop) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"plugin", "token", "count",    "info",
                                        "cert",   "key",   "token.new"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    arena_release(&arena);
    loop = loop_free(loop);
    fake_log_end();
    return rmdir(dir);
}

static struct str file(const char *name, const char *text)
{
    struct str path = arena_printf(&arena, "%s/%s", dir, name);
    FILE *f = fopen(path.p, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static struct str script(const char *body)
{
    struct str path = file("plugin", arena_printf(&arena, "#!/bin/sh\ncd %s\n%s", dir, body).p);

    assert_int_equal(chmod(path.p, 0700), 0);
    return path;
}

/* --- output of plugins ------------------------------------------------------------------------ */

static int parse(const char *text, struct exec_credential *c, struct err *err)
{
    return exec_credential_parse(json_quotes_str(text), STR(V1), &arena, c, err);
}

static void test_credential_is_read(void **state)
{
    struct exec_credential c;
    struct err err;

    (void)state;
    assert_int_equal(parse(HEAD "'status':{'token':'t','expirationTimestamp':"
                                "'2030-01-02T03:04:05Z'},'spec':{}}",
                           &c, &err),
                     0);
    assert_true(str_is(c.token, "t"));
    assert_true(c.expiration.set);
    assert_int_equal(c.expiration.sec, 1893553445);
    assert_int_equal(
        parse(HEAD "'status':{'clientCertificateData':'c','clientKeyData':'k'}}", &c, &err), 0);
    assert_true(str_is(c.cert_pem, "c") && str_is(c.key_pem, "k"));
    assert_false(c.expiration.set);
}

static void test_bad_credentials_are_refused(void **state)
{
    static const char *const bad[][2] = {
        {"", "not an ExecCredential"},
        {"[]", "not an ExecCredential"},
        {"{'kind':'Pod','apiVersion':'" V1 "'}", "kind"},
        {"{'kind':'ExecCredential','apiVersion':'" V1BETA1 "'}", "apiVersion"},
        {HEAD "'spec':{}}", "status: missing"},
        {HEAD "'status':{}}", "must have a token"},
        {HEAD "'status':{'clientKeyData':'k'}}", "must be set together"},
        {HEAD "'status':{'token':'t','expirationTimestamp':'soon'}}", "expirationTimestamp"},
        {HEAD "'status':{'token':7}}", "status.token"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct exec_credential c;
        struct err err = {0};

        assert_int_equal(parse(bad[i][0], &c, &err), -EBADMSG);
        if (!strstr(err.msg, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], err.msg);
    }
}

/* --- running a plugin ------------------------------------------------------------------------- */

struct outcome {
    bool done;
    int code;
    char token[64];
    struct err err;
};

static void on_exec(void *ctx, int code, const struct exec_credential *c, const struct err *err)
{
    struct outcome *o = ctx;

    o->done = true;
    o->code = code;
    if (code == 0)
        snprintf(o->token, sizeof(o->token), "%.*s", STR_ARG(c->token));
    else
        o->err = *err;
}

static bool is_done(void *ctx)
{
    return ((struct outcome *)ctx)->done;
}

static struct kubeconfig_exec plugin_of(struct str command)
{
    return (struct kubeconfig_exec){
        .api_version = STR_INIT(V1), .command = command, .interactive_mode = STR_INIT("Never")};
}

static struct outcome run(const struct kube_config *config, int64_t timeout)
{
    struct outcome o = {0};

    if (exec_start(loop, config, timeout, on_exec, &o, &o.err))
        assert_true(fake_run_until(loop, is_done, &o));
    else
        o.code = o.err.code;
    return o;
}

static void test_plugin_gets_arguments_and_environment(void **state)
{
    struct str args[] = {STR("one"), STR("t w o")};
    struct kubeconfig_env env[] = {{STR("GREETING"), STR("hello")}};
    struct kubeconfig_exec plugin =
        plugin_of(script("printf '%s' \"$KUBERNETES_EXEC_INFO\" > info\n"
                         "echo '" HEAD "\"status\":{\"token\":\"'$GREETING-$1-$#'\"}}'\n"));
    struct kube_config config = {.exec = &plugin,
                                 .server = STR_INIT("https://h:1"),
                                 .ca_data = STR_INIT("CA"),
                                 .exec_cluster_config = STR_INIT("{\"a\":1}")};
    struct outcome o;
    char info[1024] = "";
    FILE *f;

    (void)state;
    plugin.args.v = args;
    plugin.args.n = 2;
    plugin.env.v = env;
    plugin.env.n = 1;
    plugin.provide_cluster_info = true;
    setenv("GREETING", "overridden", 1);
    o = run(&config, 0);
    if (o.code < 0)
        fail_msg("%s", o.err.msg);
    assert_string_equal(o.token, "hello-one-2");
    f = fopen(arena_printf(&arena, "%s/info", dir).p, "r");
    assert_non_null(f);
    assert_non_null(fgets(info, sizeof(info), f));
    fclose(f);
    assert_string_equal(info, json_quotes("{'kind':'ExecCredential','apiVersion':'" V1
                                          "','spec':{'cluster':{'server':'https://h:1',"
                                          "'certificate-authority-data':'Q0E=','config':{'a':1}},"
                                          "'interactive':false}}"));
}

/* berth raises its limit of descriptors; plugins get the one that berth was started with. */
static void test_plugin_gets_the_original_limit_of_descriptors(void **state)
{
    struct kubeconfig_exec plugin = plugin_of(
        script("echo '" HEAD "\"status\":{\"token\":\"'$(ulimit -Sn)-$(ulimit -Hn)'\"}}'\n"));
    struct kube_config config = {.exec = &plugin};
    struct rlimit before, low;
    char want[64];

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    descriptors_raise();
    assert_int_equal(descriptors_limit(), before.rlim_max);
    struct outcome o = run(&config, 0);
    assert_int_equal(descriptors_limit(), before.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (o.code < 0)
        fail_msg("%s", o.err.msg);
    snprintf(want, sizeof(want), "100-%llu", (unsigned long long)before.rlim_max);
    assert_string_equal(o.token, want);
}

static void expect_failure(const char *body, int64_t timeout, int code, const char *text)
{
    struct kubeconfig_exec plugin = plugin_of(script(body));
    struct kube_config config = {.exec = &plugin};
    struct outcome o = run(&config, timeout);

    if (o.code != code || !strstr(o.err.msg, text) || !strstr(o.err.msg, plugin.command.p))
        fail_msg("%d: %s", o.code, o.err.msg);
}

static void test_plugins_that_fail(void **state)
{
    (void)state;
    expect_failure("exit 3\n", 0, -ECHILD, "exit code 3");
    expect_failure("kill -9 $$\n", 0, -ECHILD, "signal 9");
    expect_failure("echo nonsense\n", 0, -EBADMSG, "not an ExecCredential");
    expect_failure("sleep 100\n", 50 * NSEC_PER_MSEC, -ETIMEDOUT, "timed out");
    expect_failure("while :; do echo 0123456789012345678901234567890123456789; done\n", 0,
                   -EMSGSIZE, "more than");
}

static void test_a_plugin_that_does_not_exist(void **state)
{
    struct kubeconfig_exec plugin = plugin_of(STR("/nonexistent/plugin"));
    struct kube_config config = {.exec = &plugin};
    struct outcome o;

    (void)state;
    plugin.install_hint = STR("Get it from a friend.");
    o = run(&config, 0);
    assert_int_equal(o.code, -ENOENT);
    assert_non_null(strstr(o.err.msg, "/nonexistent/plugin"));
    assert_non_null(strstr(o.err.msg, "Get it from a friend."));
}

static void test_a_run_may_be_cancelled(void **state)
{
    struct kubeconfig_exec plugin = plugin_of(script("sleep 100\n"));
    struct kube_config config = {.exec = &plugin};
    struct outcome o = {0};
    struct exec_run *r = exec_start(loop, &config, 0, on_exec, &o, &o.err);

    (void)state;
    assert_non_null(r);
    exec_cancel(r);
    loop_step(loop, 0);
    assert_false(o.done);
}

/* --- refresh ---------------------------------------------------------------------------------- */

static const struct auth_options eager = {.file_interval = -1, .exec_retry = 1};

static const char *authorization(struct auth *auth)
{
    auth_headers_vec headers = {0};
    struct str value;

    auth_add_headers(auth, &arena, &headers);
    value = http_header_find(headers.v, headers.n, "Authorization");
    vec_release(&headers);
    return arena_dup(&arena, value).p;
}

static void never(struct auth_wait *wait, int code, const struct err *err)
{
    (void)wait;
    (void)code;
    fail_msg("called: %s", err->msg);
}

static void test_token_file_is_read_again(void **state)
{
    struct kube_config config = {.token_file = file("token", " first \n"),
                                 .token = STR_INIT("beside")};
    struct auth_wait wait = {0};
    struct auth *auth;
    uint64_t generation;
    struct err err;

    (void)state;
    assert_int_equal(auth_new(loop, &config, &eager, &auth, &err), 0);
    assert_true(auth_ready(auth, &wait, never));
    assert_string_equal(authorization(auth), "Bearer first");
    generation = auth_generation(auth);
    file("token.new", "second");
    assert_int_equal(rename(arena_printf(&arena, "%s/token.new", dir).p, config.token_file.p), 0);
    assert_true(auth_ready(auth, &wait, never));
    assert_string_equal(authorization(auth), "Bearer second");
    assert_true(auth_generation(auth) != generation);
    /* Emptied by accident: the old token stays, and one line is logged. */
    file("token", "\n");
    assert_true(auth_ready(auth, &wait, never));
    assert_string_equal(authorization(auth), "Bearer second");
    assert_non_null(strstr(fake_log_text(), "the token is empty"));
    auth_free(auth);
}

static void test_reject_helps_only_where_something_can_change(void **state)
{
    struct kube_config fixed = {.token = STR_INIT("t")};
    struct kube_config by_file = {.token_file = file("token", "a")};
    struct auth *auth;
    struct err err;

    (void)state;
    assert_int_equal(auth_new(loop, &fixed, &eager, &auth, &err), 0);
    assert_false(auth_reject(auth, auth_generation(auth)));
    auth_free(auth);
    assert_int_equal(auth_new(loop, &by_file, NULL, &auth, &err), 0);
    assert_false(auth_reject(auth, auth_generation(auth)));
    file("token.new", "b");
    assert_int_equal(rename(arena_printf(&arena, "%s/token.new", dir).p, by_file.token_file.p), 0);
    /* Although the file is not due to be read yet. */
    assert_true(auth_reject(auth, auth_generation(auth)));
    assert_string_equal(authorization(auth), "Bearer b");
    auth_free(auth);
}

static void test_bad_token_files_are_refused(void **state)
{
    struct kube_config config = {.token_file = file("token", "")};
    struct auth *auth;
    struct err err;

    (void)state;
    assert_int_equal(auth_new(loop, &config, NULL, &auth, &err), -ENODATA);
    assert_non_null(strstr(err.msg, config.token_file.p));
    file("token", "a\nb");
    assert_int_equal(auth_new(loop, &config, NULL, &auth, &err), -EINVAL);
    config.token_file = STR("/nonexistent/token");
    assert_int_equal(auth_new(loop, &config, NULL, &auth, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "/nonexistent/token"));
}

static void test_basic_and_impersonation(void **state)
{
    struct str groups[] = {STR("g1"), STR("g2")};
    struct kube_extra extra[] = {{STR("a/b"), STR("v")}};
    struct kube_config config = {.username = STR_INIT("u"),
                                 .password = STR_INIT("p:w"),
                                 .as = STR_INIT("bob"),
                                 .as_uid = STR_INIT("7")};
    auth_headers_vec headers = {0};
    struct auth *auth;
    struct err err;

    (void)state;
    config.as_groups.v = groups;
    config.as_groups.n = 2;
    config.as_extra.v = extra;
    config.as_extra.n = 1;
    assert_int_equal(auth_new(loop, &config, NULL, &auth, &err), 0);
    auth_add_headers(auth, &arena, &headers);
    assert_int_equal(headers.n, 6);
    assert_string_equal(authorization(auth), "Basic dTpwOnc=");
    assert_true(str_is(headers.v[3].value, "g1") && str_is(headers.v[4].value, "g2"));
    assert_true(str_is(headers.v[5].name, "Impersonate-Extra-a%2Fb"));
    vec_release(&headers);
    auth_free(auth);
}

struct waiter {
    struct auth_wait wait;
    bool told;
    int code;
};

static void on_told(struct auth_wait *wait, int code, const struct err *err)
{
    struct waiter *w = CONTAINER_OF(wait, struct waiter, wait);

    (void)err;
    w->told = true;
    w->code = code;
}

static bool is_told(void *ctx)
{
    return ((struct waiter *)ctx)->told;
}

/* Counts its runs in the token; each credential is valid until 2999 or, at first, expired. */
static struct str counting_script(void)
{
    return script("n=$(cat count 2>/dev/null || echo 0); n=$((n+1)); echo $n > count\n"
                  "year=2999; [ $n = 1 ] && year=2001\n"
                  "echo '" HEAD "\"status\":{\"token\":\"t'$n'\",\"expirationTimestamp\":"
                  "\"'$year'-01-01T00:00:00Z\"}}'\n");
}

static void test_plugin_is_run_once_for_all_and_again_when_needed(void **state)
{
    struct kubeconfig_exec plugin = plugin_of(counting_script());
    struct kube_config config = {.exec = &plugin};
    struct waiter a = {0}, b = {0}, c = {0};
    struct auth *auth;
    uint64_t generation;
    struct err err;

    (void)state;
    assert_int_equal(auth_new(loop, &config, &eager, &auth, &err), 0);
    assert_false(auth_ready(auth, &a.wait, on_told));
    assert_false(auth_ready(auth, &b.wait, on_told));
    assert_false(auth_ready(auth, &c.wait, on_told));
    auth_wait_cancel(&b.wait);
    assert_true(fake_run_until(loop, is_told, &a));
    assert_true(c.told && !b.told);
    assert_int_equal(a.code, 0);
    assert_string_equal(authorization(auth), "Bearer t1");
    /* Expired in 2001: run again. */
    a.told = false;
    assert_false(auth_ready(auth, &a.wait, on_told));
    assert_true(fake_run_until(loop, is_told, &a));
    assert_string_equal(authorization(auth), "Bearer t2");
    assert_true(auth_ready(auth, &a.wait, on_told));
    /* 401: run again, but once for all rejected requests. */
    generation = auth_generation(auth);
    assert_true(auth_reject(auth, generation));
    a.told = false;
    assert_false(auth_ready(auth, &a.wait, on_told));
    assert_true(fake_run_until(loop, is_told, &a));
    assert_string_equal(authorization(auth), "Bearer t3");
    assert_true(auth_reject(auth, generation));
    assert_true(auth_ready(auth, &a.wait, on_told));
    auth_free(auth);
}

static void test_waiters_hear_of_failure(void **state)
{
    struct kubeconfig_exec plugin = plugin_of(STR("/nonexistent/plugin"));
    struct kube_config config = {.exec = &plugin};
    struct waiter a = {0};
    struct auth *auth;
    struct err err;

    (void)state;
    assert_int_equal(auth_new(loop, &config, NULL, &auth, &err), 0);
    for (int i = 0; i < 3; i++) {
        a.told = false;
        assert_false(auth_ready(auth, &a.wait, on_told));
        assert_false(a.told);
        assert_true(fake_run_until(loop, is_told, &a));
        assert_int_equal(a.code, -ENOENT);
    }
    assert_non_null(strstr(fake_log_text(), "Unable to get credentials"));
    auth_free(auth);
}

struct tls_seen {
    int n;
};

static void on_tls(void *ctx, struct tls_config *tls)
{
    ((struct tls_seen *)ctx)->n++;
    assert_non_null(tls);
}

static void make_certificate(const char *name)
{
    struct buf cert = BUF_INIT, key = BUF_INIT;
    struct tls_cert_request request = {.common_name = name};
    struct err err;

    if (tls_make_certificate(&request, &cert, &key, &err) < 0)
        fail_msg("%s", err.msg);
    file("cert", buf_cstr(&cert));
    file("key", buf_cstr(&key));
    buf_release(&cert);
    buf_release(&key);
}

static void test_certificate_files_are_read_again(void **state)
{
    struct kube_config config = {.tls = true,
                                 .cert_file = arena_printf(&arena, "%s/cert", dir),
                                 .key_file = arena_printf(&arena, "%s/key", dir)};
    struct auth_wait wait = {0};
    struct tls_seen seen = {0};
    struct auth *auth;
    struct err err;

    (void)state;
    make_certificate("one");
    if (auth_new(loop, &config, &eager, &auth, &err) < 0)
        fail_msg("%s", err.msg);
    auth_set_tls_listener(auth, on_tls, &seen);
    assert_true(auth_ready(auth, &wait, never));
    assert_int_equal(seen.n, 0);
    make_certificate("two");
    assert_true(auth_ready(auth, &wait, never));
    assert_int_equal(seen.n, 1);
    /* Invalid output: the old credential stays, and one line is logged. */
    file("cert", "nonsense");
    assert_true(auth_ready(auth, &wait, never));
    assert_int_equal(seen.n, 1);
    assert_non_null(strstr(fake_log_text(), "Unable to rotate client certificate"));
    auth_free(auth);
}

static void assert_counted(struct metrics *metrics, const char *part)
{
    struct buf text = BUF_INIT;

    metrics_write(metrics, &text);
    if (!strstr(buf_cstr(&text), json_quotes(part)))
        fail_msg("%s is not in\n%s", part, buf_cstr(&text));
    buf_release(&text);
}

static void test_plugin_brings_a_certificate(void **state)
{
    struct auth_options options = eager;
    struct kubeconfig_exec plugin;
    struct kube_config config = {.tls = true};
    struct tls_seen seen = {0};
    struct waiter w = {0};
    struct auth *auth;
    struct err err;

    (void)state;
    make_certificate("by-plugin");
    plugin = plugin_of(script("escape() { awk '{printf \"%s\\\\n\", $0}' $1; }\n"
                              "printf '%s' '" HEAD
                              "\"status\":{\"clientCertificateData\":\"'\"$(escape cert)\"'\","
                              "\"clientKeyData\":\"'\"$(escape key)\"'\"}}'\n"));
    config.exec = &plugin;
    options.metrics = metrics_new();
    if (auth_new(loop, &config, &options, &auth, &err) < 0)
        fail_msg("%s", err.msg);
    auth_set_tls_listener(auth, on_tls, &seen);
    assert_false(auth_ready(auth, &w.wait, on_told));
    assert_true(fake_run_until(loop, is_told, &w));
    if (w.code < 0)
        fail_msg("%s", fake_log_text());
    assert_int_equal(seen.n, 1);
    assert_counted(options.metrics, "_ttl_seconds 3.15");
    assert_counted(options.metrics, "rotation_age_count 0\n");
    /* The same certificate again does not replace connections. */
    assert_true(auth_reject(auth, auth_generation(auth)));
    w.told = false;
    assert_false(auth_ready(auth, &w.wait, on_told));
    assert_true(fake_run_until(loop, is_told, &w));
    assert_int_equal(seen.n, 1);
    assert_counted(options.metrics, "call_total{call_status='no_error',code='0'} 2\n");
    /* The next certificate is backdated by an hour: see tls_make_certificate. */
    make_certificate("by-plugin-again");
    assert_true(auth_reject(auth, auth_generation(auth)));
    w.told = false;
    assert_false(auth_ready(auth, &w.wait, on_told));
    assert_true(fake_run_until(loop, is_told, &w));
    assert_int_equal(seen.n, 2);
    assert_counted(options.metrics, "rotation_age_bucket{le='1800'} 0\n");
    assert_counted(options.metrics, "rotation_age_bucket{le='14400'} 1\n");
    auth_free(auth);
    assert_counted(options.metrics, "_ttl_seconds +Inf\n");
    metrics_free(options.metrics);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_credential_is_read),
        TEST(test_bad_credentials_are_refused),
        TEST(test_plugin_gets_arguments_and_environment),
        TEST(test_plugin_gets_the_original_limit_of_descriptors),
        TEST(test_plugins_that_fail),
        TEST(test_a_plugin_that_does_not_exist),
        TEST(test_a_run_may_be_cancelled),
        TEST(test_token_file_is_read_again),
        TEST(test_reject_helps_only_where_something_can_change),
        TEST(test_bad_token_files_are_refused),
        TEST(test_basic_and_impersonation),
        TEST(test_plugin_is_run_once_for_all_and_again_when_needed),
        TEST(test_waiters_hear_of_failure),
        TEST(test_certificate_files_are_read_again),
        TEST(test_plugin_brings_a_certificate),
    };

    return cmocka_run_group_tests_name("kube_auth", tests, NULL, NULL);
}
