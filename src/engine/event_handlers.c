/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_handlers.c - changes of objects in the cluster (upstream: eventhandlers.go).
 *
 * Updates cache and queue, and passes the change to the queue as events, which move waiting pods
 * that it may have made schedulable.
 *
 * Invariant: a pod is queued, or in the cache on its node; a pod that is being bound is both.
 */
#include "engine/bind/permit.h"
#include "engine/event_metrics.h"
#include "engine/framework/shared_state.h"
#include "engine/group/gang.h"
#include "engine/object_changes.h"
#include "engine/rooms.h"

/* Passes one event per kind of change to the queue. */
static void queue_changes(struct engine *e, enum berth_resource resource, unsigned actions,
                          struct object *before, struct object *after)
{
    struct cluster_event event = {.resource = resource, .before = before, .after = after};
    while (event_next_action(&actions, &event.action))
        queue_event(&e->queue, &event, engine_now(e));
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Logs upstream's key of a zone: region and zone, separated by ":\0:". */
static void log_tree(const struct engine *e, const char *message, const struct object *node)
{
    struct buf key = BUF_INIT, zone = BUF_INIT;
    struct str both = node_zone_key(object_node(node), &key);
    size_t region = str_find(both, '\0');
    buf_add_str(&zone, str_slice(both, 0, region));
    if (region < both.n) {
        buf_add(&zone, ":\0:", 3);
        buf_add_str(&zone, str_slice(both, region + 1, both.n));
    }
    engine_log(&e->framework.log, 2, message, KV_META("node", object_meta(node)),
               KV_STR("zone", buf_str(&zone)));
    buf_release(&key);
    buf_release(&zone);
}

static void log_node(const struct engine *e, const struct object *before,
                     const struct object *after)
{
    if (!after)
        engine_log(&e->framework.log, 3, "Delete event for node",
                   KV_META("node", object_meta(before)));
    else if (before)
        engine_log(&e->framework.log, 4, "Update event for node",
                   KV_META("node", object_meta(after)));
    else
        engine_log(&e->framework.log, 3, "Add event for node", KV_META("node", object_meta(after)));
    bool moves = !before || !after || !node_tree_same_zone(object_node(before), object_node(after));
    if (moves && before && engine_log_on(&e->framework.log, 2))
        log_tree(e, "Removed node from NodeTree", before);
    if (moves && after && engine_log_on(&e->framework.log, 2))
        log_tree(e, "Added node to NodeTree", after);
}

static void node_changed(struct engine *e, struct object *before, struct object *after)
{
    unsigned actions = BERTH_ACTION_ADD;
    log_node(e, before, after);
    if (!after) {
        queue_changes(e, BERTH_RESOURCE_NODE, BERTH_ACTION_DELETE, before, NULL);
        cache_remove_node(&e->cache, object_meta(before)->name);
        return;
    }
    cache_set_node(&e->cache, after);
    if (before)
        actions = node_changes(object_node(before), object_node(after));
    queue_changes(e, BERTH_RESOURCE_NODE, actions, before, after);
}

/* --- pods ------------------------------------------------------------------------------------- */

/*
 * The pod no longer takes room on a node: upstream treats that as the deletion of an assigned pod.
 * max_priority: the room was only nominated, so pods of a higher priority could have used it before
 * and are not moved; NULL: all pods.
 */
static void queue_freed(struct engine *e, struct object *pod, const int32_t *max_priority)
{
    struct cluster_event event = {.resource = BERTH_RESOURCE_ASSIGNED_POD,
                                  .action = BERTH_ACTION_DELETE,
                                  .before = pod,
                                  .max_priority = max_priority};
    queue_event(&e->queue, &event, engine_now(e));
}

static int32_t priority_of(const struct pod *pod)
{
    return pod->spec.priority ? *pod->spec.priority : 0;
}

/*
 * A pod is deleted while it is being bound. If Permit holds it, the binding ends. A write cannot be
 * cancelled, but the pod's room is free for others at once. Returns false if it is not being bound.
 */
static bool end_binding(struct engine *e, struct str uid)
{
    struct binding_cycle *bc = binding_cycle_of(&e->bindings, uid);
    if (!bc)
        return false;
    if (!permit_reject(bc, NULL, STR("removed")))
        cache_forget(&e->cache, uid);
    queue_freed(e, bc->pod->object, NULL);
    return true;
}

/* Pods of other schedulers are not logged. */
static void log_unscheduled(const struct engine *e, int level, const char *message,
                            const struct object *pod)
{
    if (engine_log_on(&e->framework.log, level) &&
        framework_profile(&e->framework, object_pod(pod)->spec.scheduler_name))
        engine_log(&e->framework.log, level, message, KV_META("pod", object_meta(pod)));
}

static void forget_pod(struct engine *e, struct object *before)
{
    const struct pod *pod = object_pod(before);
    struct str uid = pod->metadata.uid;
    int32_t priority = priority_of(pod);
    bool nominated = !str_empty(pod->status.nominated_node_name);
    if (str_empty(pod->spec.node_name))
        log_unscheduled(e, 3, "Delete event for unscheduled pod", before);
    else
        engine_log(&e->framework.log, 3, "Delete event for scheduled pod",
                   KV_META("pod", &pod->metadata));
    queue_delete(&e->queue, uid);
    pod_groups_remove(&e->cluster.pod_groups, uid);
    const struct cache_pod *cp = cache_pod(&e->cache, uid);
    if (cp && cp->assumed && end_binding(e, uid))
        return;
    if (cp) {
        cache_remove_pod(&e->cache, uid);
        queue_freed(e, before, NULL);
    } else if (nominated) {
        queue_freed(e, before, &priority);
    }
}

static void pod_deleted(struct engine *e, struct object *before)
{
    forget_pod(e, before);
    gang_lost_member(&e->groups, object_pod(before));
}

static bool same_version(const struct object *a, const struct object *b)
{
    struct str version = object_meta(a)->resource_version;
    return !str_empty(version) && str_eq(version, object_meta(b)->resource_version);
}

static struct berth_pod *new_pod(struct engine *e, struct object *object)
{
    struct berth_pod *pod = pod_info_new(object, &e->names);
    const struct pod_status *status = &pod->pod->status;
    if (e->framework.features.on[FEATURE_DRA_NODE_ALLOCATABLE_RESOURCES])
        pod_info_claim(pod, status->node_allocatable_resource_claim_statuses.v,
                       status->node_allocatable_resource_claim_statuses.n);
    return pod;
}

static void pod_assigned(struct engine *e, struct object *before, struct object *after)
{
    struct berth_pod *pod = new_pod(e, after);
    const struct cache_pod *known = cache_pod(&e->cache, pod_info_key(pod));
    bool is_new = !known || known->assumed;
    bool was_assigned = before && !str_empty(object_pod(before)->spec.node_name);
    if (was_assigned)
        engine_log(&e->framework.log, 4, "Update event for scheduled pod", KV_POD(pod));
    else
        engine_log(&e->framework.log, 3, "Add event for scheduled pod", KV_POD(pod));
    queue_delete(&e->queue, pod_info_key(pod));
    pod_groups_set(&e->cluster.pod_groups, pod);
    cache_set_pod(&e->cache, pod);
    pod_info_unref(pod);
    if (!is_new && before && same_version(before, after))
        return; /* the same version in another encoding */
    if (is_new || !before)
        queue_changes(e, BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_ADD, NULL, after);
    else
        queue_changes(e, BERTH_RESOURCE_ASSIGNED_POD,
                      pod_changes(object_pod(before), object_pod(after)), before, after);
    if (before && !was_assigned)
        log_unscheduled(e, 3, "Delete event for unscheduled pod", before);
}

static void queued_pod_changed(struct engine *e, struct object *before, struct object *after)
{
    const struct pod *old = object_pod(before), *new = object_pod(after);
    struct str nominated = old->status.nominated_node_name;
    int32_t priority = priority_of(old);
    struct berth_pod *pod = new_pod(e, after);
    pod_groups_set(&e->cluster.pod_groups, pod);
    queue_update(&e->queue, pod, before, pod_changes(old, new), engine_now(e));
    pod_info_unref(pod);
    if (!str_empty(nominated) && !str_eq(nominated, new->status.nominated_node_name))
        queue_freed(e, before, &priority);
    gang_nominated(&e->groups, new);
}

/* GangScheduling gates a group until it has enough members: a new one may complete it. */
static void queue_new_pod(struct engine *e, struct berth_pod *pod, struct profile *profile)
{
    struct binding_cycle *bc = binding_cycle_of(&e->bindings, pod_info_key(pod));
    if (bc) {
        queue_restore(&e->queue, bc->queued, pod, profile);
        return;
    }
    queue_add(&e->queue, pod, profile, engine_now(e));
    if (e->framework.features.on[FEATURE_GANG_SCHEDULING] && pod->pod->spec.scheduling_group)
        queue_changes(e, BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_ADD, NULL, pod->object);
}

/* The same version once more, perhaps in another encoding (OBJECT_KEEP_JSON): not an event. */
static void replace_pod(struct engine *e, struct object *object)
{
    struct berth_pod *pod = new_pod(e, object);
    pod_groups_set(&e->cluster.pod_groups, pod);
    queue_update(&e->queue, pod, NULL, 0, engine_now(e));
    pod_info_unref(pod);
}

static void pod_unassigned(struct engine *e, struct object *before, struct object *after)
{
    const struct pod *body = object_pod(after);
    struct str uid = body->metadata.uid;
    struct profile *profile = framework_profile(&e->framework, body->spec.scheduler_name);
    /* A pod whose profile was removed by a reload may still be in flight. */
    if (!profile && !queue_get(&e->queue, uid))
        return;
    if (before && same_version(before, after)) {
        replace_pod(e, after);
        return;
    }
    if (cache_pod(&e->cache, uid)) {
        /* It is assumed on a node: only a deletion ends its binding. */
        bool is_deleted = body->metadata.deletion_timestamp.set &&
                          !(before && object_meta(before)->deletion_timestamp.set);
        if (is_deleted)
            end_binding(e, uid);
        struct berth_pod *pod = new_pod(e, after);
        pod_groups_set(&e->cluster.pod_groups, pod);
        queue_update(&e->queue, pod, before, 0, engine_now(e));
        /* The assumed pod takes its room already: a nomination would count it twice. */
        nominator_remove(&e->queue.nominator, uid);
        pod_info_unref(pod);
        return;
    }
    log_unscheduled(e, before ? 4 : 3,
                    before ? "Update event for unscheduled pod" : "Add event for unscheduled pod",
                    after);
    if (before && queue_get(&e->queue, uid)) {
        queued_pod_changed(e, before, after);
        return;
    }
    struct berth_pod *pod = new_pod(e, after);
    pod_groups_set(&e->cluster.pod_groups, pod);
    if (!queue_get(&e->queue, uid))
        queue_new_pod(e, pod, profile);
    else
        queue_update(&e->queue, pod, NULL, BERTH_ACTION_UPDATE_OTHER, engine_now(e));
    pod_info_unref(pod);
}

static void pod_changed(struct engine *e, struct object *before, struct object *after)
{
    /* Upstream: a pod that was deleted and created again under its name may come as one update. */
    if (before && after && !str_eq(object_meta(before)->uid, object_meta(after)->uid)) {
        pod_deleted(e, before);
        before = NULL;
    }
    if (!after || pod_is_terminal(object_pod(after)))
        pod_deleted(e, after ? after : before);
    else if (!str_empty(object_pod(after)->spec.node_name))
        pod_assigned(e, before, after);
    else
        pod_unassigned(e, before, after);
}

/* --- other objects ---------------------------------------------------------------------------- */

static bool is_assigned(const struct object *pod)
{
    return !str_empty(object_pod(pod)->spec.node_name);
}

/* Shared states of plugins learn of a change before the queue asks their hints. */
static void tell_plugins(const struct engine *e, enum kind_id kind, struct object *before,
                         struct object *after)
{
    enum berth_resource resource = resource_of_kind(&e->framework, kind);
    if (kind == KIND_POD)
        resource = is_assigned(after ? after : before) ? BERTH_RESOURCE_ASSIGNED_POD
                                                       : BERTH_RESOURCE_UNSCHEDULED_POD;
    if (resource != BERTH_RESOURCE_COUNT)
        shared_states_changed(&e->framework, resource, before, after);
}

/* An object that plugins look up, which may also be one that pods wait for. */
static void lookup_changed(struct engine *e, enum kind_id kind, struct object *before,
                           struct object *after)
{
    enum berth_resource resource = resource_of_kind(&e->framework, kind);
    if (resource != BERTH_RESOURCE_COUNT)
        queue_changes(e, resource, lookup_change(before, after), before, after);
    if (kind == KIND_POD_GROUP && !after)
        gang_lost_group(&e->groups, object_meta(before));
}

/*
 * Puts the change into the listers. Returns the object that they had, with a reference: it may be
 * another one than `before`, and plugins refer to it until they are told.
 */
static struct object *change_lister(struct engine *e, struct object *before, struct object *after)
{
    const struct object *o = after ? after : before;
    const struct object_meta *meta = object_meta(o);
    struct object *had =
        objects_get(&e->cluster.objects, object_kind(o)->id, meta->namespace, meta->name);
    had = had ? object_ref(had) : NULL;
    objects_changed(&e->cluster.objects, before, after);
    return had;
}

void engine_object_changed(struct engine *e, struct object *before, struct object *after)
{
    int64_t began = event_metrics_begin(e);
    enum kind_id kind = object_kind(after ? after : before)->id;
    struct object *had = NULL;
    if (kind != KIND_NODE && kind != KIND_POD)
        had = change_lister(e, before, after);
    tell_plugins(e, kind, before, after);
    object_unref(had);
    if (kind == KIND_NODE)
        node_changed(e, before, after);
    else if (kind == KIND_POD)
        pod_changed(e, before, after);
    else
        lookup_changed(e, kind, before, after);
    event_metrics_end(e, before, after, began);
    engine_settle(e);
}
