/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pg_object.h - the custom resource PodGroup of scheduling.x-k8s.io/v1alpha1.
 *
 * Purpose:   its fields as a struct, and the label with which a pod names its group.
 * Ownership: decoded into the caller's arena; texts point into the object or the arena.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_SIGS_PG_OBJECT_H
#define BERTH_PLUGINS_SIGS_PG_OBJECT_H

#include "api/object.h"
#include "api/pod.h"
#include "api/quantity.h"

#define PG_API_VERSION "scheduling.x-k8s.io/v1alpha1"
#define PG_KIND        "PodGroup"
#define PG_RESOURCE    "podgroups"

struct pg_spec {
    int32_t min_member;
    quantity_map min_resources;
    bool has_min_resources; /* {} is not the same as none: minMember pods must have room */
    int32_t *schedule_timeout_seconds;
};

struct pg_status {
    struct str phase; /* Pending, Scheduling, Running, Finished, Failed; empty: new */
    struct str occupied_by;
    int32_t running, succeeded, failed;
    struct timestamp schedule_start_time;
};

struct pg_object {
    struct pg_spec spec;
    struct pg_status status;
};

/* The name in the label scheduling.x-k8s.io/pod-group; empty: none. */
struct str pg_label(const struct pod *pod);
/* A field that has another type than the resource's schema allows counts as absent. */
void pg_object_read(const struct object *o, struct arena *a, struct pg_object *ret_object);
/* Whether both have the same spec. */
bool pg_object_same_spec(const struct object *a, const struct object *b);
/* Appends the status as JSON, with all fields of a patch. */
void pg_status_write(const struct pg_status *status, struct buf *out);
bool pg_status_equal(const struct pg_status *a, const struct pg_status *b);

#endif
