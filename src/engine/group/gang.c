/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/gang.h"

#include "api/scheduling.h"
#include "engine/bind/permit.h"

static bool is_under_way(const struct groups *g, struct str namespace, struct str name)
{
    const struct group_cycle *c = &g->cycle;
    return c->active && str_eq(c->name, name) && str_eq(c->namespace, namespace);
}

static bool holds_nothing(const struct groups *g)
{
    return g->framework->features.on[FEATURE_BERTH_GANGS_HOLD_NOTHING];
}

void gang_activate(const struct berth_handle *h, const struct berth_pod *pod)
{
    const struct framework *fw = h->framework;
    /*
     * A member that was just tried with its gang has a reason to wait. Upstream activates it
     * anyway; there the nodes that the others hold prevent an endless loop.
     */
    if (holds_nothing(fw->groups) &&
        is_under_way(fw->groups, pod->pod->metadata.namespace, pod_group_of(pod->pod)))
        return;
    queue_activate(fw->queue, pod_info_key(pod), framework_now(fw));
}

void gang_allow(const struct berth_handle *h, const struct berth_pod *pod)
{
    struct binding_cycle *bc = binding_cycle_of(h->framework->bindings, pod_info_key(pod));
    if (bc)
        permit_allow(bc, h);
}

/* --- BerthGangsHoldNothing -------------------------------------------------------------------- */

/* How many members the group needs; 0: it is no gang; INT64_MAX without a PodGroup. */
static int64_t quorum(const struct groups *g, struct str namespace, struct str name)
{
    struct object *o =
        objects_get(&g->framework->cluster->objects, KIND_POD_GROUP, namespace, name);
    const struct gang_scheduling_policy *gang =
        o ? object_pod_group(o)->spec.scheduling_policy.gang : NULL;
    if (!o)
        return INT64_MAX;
    return gang ? gang->min_count : 0;
}

/* A nominated node counts as used for pods of at most the nominated pod's priority. */
static void clear_nomination(struct groups *g, struct berth_pod *pod)
{
    struct queue *queue = g->queue;
    const struct berth_queued_pod *queued = queue_get(queue, pod_info_key(pod));
    struct str node = nominator_node_of(&queue->nominator, pod_info_key(pod));
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
    nominator_remove(&queue->nominator, pod_info_key(pod));
    framework_submit(g->framework, &write);
    queue_event(queue, &event, framework_now(g->framework));
}

static void reject_held(struct groups *g, const struct group_member *member)
{
    struct binding_cycle *bc = member->state == MEMBER_ASSUMED
                                   ? binding_cycle_of(g->bindings, pod_info_key(member->pod))
                                   : NULL;
    if (bc && bc->holds && bc->waiting.waits.n)
        permit_reject(bc, bc->waiting.waits.v[0].handle,
                      STR("the gang has lost a member and gives up what it holds"));
}

/* A gang with fewer members than it needs gives up the nodes that it holds. */
static void give_up_if_short(struct groups *g, struct str namespace, struct str name)
{
    const struct pod_group_state *state =
        pod_groups_get(&g->framework->cluster->pod_groups, namespace, name);
    int64_t needs = quorum(g, namespace, name);
    if (!state || (int64_t)pod_group_scheduled(state) >= needs)
        return;
    for (size_t i = 0; i < state->members.n; i++)
        reject_held(g, state->members.v[i]);
    for (size_t i = 0; (int64_t)state->members.n < needs && i < state->members.n; i++)
        if (state->members.v[i]->state == MEMBER_UNSCHEDULED)
            clear_nomination(g, state->members.v[i]->pod);
}

/* While a group is under way, other members may still complete it: gang_submitted follows. */
static void lost(struct groups *g, struct str namespace, struct str name)
{
    if (holds_nothing(g) && !str_empty(name) && !is_under_way(g, namespace, name))
        give_up_if_short(g, namespace, name);
}

void gang_lost_member(struct groups *g, const struct pod *pod)
{
    lost(g, pod->metadata.namespace, pod_group_of(pod));
}

void gang_nominated(struct groups *g, const struct pod *pod)
{
    if (!str_empty(pod->status.nominated_node_name))
        gang_lost_member(g, pod);
}

void gang_lost_group(struct groups *g, const struct object_meta *group)
{
    lost(g, group->namespace, group->name);
}

void gang_submitted(struct groups *g)
{
    if (holds_nothing(g))
        give_up_if_short(g, g->cycle.namespace, g->cycle.name);
}
