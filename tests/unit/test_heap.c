/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/heap.h"
#include "prop.h"

struct item {
    uint64_t key;
    struct heap_node node;
};

static struct item *item_of(const struct heap_node *node)
{
    return CONTAINER_OF(node, struct item, node);
}

static bool less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    *(size_t *)ctx += 1;
    return item_of(a)->key < item_of(b)->key;
}

static struct heap_node *pop(struct heap *h)
{
    struct heap_node *first = heap_peek(h);
    if (first)
        heap_remove(h, first);
    return first;
}

static void empty(void **state)
{
    (void)state;
    size_t compared = 0;
    struct heap h;
    heap_init(&h, less, &compared);
    assert_null(heap_peek(&h));
    assert_null(pop(&h));
    struct item one = {.key = 1};
    heap_push(&h, &one.node);
    assert_true(heap_contains(&one.node));
    assert_ptr_equal(heap_peek(&h), &one.node);
    assert_ptr_equal(pop(&h), &one.node);
    assert_false(heap_contains(&one.node));
    heap_push(&h, &one.node);
    heap_release(&h);
    assert_false(heap_contains(&one.node));
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

#define ITEMS 500

/* After any mix of pushes, removals and changes the rest is popped in order. */
static bool comes_out_sorted(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    static struct item items[ITEMS];
    size_t compared = 0, n = size * ITEMS / 100;
    struct heap h;
    heap_init(&h, less, &compared);
    for (size_t step = 0; step < 4 * n; step++) {
        struct item *item = &items[rand_below(r, n)];
        if (!heap_contains(&item->node)) {
            item->key = rand_below(r, n);
            heap_push(&h, &item->node);
        } else if (rand_below(r, 3) == 0) {
            heap_remove(&h, &item->node);
        } else {
            item->key = rand_below(r, n);
            heap_fix(&h, &item->node);
        }
    }
    uint64_t keys[ITEMS];
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (heap_contains(&items[i].node))
            keys[left++] = items[i].key;
    qsort(keys, left, sizeof(keys[0]), by_key);
    bool ok = h.items.n == left;
    for (size_t i = 0; i < left; i++) {
        struct heap_node *node = pop(&h);
        ok = ok && node && item_of(node)->key == keys[i] && !heap_contains(node);
    }
    ok = ok && !pop(&h);
    heap_release(&h);
    return ok;
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("heap comes out sorted", 500, comes_out_sorted, NULL));
}

/* Removal from the middle walks one path, not the whole heap. */
static void logarithmic(void **state)
{
    (void)state;
    enum { N = 4096 };
    static struct item items[N];
    size_t compared = 0;
    struct heap h;
    heap_init(&h, less, &compared);
    for (size_t i = 0; i < N; i++) {
        items[i].key = i;
        heap_push(&h, &items[i].node);
    }
    for (size_t i = 0; i < N; i += 7) {
        compared = 0;
        heap_remove(&h, &items[i].node);
        assert_true(compared <= 26);
    }
    heap_release(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty),
        cmocka_unit_test(properties),
        cmocka_unit_test(logarithmic),
    };
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
