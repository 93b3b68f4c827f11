/* SPDX-License-Identifier: Apache-2.0 */
#include "base/go_sort.h"

#define SHORT_RUN        12 /* insertion sort up to this length */
#define NINTHER_FROM     50 /* median of medians as pivot from this length on */
#define SHIFT_FROM       50 /* shorter ranges are not sorted by insertion but partitioned */
#define MAX_SHIFTS       5
#define SWAPS_OF_NINTHER 12

/* Indexes are signed, as in Go: they run below the range and are compared there. */
struct sorting {
    void **v;
    go_less_fn *less;
};

static bool less(const struct sorting *s, ssize_t i, ssize_t j)
{
    return s->less(s->v[i], s->v[j]);
}

static void swap(const struct sorting *s, ssize_t i, ssize_t j)
{
    void *x = s->v[i];
    s->v[i] = s->v[j];
    s->v[j] = x;
}

/* Moves element i down to its place, but not below end. */
static void sink_left(const struct sorting *s, ssize_t i, ssize_t end)
{
    for (; i > end && less(s, i, i - 1); i--)
        swap(s, i, i - 1);
}

static void insertion_sort(const struct sorting *s, ssize_t a, ssize_t b)
{
    for (ssize_t i = a + 1; i < b; i++)
        sink_left(s, i, a);
}

/* --- fallback: heapsort ----------------------------------------------------------------------- */

static void sift_down(const struct sorting *s, ssize_t root, ssize_t end, ssize_t first)
{
    ssize_t child;
    while ((child = 2 * root + 1) < end) {
        if (child + 1 < end && less(s, first + child, first + child + 1))
            child++;
        if (!less(s, first + root, first + child))
            return;
        swap(s, first + root, first + child);
        root = child;
    }
}

static void heap_sort(const struct sorting *s, ssize_t a, ssize_t b)
{
    ssize_t n = b - a;
    for (ssize_t i = (n - 1) / 2; i >= 0; i--)
        sift_down(s, i, n, a);
    for (ssize_t i = n - 1; i >= 0; i--) {
        swap(s, a, a + i);
        sift_down(s, 0, i, a);
    }
}

/* --- pivot ------------------------------------------------------------------------------------ */

enum hint { HINT_NONE, HINT_RISES, HINT_FALLS };

static void order(const struct sorting *s, ssize_t *x, ssize_t *y, int *swaps)
{
    if (!less(s, *y, *x))
        return;
    ssize_t first = *y;
    *y = *x;
    *x = first;
    (*swaps)++;
}

static ssize_t median(const struct sorting *s, ssize_t x, ssize_t y, ssize_t z, int *swaps)
{
    order(s, &x, &y, swaps);
    order(s, &y, &z, swaps);
    order(s, &x, &y, swaps);
    return y;
}

static ssize_t choose_pivot(const struct sorting *s, ssize_t a, ssize_t b, enum hint *ret_hint)
{
    ssize_t quarter = (b - a) / 4;
    ssize_t i = a + quarter, j = a + quarter * 2, k = a + quarter * 3;
    int swaps = 0;
    if (b - a >= NINTHER_FROM) {
        i = median(s, i - 1, i, i + 1, &swaps);
        j = median(s, j - 1, j, j + 1, &swaps);
        k = median(s, k - 1, k, k + 1, &swaps);
    }
    j = median(s, i, j, k, &swaps);
    *ret_hint = swaps == 0 ? HINT_RISES : swaps == SWAPS_OF_NINTHER ? HINT_FALLS : HINT_NONE;
    return j;
}

static void reverse(const struct sorting *s, ssize_t a, ssize_t b)
{
    for (ssize_t i = a, j = b - 1; i < j; i++, j--)
        swap(s, i, j);
}

