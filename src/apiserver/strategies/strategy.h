/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategy.h - what is particular to one resource.
 *
 * Purpose:   the hooks that the registry calls around a write, as upstream's rest strategies do:
 *            defaults, what a create or an update resets, validation, selectable fields. One row
 *            per resource in strategies.c; a resource without a row has none of these.
 * Ownership: constant data. Objects are trees in the arena of the request and may be changed by
 *            the hooks that take them without const.
 * Threading: any thread; hooks have no state.
 */
#ifndef BERTH_APISERVER_STRATEGIES_STRATEGY_H
#define BERTH_APISERVER_STRATEGIES_STRATEGY_H

#include "apiserver/store/store.h"
#include "apiserver/types/api_status.h"

struct strategy {
    struct str group, plural;
    /* Sets defaults, upstream's SetDefaults_…. Called for every object that is written. */
    void (*set_defaults)(struct json_value *object, struct arena *a);
    /* Resets what a client may not set: status and so on. NULL: status is removed. */
    void (*prepare_create)(struct json_value *object, struct arena *a);
    /* NULL: status is taken from old. */
    void (*prepare_update)(struct json_value *object, const struct json_value *old,
                           struct arena *a);
    /* Errors of the object itself; metadata was checked before. */
    void (*validate)(const struct json_value *object, struct field_errors *errors);
    /* Errors of the change, in addition to those of validate. */
    void (*validate_update)(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors);
    void (*validate_status)(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors);
    /* Errors of a change by a subresource other than status: pods' resize and the like. */
    void (*validate_part)(const struct json_value *object, const struct json_value *old,
                          struct str subresource, struct field_errors *errors);
    /* Members whose change increases metadata.generation, "spec"; NULL: no generation. */
    const char *const *generation;
    /* Paths for field selectors besides metadata.name and metadata.namespace, end with NULL. */
    const char *const *fields;
    /* Deletion waits this long by default (pods: spec.terminationGracePeriodSeconds). */
    int64_t (*grace_period)(const struct json_value *object);
    bool no_status;              /* the resource has no status of its own that other writes keep */
    bool allow_create_on_update; /* PUT of a missing object creates it: leases, and so on */
    bool unconditional_update;   /* PUT without resourceVersion is allowed */
    /* Warning headers of a write, upstream's; may be NULL. */
    void (*warn)(const struct json_value *object, struct buf *warnings, struct arena *a);
};

/* NULL: the resource has no row. */
const struct strategy *strategy_find(const struct resource *r);

/* --- validation of metadata, for all resources (upstream: ValidateObjectMeta) ----------------- */

void metadata_validate(const struct resource *r, const struct json_value *object,
                       struct field_errors *errors);
void metadata_validate_update(const struct resource *r, const struct json_value *object,
                              const struct json_value *old, struct field_errors *errors);

#endif
