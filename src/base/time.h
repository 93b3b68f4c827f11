/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time.h - points in time, durations and their text forms.
 *
 * Purpose:   one integer type: nanoseconds. Clocks are read here only; the engine gets its time
 *            through a port.
 * Ownership: plain values.
 * Threading: any thread.
 */
#ifndef BERTH_BASE_TIME_H
#define BERTH_BASE_TIME_H

#include "base/buf.h"

#define NSEC_PER_USEC ((int64_t)1000)
#define NSEC_PER_MSEC ((int64_t)1000000)
#define NSEC_PER_SEC  ((int64_t)1000000000)

int64_t time_mono(void); /* CLOCK_MONOTONIC */
int64_t time_boot(void); /* CLOCK_BOOTTIME: also counts while the machine is suspended */
int64_t time_wall(void); /* since 1970, UTC */

/*
 * A point in time of the API. Seconds and nanoseconds are separate, because an int64 of nanoseconds
 * ends in 2262 and Go's time does not. Zero value: not set.
 */
struct timestamp {
    int64_t sec;
    int32_t nsec;
    bool set;
};

struct timestamp timestamp_of(int64_t wall_ns);
int64_t timestamp_ns(struct timestamp t); /* saturates */
int timestamp_cmp(struct timestamp a, struct timestamp b);

/* RFC 3339 as Go's time.RFC3339Nano reads it (any offset, up to nine digits of fraction). */
bool timestamp_parse(struct str text, struct timestamp *ret_time) MUST_CHECK;
/* UTC: "2026-11-15T09:00:00Z" (digits 0), with digits 6 "…:00.000000Z". */
void timestamp_format(struct timestamp t, int digits, struct buf *out);

/* Durations in Go's syntax: "1h15m30.918s", "100ms", "-1.5h", "0". */
bool duration_parse(struct str text, int64_t *ret_ns) MUST_CHECK;
void duration_format(int64_t ns, struct buf *out);
/* As kubectl shows ages: "90s", "4m5s", "8d"; "<invalid>" if more than a second is missing. */
void duration_format_human(int64_t ns, struct buf *out);

#endif
