/* SPDX-License-Identifier: Apache-2.0 */
#include "api/node.h"

static const struct field node_spec_fields[] = {
    F_ONE(struct node_spec, unschedulable, "unschedulable", 4, BOOL),
    F_LIST_MSG(struct node_spec, taints, "taints", 5, struct taint, &taint_type),
};
const struct type node_spec_type =
    TYPE("k8s.io.api.core.v1.NodeSpec", struct node_spec, node_spec_fields);

static const struct field node_condition_fields[] = {
    F_ALWAYS(struct node_condition, type, "type", 1, STR),
    F_ALWAYS(struct node_condition, status, "status", 2, STR),
};
const struct type node_condition_type =
    TYPE("k8s.io.api.core.v1.NodeCondition", struct node_condition, node_condition_fields);

static const struct field container_image_fields[] = {
    F_LIST(struct container_image, names, "names", 1, STR),
    F_ONE(struct container_image, size_bytes, "sizeBytes", 2, INT64),
};
const struct type container_image_type =
    TYPE("k8s.io.api.core.v1.ContainerImage", struct container_image, container_image_fields);

static const struct field node_status_fields[] = {
    F_MAP(struct node_status, capacity, "capacity", 1, struct quantity_entry, &quantity_entry_type),
    F_MAP(struct node_status, allocatable, "allocatable", 2, struct quantity_entry,
          &quantity_entry_type),
    F_LIST_MSG(struct node_status, conditions, "conditions", 4, struct node_condition,
               &node_condition_type),
    F_LIST_MSG(struct node_status, images, "images", 8, struct container_image,
               &container_image_type),
    F_LIST(struct node_status, declared_features, "declaredFeatures", 14, STR),
};
const struct type node_status_type =
    TYPE("k8s.io.api.core.v1.NodeStatus", struct node_status, node_status_fields);

static const struct field node_fields[] = {
    F_MSG(struct node, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_MSG(struct node, spec, "spec", 2, struct node_spec, &node_spec_type),
    F_MSG(struct node, status, "status", 3, struct node_status, &node_status_type),
};
const struct type node_type = TYPE("k8s.io.api.core.v1.Node", struct node, node_fields);
