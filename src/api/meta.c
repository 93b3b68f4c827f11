/* SPDX-License-Identifier: Apache-2.0 */
#include "api/meta.h"

static const struct field owner_reference_fields[] = {
    F_ALWAYS(struct owner_reference, api_version, "apiVersion", 5, STR),
    F_ALWAYS(struct owner_reference, kind, "kind", 1, STR),
    F_ALWAYS(struct owner_reference, name, "name", 3, STR),
    F_ALWAYS(struct owner_reference, uid, "uid", 4, STR),
    F_ONE(struct owner_reference, controller, "controller", 6, BOOL),
    F_ONE(struct owner_reference, block_owner_deletion, "blockOwnerDeletion", 7, BOOL),
};
const struct type owner_reference_type = TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.OwnerReference",
                                              struct owner_reference, owner_reference_fields);

static const struct field object_meta_fields[] = {
    F_ONE(struct object_meta, name, "name", 1, STR),
    F_ONE(struct object_meta, generate_name, "generateName", 2, STR),
    F_ONE(struct object_meta, namespace, "namespace", 3, STR),
    F_ONE(struct object_meta, uid, "uid", 5, STR),
    F_ONE(struct object_meta, resource_version, "resourceVersion", 6, STR),
    F_ONE(struct object_meta, generation, "generation", 7, INT64),
    F_CUSTOM(struct object_meta, creation_timestamp, "creationTimestamp", 8, struct timestamp,
             &time_custom),
    F_CUSTOM(struct object_meta, deletion_timestamp, "deletionTimestamp", 9, struct timestamp,
             &time_custom),
    F_STR_MAP(struct object_meta, labels, "labels", 11),
    F_STR_MAP(struct object_meta, annotations, "annotations", 12),
    F_LIST_MSG(struct object_meta, owner_references, "ownerReferences", 13, struct owner_reference,
               &owner_reference_type),
    F_LIST(struct object_meta, finalizers, "finalizers", 14, STR),
};
const struct type object_meta_type =
    TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta", struct object_meta, object_meta_fields);

static const struct field list_meta_fields[] = {
    F_ONE(struct list_meta, resource_version, "resourceVersion", 2, STR),
    F_ONE(struct list_meta, continue_token, "continue", 3, STR),
    F_PTR(struct list_meta, remaining_item_count, "remainingItemCount", 4, INT64),
};
const struct type list_meta_type =
    TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.ListMeta", struct list_meta, list_meta_fields);

static const struct field label_selector_requirement_fields[] = {
    F_ALWAYS(struct label_selector_requirement, key, "key", 1, STR),
    F_ALWAYS(struct label_selector_requirement, operator, "operator", 2, STR),
    F_LIST(struct label_selector_requirement, values, "values", 3, STR),
};
const struct type label_selector_requirement_type =
    TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
         struct label_selector_requirement, label_selector_requirement_fields);

static const struct field label_selector_fields[] = {
    F_STR_MAP(struct label_selector, match_labels, "matchLabels", 1),
    F_LIST_MSG(struct label_selector, match_expressions, "matchExpressions", 2,
               struct label_selector_requirement, &label_selector_requirement_type),
};
const struct type label_selector_type = TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.LabelSelector",
                                             struct label_selector, label_selector_fields);

static const struct field condition_fields[] = {
    F_ALWAYS(struct condition, type, "type", 1, STR),
    F_ALWAYS(struct condition, status, "status", 2, STR),
    F_ONE(struct condition, observed_generation, "observedGeneration", 3, INT64),
    F_ALWAYS_CUSTOM(struct condition, last_transition_time, "lastTransitionTime", 4,
                    struct timestamp, &time_custom),
    F_ALWAYS(struct condition, reason, "reason", 5, STR),
    F_ALWAYS(struct condition, message, "message", 6, STR),
};
const struct type condition_type =
    TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.Condition", struct condition, condition_fields);

static const struct field preconditions_fields[] = {
    F_PTR(struct preconditions, uid, "uid", 1, STR),
    F_PTR(struct preconditions, resource_version, "resourceVersion", 2, STR),
};
const struct type preconditions_type = TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.Preconditions",
                                            struct preconditions, preconditions_fields);

static const struct field delete_options_fields[] = {
    F_PTR(struct delete_options, grace_period_seconds, "gracePeriodSeconds", 1, INT64),
    F_PTR_MSG(struct delete_options, preconditions, "preconditions", 2, struct preconditions,
              &preconditions_type),
    F_ONE(struct delete_options, propagation_policy, "propagationPolicy", 4, STR),
    F_LIST(struct delete_options, dry_run, "dryRun", 5, STR),
};
const struct type delete_options_type = TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions",
                                             struct delete_options, delete_options_fields);

const struct owner_reference *object_meta_controller(const struct object_meta *meta)
{
    for (size_t i = 0; i < meta->owner_references.n; i++)
        if (meta->owner_references.v[i].controller)
            return &meta->owner_references.v[i];
    return NULL;
}
