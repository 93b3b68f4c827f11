/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <unistd.h>

#include "fake_kube.h"
#include "objects.h"
#include "serve/authn.h"
#include "serve/reviews.h"

#define CONFIG_MAP "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

static struct fake_kube k;
static struct authn *authn;

/* --- certificates ----------------------------------------------------------------------------- */

struct pem {
    struct buf cert, key;
};

static struct pem ca, other_ca;

static void make_pem(struct pem *out, const struct pem *by, struct tls_cert_request request)
{
    struct err err;
    *out = (struct pem){0};
    if (by) {
        request.ca_cert_pem = buf_str(&by->cert);
        request.ca_key_pem = buf_str(&by->key);
    }
    assert_int_equal(tls_make_certificate(&request, &out->cert, &out->key, &err), 0);
}

static void drop_pem(struct pem *pem)
{
    buf_release(&pem->cert);
    buf_release(&pem->key);
}

/* A client that presents a certificate to a server that accepts any. */
struct shown {
    struct tls_config *client, *server;
    struct tls_conn *conn[2];
};

static const struct tls_peer *show(struct shown *s, const struct pem *by, const char *name,
                                   const char *organizations, int days)
{
    struct pem pem;
    struct err err;
    struct buf wire[2] = {BUF_INIT, BUF_INIT}, plain = BUF_INIT;
    make_pem(&pem, by,
             (struct tls_cert_request){
                 .common_name = name, .organizations = organizations, .days = days});
    struct tls_options client = {
        .insecure_skip_verify = true, .cert_pem = buf_str(&pem.cert), .key_pem = buf_str(&pem.key)};
    struct tls_options server = {.client_auth = TLS_CLIENT_AUTH_ANY};
    assert_int_equal(tls_config_new_client(&client, &s->client, &err), 0);
    assert_int_equal(tls_config_new_server(&server, &s->server, &err), 0);
    assert_int_equal(tls_conn_new_client(s->client, STR("localhost"), 1, &s->conn[0], &err), 0);
    assert_int_equal(tls_conn_new_server(s->server, &s->conn[1], &err), 0);
    assert_int_equal(tls_conn_feed(s->conn[0], NULL, 0, &plain, &wire[1], &err), 0);
    while (wire[0].n || wire[1].n) {
        for (int to = 0; to < 2; to++) {
            struct buf in = wire[to];
            wire[to] = (struct buf)BUF_INIT;
            assert_int_equal(tls_conn_feed(s->conn[to], in.p, in.n, &plain, &wire[!to], &err), 0);
            buf_release(&in);
        }
    }
    drop_pem(&pem);
    buf_release(&plain);
    assert_non_null(tls_conn_peer(s->conn[1]));
    return tls_conn_peer(s->conn[1]);
}

static void hide(struct shown *s)
{
    for (int i = 0; i < 2; i++)
        tls_conn_free(s->conn[i]);
    tls_config_unref(s->client);
    tls_config_unref(s->server);
}

/* --- requests --------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    fake_kube_begin(&k, NULL);
    make_pem(&ca, NULL, (struct tls_cert_request){.common_name = "ca", .is_ca = true});
    make_pem(&other_ca, NULL, (struct tls_cert_request){.common_name = "ca", .is_ca = true});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    authn = authn_free(authn);
    drop_pem(&ca);
    drop_pem(&other_ca);
    fake_kube_end(&k);
    return 0;
}

static void make(struct authn_options options)
{
    struct err err;
    int r = authn_new(k.loop, &options, &authn, &err);
    if (r < 0)
        fail_msg("%s", err.msg);
}

struct who {
    int told;
    enum authn_verdict verdict;
    char text[512]; /* "name (uid) [group group] extra" */
};

static void on_who(void *ctx, enum authn_verdict verdict, const struct user_info *user)
{
    struct who *w = ctx;
    struct buf out = BUF_INIT;
    w->told++;
    w->verdict = verdict;
    if (!user)
        return;
    buf_add_printf(&out, "%.*s (%.*s) [", STR_ARG(user->username), STR_ARG(user->uid));
    for (size_t i = 0; i < user->groups.n; i++)
        buf_add_printf(&out, "%s%.*s", i ? " " : "", STR_ARG(user->groups.v[i]));
    buf_add_printf(&out, "] %.*s", STR_ARG(user->extra));
    snprintf(w->text, sizeof(w->text), "%s", buf_cstr(&out));
    buf_release(&out);
}

static bool is_told(void *ctx)
{
    return ((struct who *)ctx)->told > 0;
}

