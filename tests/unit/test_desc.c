/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <setjmp.h>

#include <cmocka.h>

#include "codec/json.h"
#include "codec_random.h"
#include "codec_schema.h"
#include "objects.h"
#include "prop.h"

static const char object[] =
    "{'kind':'K','s':'text','leaf':{'port':80},'url':'u','file':{'name':'f'},"
    "'pi32':7,'strings':['a','b'],'leaves':[{'name':'x'},{'name':'y'}],"
    "'labels':{'app.kubernetes.io/name':'web','a[0]':'odd'},"
    "'leafMap':{'k':{'name':'in map'}},'child':{'children':[{'s':'deep'}]}}";

/* value: of a string field; "" is an absent value, NULL no such field. */
static const struct {
    const char *path, *value;
} paths[] = {
    {"s", "text"},
    {"kind", "K"},
    {"url", "u"},
    {"file.name", "f"},
    {"strings[1]", "b"},
    {"strings[2]", ""},
    {"leaves[1].name", "y"},
    {"leaves[9].name", ""},
    {"labels[app.kubernetes.io/name]", "web"},
    {"labels[a[0]]", "odd"},
    {"labels[none]", ""},
    {"leafMap[k].name", "in map"},
    {"leafMap[z].name", ""},
    {"child.children[0].s", "deep"},
    {"child.child.child.s", ""},
    {"pleaf.name", ""},
    {"", NULL},
    {"nope", NULL},
    {"s.x", NULL},
    {"s[0]", NULL},
    {"leaf.nope", NULL},
    {"leaves.name", NULL},
    {"leaves[x].name", NULL},
    {"leaves[-1].name", NULL},
    {"leaves[1", NULL},
    {"leaves[1]name", NULL},
    {"strings[0][0]", NULL},
    {"strings[0].x", NULL},
    {"labels[a].b", NULL},
    {".s", NULL},
    {"leaf.", NULL},
};

static void test_get(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    struct everything v;
    struct err err;
    assert_int_equal(
        json_decode(json_quotes_str(object), &everything_type, JSON_STRICT, &a, &v, &err), 0);
    const struct field *f;
    const void *value;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        bool found = desc_get(&everything_type, &v, str_of(paths[i].path), &f, &value);
        if (found != (paths[i].value != NULL))
            print_error("%s\n", paths[i].path);
        assert_int_equal(found, paths[i].value != NULL);
        if (!found)
            continue;
        assert_int_equal(f->kind, FIELD_STR);
        if (paths[i].value[0])
            assert_true(str_is(*(const struct str *)value, paths[i].value));
        else
            assert_null(value);
    }
    assert_true(desc_get(&everything_type, &v, STR("leaves"), &f, &value));
    assert_int_equal(((const struct any_list *)value)->n, 2);
    assert_true(desc_get(&everything_type, &v, STR("pi32"), &f, &value));
    assert_int_equal(*(const int32_t *)value, 7);
    arena_release(&a);
}

/* A value equals itself, and differs after a change of any field. */
static bool notices_change(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct everything v = {0}, w;
    codec_random(r, &everything_type, size, &a, &v);
    w = v;
    bool ok = desc_equal(&everything_type, &v, &w);
    static const char *const changes[] = {"{'i32s':[1,2,3,4,5,6]}", "{'hex':'0x123456'}",
                                          "{'s':'changed'}", "{'url':'changed'}",
                                          "{'labels':{'z':''}}"};
    for (size_t i = 0; i < ARRAY_LEN(changes) && ok; i++) {
        struct everything other;
        ok = json_decode(json_quotes_str(changes[i]), &everything_type, 0, &a, &other, NULL) == 0 &&
             !desc_equal(&everything_type, &v, &other);
    }
    arena_release(&a);
    return ok;
}

static void test_equal(void **state)
{
    (void)state;
    assert_true(prop_run("desc_equal", 300, notices_change, NULL));
    struct everything absent = {0}, present = {0};
    struct leaf leaf = {0};
    present.pleaf = &leaf;
    assert_false(desc_equal(&everything_type, &absent, &present));
    struct everything empty = {0};
    empty.strings.v = &(struct str){0};
    assert_true(desc_equal(&everything_type, &absent, &empty));
}

/* The index of a type is built on first use, possibly by several threads at once. */
static void *decode_fresh(void *ctx)
{
    static const struct field fields[] = {F_ONE(struct leaf, name, "name", 1, STR)};
    static struct type_index index;
    static const struct type fresh = {"",     sizeof(struct leaf), _Alignof(struct leaf),
                                      fields, ARRAY_LEN(fields),   &index};
    struct arena a;
    arena_init(&a, 0);
    struct leaf leaf;
    *(bool *)ctx = json_decode(STR("{\"name\":\"x\"}"), &fresh, 0, &a, &leaf, NULL) == 0 &&
                   str_is(leaf.name, "x");
    arena_release(&a);
    return NULL;
}

static void test_index(void **state)
{
    (void)state;
    pthread_t threads[4];
    bool ok[ARRAY_LEN(threads)] = {0};
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decode_fresh, &ok[i]), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        pthread_join(threads[i], NULL);
        assert_true(ok[i]);
    }
    /* Every row is found by its name, and other names are not found. */
    for (size_t i = 0; i < everything_type.n_fields; i++) {
        const struct field *f = &everything_type.fields[i];
        if (f->number)
            assert_ptr_equal(type_find_number(&everything_type, f->number), f);
        if (f->json_len)
            assert_ptr_equal(type_find_name(&everything_type, (struct str){f->json, f->json_len}),
                             f);
    }
    static const uint64_t no_numbers[] = {0, 28, 63, 64, 65, 2999, 3001, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(no_numbers); i++)
        assert_null(type_find_number(&everything_type, no_numbers[i]));
    static const char *const no_names[] = {"", "x", "I32", "leafmap", "leafMaps", "kind", "url"};
    for (size_t i = 0; i < ARRAY_LEN(no_names); i++)
        assert_null(type_find_name(&everything_type, str_of(no_names[i])));
}

static void test_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < everything_type.n_fields; i++) {
        const struct field *f = &everything_type.fields[i];
        size_t size = field_item_size(f);
        if (f->kind == FIELD_STR || f->kind == FIELD_RAW || f->kind == FIELD_BYTES)
            assert_int_equal(size, sizeof(struct str));
        else if (f->kind == FIELD_MESSAGE)
            assert_ptr_equal(size, f->type->size);
        else
            assert_true(size == 1 || size == 4 || size == 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_index),
    };
    return cmocka_run_group_tests_name("desc", tests, NULL, NULL);
}
