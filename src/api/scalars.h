/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalars.h - scalars of the API that are no plain JSON.
 *
 * Purpose:   codecs for metav1.Time (whole seconds), metav1.MicroTime (six digits),
 *            metav1.Duration and intstr.IntOrString, for use in descriptor tables. In C a time is
 *            a struct timestamp, by value also where upstream has a pointer: `set` tells whether
 *            it is there. A duration is an int64_t of nanoseconds. Quantities: api/quantity.h.
 * Ownership: values; the text of an int_or_string lives in the arena it was decoded into.
 * Threading: any.
 */
#ifndef BERTH_API_SCALARS_H
#define BERTH_API_SCALARS_H

#include "base/time.h"
#include "codec/desc.h"

/* A number, or a text such as "25%". */
struct int_or_string {
    struct str text;
    int32_t number;
    bool is_text;
};

extern const struct custom time_custom;          /* struct timestamp; a fraction is cut off */
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
