/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/event_metrics.h"

#include "engine/framework/shared_state.h"
#include "engine/object_changes.h"
#include "engine/rooms.h"

int64_t event_metrics_begin(const struct engine *e)
{
    return e->framework.metrics ? engine_now(e) : 0;
}

static void note(struct engine *e, enum berth_resource resource, unsigned action, int64_t ns)
{
    struct cluster_event event = {.resource = resource, .action = action};
    scheduler_metrics_handled(e->framework.metrics, &event, ns);
}

static void note_all(struct engine *e, enum berth_resource resource, unsigned actions, int64_t ns)
{
    unsigned action;
    while (event_next_action(&actions, &action))
        note(e, resource, action, ns);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void node_handled(struct engine *e, const struct object *before, const struct object *after,
                         int64_t ns)
{
    unsigned actions = before ? BERTH_ACTION_DELETE : BERTH_ACTION_ADD;
    if (before && after)
        actions = node_changes(object_node(before), object_node(after));
    note_all(e, BERTH_RESOURCE_NODE, actions, ns);
}

/* --- pods ------------------------------------------------------------------------------------- */

static bool is_assigned(const struct pod *pod)
{
    return !str_empty(pod->spec.node_name);
}

/* A pod was added or deleted. Unassigned pods of other schedulers do not count. */
static void note_pod(struct engine *e, const struct pod *pod, unsigned action, int64_t ns)
{
    if (is_assigned(pod))
        note(e, BERTH_RESOURCE_ASSIGNED_POD, action, ns);
    else if (framework_profile(&e->framework, pod->spec.scheduler_name))
        note(e, BERTH_RESOURCE_UNSCHEDULED_POD, action, ns);
}

static bool same_version(const struct pod *a, const struct pod *b)
{
    return str_eq(a->metadata.resource_version, b->metadata.resource_version) &&
           !str_empty(a->metadata.resource_version);
}

static void pod_updated(struct engine *e, const struct pod *before, const struct pod *after,
                        int64_t ns)
{
    if (is_assigned(before)) {
        /* Upstream counts an update of no known kind twice: pod_changes returns UPDATE_OTHER. */
        note(e, BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_UPDATE, ns);
        note_all(e, BERTH_RESOURCE_ASSIGNED_POD, pod_changes(before, after), ns);
    } else if (is_assigned(after)) {
        note_pod(e, after, BERTH_ACTION_ADD, ns);
        note_pod(e, before, BERTH_ACTION_DELETE, ns);
    } else if (framework_profile(&e->framework, before->spec.scheduler_name) &&
               !same_version(before, after)) {
        unsigned actions = pod_changes(before, after);
        note(e, BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_UPDATE, ns);
        if (!(actions & BERTH_ACTION_UPDATE_OTHER))
            note_all(e, BERTH_RESOURCE_UNSCHEDULED_POD, actions, ns);
    }
}

static void pod_handled(struct engine *e, const struct pod *before, const struct pod *after,
                        int64_t ns)
{
    if (after && pod_is_terminal(after)) {
        before = after;
        after = NULL;
    }
    if (before && after && str_eq(before->metadata.uid, after->metadata.uid)) {
        pod_updated(e, before, after, ns);
        return;
    }
    if (before)
        note_pod(e, before, BERTH_ACTION_DELETE, ns);
    if (after)
        note_pod(e, after, BERTH_ACTION_ADD, ns);
}

/* --- other objects ---------------------------------------------------------------------------- */

/* Upstream has handlers only for events that a plugin registered. */
static void lookup_handled(struct engine *e, const struct object *before,
                           const struct object *after, int64_t ns)
{
    unsigned actions = lookup_change(before, after);
    struct cluster_event event = {
        .resource = resource_of_kind(&e->framework, object_kind(after ? after : before)->id)};
    if (event.resource != BERTH_RESOURCE_COUNT && event_next_action(&actions, &event.action) &&
        queue_is_of_interest(&e->queue, &event))
        scheduler_metrics_handled(e->framework.metrics, &event, ns);
}

void event_metrics_end(struct engine *e, const struct object *before, const struct object *after,
                       int64_t began)
{
    if (!e->framework.metrics)
        return;
    int64_t ns = engine_now(e) - began;
    switch (object_kind(after ? after : before)->id) {
    case KIND_NODE:
        node_handled(e, before, after, ns);
        break;
    case KIND_POD:
        pod_handled(e, before ? object_pod(before) : NULL, after ? object_pod(after) : NULL, ns);
        break;
    default:
        lookup_handled(e, before, after, ns);
        break;
    }
}
