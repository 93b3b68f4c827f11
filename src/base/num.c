/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include <math.h>

/* value = 0.d1d2d3… * 10^point, without trailing zeros. */
struct decimal {
    char digits[20];
    int n;
    int point;
};

static double magnitude(const struct decimal *d)
{
    char text[40];
    snprintf(text, sizeof(text), "0.%.*se%d", d->n, d->digits, d->point);
    return strtod(text, NULL);
}

/* The nearest decimal with n digits. */
static struct decimal round_to(double value, int n)
{
    struct decimal d = {.n = n};
    char text[40];
    /* "d.ddde±xx" */
    snprintf(text, sizeof(text), "%.*e", n - 1, value);
    d.digits[0] = text[0];
    if (n > 1)
        memcpy(d.digits + 1, text + 2, (size_t)n - 1);
    d.point = (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1;
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.n--;
    return d;
}

/*
 * At a power of two the gap below is half the gap above, so that the nearest decimal may read back
 * as the double below, while the next decimal up still reads back as this one.
 */
static struct decimal next_up(struct decimal d, int n)
{
    for (; d.n < n; d.n++)
        d.digits[d.n] = '0';
    int i = n - 1;
    while (i > 0 && d.digits[i] == '9')
        d.digits[i--] = '0';
    d.digits[i]++;
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.n--;
    return d;
}

/* Up to here the decimals next to an integer are doubles of their own: none is shorter. */
#define WHOLE_MAX 1e15

static struct decimal whole(uint64_t value)
{
    struct decimal d = {0};
    char text[20];
    int n = 0;
    for (; value; value /= 10)
        text[n++] = (char)('0' + value % 10);
    d.point = n;
    while (n > 0)
        d.digits[d.n++] = text[--n];
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.n--;
    return d;
}

/* The shortest decimal that reads back as value (> 0, finite). */
static struct decimal shortest(double value)
{
    if (value < WHOLE_MAX && value == floor(value))
        return whole((uint64_t)value);
    /*
     * Fifteen digits represent every decimal of up to fifteen digits. If they read back, what
     * remains without trailing zeros is the shortest. Subnormals have fewer bits and start at one.
     */
    int n = value < 0x1p-1022 ? 1 : 15;
    int exponent;
    bool power_of_two = frexp(value, &exponent) == 0.5;
    for (; n < 17; n++) {
        struct decimal d = round_to(value, n);
        if (magnitude(&d) == value)
            return d;
        if (power_of_two && d.digits[0] != '9') {
            d = next_up(d, n);
            if (magnitude(&d) == value)
                return d;
        }
    }
    return round_to(value, 17);
}

static void add_zeros(struct buf *out, int n)
{
    while (n-- > 0)
        buf_add_char(out, '0');
}

static void write_plain(const struct decimal *d, struct buf *out)
{
    int whole = MAX(MIN(d->n, d->point), 0);
    if (d->point <= 0)
        buf_add_char(out, '0');
    buf_add(out, d->digits, (size_t)whole);
    add_zeros(out, d->point - d->n);
    if (d->point >= d->n)
        return;
    buf_add_char(out, '.');
    add_zeros(out, -d->point);
    buf_add(out, d->digits + whole, (size_t)(d->n - whole));
}

static void write_exponent(const struct decimal *d, int exponent_digits, struct buf *out)
{
    buf_add_char(out, d->digits[0]);
    if (d->n > 1) {
        buf_add_char(out, '.');
        buf_add(out, d->digits + 1, (size_t)d->n - 1);
    }
    int exponent = d->point - 1;
    buf_add_printf(out, "e%c%0*d", exponent < 0 ? '-' : '+', exponent_digits, abs(exponent));
}

void num_format(double value, enum num_style style, struct buf *out)
{
    if (isnan(value)) {
        buf_add_cstr(out, "NaN");
        return;
    }
    if (isinf(value)) {
        buf_add_cstr(out, value > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (signbit(value))
        buf_add_char(out, '-');
    if (value == 0) {
        buf_add_char(out, '0');
        return;
    }
    struct decimal d = shortest(fabs(value));
    int exponent = d.point - 1;
    if (style == NUM_STYLE_F || (style == NUM_STYLE_G && exponent >= -4 && exponent < 6) ||
        (style == NUM_STYLE_JSON && exponent >= -6 && exponent < 21))
        write_plain(&d, out);
    else
        write_exponent(&d, style == NUM_STYLE_JSON ? 1 : 2, out);
}