static struct who ask(const struct tls_peer *peer, const struct http_header *headers, size_t n)
{
    struct who w = {0};
    struct http_exchange x = {.peer = peer};
    for (size_t i = 0; i < n; i++)
        vec_push(&x.headers.list, headers[i]);
    struct authn_call *call = authn_check(authn, &x, on_who, &w);
    assert_int_equal(call == NULL, w.told == 1);
    assert_true(fake_run_until(k.loop, is_told, &w));
    assert_int_equal(w.told, 1);
    vec_release(&x.headers.list);
    return w;
}

static struct who ask_token(const char *value)
{
    struct http_header h = {STR("authorization"), str_of(value)};
    return ask(NULL, &h, 1);
}

static void answer_token(const char *status, bool forever)
{
    fake_api_answer(k.api,
                    &(struct fake_answer){.method = "POST",
                                          .path = TOKEN_REVIEWS_PATH,
                                          .status = 201,
                                          .body = arena_jsonf(&k.arena, "{'status':%s}", status),
                                          .forever = forever});
}

#define ANONYMOUS "system:anonymous () [system:unauthenticated] "
#define JANE                                                                      \
    "{'authenticated':true,'user':{'username':'jane','uid':'7','groups':['dev']," \
    "'extra':{'k':['v']}}}"

static void assert_user(struct who w, const char *text)
{
    assert_int_equal(w.verdict, AUTHN_OK);
    assert_string_equal(w.text, json_quotes(text));
}

/* --- tokens ----------------------------------------------------------------------------------- */

