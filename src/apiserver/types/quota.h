/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.h - what an object counts for ResourceQuotas.
 *
 * Purpose:   upstream's quota evaluators: which resources of a quota an object uses, how much of
 *            each, and whether it is in the quota's scopes. Admission charges new objects with it,
 *            the quota controller adds up existing ones.
 * Ownership: results live in the arena; nothing is kept.
 * Threading: any thread, one call at a time per arena.
 *
 * Not counted, unlike upstream: devices of ResourceClaims as extended resources.
 */
#ifndef BERTH_APISERVER_TYPES_QUOTA_H
#define BERTH_APISERVER_TYPES_QUOTA_H

#include "apiserver/types/amounts.h"

struct quota_object {
    struct str group, plural; /* "apps", "deployments" */
    const struct json_value *object;
    int64_t now; /* wall clock, ns: a pod that should be gone by now uses nothing */
};

/* False: quotas ignore the resource, as events. */
bool quota_counts(struct str group, struct str plural);
/* Everything that the object uses, whatever quotas there are. */
struct amounts quota_usage(const struct quota_object *o, struct arena *a);
/* Whether objects of the resource can use what the quota limits under this name. */
bool quota_tracks(struct str group, struct str plural, struct str name);
/* Whether the object is in all scopes of the quota; a quota without scopes has everything. */
bool quota_in_scope(const struct json_value *quota, const struct quota_object *o, struct arena *a);
/* Whether the pod has spec.activeDeadlineSeconds: the scope Terminating. */
bool quota_pod_is_terminating(const struct json_value *pod);

#endif
