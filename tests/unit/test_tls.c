/* SPDX-License-Identifier: Apache-2.0 */
/* TLS as a transformation: two ends in memory, no socket. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <unistd.h>

#include "net/tls.h"

struct pem {
    struct buf cert, key;
};

static void make(struct pem *out, const struct pem *ca, struct tls_cert_request request)
{
    struct err err;
    *out = (struct pem){0};
    if (ca) {
        request.ca_cert_pem = buf_str(&ca->cert);
        request.ca_key_pem = buf_str(&ca->key);
    }
    if (tls_make_certificate(&request, &out->cert, &out->key, &err) < 0)
        fail_msg("%s", err.msg);
}

static void drop(struct pem *pem)
{
    buf_release(&pem->cert);
    buf_release(&pem->key);
}

struct pair {
    struct tls_conn *client, *server;
    struct buf to_server, to_client, client_plain, server_plain;
    struct err err;
    int code; /* of the side that failed first */
};

/* Passes bytes back and forth, `step` at a time, until both are idle. */
static void carry(struct pair *p, size_t step)
{
    for (bool moved = true; moved && p->code == 0;) {
        moved = false;
        size_t n = MIN(step, p->to_server.n);
        if (n) {
            p->code = tls_conn_feed(p->server, p->to_server.p, n, &p->server_plain, &p->to_client,
                                    &p->err);
            buf_consume(&p->to_server, n);
            moved = true;
        }
        n = MIN(step, p->to_client.n);
        if (n && p->code == 0) {
            p->code = tls_conn_feed(p->client, p->to_client.p, n, &p->client_plain, &p->to_server,
                                    &p->err);
            buf_consume(&p->to_client, n);
            moved = true;
        }
    }
}

static void shake(struct pair *p, struct tls_config *client, struct tls_config *server,
                  const char *host, size_t step)
{
    struct err err;
    *p = (struct pair){0};
    assert_int_equal(tls_conn_new_client(client, str_of(host), 1, &p->client, &err), 0);
    assert_int_equal(tls_conn_new_server(server, &p->server, &err), 0);
    p->code = tls_conn_feed(p->client, NULL, 0, &p->client_plain, &p->to_server, &p->err);
    carry(p, step);
}

static void hang_up(struct pair *p)
{
    tls_conn_free(p->client);
    tls_conn_free(p->server);
    buf_release(&p->to_server);
    buf_release(&p->to_client);
    buf_release(&p->client_plain);
    buf_release(&p->server_plain);
}

static struct tls_config *config(bool server, struct tls_options o)
{
    struct tls_config *c;
    struct err err;
    int r = server ? tls_config_new_server(&o, &c, &err) : tls_config_new_client(&o, &c, &err);
    if (r < 0)
        fail_msg("%s", err.msg);
    return c;
}

static void test_bytes_both_ways(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 7, 1000, 100000};
    struct pem ca, cert;
    make(&ca, NULL, (struct tls_cert_request){.common_name = "ca", .is_ca = true});
    make(&cert, &ca, (struct tls_cert_request){.names = "a.example"});
    struct tls_config *server = config(
        true, (struct tls_options){.cert_pem = buf_str(&cert.cert), .key_pem = buf_str(&cert.key)});
    struct tls_config *client = config(false, (struct tls_options){.ca_pem = buf_str(&ca.cert)});
    char data[40000];
    memset(data, 'd', sizeof(data));
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct pair p;
        shake(&p, client, server, "a.example", steps[i]);
        assert_int_equal(p.code, 0);
        assert_true(tls_conn_ready(p.client) && tls_conn_ready(p.server));
        assert_true(str_is(tls_conn_alpn(p.client), "h2"));
        assert_true(str_is(tls_conn_alpn(p.server), "h2"));
        assert_int_equal(tls_conn_reused(p.client), i > 0);
        assert_int_equal(tls_conn_write(p.client, data, sizeof(data), &p.to_server, &p.err), 0);
        assert_int_equal(tls_conn_write(p.server, "pong", 4, &p.to_client, &p.err), 0);
        tls_conn_close(p.client, &p.to_server);
        carry(&p, steps[i]);
        assert_int_equal(p.code, 0);
        assert_int_equal(p.server_plain.n, sizeof(data));
        assert_memory_equal(p.server_plain.p, data, sizeof(data));
        assert_true(str_is(buf_str(&p.client_plain), "pong"));
        assert_true(tls_conn_eof(p.server));
        assert_false(tls_conn_eof(p.client));
        hang_up(&p);
    }
    tls_config_unref(client);
    tls_config_unref(server);
    drop(&ca);
    drop(&cert);
}