static void test_nobody(void **state)
{
    (void)state;
    make((struct authn_options){.kube = &k.config, .skip_lookup = true});
    assert_user(ask(NULL, NULL, 0), ANONYMOUS);
    static const char *const others[] = {"",        "Basic abc",   "Bearer",
                                         "Bearer ", "Bearer  two", "bearerx y"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_user(ask_token(others[i]), ANONYMOUS);
    assert_int_equal(fake_api_count(k.api), 0);
}

static void test_tokens_without_server(void **state)
{
    (void)state;
    make((struct authn_options){.skip_lookup = true});
    assert_user(ask_token("Bearer abc"), ANONYMOUS);
}

static void test_token(void **state)
{
    (void)state;
    make((struct authn_options){
        .kube = &k.config, .skip_lookup = true, .token_ttl = 50 * NSEC_PER_MSEC});
    answer_token(JANE, true);
    for (int i = 0; i < 3; i++)
        assert_user(ask_token("bEARER abc def"), "jane (7) [dev system:authenticated] {'k':['v']}");
    assert_int_equal(fake_api_count(k.api), 1);
    assert_string_equal(fake_api_request(k.api, 0)->body,
                        json_quotes("{'kind':'TokenReview','apiVersion':'authentication.k8s.io/v1',"
                                    "'metadata':{},'spec':{'token':'abc'}}"));
    (void)ask_token("Bearer abd");
    assert_int_equal(fake_api_count(k.api), 2);
    int64_t end = time_mono() + 60 * NSEC_PER_MSEC;
    while (time_mono() < end)
        loop_step(k.loop, 10 * NSEC_PER_MSEC);
    (void)ask_token("Bearer abc");
    assert_int_equal(fake_api_count(k.api), 3);
}

static void test_bad_tokens(void **state)
{
    (void)state;
    make((struct authn_options){
        .kube = &k.config, .skip_lookup = true, .token_ttl = 10 * NSEC_PER_SEC});
    answer_token("{'error':'expired'}", false);
    assert_int_equal(ask_token("Bearer x").verdict, AUTHN_REFUSED);
    assert_non_null(strstr(fake_log_text(), "[invalid bearer token, expired]"));
    /* Errors are not cached, denials are. */
    answer_token("{'authenticated':false}", false);
    assert_int_equal(ask_token("Bearer x").verdict, AUTHN_REFUSED);
    assert_int_equal(ask_token("Bearer x").verdict, AUTHN_REFUSED);
    assert_int_equal(fake_api_count(k.api), 2);
    fake_api_answer(k.api, &(struct fake_answer){.path = TOKEN_REVIEWS_PATH, .status = 403});
    assert_int_equal(ask_token("Bearer y").verdict, AUTHN_REFUSED);
    answer_token("[]", false);
    assert_int_equal(ask_token("Bearer y").verdict, AUTHN_REFUSED);
}

static void test_cancel(void **state)
{
    (void)state;
    make((struct authn_options){.kube = &k.config, .skip_lookup = true});
    fake_api_answer(k.api, &(struct fake_answer){
                               .path = TOKEN_REVIEWS_PATH, .manner = FAKE_HANG, .forever = true});
    struct http_exchange x = {0};
    struct who w = {0};
    vec_push(&x.headers.list, ((struct http_header){STR("authorization"), STR("Bearer t")}));
    struct authn_call *first = authn_check(authn, &x, on_who, &w);
    assert_non_null(authn_check(authn, &x, on_who, &w)); /* waits for the same answer */
    for (int i = 1; i < REVIEWS_SENT_MAX + REVIEWS_WAITING_MAX; i++) {
        x.headers.list.v[0].value = arena_printf(&k.arena, "Bearer t%d", i);
        assert_non_null(authn_check(authn, &x, on_who, &w));
    }
    x.headers.list.v[0].value = STR("Bearer another");
    assert_null(authn_check(authn, &x, on_who, &w));
    assert_int_equal(w.verdict, AUTHN_BUSY);
    /* Another address is served next. */
    x.remote_host = STR("10.0.0.2");
    assert_non_null(authn_check(authn, &x, on_who, &w));
    loop_step(k.loop, NSEC_PER_MSEC);
    authn_cancel(first);
    assert_int_equal(w.told, 1);
    authn = authn_free(authn);
    assert_int_equal(w.told, 1);
    vec_release(&x.headers.list);
}

/* --- certificates ----------------------------------------------------------------------------- */

static void write_file(const char *path, struct str text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
}

/* "name (…) [groups]" without the fingerprint. */
static void assert_certificate(struct who w, const char *text)
{
    assert_int_equal(w.verdict, AUTHN_OK);
    char *extra =
        strstr(w.text, json_quotes("{'authentication.kubernetes.io/credential-id':['X509SHA256="));
    assert_non_null(extra);
    assert_int_equal(strlen(extra),
                     strlen(json_quotes("{'authentication.kubernetes.io/credential-id':"
                                        "['X509SHA256=']}")) +
                         64);
    *extra = 0;
    assert_string_equal(w.text, text);
}

static void test_certificate_by_file(void **state)
{
    (void)state;
    char path[] = "/tmp/berth-authn-XXXXXX";
    struct shown good = {0}, bad = {0}, old = {0};
    close(mkstemp(path));
    write_file(path, buf_str(&ca.cert));
    make((struct authn_options){.client_ca_file = path, .skip_lookup = true, .file_interval = 1});
    const struct tls_peer *jane = show(&good, &ca, "jane", "dev,ops", 0);
    const struct tls_peer *eve = show(&bad, &other_ca, "eve", NULL, 0);
    assert_certificate(ask(jane, NULL, 0), "jane () [dev ops system:authenticated] ");
    assert_int_equal(ask(eve, NULL, 0).verdict, AUTHN_REFUSED);
    assert_int_equal(ask(show(&old, &ca, "joe", NULL, -1), NULL, 0).verdict, AUTHN_REFUSED);
    /* The file changes, and with it the trusted certificates. An invalid file changes nothing. */
    write_file(path, STR("no certificate"));
    loop_step(k.loop, 2 * NSEC_PER_MSEC);
    assert_certificate(ask(jane, NULL, 0), "jane () [dev ops system:authenticated] ");
    write_file(path, buf_str(&other_ca.cert));
    loop_step(k.loop, 2 * NSEC_PER_MSEC);
    assert_certificate(ask(eve, NULL, 0), "eve () [system:authenticated] ");
    assert_int_equal(ask(jane, NULL, 0).verdict, AUTHN_REFUSED);
    unlink(path);
    hide(&good);
    hide(&bad);
    hide(&old);
}

static void test_missing_file(void **state)
{
    (void)state;
    struct authn_options options = {.client_ca_file = "/nonexistent/ca.crt"};
    struct err err;
    assert_int_equal(authn_new(k.loop, &options, &authn, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "/nonexistent/ca.crt"));
    authn = NULL;
}

static struct str quoted(struct str pem)
{
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < pem.n; i++)
        if (pem.p[i] == '\n')
            buf_add_cstr(&out, "\\n");
        else
            buf_add_char(&out, pem.p[i]);
    struct str copy = arena_dup(&k.arena, buf_str(&out));
    buf_release(&out);
    return copy;
}

