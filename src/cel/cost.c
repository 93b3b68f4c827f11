/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of costs and sizes. */
#include <math.h>

#include "cel/function.h"

uint64_t cel_cost_scaled(uint64_t size, double factor)
{
    double product = ceil((double)size * factor);
    return product >= 0x1p64 ? UINT64_MAX : (uint64_t)product;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

struct cel_range cel_range_add(struct cel_range a, struct cel_range b)
{
    return (struct cel_range){add(a.min, b.min), add(a.max, b.max)};
}

struct cel_range cel_range_multiply(struct cel_range a, struct cel_range b)
{
    return (struct cel_range){multiply(a.min, b.min), multiply(a.max, b.max)};
}

struct cel_range cel_range_scale(struct cel_range a, double factor)
{
    return (struct cel_range){cel_cost_scaled(a.min, factor), cel_cost_scaled(a.max, factor)};
}

struct cel_range cel_range_union(struct cel_range a, struct cel_range b)
{
    return (struct cel_range){MIN(a.min, b.min), MAX(a.max, b.max)};
}
