/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_internal.h - what the files about pods share.
 *
 * Purpose:   the parts of a PodSpec are validated in files of their own: containers, handlers,
 *            volumes, placement, security.
 * Ownership: see pod_template.h.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_POD_INTERNAL_H
#define BERTH_APISERVER_STRATEGIES_POD_INTERNAL_H

#include "apiserver/strategies/pod_template.h"
#include "base/map.h"

/* --- pod_defaults.c --------------------------------------------------------------------------- */

/* The member if it is an array; NULL otherwise. */
struct json_value *array_at(struct json_value *v, const char *member);
void pod_spec_set_defaults(struct json_value *spec, struct arena *a);
/* Sources that volumes of pods and PersistentVolumes have in common. */
void volume_source_set_defaults(struct json_value *source, struct arena *a);

/* --- pod_spec.c ------------------------------------------------------------------------------- */

/* What the parts need to know of the whole. */
struct pod_check {
    const struct json_value *meta; /* of a pod; NULL: a template */
    const struct json_value *spec;
    struct field_errors *errors;
    struct map volumes; /* by name; those that are valid */
    struct map claims;  /* names of spec.resourceClaims */
    struct str restart_policy;
    const struct json_value *os; /* NULL: none */
    const int64_t *grace_period; /* NULL: none */
    bool host_users, host_network;
};
/* check: meta is set. */
void pod_spec_validate(struct pod_check *check, const struct json_value *spec,
                       const struct field_path *path, struct field_errors *errors);

/* --- pod_annotations.c ------------------------------------------------------------------------ */

/* Annotations with a meaning; their form was checked before. */
void pod_annotations_validate(const struct json_value *meta, const struct json_value *spec,
                              const struct field_path *path, struct field_errors *errors);

/* --- pods.c ----------------------------------------------------------------------------------- */

/* "Guaranteed", …, computed from the resources of the pod. */
const char *pod_qos_class(const struct json_value *pod, struct arena *a);

/* --- pod_update.c ----------------------------------------------------------------------------- */

/* Errors of the change, in addition to those of the pod itself. */
void pod_update_validate(const struct json_value *pod, const struct json_value *old,
                         struct field_errors *errors);
void pod_status_validate(const struct json_value *pod, const struct json_value *old,
                         struct field_errors *errors);
/* Of the subresources ephemeralcontainers and resize. */
void pod_part_validate(const struct json_value *pod, const struct json_value *old,
                       struct str subresource, struct field_errors *errors);

/* --- pod_containers.c ------------------------------------------------------------------------- */

void containers_validate(const struct pod_check *check, const struct field_path *path);
void init_containers_validate(const struct pod_check *check, const struct field_path *path);
void ephemeral_containers_validate(const struct pod_check *check, const struct field_path *path);

/* --- pod_container_parts.c -------------------------------------------------------------------- */

void container_ports_validate(const struct json_value *container, const struct field_path *path,
                              struct field_errors *errors);
void container_env_validate(const struct json_value *container, const struct field_path *path,
                            struct field_errors *errors);
void container_mounts_validate(const struct pod_check *check, const struct json_value *container,
                               const struct field_path *path);
/* fieldRef and resourceFieldRef, of variables and of volumes. */
void object_field_validate(const struct json_value *ref, const char *const *expressions,
                           const struct field_path *path, struct field_errors *errors);
void resource_field_validate(const struct json_value *ref, bool volume,
                             const struct field_path *path, struct field_errors *errors);
/* A relative path without '..'; one that may be absolute. */
void field_check_descending_path(struct field_errors *errors, const struct field_path *path,
                                 struct str text);
bool field_check_no_backsteps(struct field_errors *errors, const struct field_path *path,
                              struct str text);

/* --- pod_handlers.c --------------------------------------------------------------------------- */

void container_probes_validate(const struct pod_check *check, const struct json_value *container,
                               const struct field_path *path);
void container_lifecycle_validate(const struct pod_check *check, const struct json_value *container,
                                  const struct field_path *path);
/* A number or a name. */
void port_number_or_name_validate(const struct json_value *port, const struct field_path *path,
                                  struct field_errors *errors);

/* --- pod_resources.c -------------------------------------------------------------------------- */

/* pod_level: of the pod's own resources. */
void resource_requirements_validate(const struct pod_check *check,
                                    const struct json_value *requirements, bool pod_level,
                                    const struct field_path *path);
void pod_claims_validate(struct pod_check *check, const struct field_path *path);
void pod_resources_validate(const struct pod_check *check, const struct field_path *path);

/* --- pod_security.c --------------------------------------------------------------------------- */

void container_security_validate(const struct pod_check *check, const struct json_value *context,
                                 const struct field_path *path);
void pod_security_validate(const struct pod_check *check, const struct field_path *path);
void pod_windows_validate(const struct pod_check *check, const struct field_path *path);
void pod_os_validate(const struct pod_check *check, const struct field_path *path);

/* --- pod_placement.c -------------------------------------------------------------------------- */

void affinity_validate(const struct json_value *affinity, const struct field_path *path,
                       struct field_errors *errors);
void tolerations_validate(const struct json_value *spec, const struct field_path *path,
                          struct field_errors *errors);
void spread_constraints_validate(const struct json_value *spec, const struct field_path *path,
                                 struct field_errors *errors);
/* core.NodeSelector with at least one term. */
void node_selector_validate(const struct json_value *selector, const struct field_path *path,
                            struct field_errors *errors);

/* --- pod_volumes.c ---------------------------------------------------------------------------- */

/* Also fills check->volumes. */
void volumes_validate(struct pod_check *check, const struct field_path *path);

#endif