static void answer_config_map(struct str client_ca, struct str proxy_ca)
{
    struct fake_answer a = {
        .method = "GET",
        .path = CONFIG_MAP,
        .body = arena_jsonf(&k.arena,
                            "{'data':{'client-ca-file':'%.*s',"
                            "'requestheader-client-ca-file':'%.*s',"
                            "'requestheader-allowed-names':'[`front`]',"
                            "'requestheader-username-headers':'[`X-Remote-User`]',"
                            "'requestheader-uid-headers':'[`X-Remote-Uid`]',"
                            "'requestheader-group-headers':'[`X-Remote-Group`]',"
                            "'requestheader-extra-headers-prefix':'[`X-Remote-Extra-`]'"
                            "}}",
                            STR_ARG(quoted(client_ca)), STR_ARG(quoted(proxy_ca)))};
    fake_api_answer(k.api, &a);
}

static const struct http_header remote[] = {
    {STR_INIT("x-remote-user"), STR_INIT("kim")},
    {STR_INIT("x-remote-uid"), STR_INIT("u-9")},
    {STR_INIT("x-remote-group"), STR_INIT("a")},
    {STR_INIT("x-remote-group"), STR_INIT("b")},
    {STR_INIT("x-remote-extra-acme.com%2fproject"), STR_INIT("p1")},
    {STR_INIT("x-remote-extra-acme.com%2fproject"), STR_INIT("p2")},
};

/* Requests before the end of the lookup wait for it. */
static void test_lookup(void **state)
{
    (void)state;
    struct shown user = {0}, front = {0}, stranger = {0};
    answer_config_map(buf_str(&ca.cert), buf_str(&other_ca.cert));
    make((struct authn_options){.kube = &k.config});
    assert_certificate(ask(show(&user, &ca, "jane", NULL, 0), NULL, 0),
                       "jane () [system:authenticated] ");
    const struct tls_peer *proxy = show(&front, &other_ca, "front", NULL, 0);
    assert_user(ask(proxy, remote, ARRAY_LEN(remote)), "kim (u-9) [a b system:authenticated] "
                                                       "{'acme.com/project':['p1','p2']}");
    /* A proxy without a user name is not a user of the other CA. */
    assert_int_equal(ask(proxy, NULL, 0).verdict, AUTHN_REFUSED);
    assert_int_equal(
        ask(show(&stranger, &other_ca, "someone", NULL, 0), remote, ARRAY_LEN(remote)).verdict,
        AUTHN_REFUSED);
    /* A user's own certificate does not validate headers. */
    assert_certificate(ask(tls_conn_peer(user.conn[1]), remote, ARRAY_LEN(remote)),
                       "jane () [system:authenticated] ");
    assert_user(ask(NULL, remote, ARRAY_LEN(remote)), ANONYMOUS);
    assert_int_equal(fake_api_count(k.api), 1);
    hide(&user);
    hide(&front);
    hide(&stranger);
}

static bool two_requests(void *ctx)
{
    (void)ctx;
    return fake_api_count(k.api) >= 2;
}

static void test_lookup_again(void **state)
{
    (void)state;
    struct shown user = {0};
    answer_config_map(buf_str(&ca.cert), buf_str(&other_ca.cert));
    make((struct authn_options){.kube = &k.config, .lookup_interval = 20 * NSEC_PER_MSEC});
    const struct tls_peer *jane = show(&user, &ca, "jane", NULL, 0);
    assert_certificate(ask(jane, NULL, 0), "jane () [system:authenticated] ");
    answer_config_map(buf_str(&other_ca.cert), buf_str(&ca.cert));
    assert_true(fake_run_until(k.loop, two_requests, NULL));
    for (int i = 0; i < 3; i++)
        loop_step(k.loop, NSEC_PER_MSEC);
    assert_int_equal(ask(jane, NULL, 0).verdict, AUTHN_REFUSED);
    hide(&user);
}

static int failures;

static void on_failed(void *ctx, const struct err *err)
{
    (void)ctx, (void)err;
    failures++;
}

static void test_lookup_fails(void **state)
{
    (void)state;
    struct shown user = {0};
    fake_api_answer(k.api, &(struct fake_answer){.path = CONFIG_MAP,
                                                 .status = 403,
                                                 .body = fake_status(&k, 403, "Forbidden", "no"),
                                                 .forever = true});
    failures = 0;
    make((struct authn_options){.kube = &k.config, .on_lookup_failed = on_failed});
    assert_user(ask(show(&user, &ca, "jane", NULL, 0), NULL, 0), ANONYMOUS);
    assert_int_equal(failures, 1);
    assert_non_null(
        strstr(fake_log_text(), "Error looking up in-cluster authentication configuration"));
    hide(&user);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tokens_without_server, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_token, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_tokens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_certificate_by_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lookup, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lookup_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lookup_fails, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
