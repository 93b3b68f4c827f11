/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantity_internal.h - shared by the files of quantity; included by these only.
 *
 * Purpose:   the amount of a struct quantity, as a 128-bit integer or as decimal digits.
 * Ownership: a struct decimal points into itself or into the quantity it was made from.
 * Threading: plain values.
 */
#ifndef BERTH_API_QUANTITY_INTERNAL_H
#define BERTH_API_QUANTITY_INTERNAL_H

#include "api/quantity.h"

typedef __int128 int128;
typedef unsigned __int128 uint128;

/*
 * digits * 10^exponent, for a QUANTITY_BIG: more than 38 digits of nano-units, without leading or
 * trailing zeros. The sign is in quantity.lo: -1 or 1.
 */
struct quantity_big {
    int64_t exponent;
    size_t n;
    char digits[];
};

struct decimal {
    bool negative;
    int64_t exponent;
    const char *digits; /* empty for 0; no leading or trailing zeros */
    size_t n;
    char room[39];
};

void quantity_to_decimal(const struct quantity *q, struct decimal *ret_decimal);

/* The integer factor of 10^scale; not for QUANTITY_BIG. */
int128 quantity_unscaled(const struct quantity *q);
void quantity_set_dec(struct quantity *q, int128 unscaled, int32_t scale);

/* v * 10^n (v for n <= 0); false if it exceeds 128 bits. */
bool quantity_mul_pow10(int128 v, int64_t n, int128 *ret_product) MUST_CHECK;

#endif