static void test_alpn(void **state)
{
    (void)state;
    struct tls_config *server = config(true, (struct tls_options){0});
    static const struct {
        const char *offer, *chosen;
        bool refuse_h2;
    } cases[] = {{"h2,http/1.1", "h2", false},
                 {"http/1.1", "http/1.1", false},
                 {"h2,http/1.1", "http/1.1", true},
                 {"spdy/3", "", false},
                 {"-", "", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tls_config *client = config(
            false, (struct tls_options){.insecure_skip_verify = true, .alpn = cases[i].offer});
        struct pair p = {0};
        assert_int_equal(tls_conn_new_client(client, STR("x"), 1, &p.client, NULL), 0);
        assert_int_equal(tls_conn_new_server(server, &p.server, NULL), 0);
        if (cases[i].refuse_h2)
            tls_conn_refuse_h2(p.server);
        p.code = tls_conn_feed(p.client, NULL, 0, &p.client_plain, &p.to_server, &p.err);
        carry(&p, 100000);
        assert_int_equal(p.code, 0);
        assert_true(str_is(tls_conn_alpn(p.client), cases[i].chosen));
        hang_up(&p);
        tls_config_unref(client);
    }
    tls_config_unref(server);
}

static void test_self_signed_default(void **state)
{
    /* A server without a certificate serves localhost; clients do not trust it by default. */
    (void)state;
    struct tls_config *server = config(true, (struct tls_options){0});
    struct tls_config *careless = config(false, (struct tls_options){.insecure_skip_verify = true});
    struct tls_config *careful = config(false, (struct tls_options){0});
    struct pair p;
    shake(&p, careless, server, "127.0.0.1", 4096);
    assert_int_equal(p.code, 0);
    hang_up(&p);
    shake(&p, careful, server, "127.0.0.1", 4096);
    assert_int_equal(p.code, -EKEYREJECTED);
    assert_string_equal(p.err.msg, "127.0.0.1: certificate signed by unknown authority");
    hang_up(&p);
    tls_config_unref(server);
    tls_config_unref(careless);
    tls_config_unref(careful);
}

static void test_swap(void **state)
{
    (void)state;
    struct pem ca, one, two, other;
    struct err err;
    make(&ca, NULL, (struct tls_cert_request){.common_name = "ca", .is_ca = true});
    make(&one, &ca, (struct tls_cert_request){.names = "one"});
    make(&two, &ca, (struct tls_cert_request){.names = "two"});
    make(&other, &ca, (struct tls_cert_request){.names = "other"});
    struct tls_config *server = config(
        true, (struct tls_options){.cert_pem = buf_str(&one.cert), .key_pem = buf_str(&one.key)});
    struct tls_config *client = config(false, (struct tls_options){.ca_pem = buf_str(&ca.cert)});
    struct pair first, second;
    shake(&first, client, server, "one", 4096);
    assert_int_equal(first.code, 0);
    /* A key that does not match changes nothing. */
    assert_int_equal(
        tls_config_swap_certificate(server, buf_str(&two.cert), buf_str(&other.key), &err),
        -EINVAL);
    assert_non_null(strstr(err.msg, "does not match"));
    assert_int_equal(
        tls_config_swap_certificate(server, buf_str(&two.cert), buf_str(&two.key), &err), 0);
    shake(&second, client, server, "two", 4096);
    assert_int_equal(second.code, 0);
    assert_int_equal(tls_conn_write(first.client, "x", 1, &first.to_server, &err), 0);
    carry(&first, 4096);
    assert_true(str_is(buf_str(&first.server_plain), "x"));
    hang_up(&first);
    hang_up(&second);
    tls_config_unref(server);
    tls_config_unref(client);
    drop(&ca);
    drop(&one);
    drop(&two);
    drop(&other);
}

static void test_bad_configuration(void **state)
{
    (void)state;
    struct pem cert;
    make(&cert, NULL, (struct tls_cert_request){.names = "x"});
    const struct {
        struct tls_options o;
        const char *text;
    } cases[] = {
        {{.ca_file = "/no/such/ca.pem"}, "/no/such/ca.pem: No such file"},
        {{.ca_pem = STR("rubbish")}, "CA data: no CA certificate"},
        {{.cert_file = "/no/cert", .key_file = "/no/key"}, "/no/cert: No such file"},
        {{.cert_pem = buf_str(&cert.cert)}, "client certificate: no private key"},
        {{.cert_pem = STR("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
          .key_pem = buf_str(&cert.key)},
         "client certificate: no certificate"},
        {{.alpn = "a,,b"}, "bad ALPN list"},
        {{.ciphers = "NONSENSE"}, "no known cipher"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tls_config *c;
        struct err err = {0};
        assert_true(tls_config_new_client(&cases[i].o, &c, &err) < 0);
        if (!strstr(err.msg, cases[i].text))
            fail_msg("\"%s\" instead of \"%s\"", err.msg, cases[i].text);
    }
    drop(&cert);
}

static void test_files(void **state)
{
    (void)state;
    struct pem cert;
    make(&cert, NULL, (struct tls_cert_request){.names = "x", .is_ca = true});
    char cert_path[] = "/tmp/berth-test-XXXXXX", key_path[] = "/tmp/berth-test-XXXXXX";
    int a = mkstemp(cert_path), b = mkstemp(key_path);
    assert_int_equal(write(a, cert.cert.p, cert.cert.n), cert.cert.n);
    assert_int_equal(write(b, cert.key.p, cert.key.n), cert.key.n);
    close(a);
    close(b);
    struct tls_config *server =
        config(true, (struct tls_options){.cert_file = cert_path, .key_file = key_path});
    struct tls_config *client = config(false, (struct tls_options){.ca_file = cert_path});
    struct pair p;
    shake(&p, client, server, "x", 4096);
    assert_int_equal(p.code, 0);
    hang_up(&p);
    tls_config_unref(client);
    tls_config_unref(server);
    unlink(cert_path);
    unlink(key_path);
    drop(&cert);
}

static void test_not_tls(void **state)
{
    (void)state;
    struct tls_config *client = config(false, (struct tls_options){0});
    struct tls_config *server = config(true, (struct tls_options){0});
    struct pair p = {0};
    assert_int_equal(tls_conn_new_client(client, STR("h"), 1, &p.client, NULL), 0);
    assert_int_equal(tls_conn_new_server(server, &p.server, NULL), 0);
    struct str http = STR("HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_int_equal(tls_conn_feed(p.client, NULL, 0, &p.client_plain, &p.to_server, &p.err), 0);
    assert_int_equal(tls_conn_feed(p.client, http.p, http.n, &p.client_plain, &p.to_server, &p.err),
                     -EPROTO);
    assert_string_equal(p.err.msg, "h: the peer does not speak TLS");
    http = STR("GET / HTTP/1.1\r\n\r\n");
    assert_int_equal(tls_conn_feed(p.server, http.p, http.n, &p.server_plain, &p.to_client, &p.err),
                     -EPROTO);
    hang_up(&p);
    tls_config_unref(client);
    tls_config_unref(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_both_ways),
        cmocka_unit_test(test_alpn),
        cmocka_unit_test(test_self_signed_default),
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_bad_configuration),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_not_tls),
    };
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}
