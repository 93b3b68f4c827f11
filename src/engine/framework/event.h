/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - something happened that may make pods schedulable (upstream: ClusterEvent).
 *
 * Purpose:   what changed (resource and action), the object before and after, and which waiting
 *            pods are meant.
 * Ownership: borrows objects; event_keep and event_drop for those who hold on to one.
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
    const char *label; /* in place of resource and action; static text */
    struct object *before, *after;
    const int32_t *max_priority; /* only pods of at most this priority; NULL: all */
    struct str except;           /* the pod with this UID is not meant; empty: all are */
};

/* Events that concern every pod, whatever turned it down. */
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

/* A copy that may be kept: holds references, forgets which pods were meant. */
struct cluster_event event_keep(const struct cluster_event *e);
void event_drop(struct cluster_event *e);

/* Does a registration for (resource, actions) cover the event? */
bool event_matches(enum berth_resource resource, unsigned actions, const struct cluster_event *e);

/*
 * Takes the next action out of a set of changes: one event per kind of change, as upstream tells
 * them; an update of no known kind is one of any kind. False where nothing is left.
 */
bool event_next_action(unsigned *actions, unsigned *ret_action);

/*
 * Events by kind, as small numbers: for tables. The labelled ones are behind those of all resources
 * and actions.
 */
#define EVENT_ACTIONS 16 /* each bit, and what has several */
#define EVENT_LABELS  7  /* the above, and any other */
#define EVENT_NUMBERS (BERTH_RESOURCE_COUNT * EVENT_ACTIONS + EVENT_LABELS)
size_t event_number(const struct cluster_event *e);

/* Appends "NodeAdd", "AssignedPodDelete", "NodeUpdateNodeLabel": what metrics and people read. */
void event_write_label(const struct cluster_event *e, struct buf *out);

#endif
