/* SPDX-License-Identifier: Apache-2.0 */
#include "api/runtime_class.h"

static const struct field overhead_fields[] = {
    F_MAP(struct runtime_class_overhead, pod_fixed, "podFixed", 1, struct quantity_entry,
          &quantity_entry_type),
};
static const struct type overhead_type =
    TYPE("k8s.io.api.node.v1.Overhead", struct runtime_class_overhead, overhead_fields);

static const struct field scheduling_fields[] = {
    F_STR_MAP(struct runtime_class_scheduling, node_selector, "nodeSelector", 1),
    F_LIST_MSG(struct runtime_class_scheduling, tolerations, "tolerations", 2, struct toleration,
               &toleration_type),
};
static const struct type scheduling_type =
    TYPE("k8s.io.api.node.v1.Scheduling", struct runtime_class_scheduling, scheduling_fields);

static const struct field runtime_class_fields[] = {
    F_MSG(struct runtime_class, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_PTR_MSG(struct runtime_class, overhead, "overhead", 3, struct runtime_class_overhead,
              &overhead_type),
    F_PTR_MSG(struct runtime_class, scheduling, "scheduling", 4, struct runtime_class_scheduling,
              &scheduling_type),
};
const struct type runtime_class_type =
    TYPE("k8s.io.api.node.v1.RuntimeClass", struct runtime_class, runtime_class_fields);
