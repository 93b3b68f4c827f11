/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - growing arrays.
 *
 * Purpose:   `VEC(int) v = {0}; vec_push(&v, 3);` A vector is a plain struct {v, n, cap}.
 * Ownership: owns the array, not what its elements point to; vec_release frees it.
 * Threading: one thread at a time.
 */
#ifndef BERTH_BASE_VEC_H
#define BERTH_BASE_VEC_H

#include "base/base.h"

#define VEC(type)      \
    struct {           \
        type *v;       \
        size_t n, cap; \
    }

/* Makes room for at least `want` elements in total. */
#define vec_reserve(vec, want)                                                 \
    do {                                                                       \
        size_t want_ = (want);                                                 \
        if (want_ > (vec)->cap) {                                              \
            (vec)->cap = MAX(want_, (vec)->cap ? (vec)->cap * 2 : 8);          \
            (vec)->v = xreallocarray((vec)->v, (vec)->cap, sizeof(*(vec)->v)); \
        }                                                                      \
    } while (0)

/* The pushed value may refer to the vector: it is evaluated before n changes. */
#define vec_push(vec, ...)                  \
    do {                                    \
        vec_reserve((vec), (vec)->n + 1);   \
        (vec)->v[(vec)->n] = (__VA_ARGS__); \
        (vec)->n++;                         \
    } while (0)

#define vec_pop(vec)   ((vec)->v[--(vec)->n])
#define vec_last(vec)  ((vec)->v[(vec)->n - 1])
#define vec_clear(vec) ((void)((vec)->n = 0))

/* Inserts before element i (i == n: appends). */
#define vec_insert(vec, i, ...)                                                            \
    do {                                                                                   \
        size_t at_ = (i);                                                                  \
        vec_reserve((vec), (vec)->n + 1);                                                  \
        memmove(&(vec)->v[at_ + 1], &(vec)->v[at_], ((vec)->n - at_) * sizeof(*(vec)->v)); \
        (vec)->v[at_] = (__VA_ARGS__);                                                     \
        (vec)->n++;                                                                        \
    } while (0)

/* Removes element i by moving the last one to its place. */
#define vec_swap_remove(vec, i) ((void)((vec)->v[i] = (vec)->v[--(vec)->n]))

/* Removes element i and keeps the order of the others. */
#define vec_remove(vec, i)                                                                     \
    do {                                                                                       \
        size_t at_ = (i);                                                                      \
        memmove(&(vec)->v[at_], &(vec)->v[at_ + 1], ((vec)->n - at_ - 1) * sizeof(*(vec)->v)); \
        (vec)->n--;                                                                            \
    } while (0)

#define vec_release(vec)           \
    do {                           \
        free((vec)->v);            \
        (vec)->v = NULL;           \
        (vec)->n = (vec)->cap = 0; \
    } while (0)

#endif
