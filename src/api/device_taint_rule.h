/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_taint_rule.h - DeviceTaintRule.
 *
 * Purpose:   a taint that an administrator adds to devices, whatever their drivers publish
 *            (resource.k8s.io/v1beta2, which is what the scheduler of 1.36 watches).
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_DEVICE_TAINT_RULE_H
#define BERTH_API_DEVICE_TAINT_RULE_H

#include "api/meta.h"

/* What is empty matches everything. */
struct device_taint_selector {
    struct str driver;
    struct str pool;
    struct str device;
};

struct device_taint_rule_taint {
    struct str key;
    struct str value;
    struct str effect;
    struct timestamp time_added;
};

struct device_taint_rule_spec {
    struct device_taint_selector *device_selector;
    struct device_taint_rule_taint taint;
};

/* Left out: status. */
struct device_taint_rule {
    struct object_meta metadata;
    struct device_taint_rule_spec spec;
};

extern const struct type device_taint_selector_type;
extern const struct type device_taint_rule_taint_type;
extern const struct type device_taint_rule_spec_type;
extern const struct type device_taint_rule_type;

#endif
