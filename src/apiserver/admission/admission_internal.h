/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_internal.h - what admission plugins share.
 *
 * Purpose:   the functions of the plugins for the table in admission.c, and what they use to read
 *            other objects and to refuse a request.
 * Ownership: as admission.h; objects that are read are in the arena of the request.
 * Threading: as admission.h.
 */
#ifndef BERTH_APISERVER_ADMISSION_ADMISSION_INTERNAL_H
#define BERTH_APISERVER_ADMISSION_ADMISSION_INTERNAL_H

#include "apiserver/admission/admission.h"

/* 0, or the code of *ret_status. */
typedef int admission_fn(struct admission *adm, struct api_status *ret_status);

admission_fn namespace_lifecycle_admit, limit_ranger_admit, limit_ranger_validate,
    service_account_admit, service_account_validate, taint_nodes_by_condition_admit, priority_admit,
    priority_validate, default_toleration_seconds_admit, default_storage_class_admit,
    storage_object_in_use_protection_admit, volume_resize_validate, runtime_class_admit,
    runtime_class_validate, default_ingress_class_admit, resource_quota_validate;

/* --- requests --------------------------------------------------------------------------------- */

/* Whether the request is for this resource, or for a subresource of it. */
bool admission_is(const struct admission *adm, const char *group, const char *plural);
/* Whether it is for pods themselves, not a subresource. */
bool admission_is_pod(const struct admission *adm);

/* 403: PODS "NAME" is forbidden: WHY, with upstream's choice of the name. */
int admission_forbid(const struct admission *adm, struct api_status *ret_status, const char *fmt,
                     ...) PRINTF_LIKE(3, 4);

/* --- other objects ---------------------------------------------------------------------------- */

/* NULL: not served. */
const struct resource *admission_resource(const struct admission *adm, const char *group,
                                          const char *plural);
/* The stored object as a tree. An object that cannot be parsed is empty. */
const struct json_value *admission_parse(const struct admission *adm, const struct revision *rev);
/* The tree of the object; NULL if there is none. */
const struct json_value *admission_get(const struct admission *adm, const char *group,
                                       const char *plural, struct str namespace, struct str name);

/* The objects of a resource, in one namespace or in all (""), whose text has a part `with`. */
struct admission_range {
    const struct admission *adm;
    struct str with; /* "": any */
    struct store_range range;
    bool served;
};
void admission_range_init(struct admission_range *range, const struct admission *adm,
                          const char *group, const char *plural, struct str namespace,
                          struct str with);
const struct revision *admission_range_next(struct admission_range *range);

/* --- trees ------------------------------------------------------------------------------------ */

/* The annotation; p is NULL if there is none. */
struct str json_annotation(const struct json_value *object, const char *name);

#endif
