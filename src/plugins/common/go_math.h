/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_math.h - arithmetic on absurd amounts as Go does it on amd64.
 *
 * Purpose:   upstream's scores wrap around where amounts are absurd. What is undefined in C is
 *            defined in Go, and must come out the same here.
 * Ownership: values.
 * Threading: any.
 */
#ifndef BERTH_PLUGINS_COMMON_GO_MATH_H
#define BERTH_PLUGINS_COMMON_GO_MATH_H

#include <stdint.h>

static inline int64_t go_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t go_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t go_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* b is not 0. Division by -1 negates, which wraps where C would trap. */
static inline int64_t go_div(int64_t a, int64_t b)
{
    return b == -1 ? go_sub(0, a) : a / b;
}

/* Cuts off the fraction; what does not fit gives the smallest number. */
static inline int64_t go_int64(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

#endif
