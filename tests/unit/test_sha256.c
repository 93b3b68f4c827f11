/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/sha256.h"

/* Examples of FIPS 180-4. */
static const struct {
    const char *text, *hash;
} cases[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf hex = BUF_INIT;
        char digest[SHA256_BYTES];
        sha256(str_of(cases[i].text), digest);
        for (size_t k = 0; k < sizeof(digest); k++)
            buf_add_printf(&hex, "%02x", (unsigned char)digest[k]);
        assert_string_equal(buf_cstr(&hex), cases[i].hash);
        buf_release(&hex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
