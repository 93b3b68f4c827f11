/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cron.h - schedules of CronJobs.
 *
 * Purpose:   the syntax of robfig/cron that upstream uses: five fields with lists, ranges, steps
 *            and names; @yearly, @monthly, @weekly, @daily, @hourly and @every DURATION.
 * Ownership: plain values.
 * Threading: any thread.
 *
 * Time zones: UTC, GMT, the zones of Etc/ and other names of UTC. Zones with daylight saving time
 * need the tables of the machine, which a pure folder does not read.
 */
#ifndef BERTH_APISERVER_WORKLOADS_CRON_H
#define BERTH_APISERVER_WORKLOADS_CRON_H

#include "base/err.h"
#include "base/time.h"

struct cron {
    uint64_t minutes, hours, days, months, weekdays; /* sets of values */
    bool any_day, any_weekday;                       /* the field is * or ? */
    int64_t every;                                   /* ns; 0: the sets count */
};

/* -EINVAL with the reason. */
int cron_parse(struct str text, struct cron *ret_cron, struct err *reterr) MUST_CHECK;
/* The offset of a time zone from UTC in seconds. False: it is not known. "": UTC. */
bool cron_zone(struct str name, int64_t *ret_offset) MUST_CHECK;
/* The first time after `after`, both in ns of UTC. 0: there is none within five years. */
int64_t cron_next(const struct cron *cron, int64_t offset, int64_t after);

#endif
