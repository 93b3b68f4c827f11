/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_capacity.h - the capacities of devices and how much of them may be requested.
 *
 * Purpose:   upstream's checks of requestPolicy: options, ranges and steps.
 * Ownership: nothing is kept; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_DEVICE_CAPACITY_H
#define BERTH_APISERVER_STRATEGIES_DEVICE_CAPACITY_H

#include "api/quantity.h"
#include "apiserver/strategies/spot.h"

/* shared: the device allows multiple allocations. */
void device_capacity_validate(const struct spot *capacity, bool shared);
/* Invalid value: SHOWN: TEXT[: LIMIT]. limit: NULL if none. */
void device_refuse_quantity(const struct spot *at, const struct quantity *shown, const char *text,
                            const struct quantity *limit);

#endif
