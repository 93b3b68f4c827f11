/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_math.h - Go's arithmetic on amd64 for amounts out of range.
 *
 * Purpose:   upstream's scores wrap for amounts out of range. What is undefined in C is defined in
 *            Go, and must have the same result here.
 * Ownership: none.
 * Threading: any thread.
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

/* b is not 0. Division by -1 negates, which wraps; C would trap. */
static inline int64_t go_div(int64_t a, int64_t b)
{
    return b == -1 ? go_sub(0, a) : a / b;
}

/* Truncates; values that do not fit become INT64_MIN. */
static inline int64_t go_int64(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

#endif
