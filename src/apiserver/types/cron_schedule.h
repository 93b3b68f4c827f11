/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cron_schedule.h - schedules of CronJobs.
 *
 * Purpose:   the standard syntax of robfig/cron, which upstream uses: five fields, names of months
 *            and days, steps, ranges, @hourly and the like, @every, a TZ= prefix. Messages are
 *            equal.
 * Ownership: plain values; the time zone is borrowed from the text.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_TYPES_CRON_SCHEDULE_H
#define BERTH_APISERVER_TYPES_CRON_SCHEDULE_H

#include "base/buf.h"

/* Bit n: the field has the value n. */
#define CRON_STAR ((uint64_t)1 << 63) /* the field is *: days are then not combined with "or" */

struct cron_schedule {
    uint64_t minute, hour, day_of_month, month, day_of_week; /* day_of_week: 0 is Sunday */
    int64_t every;   /* @every: seconds between two times, at least 1; 0: the fields count */
    struct str zone; /* of TZ= or CRON_TZ=; empty: none */
};

/* -EINVAL: the reason is appended to *error. */
int cron_schedule_parse(struct str text, struct cron_schedule *ret_schedule,
                        struct buf *error) MUST_CHECK;

#endif
