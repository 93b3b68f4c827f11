/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalars.h - scalars of the API that are not plain JSON.
 *
 * Purpose:   codecs for metav1.Time (whole seconds), metav1.MicroTime (six digits), metav1.Duration
 *            and intstr.IntOrString, for descriptor tables. A time is a struct timestamp, by value
 *            also where upstream has a pointer: `set` tells whether it is present. A duration is an
 *            int64_t of nanoseconds. Quantities: api/quantity.h.
 * Ownership: plain values; the string of an int_or_string lives in the arena it was decoded into.
 * Threading: any thread.
 */
#ifndef BERTH_API_SCALARS_H
#define BERTH_API_SCALARS_H

#include "base/time.h"
#include "codec/desc.h"

/* A number, or a string such as "25%". */
struct int_or_string {
    struct str text;
    int32_t number;
    bool is_text;
};

extern const struct custom time_custom;          /* struct timestamp; the fraction is dropped */
extern const struct custom micro_time_custom;    /* struct timestamp, to the microsecond */
extern const struct custom duration_custom;      /* int64_t */
extern const struct custom int_or_string_custom; /* struct int_or_string */

/* A map of names to times. */
struct time_entry {
    struct str key;
    struct timestamp value;
};
extern const struct type time_entry_type;

#endif
