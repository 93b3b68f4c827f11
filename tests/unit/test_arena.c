/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/vec.h"
#include "prop.h"

static void nothing_before_need(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    assert_int_equal(a.total, 0);
    arena_reset(&a);
    arena_release(&a);
}

struct piece {
    char *p;
    size_t n;
    char mark;
};

/* Allocations are zeroed, aligned, and do not overlap: each still has its mark at the end. */
static bool pieces_are_apart(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, rand_below(r, 2) ? 0 : rand_below(r, 5000));
    VEC(struct piece) pieces = {0};
    bool ok = true;
    for (size_t i = 0; i < size * 4; i++) {
        struct piece piece = {.n = rand_below(r, 10) ? rand_below(r, 200) : rand_below(r, 10000)};
        size_t align = (size_t)1 << rand_below(r, 8);
        piece.p = arena_alloc(&a, piece.n, align);
        piece.mark = (char)(1 + i % 100);
        ok = ok && (uintptr_t)piece.p % align == 0;
        for (size_t k = 0; k < piece.n; k++)
            ok = ok && piece.p[k] == 0;
        memset(piece.p, piece.mark, piece.n);
        vec_push(&pieces, piece);
    }
    for (size_t i = 0; i < pieces.n; i++)
        for (size_t k = 0; k < pieces.v[i].n; k++)
            ok = ok && pieces.v[i].p[k] == pieces.v[i].mark;
    vec_release(&pieces);
    arena_release(&a);
    return ok;
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("arena pieces are apart", 200, pieces_are_apart, NULL));
}

/* A reset arena that repeats the same allocations ends with one chunk and allocates no other. */
static void reset_settles(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    for (int round = 0; round < 4; round++) {
        arena_reset(&a);
        for (int i = 0; i < 1000; i++)
            arena_alloc(&a, 100, 8);
    }
    size_t settled = a.total;
    assert_true(settled <= 1 << 18);
    for (int round = 0; round < 4; round++) {
        arena_reset(&a);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(*(char *)memset(arena_alloc(&a, 100, 8), 1, 100), 1);
        assert_int_equal(a.total, settled);
    }
    arena_release(&a);
}

/* Memory reused after a reset is zeroed. */
static void reset_zeroes(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1000);
    memset(arena_alloc(&a, 500, 1), 0xff, 500);
    arena_reset(&a);
    const char *p = arena_alloc(&a, 500, 1);
    for (int i = 0; i < 500; i++)
        assert_int_equal(p[i], 0);
    arena_release(&a);
}

static void huge_pieces_go(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    char *before = arena_alloc(&a, 10, 1);
    char *huge = arena_alloc(&a, 10 * ARENA_CHUNK_MAX, 64);
    assert_int_equal((uintptr_t)huge % 64, 0);
    huge[10 * ARENA_CHUNK_MAX - 1] = 1;
    /* The current chunk stays in use. */
    char *after = arena_alloc(&a, 10, 1);
    assert_ptr_equal(after, before + 10);
    assert_true(a.total > 10 * ARENA_CHUNK_MAX);
    arena_reset(&a);
    assert_int_equal(a.total, ARENA_CHUNK_MIN);
    assert_null(a.huge);
    arena_release(&a);
    /* Even if it was the first. */
    arena_alloc(&a, 2 * ARENA_CHUNK_MAX, 1);
    arena_reset(&a);
    assert_int_equal(a.total, 0);
    *(char *)arena_alloc(&a, 1, 1) = 1;
    arena_release(&a);
}

static void chunks_grow_to_the_limit(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    for (int i = 0; i < 5000; i++)
        arena_alloc(&a, 1000, 8);
    /* Doubling wastes at most as much as is used, up to one chunk. */
    assert_true(a.total < 5000000 + 2 * ARENA_CHUNK_MAX);
    arena_reset(&a);
    assert_int_equal(a.total, ARENA_CHUNK_MAX);
    arena_release(&a);
}

static void copies(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    struct str s = arena_dup(&a, STR("a\0b"));
    assert_true(str_eq(s, STR("a\0b")));
    assert_int_equal(s.p[3], 0);
    s = arena_dup(&a, (struct str){0});
    assert_non_null(s.p);
    assert_string_equal(s.p, "");
    s = arena_printf(&a, "%s-%d", "node", 7);
    assert_int_equal(s.n, 6);
    assert_string_equal(s.p, "node-7");
    s = arena_printf(&a, "%*d", 3000, 1);
    assert_int_equal(s.n, 3000);
    assert_int_equal(s.p[2999], '1');
    assert_non_null(arena_array(&a, int, 0));
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_before_need),
        cmocka_unit_test(properties),
        cmocka_unit_test(reset_settles),
        cmocka_unit_test(reset_zeroes),
        cmocka_unit_test(huge_pieces_go),
        cmocka_unit_test(chunks_grow_to_the_limit),
        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
