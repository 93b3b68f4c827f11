/* SPDX-License-Identifier: Apache-2.0 */
/* Any text: an accepted quantity is written as a text with the same value. */
#include "api/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool held)
{
    if (!held)
        abort();
}

/* The input is one quantity, or two with a blank between. */
static void exercise(const struct quantity *x, const struct quantity *y)
{
    struct quantity sum = *x, difference = *x;
    quantity_add(&sum, y);
    quantity_sub(&difference, y);
    check(quantity_cmp(x, y) == -quantity_cmp(y, x));
    check(quantity_cmp(x, x) == 0);
    check(quantity_sign(y) < 0 || quantity_cmp(&sum, &difference) >= 0);
    for (int32_t scale = -9; scale <= 9; scale++) {
        quantity_scaled_value(x, scale);
        quantity_scaled_value(&sum, scale);
        quantity_scaled_value(&difference, scale);
    }
}

/* From 1000E on upstream's texts lack a suffix, and so do berth's. */
static bool has_suffix(const struct quantity *q)
{
    struct quantity low = {.lo = -1, .scale = 21}, high = {.lo = 1, .scale = 21};
    return quantity_cmp(q, &low) > 0 && quantity_cmp(q, &high) < 0;
}

static void rewrite(const struct quantity *q, struct arena *a, struct quantity *ret_again)
{
    struct buf text = BUF_INIT;
    struct err e;
    quantity_write(q, &text);
    check(quantity_parse(buf_str(&text), a, ret_again, &e) == 0);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size}, head;
    struct arena a;
    struct quantity x, y = {0}, again;
    struct err e;
    arena_init(&a, 0);
    if (str_split(&rest, ' ', &head) && quantity_parse(head, &a, &x, &e) == 0) {
        if (!rest.p || quantity_parse(rest, &a, &y, &e) < 0)
            y = x;
        exercise(&x, &y);
        rewrite(&x, &a, &again);
        check(!has_suffix(&x) || quantity_cmp(&x, &again) == 0);
    }
    arena_release(&a);
    return 0;
}
