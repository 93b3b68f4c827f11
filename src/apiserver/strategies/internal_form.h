/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal_form.h - values in error messages as upstream writes its internal structs.
 *
 * Purpose:   an error that shows a struct shows upstream's internal one as JSON: Go's names of
 *            members, and every member, null if it is not set.
 * Ownership: results are in the arena and share texts with the value.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_INTERNAL_FORM_H
#define BERTH_APISERVER_STRATEGIES_INTERNAL_FORM_H

#include "codec/json_edit.h"

/* One member; the list ends with name NULL. */
struct internal_member {
    const char *name, *member;          /* "Key", "key" */
    const struct internal_member *type; /* of an object, or of the items of a list; NULL: as is */
    const char *zero;                   /* JSON of a member that is not set; NULL: null */
};

extern const struct internal_member internal_node_term[];
extern const struct internal_member internal_volume_affinity[];
extern const struct internal_member internal_pod_claim[];
extern const struct internal_member internal_profile[];
extern const struct internal_member internal_security_context[];

/* NULL: null. */
struct json_value internal_form(const struct json_value *v, const struct internal_member *type,
                                struct arena *a);
struct json_value internal_list(const struct json_value *v, const struct internal_member *type,
                                struct arena *a);
/* A map: its keys in order. */
struct json_value internal_map(const struct json_value *v, struct arena *a);

#endif
