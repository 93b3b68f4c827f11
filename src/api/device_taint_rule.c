/* SPDX-License-Identifier: Apache-2.0 */
#include "api/device_taint_rule.h"

static const struct field device_taint_selector_fields[] = {
    F_ONE(struct device_taint_selector, driver, "driver", 2, STR),
    F_ONE(struct device_taint_selector, pool, "pool", 3, STR),
    F_ONE(struct device_taint_selector, device, "device", 4, STR),
};
const struct type device_taint_selector_type =
    TYPE("k8s.io.api.resource.v1beta2.DeviceTaintSelector", struct device_taint_selector,
         device_taint_selector_fields);

static const struct field device_taint_rule_taint_fields[] = {
    F_ALWAYS(struct device_taint_rule_taint, key, "key", 1, STR),
    F_ONE(struct device_taint_rule_taint, value, "value", 2, STR),
    F_ALWAYS(struct device_taint_rule_taint, effect, "effect", 3, STR),
    F_CUSTOM(struct device_taint_rule_taint, time_added, "timeAdded", 4, struct timestamp,
             &time_custom),
};
const struct type device_taint_rule_taint_type =
    TYPE("k8s.io.api.resource.v1beta2.DeviceTaint", struct device_taint_rule_taint,
         device_taint_rule_taint_fields);

static const struct field device_taint_rule_spec_fields[] = {
    F_PTR_MSG(struct device_taint_rule_spec, device_selector, "deviceSelector", 1,
              struct device_taint_selector, &device_taint_selector_type),
    F_MSG(struct device_taint_rule_spec, taint, "taint", 2, struct device_taint_rule_taint,
          &device_taint_rule_taint_type),
};
const struct type device_taint_rule_spec_type =
    TYPE("k8s.io.api.resource.v1beta2.DeviceTaintRuleSpec", struct device_taint_rule_spec,
         device_taint_rule_spec_fields);

static const struct field device_taint_rule_fields[] = {
    F_MSG(struct device_taint_rule, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct device_taint_rule, spec, "spec", 2, struct device_taint_rule_spec,
                 &device_taint_rule_spec_type),
};
const struct type device_taint_rule_type = TYPE("k8s.io.api.resource.v1beta2.DeviceTaintRule",
                                                struct device_taint_rule, device_taint_rule_fields);
