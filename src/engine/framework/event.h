/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - a change that may make pods schedulable (upstream: ClusterEvent).
 *
 * Purpose:   what changed (resource and action), the object before and after, and the pods that the
 *            event is for.
 * Ownership: borrows its objects; event_keep makes a copy with references, event_drop frees it.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_EVENT_H
#define BERTH_ENGINE_FRAMEWORK_EVENT_H

#include "api/object.h"
#include "base/buf.h"
#include "engine/ports/abi.h"

struct cluster_event {
    enum berth_resource resource;
    unsigned action;   /* one bit of enum berth_action, or BERTH_ACTION_UPDATE or _ALL */
    const char *label; /* shown instead of resource and action; static text; NULL: none */
    struct object *before, *after;
    const int32_t *max_priority; /* only pods of at most this priority; NULL: all */
    struct str except;           /* not for the pod with this UID; empty: for all */
};

/* Labels of events that are for every pod, whichever plugin rejected it. */
#define EVENT_FORCE_ACTIVATE        "ForceActivate"
#define EVENT_UNSCHEDULABLE_TIMEOUT "UnschedulableTimeout"
#define EVENT_BACKOFF_COMPLETE      "BackoffComplete"
#define EVENT_POP_FROM_BACKOFF      "PopFromBackoffQ"
#define EVENT_ATTEMPT_FAILURE       "ScheduleAttemptFailure"
#define EVENT_RELOAD                "ConfigurationReload" /* berth's own */

extern const struct cluster_event event_reload;

static inline bool event_is_wildcard(const struct cluster_event *e)
{
    return e->resource == BERTH_RESOURCE_ALL;
}

/* A copy that holds references and is for all pods. */
struct cluster_event event_keep(const struct cluster_event *e);
void event_drop(struct cluster_event *e);

/* Whether a registration for (resource, actions) covers the event (upstream: MatchClusterEvents).
 */
bool event_matches(enum berth_resource resource, unsigned actions, const struct cluster_event *e);

/*
 * Takes the next action out of a set of changes: upstream has one event per kind of change. An
 * update of no known kind is a BERTH_ACTION_UPDATE. Returns false if the set is empty.
 */
bool event_next_action(unsigned *actions, unsigned *ret_action);

/*
 * Kinds of events as small numbers, for tables: first resource and action, then labels.
 */
#define EVENT_ACTIONS      16 /* each bit of enum berth_action, and one for several bits */
#define EVENT_LABELS       7  /* those above, and one for any other */
/* Kinds that only plugins watch: Add, Delete, Update. */
#define EVENT_KIND_ACTIONS 3
#define EVENT_NUMBERS \
    (BERTH_RESOURCE_COUNT * EVENT_ACTIONS + EVENT_LABELS + KIND_SPACE * EVENT_KIND_ACTIONS)
size_t event_number(const struct cluster_event *e);

/* Appends upstream's label: "NodeAdd", "AssignedPodDelete", "NodeUpdateNodeLabel". */
void event_write_label(const struct cluster_event *e, struct buf *out);

#endif
