/* SPDX-License-Identifier: Apache-2.0 */
#include "api/apps.h"

static const struct field replica_set_spec_fields[] = {
    F_PTR(struct replica_set_spec, replicas, "replicas", 1, INT32),
    F_PTR_MSG(struct replica_set_spec, selector, "selector", 2, struct label_selector,
              &label_selector_type),
};
const struct type replica_set_spec_type =
    TYPE("k8s.io.api.apps.v1.ReplicaSetSpec", struct replica_set_spec, replica_set_spec_fields);

static const struct field replica_set_fields[] = {
    F_MSG(struct replica_set, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_MSG(struct replica_set, spec, "spec", 2, struct replica_set_spec, &replica_set_spec_type),
};
const struct type replica_set_type =
    TYPE("k8s.io.api.apps.v1.ReplicaSet", struct replica_set, replica_set_fields);

static const struct field stateful_set_spec_fields[] = {
    F_PTR(struct stateful_set_spec, replicas, "replicas", 1, INT32),
    F_PTR_MSG(struct stateful_set_spec, selector, "selector", 2, struct label_selector,
              &label_selector_type),
};
const struct type stateful_set_spec_type =
    TYPE("k8s.io.api.apps.v1.StatefulSetSpec", struct stateful_set_spec, stateful_set_spec_fields);

static const struct field stateful_set_fields[] = {
    F_MSG(struct stateful_set, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_MSG(struct stateful_set, spec, "spec", 2, struct stateful_set_spec, &stateful_set_spec_type),
};
const struct type stateful_set_type =
    TYPE("k8s.io.api.apps.v1.StatefulSet", struct stateful_set, stateful_set_fields);
