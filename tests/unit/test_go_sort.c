/* SPDX-License-Identifier: Apache-2.0 */
/* The digests below were made by Go's own sort.Slice from the same elements. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/go_sort.h"

struct element {
    size_t key, id;
};

/* The order of the keys, and whether keys of 0 compare inconsistently. */
enum layout { RANDOM, RISING, FALLING, NEARLY_RISING, CONTRADICTORY, LAYOUTS };

static bool less(const void *a, const void *b)
{
    return ((const struct element *)a)->key < ((const struct element *)b)->key;
}

static bool contradictory(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    return (x->key == 0 && y->key == 0) || x->key < y->key;
}

static size_t key_of(enum layout layout, size_t i, size_t n, size_t keys, uint64_t random)
{
    if (layout == RISING || (layout == NEARLY_RISING && i % 17 != 0))
        return i * keys / (n + 1);
    if (layout == FALLING)
        return (n - i) * keys / (n + 1);
    return (size_t)(random % keys);
}

static uint64_t digest(size_t n, size_t keys, enum layout layout)
{
    struct element *elements = xcalloc(n, sizeof(*elements));
    void **v = xcalloc(n, sizeof(*v));
    uint64_t random = (n * 1000 + keys * 10 + layout) | 1, hash = 14695981039346656037u;
    for (size_t i = 0; i < n; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        elements[i] = (struct element){key_of(layout, i, n, keys, random), i};
        v[i] = &elements[i];
    }
    go_sort(v, n, layout == CONTRADICTORY ? contradictory : less);
    for (size_t i = 0; i < n; i++) {
        hash ^= ((const struct element *)v[i])->id;
        hash *= 1099511628211u;
    }
    free(elements);
    free(v);
    return hash;
}

static const struct {
    size_t n, keys;
    uint64_t digest;
} golden[] = {
    {1, 1, 0x4b1ec9a40b33301fu},      {1, 2, 0x4b1ec9a40b33301fu},
    {1, 3, 0x4b1ec9a40b33301fu},      {1, 10, 0x4b1ec9a40b33301fu},
    {1, 1000, 0x4b1ec9a40b33301fu},   {2, 1, 0xc9ed9abeef399e44u},
    {2, 2, 0xbd32dabee46c23c4u},      {2, 3, 0xbd2f75bee469424eu},
    {2, 10, 0xbcc63abee40ff504u},     {2, 1000, 0xe6fd55964be6be8eu},
    {5, 1, 0x7abe5e5f84cc6ecfu},      {5, 2, 0xbefd243ebb774a7du},
    {5, 3, 0xb48a3c85be0bdb4fu},      {5, 10, 0x454106f63d599ce5u},
    {5, 1000, 0x851fe4341a127103u},   {12, 1, 0xaad114d4865e85b9u},
    {12, 2, 0xb3be25e72d8d5113u},     {12, 3, 0xb636647f5fc5ead5u},
    {12, 10, 0xc09f9841e1afd6a9u},    {12, 1000, 0x0990defe78cd6c7fu},
    {13, 1, 0x74b915853d5349fbu},     {13, 2, 0x0af7809fe4592903u},
    {13, 3, 0xd97ad3102ae16a89u},     {13, 10, 0x1dc79b7484ae3645u},
    {13, 1000, 0x111040199d887e5du},  {14, 1, 0x2539815c2dbe537au},
    {14, 2, 0x43d06f31a19d9050u},     {14, 3, 0x2b8d6c70752f0772u},
    {14, 10, 0xda5a8603a461bd3au},    {14, 1000, 0x479805fed001bc7cu},
    {20, 1, 0x6fb32a0b8e2886f9u},     {20, 2, 0xedfc5306c5981c3fu},
    {20, 3, 0x40b14e4b04294b3fu},     {20, 10, 0x90f48448e1528281u},
    {20, 1000, 0xba566e01ef64f6d3u},  {49, 1, 0x136c84fca9402cd1u},
    {49, 2, 0xaf9ce0122e099c2fu},     {49, 3, 0x4e905aa5b59e139fu},
    {49, 10, 0x680d9dcfc71d6a09u},    {49, 1000, 0xd6ae1cafd2721bb1u},
    {50, 1, 0x977ad348313bf3a4u},     {50, 2, 0x2250591321e60deeu},
    {50, 3, 0xace2e98378509546u},     {50, 10, 0x3625633bb59852e0u},
    {50, 1000, 0x7fe1c96af133a86au},  {51, 1, 0x3fca45a29b4ba12au},
    {51, 2, 0xd6c32948235aa320u},     {51, 3, 0xc146946827b3f064u},
    {51, 10, 0xbc60e8fffdc42946u},    {51, 1000, 0x2cf563f239806f70u},
    {64, 1, 0xf8133d93b7c2dfa7u},     {64, 2, 0x284420fadbd9947du},
    {64, 3, 0x9cd3eb4c75eec5b5u},     {64, 10, 0x3ace57ac44b295a7u},
    {64, 1000, 0x8e93a8bf6f1a544du},  {100, 1, 0x64fdf371569d1abdu},
    {100, 2, 0x4e715e2b9a94584du},    {100, 3, 0x03aa6a22c9954d41u},
    {100, 10, 0x6eb7c3f3fe1b9a99u},   {100, 1000, 0x26651ceb6114d1fbu},
    {110, 1, 0xf980b12bcb50f6beu},    {110, 2, 0xc8a0d80b2c7c4252u},
    {110, 3, 0x391a3ec07ad5c156u},    {110, 10, 0xff5f6f324f26a0cau},
    {110, 1000, 0x07c8d4e866526b68u}, {128, 1, 0xf0031491309c5645u},
    {128, 2, 0xfbc7b668f45835a3u},    {128, 3, 0x4ee19fe3a579dd85u},
    {128, 10, 0xedc1027c105a6891u},   {128, 1000, 0xa9522f00827416fbu},
    {200, 1, 0x7e8bbad0c1a410d7u},    {200, 2, 0x087bb709e9989783u},
    {200, 3, 0x3e85d3440316f4d9u},    {200, 10, 0x07fe8b49a0d50873u},
    {200, 1000, 0x1d160a1ba92bd507u}, {250, 1, 0x81033abc6cabff7cu},
    {250, 2, 0xcb6b0208ade4bbc6u},    {250, 3, 0xc88f7a8fa5e5d84eu},
    {250, 10, 0xcfe3e4f40ce0259au},   {250, 1000, 0x8eb65afbe61aa242u},
    {500, 1, 0x48913be618d9c2b3u},    {500, 2, 0xb2ed6b8c784ff9b3u},
    {500, 3, 0x005692a7dce5ad15u},    {500, 10, 0xdebbb701753901f3u},
    {500, 1000, 0x852b96a9ccdfe79bu},
};

static void the_order_is_gos(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(golden); i++) {
        uint64_t all = 0;
        for (int layout = 0; layout < LAYOUTS; layout++)
            all = all * 31 + digest(golden[i].n, golden[i].keys, (enum layout)layout);
        if (all != golden[i].digest)
            fail_msg("%zu elements with %zu keys", golden[i].n, golden[i].keys);
    }
}

static bool never_called(const void *a, const void *b)
{
    (void)a, (void)b;
    fail_msg("nothing is there to compare");
    return false;
}

static void fewer_than_two_elements_are_not_compared(void **state)
{
    (void)state;
    go_sort(NULL, 0, never_called);
    struct element one = {0};
    void *v[] = {&one};
    go_sort(v, 1, never_called);
    assert_ptr_equal(v[0], &one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_gos),
        cmocka_unit_test(fewer_than_two_elements_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
