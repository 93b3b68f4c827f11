/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/intern.h"
#include "prop.h"

static void basics(void **state)
{
    (void)state;
    struct intern in;
    intern_init(&in);
    assert_int_equal(intern_find(&in, STR("zone")), 0);
    atom_t zone = intern_get(&in, STR("zone"));
    assert_int_not_equal(zone, 0);
    assert_int_equal(intern_get(&in, STR("zone")), zone);
    atom_t empty = intern_get(&in, (struct str){0});
    assert_int_not_equal(empty, 0);
    assert_int_not_equal(empty, zone);
    assert_int_equal(intern_get(&in, STR("")), empty);
    assert_true(str_is(intern_text(&in, zone), "zone"));
    assert_true(str_is(intern_text(&in, empty), ""));
    assert_true(str_is(intern_text(&in, 0), ""));
    assert_int_equal(intern_ref(&in, zone), zone);
    assert_int_equal(intern_ref(&in, 0), 0);
    intern_put(&in, 0);
    for (int users = 3; users > 0; users--) {
        assert_int_equal(intern_find(&in, STR("zone")), zone);
        intern_put(&in, zone);
    }
    assert_int_equal(intern_find(&in, STR("zone")), 0);
    intern_release(&in);
}

#define TEXTS 64

/* Texts live exactly as long as they have users; the table never holds more than are in use. */
static bool counts_users(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    size_t users[TEXTS] = {0}, live = 0, most = 0;
    atom_t atoms[TEXTS] = {0};
    struct intern in;
    intern_init(&in);
    bool ok = true;
    for (size_t step = 0; ok && step < size * 20; step++) {
        char name[16];
        size_t i = rand_below(r, TEXTS);
        struct str text = {name, (size_t)snprintf(name, sizeof(name), "label-%zu", i)};
        ok = intern_find(&in, text) == (users[i] ? atoms[i] : 0);
        if (rand_below(r, 2)) {
            atom_t atom = intern_get(&in, text);
            ok = ok && (!users[i] || atom == atoms[i]);
            atoms[i] = atom;
            live += users[i]++ == 0;
        } else if (users[i]) {
            intern_put(&in, atoms[i]);
            live -= --users[i] == 0;
        }
        memset(name, '!', sizeof(name));
        most = MAX(most, live);
        ok = ok && in.by_text.n == live && in.by_atom.n <= most;
    }
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t k = 0; k < i; k++)
            ok = ok && !(users[i] && users[k] && atoms[i] == atoms[k]);
    intern_release(&in);
    return ok;
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("intern counts users", 300, counts_users, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(basics),
        cmocka_unit_test(properties),
    };
    return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
