/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - the variable device.
 *
 * Purpose:   its type, and the value of one device: driver, attributes and capacity by domain,
 *            allowMultipleAllocations. A domain that the device does not have is an empty map; a
 *            name that it does not have in a domain is "no such key".
 * Ownership: the value borrows the device's strings.
 * Threading: any thread.
 */
#ifndef BERTH_CEL_DEVICE_H
#define BERTH_CEL_DEVICE_H

#include "cel/cel.h"
#include "cel/function.h"

extern const struct cel_type cel_device_type;
/* includes(): DRAListTypeAttributes only. */
extern const struct cel_library cel_lib_device;

/* The type of device.FIELD; NULL if there is none. */
const struct cel_type *cel_device_field(struct cel_features features, struct str field);

/* -EINVAL with upstream's message if an attribute has no value, or a version that is none. */
int cel_device_value(struct cel_features features, struct str driver, const struct device *device,
                     struct arena *a, struct cel_value *ret, struct err *reterr) MUST_CHECK;

#endif
