/* SPDX-License-Identifier: Apache-2.0 */
/* explain_ring: records are read as they were written, oldest first, within the size limit. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/vec.h"
#include "engine/explain/explain_ring.h"
#include "prop.h"

/* The expected records, oldest first; byte k of number n is n + k. */
struct piece {
    uint8_t number;
    size_t size;
};
struct model {
    struct explain_ring ring;
    VEC(struct piece) pieces;
};

static bool is_whole(const struct model *m, const uint8_t *bytes, const struct piece *p)
{
    if ((uintptr_t)bytes % _Alignof(max_align_t) || (const char *)bytes < m->ring.bytes ||
        (const char *)bytes + p->size > m->ring.bytes + m->ring.size)
        return false;
    for (size_t k = 0; k < p->size; k++)
        if (bytes[k] != (uint8_t)(p->number + k))
            return false;
    return true;
}

static bool check(const struct model *m)
{
    const uint8_t *bytes = NULL;
    for (size_t i = 0; i < m->pieces.n; i++) {
        bytes = explain_ring_next(&m->ring, bytes);
        if (!bytes || !is_whole(m, bytes, &m->pieces.v[i]))
            return false;
    }
    return m->ring.n == m->pieces.n && !explain_ring_next(&m->ring, bytes);
}

static void drop(struct model *m)
{
    explain_ring_drop(&m->ring);
    vec_remove(&m->pieces, 0);
}

/* Drops older ones until there is room. Returns false if it does not fit into the empty ring. */
static bool add(struct model *m, uint8_t number, size_t size)
{
    uint8_t *bytes;
    while (!(bytes = explain_ring_add(&m->ring, size))) {
        if (!m->pieces.n)
            return false;
        drop(m);
    }
    for (size_t k = 0; k < size; k++)
        bytes[k] = (uint8_t)(number + k);
    vec_push(&m->pieces, (struct piece){number, size});
    return true;
}

static bool keeps_the_newest(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct model m = {0};
    size_t bytes = 256 + rand_below(r, 2048), largest = 1 + rand_below(r, bytes / 2);
    bool ok = true;
    explain_ring_init(&m.ring, bytes);
    for (size_t i = 0; ok && i < 5 * size; i++) {
        size_t n = rand_below(r, largest);
        ok = add(&m, (uint8_t)rand_below(r, 256), n) && check(&m);
        while (ok && m.pieces.n && rand_below(r, 8) == 0) {
            drop(&m);
            ok = check(&m);
        }
    }
    explain_ring_release(&m.ring);
    vec_release(&m.pieces);
    return ok;
}

static void the_newest_are_kept_whole(void **state)
{
    (void)state;
    assert_true(prop_run("pieces of a ring", 300, keeps_the_newest, NULL));
}

/* Records of one size: the ring holds exactly as many as fit. */
static void it_is_used_to_the_brim(void **state)
{
    (void)state;
    struct model m = {0};
    explain_ring_init(&m.ring, 10 * 64);
    for (int i = 0; i < 100; i++)
        assert_true(add(&m, (uint8_t)i, 64 - _Alignof(max_align_t)));
    assert_int_equal(m.pieces.n, 10);
    explain_ring_release(&m.ring);
    vec_release(&m.pieces);
}

static void what_is_too_large_has_no_room(void **state)
{
    (void)state;
    struct explain_ring r;
    explain_ring_init(&r, 128);
    assert_null(explain_ring_next(&r, NULL));
    assert_null(explain_ring_add(&r, 128));
    assert_null(explain_ring_add(&r, SIZE_MAX));
    assert_null(explain_ring_add(&r, SIZE_MAX - 16));
    assert_non_null(explain_ring_add(&r, 128 - _Alignof(max_align_t)));
    assert_null(explain_ring_add(&r, 0));
    explain_ring_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_are_kept_whole),
        cmocka_unit_test(it_is_used_to_the_brim),
        cmocka_unit_test(what_is_too_large_has_no_room),
    };
    return cmocka_run_group_tests_name("explain_ring", tests, NULL, NULL);
}
