/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/gang.h"

#include "api/scheduling.h"
#include "engine/internal.h"

static bool is_under_way(const struct engine *e, const struct pod *pod)
{
    const struct group_cycle *g = &e->group;
    return g->active && str_eq(g->name, pod_group_of(pod)) &&
           str_eq(g->namespace, pod->metadata.namespace);
}

void gang_activate(const struct berth_handle *h, const struct berth_pod *pod)
{
    struct engine *e = h->engine;
    /*
     * Who has just been tried with its gang has its reason to wait. Upstream wakes it all the same;
     * that the others hold their nodes meanwhile is what keeps it from an endless loop.
     */
    if (e->features.on[FEATURE_BERTH_GANGS_HOLD_NOTHING] && is_under_way(e, pod->pod))
        return;
    queue_activate(&e->queue, pod_info_key(pod), engine_now(e));
}

void gang_allow(const struct berth_handle *h, const struct berth_pod *pod)
{
    struct berth_binding_op *op = binding_op_of(h->engine, pod_info_key(pod));
    if (op)
        permit_allow(op, h);
}

/* --- BerthGangsHoldNothing -------------------------------------------------------------------- */

/* How many the group needs; 0: it is no gang. Without a PodGroup there are never enough. */
static int64_t quorum(struct engine *e, struct str namespace, struct str name)
{
    struct object *o = objects_get(&e->cluster.objects, KIND_POD_GROUP, namespace, name);
    const struct gang_scheduling_policy *gang =
        o ? object_pod_group(o)->spec.scheduling_policy.gang : NULL;
    if (!o)
        return INT64_MAX;
    return gang ? gang->min_count : 0;
}

/* A promised node counts as taken for pods that are not above the one that waits for it. */
static void clear_nomination(struct engine *e, struct berth_pod *pod)
{
    const struct berth_queued_pod *queued = queue_get(&e->queue, pod_info_key(pod));
    struct str node = nominator_node_of(&e->queue.nominator, pod_info_key(pod));
    if (!queued || str_empty(node))
        return;
    struct write write = {.kind = WRITE_POD_STATUS,
                          .object = pod->object,
                          .scheduler_name = queued->profile->scheduler_name,
                          .sets_nomination = true};
    struct cluster_event event = {.resource = BERTH_RESOURCE_ASSIGNED_POD,
                                  .action = BERTH_ACTION_DELETE,
                                  .before = pod->object,
                                  .max_priority = &pod->priority};
    nominator_remove(&e->queue.nominator, pod_info_key(pod));
    e->ports.submit(e->ports.ctx, &write);
    queue_event(&e->queue, &event, engine_now(e));
}

static void let_go(struct engine *e, const struct group_member *member)
{
    struct berth_binding_op *op =
        member->state == MEMBER_ASSUMED ? binding_op_of(e, pod_info_key(member->pod)) : NULL;
    if (op && op->holds && op->waiting.waits.n)
        permit_reject(op, op->waiting.waits.v[0].handle,
                      STR("the gang has lost a member and gives up what it holds"));
}

/* Nobody waits for those that will not come. */
static void give_up_if_short(struct engine *e, struct str namespace, struct str name)
{
    const struct pod_group_state *state = pod_groups_get(&e->cluster.pod_groups, namespace, name);
    int64_t needs = quorum(e, namespace, name);
    if (!state || (int64_t)pod_group_scheduled(state) >= needs)
        return;
    for (size_t i = 0; i < state->members.n; i++)
        let_go(e, state->members.v[i]);
    for (size_t i = 0; (int64_t)state->members.n < needs && i < state->members.n; i++)
        if (state->members.v[i]->state == MEMBER_UNSCHEDULED)
            clear_nomination(e, state->members.v[i]->pod);
}

void gang_lost_member(struct engine *e, const struct pod *pod)
{
    struct str name = pod_group_of(pod);
    if (!e->features.on[FEATURE_BERTH_GANGS_HOLD_NOTHING] || str_empty(name))
        return;
    /* While its group is under way, others may still complete it. */
    if (!is_under_way(e, pod))
        give_up_if_short(e, pod->metadata.namespace, name);
}

void gang_nominated(struct engine *e, const struct pod *pod)
{
    if (!str_empty(pod->status.nominated_node_name))
        gang_lost_member(e, pod);
}

void gang_lost_group(struct engine *e, const struct object_meta *group)
{
    const struct group_cycle *g = &e->group;
    bool under_way =
        g->active && str_eq(g->name, group->name) && str_eq(g->namespace, group->namespace);
    if (e->features.on[FEATURE_BERTH_GANGS_HOLD_NOTHING] && !under_way)
        give_up_if_short(e, group->namespace, group->name);
}

void gang_submitted(struct engine *e)
{
    if (e->features.on[FEATURE_BERTH_GANGS_HOLD_NOTHING])
        give_up_if_short(e, e->group.namespace, e->group.name);
}
