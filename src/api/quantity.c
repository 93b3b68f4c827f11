/* SPDX-License-Identifier: Apache-2.0 */
#include "api/quantity_internal.h"

/*
 * Amounts and their arithmetic; quantity_text.c reads and writes texts.
 *
 * Upstream holds an int64 with a decimal scale if possible and an arbitrary decimal otherwise, and
 * converts the two to int64 by different rules that overflow differently. Programs depend on the
 * results, so both kinds exist here as well.
 */

struct quantity quantity_of(int64_t value, enum quantity_format format)
{
    return (struct quantity){.lo = value, .format = (uint8_t)format};
}

struct quantity quantity_of_milli(int64_t value, enum quantity_format format)
{
    return (struct quantity){.lo = value, .scale = -3, .format = (uint8_t)format};
}

int quantity_sign(const struct quantity *q)
{
    if (q->kind == QUANTITY_BIG)
        return (int)q->lo;
    int128 v = quantity_unscaled(q);
    return (v > 0) - (v < 0);
}

bool quantity_as_int64(const struct quantity *q, int64_t *ret_value)
{
    int64_t value = q->lo;
    if (q->kind != QUANTITY_INT || q->scale < 0)
        return false;
    for (int32_t i = 0; i < q->scale && value != 0; i++) {
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

/* As Go's math.Pow10: the nearest double to 10^n, and one divided by it below zero. */
static double power_of_ten(int64_t n)
{
    char text[32];
    snprintf(text, sizeof(text), "1e%lld", (long long)(n < 0 ? -n : n));
    return n < 0 ? 1 / strtod(text, NULL) : strtod(text, NULL);
}

double quantity_approximate(const struct quantity *q)
{
    if (q->kind != QUANTITY_BIG)
        return (double)quantity_unscaled(q) * power_of_ten(q->scale);
    struct decimal d;
    double digits = 0;
    quantity_to_decimal(q, &d);
    for (size_t i = 0; i < d.n; i++)
        digits = digits * 10 + (d.digits[i] - '0');
    return (d.negative ? -digits : digits) * power_of_ten(d.exponent);
}

bool quantity_is_zero(const struct quantity *q)
{
    return quantity_sign(q) == 0;
}

int128 quantity_unscaled(const struct quantity *q)
{
    if (q->kind == QUANTITY_INT)
        return q->lo;
    return (int128)((uint128)(uint64_t)q->hi << 64 | (uint64_t)q->lo);
}

void quantity_set_dec(struct quantity *q, int128 unscaled, int32_t scale)
{
    q->kind = QUANTITY_DEC;
    q->lo = (int64_t)(uint64_t)unscaled;
    q->hi = (int64_t)(unscaled >> 64);
    q->scale = scale;
}

bool quantity_mul_pow10(int128 v, int64_t n, int128 *ret_product)
{
    if (v == 0)
        n = 0;
    for (; n > 0; n--)
        if (__builtin_mul_overflow(v, (int128)10, &v))
            return false;
    *ret_product = v;
    return true;
}

/* --- conversion to int64 ---------------------------------------------------------------------- */

static int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* 10^n as upstream's int64(math.Pow10(n)) on amd64: the lowest int64 if it does not fit. */
static int64_t pow10_i64(int64_t n)
{
    int64_t p = 1;
    for (; n > 0; n--)
        if (__builtin_mul_overflow(p, (int64_t)10, &p))
            return INT64_MIN;
    return p;
}

/* base * 10^n. Upstream returns 0 on overflow, except for the few n with fast paths. */
static int64_t int_scale_up(int64_t base, int32_t n)
{
    if (n <= 0 || base == 0)
        return base;
    if (base == INT64_MIN)
        return 0;
    if (n <= 3 || n == 6 || n == 9)
        return wrap_mul(base, pow10_i64(n));
    for (; n > 0; n--)
        if (__builtin_mul_overflow(base, (int64_t)10, &base))
            return 0;
    return base;
}

/* base / 10^n, rounded away from zero. */
static int64_t int_scale_down(int64_t base, int32_t n)
{
    int64_t v = base;
    bool fraction = false;
    for (; n > 0 && v != 0; n--) {
        fraction = fraction || v % 10 != 0;
        v /= 10;
    }
    if (!fraction)
        return v;
    return base > 0 ? v + 1 : v - 1;
}

static int64_t int_scaled_value(const struct quantity *q, int32_t scale)
{
    if (q->scale < scale)
        return int_scale_down(q->lo, scale - q->scale);
    return int_scale_up(q->lo, (int32_t)((uint32_t)q->scale - (uint32_t)scale));
}

/* The low 64 bits of u, divided: used where upstream assumes that u fits, even if it does not. */
static int64_t low_divided(int64_t u, int64_t divisor)
{
    return u / divisor + (u % divisor != 0);
}

static int64_t dec_scaled_value(const struct quantity *q, int32_t scale)
{
    int128 u = quantity_unscaled(q);
    int64_t down = (int64_t)scale - q->scale;
    if (down <= 0)
        return down == 0 ? (int64_t)(uint64_t)u : wrap_mul((int64_t)(uint64_t)u, pow10_i64(-down));
    if (u < INT64_MAX && down < 19)
        return low_divided((int64_t)(uint64_t)u, pow10_i64(down));
    int128 divisor;
    if (!quantity_mul_pow10(1, down, &divisor))
        return u > 0; /* a fraction: rounded up, or -1 + 1 */
    int128 quotient = u / divisor, rest = u % divisor;
    if (rest < 0)
        quotient--; /* upstream rounds towards minus infinity here */
    return wrap_add((int64_t)(uint64_t)quotient, rest != 0);
}

/* The low 64 bits of digits[0..n) * 10^zeros. */
static int64_t digits_low64(const char *digits, size_t n, int64_t zeros)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (uint64_t)(digits[i] - '0');
    for (; zeros > 0 && v != 0; zeros--)
        v *= 10;
    return (int64_t)v;
}

/* As a decimal of nano-units, which is upstream's form after parsing. */
static int64_t big_scaled_value(const struct quantity *q, int32_t scale)
{
    const struct quantity_big *b = q->big;
    if (q->lo < 0) {
        int64_t low = wrap_mul(-1, digits_low64(b->digits, b->n, b->exponent + 9));
        return low_divided(low, pow10_i64(scale + 9));
    }
    int64_t zeros = b->exponent - scale;
    if (zeros >= 0)
        return digits_low64(b->digits, b->n, zeros);
    return wrap_add(digits_low64(b->digits, b->n - (size_t)-zeros, 0), 1);
}

int64_t quantity_scaled_value(const struct quantity *q, int32_t scale)
{
    switch ((enum quantity_kind)q->kind) {
    case QUANTITY_INT:
        return int_scaled_value(q, scale);
    case QUANTITY_DEC:
        return dec_scaled_value(q, scale);
    case QUANTITY_BIG:
        return big_scaled_value(q, scale);
    }
    return 0;
}

int64_t quantity_value(const struct quantity *q)
{
    return quantity_scaled_value(q, 0);
}

int64_t quantity_milli_value(const struct quantity *q)
{
    return quantity_scaled_value(q, -3);
}

/* --- comparison ------------------------------------------------------------------------------- */

/* Converts both to the finer of the two scales; false if that exceeds 128 bits. */
static bool align(const struct quantity *a, const struct quantity *b, int128 *ret_a, int128 *ret_b)
{
    if (a->kind == QUANTITY_BIG || b->kind == QUANTITY_BIG)
        return false;
    int64_t d = (int64_t)a->scale - b->scale;
    return quantity_mul_pow10(quantity_unscaled(a), d, ret_a) &&
           quantity_mul_pow10(quantity_unscaled(b), -d, ret_b);
}

void quantity_to_decimal(const struct quantity *q, struct decimal *ret_decimal)
{
    struct decimal *d = ret_decimal;
    if (q->kind == QUANTITY_BIG) {
        d->digits = q->big->digits;
        d->n = q->big->n;
        d->exponent = q->big->exponent;
        d->negative = q->lo < 0;
        return;
    }
    int128 v = quantity_unscaled(q);
    d->negative = v < 0;
    d->exponent = q->scale;
    uint128 u = v < 0 ? -(uint128)v : (uint128)v;
    for (; u != 0 && u % 10 == 0; u /= 10)
        d->exponent++;
    char *at = d->room + sizeof(d->room);
    for (; u != 0; u /= 10)
        *--at = (char)('0' + (int)(u % 10));
    d->digits = at;
    d->n = (size_t)(d->room + sizeof(d->room) - at);
}

/* Compares nonzero amounts without their signs. */
static int cmp_magnitude(const struct quantity *a, const struct quantity *b)
{
    struct decimal x, y;
    quantity_to_decimal(a, &x);
    quantity_to_decimal(b, &y);
    int64_t top_x = x.exponent + (int64_t)x.n, top_y = y.exponent + (int64_t)y.n;
    if (top_x != top_y)
        return top_x < top_y ? -1 : 1;
    /* Neither has trailing zeros, so of two with a common prefix the longer is larger. */
    int c = str_cmp((struct str){x.digits, x.n}, (struct str){y.digits, y.n});
    return (c > 0) - (c < 0);
}

int quantity_cmp(const struct quantity *a, const struct quantity *b)
{
    int128 x, y;
    if (align(a, b, &x, &y))
        return (x > y) - (x < y);
    int sign_a = quantity_sign(a), sign_b = quantity_sign(b);
    if (sign_a != sign_b)
        return sign_a < sign_b ? -1 : 1;
    return sign_a * cmp_magnitude(a, b);
}

void quantity_raise(struct quantity *q, const struct quantity *y)
{
    bool as_decimal = q->kind != QUANTITY_INT && y->kind == QUANTITY_INT;
    if (quantity_cmp(y, q) <= 0)
        return;
    *q = *y;
    if (as_decimal)
        quantity_set_dec(q, y->lo, y->scale);
}

/* --- addition --------------------------------------------------------------------------------- */

/* For two int64 whose sum fits an int64. */
static bool add_int(struct quantity *q, const struct quantity *y)
{
    int128 a, b, sum;
    if (y->lo == 0)
        return true;
    if (q->lo == 0) {
        q->lo = y->lo;
        q->scale = y->scale;
        return true;
    }
    if (!align(q, y, &a, &b))
        return false;
    sum = a + b; /* fits 128 bits: see the next line */
    if (a != (int64_t)a || b != (int64_t)b || sum != (int64_t)sum)
        return false;
    q->lo = (int64_t)sum;
    q->scale = MIN(q->scale, y->scale);
    return true;
}

/* The lowest 128-bit integer is never used, so that every amount can be negated. */
static const int128 dec_max = (int128)(~(uint128)0 >> 1);

/* The sum exceeds 128 bits: set the bound, with the sign of the true sum. */
static void saturate(struct quantity *q, const struct quantity *y)
{
    int sign = quantity_sign(q);
    if (quantity_sign(y) != sign)
        sign *= cmp_magnitude(q, y);
    quantity_set_dec(q, sign * dec_max, -9);
}

void quantity_add(struct quantity *q, const struct quantity *y)
{
    if (quantity_is_zero(q))
        q->format = y->format;
    if (q->kind == QUANTITY_INT)
        q->text = NULL;
    if (q->kind == QUANTITY_INT && y->kind == QUANTITY_INT && add_int(q, y))
        return;
    int128 a, b, sum;
    if (align(q, y, &a, &b) && !__builtin_add_overflow(a, b, &sum) && sum >= -dec_max)
        quantity_set_dec(q, sum, MIN(q->scale, y->scale));
    else if (quantity_is_zero(q)) {
        *q = *y;
        if (y->kind == QUANTITY_INT)
            quantity_set_dec(q, y->lo, y->scale);
    } else if (!quantity_is_zero(y))
        saturate(q, y);
}

void quantity_sub(struct quantity *q, const struct quantity *y)
{
    struct quantity minus = *y;
    if (y->kind == QUANTITY_DEC)
        quantity_set_dec(&minus, -quantity_unscaled(y), y->scale);
    else
        minus.lo = (int64_t)-(uint64_t)y->lo; /* an int64, or the sign of a big one */
    if (y->kind == QUANTITY_INT) {
        struct quantity sum = *q;
        minus.text = NULL;
        /* The smallest int64 is its own negative; upstream adds that unless it overflows. */
        if (y->lo == INT64_MIN && !(q->kind == QUANTITY_INT && add_int(&sum, &minus)))
            quantity_set_dec(&minus, -(int128)y->lo, y->scale);
    }
    quantity_add(q, &minus);
}

void quantity_multiply(struct quantity *q, const struct quantity *y)
{
    int sign = quantity_sign(q) * quantity_sign(y);
    int128 product;
    if (q->kind != QUANTITY_BIG && y->kind != QUANTITY_BIG &&
        !__builtin_mul_overflow(quantity_unscaled(q), quantity_unscaled(y), &product) &&
        product >= -dec_max)
        quantity_set_dec(q, product, q->scale + y->scale);
    else
        quantity_set_dec(q, sign * dec_max, sign ? -9 : 0);
}

/* --- copies ----------------------------------------------------------------------------------- */

struct quantity quantity_dup(const struct quantity *q, struct arena *a)
{
    struct quantity copy = *q;
    if (q->kind == QUANTITY_INT && q->text)
        copy.text = arena_dup(a, str_of(q->text)).p;
    if (q->kind != QUANTITY_BIG)
        return copy;
    size_t size = sizeof(struct quantity_big) + q->big->n;
    struct quantity_big *big = arena_alloc(a, size, _Alignof(struct quantity_big));
    memcpy(big, q->big, size);
    copy.big = big;
    return copy;
}

bool quantity_identical(const struct quantity *a, const struct quantity *b)
{
    if (a->kind != QUANTITY_INT || b->kind != QUANTITY_INT)
        return false;
    return a->lo == b->lo && a->scale == b->scale && a->format == b->format &&
           str_eq(str_of(a->text), str_of(b->text));
}

/* --- maps ------------------------------------------------------------------------------------- */

const struct quantity *quantity_map_get(const quantity_map *map, struct str key)
{
    size_t from = 0, to = map->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = str_cmp(map->v[mid].key, key);
        if (c == 0)
            return &map->v[mid].value;
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}
