/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_zones.h - which time zones there are.
 *
 * Purpose:   spec.timeZone of a CronJob must be a zone of the IANA database. Validation reads no
 *            files, so the names are a table.
 * Ownership: constant data.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_TIME_ZONES_H
#define BERTH_APISERVER_STRATEGIES_TIME_ZONES_H

#include "base/str.h"

bool time_zone_known(struct str name);

#endif
