/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h - server-side apply: which manager owns which fields.
 *
 * Purpose:   merges an applied configuration into an object by the lists' keys of the schema,
 *            detects fields that others own, and keeps metadata.managedFields for applies and for
 *            all other writes, as upstream's structured merge does. Objects without a schema have
 *            deduced types: maps by member, lists as a whole. The sets of managers of another
 *            version are taken as they are: the versions of a kind have the same fields.
 * Ownership: results are in the arena.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_APISERVER_PATCH_APPLY_H
#define BERTH_APISERVER_PATCH_APPLY_H

#include "apiserver/types/resource.h"
#include "codec/json_edit.h"

struct apply_request {
    const struct resource *resource;
    const struct json_value *live; /* NULL: the apply creates the object */
    struct str manager;
    struct str subresource; /* "status", "scale"; "": none */
    struct str time;        /* RFC 3339, for managedFields */
    bool force;
};

/* Fields that other managers own with other values. */
struct apply_conflict {
    struct str manager;   /* "kubectl-client-side-apply" */
    struct str operation; /* "Update" */
    struct str api_version;
    struct str subresource, time;
    struct str field; /* ".spec.replicas", ".spec.containers[name=\"x\"].image" */
};
struct apply_conflicts {
    struct apply_conflict *v;
    size_t n;
};

/*
 * 0: *ret_value is the new object with its managedFields, none of it shared with the inputs.
 * -EEXIST: *ret_conflicts, sorted. -EINVAL: managedFields is set (upstream answers with 400).
 * -EBADMSG: the configuration does not match the schema: wrong types, unknown fields, duplicate
 * keys (upstream answers with 500).
 */
int apply_patch(const struct apply_request *request, const struct json_value *applied,
                struct arena *a, struct json_value *ret_value,
                struct apply_conflicts *ret_conflicts, struct err *reterr) MUST_CHECK;

/*
 * managedFields after a write that is no apply: `changed` is the object that will be stored. Fields
 * that changed belong to the manager and are taken from others. An object whose managedFields the
 * writer emptied ([{}]) loses them all.
 */
void apply_track_update(const struct apply_request *request, struct json_value *changed,
                        struct arena *a);

#endif
