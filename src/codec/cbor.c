/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/cbor.h"

#include <errno.h>
#include <math.h>

#include "base/buf.h"

enum major { UNSIGNED = 0, NEGATIVE = 1, BYTES = 2, ARRAY = 4, MAP = 5, TAG = 6, SIMPLE = 7 };

#define SELF_DESCRIBED 55799
#define FALSE_VALUE    20
#define TRUE_VALUE     21
#define NULL_VALUE     22
#define FLOAT16        25

static void add_bytes(struct buf *out, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        buf_add_char(out, (char)(value >> (8 * i)));
}

/* The head of an item: its type and a number in the fewest bytes. */
static void add_head(struct buf *out, enum major major, uint64_t n)
{
    unsigned size = n <= UINT8_MAX ? 0 : n <= UINT16_MAX ? 1 : n <= UINT32_MAX ? 2 : 3;
    buf_add_char(out, (char)((unsigned)major << 5 | (n < 24 ? (unsigned)n : 24 + size)));
    if (n >= 24)
        add_bytes(out, n, 1 << size);
}

static void add_text(struct buf *out, struct str s)
{
    add_head(out, BYTES, s.n);
    buf_add_str(out, s);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The bits of the half-precision float that is exactly the value; false: there is none. */
static bool to_half(float value, uint16_t *ret_bits)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    int exponent = (int)(bits >> 23 & 0xff) - 127;
    uint32_t fraction = bits & 0x7fffff;
    if ((bits & 0x7fffffff) == 0) {
        *ret_bits = sign;
        return true;
    }
    if (exponent > 15 || exponent < -24)
        return false;
    /* Below the normal range the leading one is part of the fraction. */
    int drop = exponent >= -14 ? 13 : -exponent - 1;
    uint32_t whole = exponent >= -14 ? fraction : fraction | 0x800000;
    if (whole & ((1U << drop) - 1))
        return false;
    uint32_t biased = exponent >= -14 ? (uint32_t)(exponent + 15) << 10 : 0;
    *ret_bits = (uint16_t)(sign | biased | whole >> drop);
    return true;
}

static void add_double(struct buf *out, double value)
{
    uint16_t half;
    /* Converting a double beyond a float's range would be undefined. */
    bool in_range = fabs(value) <= (double)3.40282346638528859811704183484516925e+38F;
    float single = in_range ? (float)value : 0;
    if (!in_range || (double)single != value) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof(bits));
        buf_add_char(out, (char)(SIMPLE << 5 | (FLOAT16 + 2)));
        add_bytes(out, bits, 8);
    } else if (to_half(single, &half)) {
        buf_add_char(out, (char)(SIMPLE << 5 | FLOAT16));
        add_bytes(out, half, 2);
    } else {
        uint32_t bits;
        memcpy(&bits, &single, sizeof(bits));
        buf_add_char(out, (char)(SIMPLE << 5 | (FLOAT16 + 1)));
        add_bytes(out, bits, 4);
    }
}

static int add_number(struct buf *out, struct str text)
{
    int64_t whole;
    if (str_to_i64(text, &whole)) {
        if (whole < 0)
            add_head(out, NEGATIVE, (uint64_t)(-1 - whole));
        else
            add_head(out, UNSIGNED, (uint64_t)whole);
        return 0;
    }
    char *number = str_dup(text);
    double value = strtod(number, NULL);
    free(number);
    if (!isfinite(value))
        return -ERANGE;
    add_double(out, value);
    return 0;
}

/* --- containers ------------------------------------------------------------------------------- */

/* The order of the encoded keys: the length comes first, so shorter keys sort first. */
static int by_key(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;
    if ((*x)->key.n != (*y)->key.n)
        return (*x)->key.n < (*y)->key.n ? -1 : 1;
    return str_cmp((*x)->key, (*y)->key);
}

static int add_map(struct buf *out, const struct json_value *v)
{
    int r = 0;
    const struct json_member **order = xcalloc(MAX(v->n_members, 1), sizeof(*order));
    for (size_t i = 0; i < v->n_members; i++)
        order[i] = &v->members[i];
    qsort(order, v->n_members, sizeof(*order), by_key);
    add_head(out, MAP, v->n_members);
    for (size_t i = 0; i < v->n_members && r == 0; i++) {
        add_text(out, order[i]->key);
        r = cbor_write_item(&order[i]->value, out);
    }
    free(order);
    return r;
}

static int add_array(struct buf *out, const struct json_value *v)
{
    int r = 0;
    add_head(out, ARRAY, v->n);
    for (size_t i = 0; i < v->n && r == 0; i++)
        r = cbor_write_item(&v->items[i], out);
    return r;
}

int cbor_write_item(const struct json_value *v, struct buf *out)
{
    switch (v->kind) {
    case JSON_NULL:
        add_head(out, SIMPLE, NULL_VALUE);
        return 0;
    case JSON_BOOL:
        add_head(out, SIMPLE, v->boolean ? TRUE_VALUE : FALSE_VALUE);
        return 0;
    case JSON_NUMBER:
        return add_number(out, v->text);
    case JSON_STRING:
        add_text(out, v->text);
        return 0;
    case JSON_ARRAY:
        return add_array(out, v);
    case JSON_OBJECT:
        return add_map(out, v);
    }
    return -EINVAL;
}

int cbor_write(const struct json_value *v, struct buf *out)
{
    add_head(out, TAG, SELF_DESCRIBED);
    return cbor_write_item(v, out);
}
