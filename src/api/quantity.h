/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantity.h - an amount of a resource: "500m", "1536Mi", "12e6".
 *
 * Purpose:   resource.Quantity of Kubernetes, exactly: the same texts are accepted, the same text
 *            is written, and conversions to int64 round and overflow in the same way, since
 *            scheduling depends on them. No floating point is used.
 * Ownership: a value of 24 bytes. A few rare ones point into the arena they were parsed into (a
 *            text that is kept as written, a number of more than 38 digits); copies share that.
 * Threading: plain values; any thread as long as the arena lives.
 *
 * Zeroed memory is the quantity 0.
 */
#ifndef BERTH_API_QUANTITY_H
#define BERTH_API_QUANTITY_H

#include "codec/desc.h"

/* The family of suffixes with which a quantity was read, and is written. */
enum quantity_format {
    QUANTITY_DECIMAL_SI,       /* n u m - k M G T P E */
    QUANTITY_BINARY_SI,        /* Ki Mi Gi Ti Pi Ei */
    QUANTITY_DECIMAL_EXPONENT, /* e3, E-6 */
};

/* The representation of the amount; upstream's conversions to int64 depend on it. */
enum quantity_kind {
    QUANTITY_INT, /* lo * 10^scale; text: what to write instead of the canonical form, or NULL */
    QUANTITY_DEC, /* (hi:lo as a 128-bit integer) * 10^scale */
    QUANTITY_BIG, /* *big, for amounts beyond 128 bits */
};

struct quantity_big;

/* The members are private to quantity*.c. */
struct quantity {
    int64_t lo;
    union {
        int64_t hi;
        const char *text;
        const struct quantity_big *big;
    };
    int32_t scale;
    uint8_t format; /* enum quantity_format */
    uint8_t kind;   /* enum quantity_kind */
};

/*
 * -EINVAL with upstream's message if text is not a quantity. Amounts finer than 1n are rounded away
 * from zero; binary amounts are capped at 2^63-1.
 */
int quantity_parse(struct str text, struct arena *a, struct quantity *ret_quantity,
                   struct err *reterr) MUST_CHECK;

/* value, value / 1000. */
struct quantity quantity_of(int64_t value, enum quantity_format format);
struct quantity quantity_of_milli(int64_t value, enum quantity_format format);

/* Appends the text of upstream's String(): no fraction, the largest suffix without loss. */
void quantity_write(const struct quantity *q, struct buf *out);

/*
 * The amount in units, in thousandths, and in 10^scale (-9 to 9). Rounded away from zero, as
 * upstream does; an amount that does not fit wraps or becomes 0, nothing saturates.
 */
int64_t quantity_scaled_value(const struct quantity *q, int32_t scale);
int64_t quantity_value(const struct quantity *q);
int64_t quantity_milli_value(const struct quantity *q);

/* AsInt64: false if it has a fraction, does not fit, or is a decimal number inside. */
bool quantity_as_int64(const struct quantity *q, int64_t *ret_value) MUST_CHECK;

/* An approximate double, computed as upstream does for metrics. */
double quantity_approximate(const struct quantity *q);

bool quantity_is_zero(const struct quantity *q);
int quantity_sign(const struct quantity *q); /* -1, 0, 1 */
int quantity_cmp(const struct quantity *a, const struct quantity *b);
/*
 * Sets q to the larger of the two. As in upstream, comparing has a side effect: next to an amount
 * beyond int64 the other is converted as well, and its conversions overflow differently.
 */
void quantity_raise(struct quantity *q, const struct quantity *y);

/*
 * In place. A zero takes the format of y. A result beyond 128 bits (1.7e29 units) is limited to
 * that bound; upstream has arbitrary precision.
 */
void quantity_add(struct quantity *q, const struct quantity *y);
void quantity_sub(struct quantity *q, const struct quantity *y);
/* In place, with the format of q; limited as a sum is. Either may be a fraction: "1500m". */
void quantity_multiply(struct quantity *q, const struct quantity *y);

/* A copy that owes nothing to the arena q was parsed into. */
struct quantity quantity_dup(const struct quantity *q, struct arena *a);
/* Go's == of two quantities: amount, scale, format and text; never true for two decimals. */
bool quantity_identical(const struct quantity *a, const struct quantity *b);

/* In JSON a string or a number, in protobuf a message with the text as field 1. */
extern const struct custom quantity_custom;

/* {"cpu": "500m"}: ResourceList. */
struct quantity_entry {
    struct str key;
    struct quantity value;
};
extern const struct type quantity_entry_type;
typedef LIST(struct quantity_entry) quantity_map;

/* By binary search; NULL if there is none. */
const struct quantity *quantity_map_get(const quantity_map *map, struct str key);

#endif
