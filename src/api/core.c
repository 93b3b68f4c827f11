/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core.h"

static const struct field object_reference_fields[] = {
    F_ONE(struct object_reference, kind, "kind", 1, STR),
    F_ONE(struct object_reference, namespace, "namespace", 2, STR),
    F_ONE(struct object_reference, name, "name", 3, STR),
    F_ONE(struct object_reference, uid, "uid", 4, STR),
    F_ONE(struct object_reference, api_version, "apiVersion", 5, STR),
    F_ONE(struct object_reference, resource_version, "resourceVersion", 6, STR),
    F_ONE(struct object_reference, field_path, "fieldPath", 7, STR),
};
const struct type object_reference_type =
    TYPE("k8s.io.api.core.v1.ObjectReference", struct object_reference, object_reference_fields);

static const struct field binding_fields[] = {
    F_MSG(struct binding, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct binding, target, "target", 2, struct object_reference,
                 &object_reference_type),
};
const struct type binding_type = TYPE("k8s.io.api.core.v1.Binding", struct binding, binding_fields);

static const struct field namespace_fields[] = {
    F_MSG(struct namespace, metadata, "metadata", 1, struct object_meta, &object_meta_type),
};
const struct type namespace_type =
    TYPE("k8s.io.api.core.v1.Namespace", struct namespace, namespace_fields);

static const struct field service_spec_fields[] = {
    F_STR_MAP(struct service_spec, selector, "selector", 2),
};
const struct type service_spec_type =
    TYPE("k8s.io.api.core.v1.ServiceSpec", struct service_spec, service_spec_fields);

static const struct field service_fields[] = {
    F_MSG(struct service, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_MSG(struct service, spec, "spec", 2, struct service_spec, &service_spec_type),
};
const struct type service_type = TYPE("k8s.io.api.core.v1.Service", struct service, service_fields);

static const struct field replication_controller_spec_fields[] = {
    F_PTR(struct replication_controller_spec, replicas, "replicas", 1, INT32),
    F_STR_MAP(struct replication_controller_spec, selector, "selector", 2),
};
const struct type replication_controller_spec_type =
    TYPE("k8s.io.api.core.v1.ReplicationControllerSpec", struct replication_controller_spec,
         replication_controller_spec_fields);

static const struct field replication_controller_fields[] = {
    F_MSG(struct replication_controller, metadata, "metadata", 1, struct object_meta,
          &object_meta_type),
    F_MSG(struct replication_controller, spec, "spec", 2, struct replication_controller_spec,
          &replication_controller_spec_type),
};
const struct type replication_controller_type =
    TYPE("k8s.io.api.core.v1.ReplicationController", struct replication_controller,
         replication_controller_fields);
