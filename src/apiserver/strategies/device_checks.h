/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_checks.h - checks that the kinds of resource.k8s.io share.
 *
 * Purpose:   names of drivers, pools and attributes, CEL selectors, configuration, taints and
 *            tolerations, with upstream's messages.
 * Ownership: errors are in the arena of their list. A struct device_cel is released by its user.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_DEVICE_CHECKS_H
#define BERTH_APISERVER_STRATEGIES_DEVICE_CHECKS_H

#include "apiserver/strategies/spot.h"
#include "cel/cel.h"

/* The environment of CEL is made when the first selector needs it. */
struct device_cel {
    struct cel_env *env;
};
void device_cel_release(struct device_cel *cel);

void check_driver_name(const struct spot *name);
void check_pool_name(const struct spot *name);
void check_share_id(const struct spot *id);
/* [DOMAIN/]ID, of an attribute or capacity; full: the domain is required. */
void check_attribute_name(const struct spot *name, bool full);
/* The name of an item that is required: a DNS label. */
void check_required_label(const struct spot *name);

void check_selectors(const struct spot *list, struct device_cel *cel);
/* {"opaque":{"driver":…,"parameters":…}} */
void check_configuration(const struct spot *config);
/* A JSON object of at most max bytes. */
void check_raw(const struct spot *raw, size_t max);
void check_device_taint(const struct spot *taint);
void check_device_toleration(const struct spot *toleration);
void check_binding_conditions(const struct spot *device);
/* Duplicate value, at the item, for each key that occurred before. */
void check_duplicates(const struct spot *list, const char *key);

#endif
