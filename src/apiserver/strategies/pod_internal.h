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
};
void pod_spec_validate(const struct pod_check *check, const struct json_value *spec,
                       const struct field_path *path, struct field_errors *errors);

#endif