/* Moves three elements of the middle to positions derived from the length (Go: breakPatterns). */
static void scatter(const struct sorting *s, ssize_t a, ssize_t b)
{
    uint64_t n = (uint64_t)(b - a), random = n;
    uint64_t mask = ((uint64_t)1 << (64 - __builtin_clzll(n))) - 1;
    ssize_t middle = a + (b - a) / 4 * 2;
    for (ssize_t i = middle - 1; i <= middle + 1; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t other = random & mask;
        swap(s, i, a + (ssize_t)(other >= n ? other - n : other));
    }
}

/* --- partitions ------------------------------------------------------------------------------- */

/*
 * Partitions into elements less than the pivot, the pivot, the others. Returns the pivot's
 * position; *ret_already: they were partitioned before (Go: partition).
 */
static ssize_t partition(const struct sorting *s, ssize_t a, ssize_t b, ssize_t pivot,
                         bool *ret_already)
{
    ssize_t i = a + 1, j = b - 1;
    *ret_already = true;
    swap(s, a, pivot);
    for (;; i++, j--) {
        while (i <= j && less(s, i, a))
            i++;
        while (i <= j && !less(s, j, a))
            j--;
        if (i > j)
            break;
        swap(s, i, j);
        *ret_already = false;
    }
    swap(s, j, a);
    return j;
}

/*
 * No element is less than the pivot: partitions into equal ones and the others. Returns where the
 * others begin (Go: partitionEqual).
 */
static ssize_t partition_equal(const struct sorting *s, ssize_t a, ssize_t b, ssize_t pivot)
{
    ssize_t i = a + 1, j = b - 1;
    swap(s, a, pivot);
    for (;; i++, j--) {
        while (i <= j && !less(s, a, i))
            i++;
        while (i <= j && less(s, a, j))
            j--;
        if (i > j)
            return i;
        swap(s, i, j);
    }
}

/*
 * Sorts a nearly sorted range with a few moves. Returns true if it is sorted (Go:
 * partialInsertionSort).
 */
static bool insertion_sort_partial(const struct sorting *s, ssize_t a, ssize_t b)
{
    ssize_t i = a + 1;
    for (int k = 0; k < MAX_SHIFTS; k++) {
        while (i < b && !less(s, i, i - 1))
            i++;
        if (i == b)
            return true;
        if (b - a < SHIFT_FROM)
            return false;
        swap(s, i, i - 1);
        if (i - a >= 2)
            sink_left(s, i - 1, 0); /* even below a, as Go does */
        for (ssize_t j = i + 1; b - i >= 2 && j < b && less(s, j, j - 1); j++)
            swap(s, j, j - 1);
    }
    return false;
}

static void sort(const struct sorting *s, ssize_t a, ssize_t b, int limit)
{
    bool balanced = true, already_partitioned = true;
    while (b - a > SHORT_RUN) {
        enum hint hint;
        if (limit == 0) {
            heap_sort(s, a, b);
            return;
        }
        if (!balanced) {
            scatter(s, a, b);
            limit--;
        }
        ssize_t pivot = choose_pivot(s, a, b, &hint), n = b - a;
        if (hint == HINT_FALLS) {
            reverse(s, a, b);
            pivot = b - 1 - (pivot - a);
        }
        if (balanced && already_partitioned && hint != HINT_NONE && insertion_sort_partial(s, a, b))
            return;
        if (a > 0 && !less(s, a - 1, pivot)) {
            a = partition_equal(s, a, b, pivot);
            continue;
        }
        ssize_t middle = partition(s, a, b, pivot, &already_partitioned);
        /* Recurse into the shorter part, so that the depth stays small. */
        if (middle - a < b - middle) {
            balanced = middle - a >= n / 8;
            sort(s, a, middle, limit);
            a = middle + 1;
        } else {
            balanced = b - middle >= n / 8;
            sort(s, middle + 1, b, limit);
            b = middle;
        }
    }
    insertion_sort(s, a, b);
}

void go_sort(void **v, size_t n, go_less_fn *fn)
{
    struct sorting s = {v, fn};
    if (n > 1)
        sort(&s, 0, (ssize_t)n, 64 - __builtin_clzll(n));
}
