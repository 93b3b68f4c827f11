/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/map.h"
#include "prop.h"

static void basics(void **state)
{
    (void)state;
    struct map m = MAP_INIT;
    int a, b;
    assert_null(map_get(&m, STR("x")));
    assert_null(map_del(&m, STR("x")));
    assert_null(map_next(&m, NULL));
    map_clear(&m);
    assert_null(map_put(&m, STR("x"), &a));
    assert_null(map_put(&m, STR(""), &b));
    assert_ptr_equal(map_get(&m, STR("x")), &a);
    assert_ptr_equal(map_get(&m, (struct str){0}), &b);
    assert_ptr_equal(map_put(&m, STR("x"), &b), &a);
    assert_int_equal(m.n, 2);
    assert_ptr_equal(map_del(&m, STR("x")), &b);
    assert_null(map_get(&m, STR("x")));
    map_clear(&m);
    assert_int_equal(m.n, 0);
    assert_null(map_get(&m, STR("")));
    map_release(&m);
}

/* Replacing a value also replaces the key's bytes: the old ones may be freed with the old value. */
static void key_follows_value(void **state)
{
    (void)state;
    struct map m = MAP_INIT;
    char *old = xstrdup("pod"), *new = xstrdup("pod");
    map_put(&m, str_of(old), old);
    assert_ptr_equal(map_put(&m, str_of(new), new), old);
    free(old);
    assert_ptr_equal(map_get(&m, STR("pod")), new);
    free(new);
    map_release(&m);
}

#define KEYS 300

struct model {
    char key[KEYS][8];
    void *value[KEYS];
    size_t n;
};

static struct str key_of(struct model *model, size_t i)
{
    return str_of(model->key[i]);
}

/* The map and the model have the same contents, by lookup and by iteration. */
static bool same(struct map *m, struct model *model)
{
    if (m->n != model->n)
        return false;
    for (size_t i = 0; i < KEYS; i++)
        if (map_get(m, key_of(model, i)) != model->value[i])
            return false;
    size_t seen = 0;
    map_each (e, m) {
        uint64_t i;
        if (!str_to_u64(e->key, &i) || e->value != model->value[i])
            return false;
        seen++;
    }
    return seen == m->n;
}

static bool as_model(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct model model = {0};
    struct map m = MAP_INIT;
    for (size_t i = 0; i < KEYS; i++)
        snprintf(model.key[i], sizeof(model.key[i]), "%zu", i);
    bool ok = true;
    size_t range = 1 + size * (KEYS - 1) / 100;
    for (size_t step = 0; ok && step < size * 20; step++) {
        size_t i = rand_below(r, range);
        void *before = model.value[i];
        if (rand_below(r, 2)) {
            model.value[i] = &model.key[rand_below(r, KEYS)];
            model.n += !before;
            ok = map_put(&m, key_of(&model, i), model.value[i]) == before;
        } else {
            model.value[i] = NULL;
            model.n -= before != NULL;
            ok = map_del(&m, key_of(&model, i)) == before;
        }
        if (rand_below(r, 50) == 0)
            ok = ok && same(&m, &model);
    }
    ok = ok && same(&m, &model);
    map_release(&m);
    return ok;
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("map as model", 500, as_model, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(basics),
        cmocka_unit_test(key_follows_value),
        cmocka_unit_test(properties),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
