/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/bitset.h"
#include "prop.h"

#define BITS 700

static bool same(const struct bitset *s, const bool *model)
{
    size_t count = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (bitset_get(s, i) != model[i])
            return false;
        count += model[i];
    }
    return bitset_count(s) == count;
}

static bool as_bools(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    static bool model[2][BITS];
    size_t n = rand_below(r, size * BITS / 100 + 1);
    struct bitset s[2];
    memset(model, 0, sizeof(model));
    for (int k = 0; k < 2; k++) {
        bitset_init(&s[k], n);
        for (size_t i = 0; n && i < n; i++) {
            size_t bit = rand_below(r, n);
            model[k][bit] = rand_below(r, 2);
            if (model[k][bit])
                bitset_set(&s[k], bit);
            else
                bitset_unset(&s[k], bit);
        }
    }
    bool ok = same(&s[0], model[0]) && same(&s[1], model[1]);
    for (size_t i = 0; i < n; i++)
        model[0][i] &= model[1][i];
    bitset_and(&s[0], &s[1]);
    ok = ok && same(&s[0], model[0]);
    /* Shrinks and grows; truncated bits stay zero. */
    for (int i = 0; i < 3; i++) {
        size_t to = rand_below(r, BITS);
        bitset_resize(&s[0], to);
        memset(model[0] + to, 0, BITS - to);
        ok = ok && same(&s[0], model[0]);
    }
    bitset_release(&s[0]);
    bitset_release(&s[1]);
    return ok;
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("bitset as bools", 2000, as_bools, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties),
    };
    return cmocka_run_group_tests_name("bitset", tests, NULL, NULL);
}
