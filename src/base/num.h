/* SPDX-License-Identifier: Apache-2.0 */
/*
 * num.h - floating-point numbers as text, in Go's shortest forms.
 *
 * Purpose:   metrics, log lines and JSON show a double with the fewest digits that read back as the
 *            same double, in the layouts of Go's strconv and encoding/json.
 * Ownership: plain values.
 * Threading: any thread. The process must stay in the "C" locale.
 */
#ifndef BERTH_BASE_NUM_H
#define BERTH_BASE_NUM_H

#include "base/buf.h"

enum num_style {
    NUM_STYLE_G,    /* 'g': 0.001, 1e-05, 1.048576e+06; NaN, +Inf, -Inf */
    NUM_STYLE_F,    /* 'f': 0.00001, 1048576; NaN, +Inf, -Inf */
    NUM_STYLE_JSON, /* encoding/json: 1e-7, 0.00001, 1048576, 1e+21; not for NaN and Inf */
};

void num_format(double value, enum num_style style, struct buf *out);

#endif
