/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_time.h - times in a layout of Go's package time.
 *
 * Purpose:   a layout shows how the time 2006-01-02 15:04:05 -0700 would be written. What Go
 *            accepts is accepted, with the same result (time.Parse, in UTC).
 * Ownership: values.
 * Threading: any thread.
 */
#ifndef BERTH_BASE_GO_TIME_H
#define BERTH_BASE_GO_TIME_H

#include "base/time.h"

bool go_time_parse(struct str layout, struct str text, struct timestamp *ret_time) MUST_CHECK;

#endif
