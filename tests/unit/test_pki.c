/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates, tokens, kubeconfigs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apiserver/http/pki.h"
#include "apiserver/http/token_issuer.h"
#include "codec/yaml.h"

/* --- files ------------------------------------------------------------------------------------ */

static void assert_private(const char *directory, const char *name)
{
    char path[256];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void remove_files(const char *directory)
{
    static const char *const names[] = {"ca.crt", "ca.key", "apiserver.crt", "apiserver.key",
                                        "sa.key"};
    char path[256];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(directory), 0);
}

static void files_are_kept(void **state)
{
    char directory[] = "/tmp/berth-pki-XXXXXX";
    struct pki a, b, c;
    struct err err;

    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(pki_init(&(struct pki_options){.directory = directory}, &a, &err), 0);
    assert_private(directory, "ca.key");
    assert_private(directory, "apiserver.key");
    assert_private(directory, "sa.key");
    assert_int_equal(pki_init(&(struct pki_options){.directory = directory}, &b, &err), 0);
    assert_true(str_eq(buf_str(&a.ca_cert), buf_str(&b.ca_cert)));
    assert_true(str_eq(buf_str(&a.server_cert), buf_str(&b.server_cert)));
    assert_true(str_eq(buf_str(&a.token_key), buf_str(&b.token_key)));
    /* A new name: a new certificate of the same authority. */
    assert_int_equal(
        pki_init(&(struct pki_options){.directory = directory, .names = "10.1.2.3,here.example"},
                 &c, &err),
        0);
    assert_true(str_eq(buf_str(&a.ca_cert), buf_str(&c.ca_cert)));
    assert_false(str_eq(buf_str(&a.server_cert), buf_str(&c.server_cert)));
    pki_release(&a);
    pki_release(&b);
    pki_release(&c);
    remove_files(directory);
    assert_true(pki_init(&(struct pki_options){.directory = "/nowhere/at/all"}, &a, &err) < 0);
    assert_non_null(strstr(err.msg, "/nowhere/at/all"));
}

static void kubeconfig(void **state)
{
    struct buf text = BUF_INIT;
    struct json_value *docs;
    struct arena a;
    struct err err;
    size_t n;

    (void)state;
    arena_init(&a, 0);
    kubeconfig_write(&(struct kubeconfig_source){.server = STR("https://127.0.0.1:6443"),
                                                 .ca_pem = STR("ca"),
                                                 .cert_pem = STR("cert"),
                                                 .key_pem = STR("key"),
                                                 .name = STR("berth")},
                     &text);
    assert_int_equal(yaml_parse(buf_str(&text), 0, &a, &docs, &n, &err), 0);
    assert_int_equal(n, 1);
    buf_release(&text);
    arena_release(&a);
}

/* --- tokens ----------------------------------------------------------------------------------- */

struct tokens {
    struct pki pki;
    struct token_issuer *issuer;
    struct arena a;
    struct token_claims claims;
};

static void tokens_start(struct tokens *t)
{
    static const struct str audience[] = {STR_INIT(TOKEN_ISSUER_URL)};
    struct err err;

    arena_init(&t->a, 0);
    assert_int_equal(pki_init(&(struct pki_options){0}, &t->pki, &err), 0);
    assert_int_equal(token_issuer_new(buf_str(&t->pki.token_key), &t->issuer, &err), 0);
    t->claims = (struct token_claims){.namespace = STR("ns"),
                                      .account = {STR("bot"), STR("uid-1")},
                                      .pod = {STR("pod"), STR("uid-2")},
                                      .audiences = audience,
                                      .n_audiences = 1,
                                      .id = STR("id"),
                                      .issued = 1000,
                                      .expires = 2000};
}

static void tokens_stop(struct tokens *t)
{
    token_issuer_free(t->issuer);
    pki_release(&t->pki);
    arena_release(&t->a);
}

static void valid_tokens(void **state)
{
    struct token_claims read;
    struct tokens t;
    struct str token;
    struct err err;

    (void)state;
    tokens_start(&t);
    token = token_issuer_sign(t.issuer, &t.claims, &t.a);
    assert_int_equal(token_issuer_check(t.issuer, token, 1500, &t.a, &read, &err), 0);
    assert_true(str_is(read.namespace, "ns"));
    assert_true(str_is(read.account.name, "bot"));
    assert_true(str_is(read.account.uid, "uid-1"));
    assert_true(str_is(read.pod.name, "pod"));
    assert_true(str_empty(read.secret.name));
    assert_true(token_issuer_check(t.issuer, token, 2100, &t.a, &read, &err) < 0);
    assert_string_equal(err.msg, "service account token has expired");
    assert_true(token_issuer_check(t.issuer, token, 100, &t.a, &read, &err) < 0);
    assert_string_equal(err.msg, "service account token is not valid yet");
    tokens_stop(&t);
}

static void forged_tokens(void **state)
{
    struct token_claims read;
    struct tokens t, other;
    struct str token, foreign, changed;
    static const struct str elsewhere[] = {STR_INIT("https://elsewhere")};
    struct err err;

    (void)state;
    tokens_start(&t);
    tokens_start(&other);
    token = token_issuer_sign(t.issuer, &t.claims, &t.a);
    foreign = token_issuer_sign(other.issuer, &t.claims, &t.a);
    assert_true(token_issuer_check(t.issuer, foreign, 1500, &t.a, &read, &err) < 0);
    /* Any changed character makes it invalid, but for unused bits at the end of a part. */
    for (size_t i = 0; i < token.n; i++) {
        if (i + 1 == token.n || token.p[i + 1] == '.' || token.p[i] == '.')
            continue;
        changed = arena_dup(&t.a, token);
        ((char *)(uintptr_t)changed.p)[i] = token.p[i] == 'A' ? 'B' : 'A';
        assert_true(token_issuer_check(t.issuer, changed, 1500, &t.a, &read, &err) < 0);
    }
    for (size_t n = 0; n < token.n; n++)
        assert_true(token_issuer_check(t.issuer, str_slice(token, 0, n), 1500, &t.a, &read, &err) <
                    0);
    /* alg none, without a signature */
    assert_true(
        token_issuer_check(t.issuer, STR("eyJhbGciOiJub25lIn0.e30."), 1500, &t.a, &read, &err) < 0);
    t.claims.audiences = elsewhere;
    token = token_issuer_sign(t.issuer, &t.claims, &t.a);
    assert_true(token_issuer_check(t.issuer, token, 1500, &t.a, &read, &err) < 0);
    tokens_stop(&t);
    tokens_stop(&other);
}

static void bad_keys(void **state)
{
    struct token_issuer *issuer;
    struct err err;

    (void)state;
    assert_true(token_issuer_new(STR(""), &issuer, &err) < 0);
    assert_true(token_issuer_new(STR("-----BEGIN PRIVATE KEY-----\nAAAA\n"), &issuer, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_kept), cmocka_unit_test(kubeconfig),
        cmocka_unit_test(valid_tokens),   cmocka_unit_test(forged_tokens),
        cmocka_unit_test(bad_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
