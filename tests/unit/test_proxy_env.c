/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "net/proxy_env.h"

static void no_proxy_exceptions(void **state)
{
    (void)state;
    static const struct {
        const char *no_proxy, *host;
        uint16_t port;
        bool applies;
    } rows[] = {
        {"", "example.com", 443, true},
        {"", "10.0.0.1", 443, true},
        /* Localhost, always. */
        {"", "localhost", 443, false},
        {"", "127.0.0.1", 443, false},
        {"", "127.9.8.7", 443, false},
        {"", "::1", 443, false},
        {"", "::ffff:127.0.0.1", 443, false},
        {"", "::2", 443, true},
        {"*", "example.com", 443, false},
        {" a , * ", "10.0.0.1", 443, false},
        /* Names and their subdomains. */
        {"example.com", "example.com", 443, false},
        {"Example.com", "A.EXAMPLE.com", 443, false},
        {"example.com", "badexample.com", 443, true},
        {"example.com", "com", 443, true},
        {".example.com", "example.com", 443, true},
        {".example.com", "a.b.example.com", 443, false},
        {"*.example.com", "example.com", 443, true},
        {"*.example.com", "a.example.com", 443, false},
        {"a.com, b.com ,,c.com", "b.com", 443, false},
        {"example.com:443", "example.com", 443, false},
        {"example.com:443", "example.com", 6443, true},
        {"example.com:x", "example.com", 443, true},
        {":443", "example.com", 443, true},
        /* Addresses and ranges; names are not resolved. */
        {"10.0.0.1", "10.0.0.1", 443, false},
        {"10.0.0.1", "10.0.0.10", 443, true},
        {"10.0.0.1:6443", "10.0.0.1", 6443, false},
        {"10.0.0.1:6443", "10.0.0.1", 443, true},
        {"10.0.0.0/8", "10.255.0.1", 443, false},
        {"10.0.0.0/8", "11.0.0.1", 443, true},
        {"10.0.0.0/9", "10.128.0.1", 443, true},
        {"10.0.0.0/33", "10.0.0.1", 443, true},
        {"0.0.0.0/0", "1.2.3.4", 443, false},
        {"0.0.0.0/0", "fd00::1", 443, true},
        {"10.0.0.0/8", "example.com", 443, true},
        {"fd00::/8", "fd12::1", 443, false},
        {"fd00::/8", "fe80::1", 443, true},
        {"fd00::1", "fd00:0::1", 443, false},
        {"[fd00::1]:6443", "fd00::1", 6443, false},
        {"[fd00::1]:6443", "fd00::1", 443, true},
        {"[fd00::1]", "fd00::1", 443, true},
        {"0.1", "0.1", 443, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (proxy_env_applies(str_of(rows[i].no_proxy), str_of(rows[i].host), rows[i].port) !=
            rows[i].applies)
            fail_msg("row %zu: %s, %s", i, rows[i].no_proxy, rows[i].host);
}

static const char *const names[] = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY",
                                    "http_proxy",  "NO_PROXY",    "no_proxy"};

static int forget(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
    return 0;
}

static void assert_proxy(const char *server, const char *proxy)
{
    struct url url;
    struct buf out = BUF_INIT;
    assert_int_equal(url_parse(str_of(server), &url, NULL), 0);
    assert_int_equal(proxy_env_find(&url, &out), *proxy != '\0');
    assert_string_equal(buf_cstr(&out), proxy);
    buf_release(&out);
}

static void the_scheme_decides(void **state)
{
    (void)state;
    assert_proxy("https://api:6443", "");
    setenv("https_proxy", "proxy:3128", 1);
    assert_proxy("https://api:6443", "http://proxy:3128");
    assert_proxy("http://api:6443", "");
    setenv("HTTPS_PROXY", "https://other", 1);
    assert_proxy("https://api:6443", "https://other");
    setenv("HTTP_PROXY", "socks5://s:1", 1);
    assert_proxy("http://api", "socks5://s:1");
    setenv("no_proxy", "api", 1);
    assert_proxy("https://api:6443", "");
    setenv("NO_PROXY", "api:1", 1);
    assert_proxy("https://api:6443", "https://other");
    assert_proxy("https://127.0.0.1:6443", "");
    setenv("HTTPS_PROXY", "", 1);
    assert_proxy("https://api:6443", "http://proxy:3128");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_proxy_exceptions),
        cmocka_unit_test_setup_teardown(the_scheme_decides, forget, forget),
    };
    return cmocka_run_group_tests_name("proxy_env", tests, NULL, NULL);
}
