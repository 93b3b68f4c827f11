/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GangScheduling: at least minCount pods of a PodGroup with a gang policy run, or none. PreEnqueue
 * gates the pods until minCount of them exist; Permit makes them wait until minCount have a node.
 */
#include "api/scheduling.h"
#include "engine/cycle/cycle.h"
#include "engine/framework/framework.h"
#include "engine/group/gang.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

#define PERMIT_TIMEOUT (5 * 60 * (int64_t)1000000000)

static const struct pod_group *group_object(const struct plain_plugin *self, const struct pod *pod)
{
    struct object *o = objects_get(&handle_cluster(self->handle)->objects, KIND_POD_GROUP,
                                   pod->metadata.namespace, pod_group_of(pod));
    return o ? object_pod_group(o) : NULL;
}

static const struct pod_group_state *group_state(const struct plain_plugin *self,
                                                 const struct pod *pod)
{
    return pod_groups_get(&handle_cluster(self->handle)->pod_groups, pod->metadata.namespace,
                          pod_group_of(pod));
}

/* Upstream: PreEnqueue counts all pods of the group, with or without a node. */
static enum berth_code pre_enqueue(void *ctx, const struct berth_pod *pod,
                                   struct berth_status *status)
{
    const struct plain_plugin *self = ctx;
    struct str name = pod_group_of(pod->pod);
    if (str_empty(name))
        return BERTH_SUCCESS;
    const struct pod_group *group = group_object(self, pod->pod);
    if (!group) {
        status_printf(self->host, status,
                      "waiting for pods's pod group \"%.*s\" to appear in scheduling queue",
                      STR_ARG(name));
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    const struct gang_scheduling_policy *gang = group->spec.scheduling_policy.gang;
    const struct pod_group_state *state = group_state(self, pod->pod);
    if (!gang || (state && (int64_t)state->members.n >= gang->min_count))
        return BERTH_SUCCESS;
    status_printf(self->host, status,
                  "waiting for minCount pods from a gang to appear in scheduling queue");
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

/* Members without a node may be in backoff or gated: upstream activates all of them. */
static void activate_unscheduled(const struct plain_plugin *self,
                                 const struct pod_group_state *state)
{
    for (size_t i = 0; i < state->members.n; i++)
        if (state->members.v[i]->state == MEMBER_UNSCHEDULED)
            gang_activate(self->handle, state->members.v[i]->pod);
}

/* The quorum is met: assumed members wait in Permit no longer. */
static void allow_assumed(const struct plain_plugin *self, const struct pod_group_state *state)
{
    for (size_t i = 0; i < state->members.n; i++)
        if (state->members.v[i]->state == MEMBER_ASSUMED)
            gang_allow(self->handle, state->members.v[i]->pod);
}

/* A pod's schedulingGroup as JSON. */
static struct str write_group(const struct pod *pod, struct buf *out)
{
    if (pod->spec.scheduling_group)
        json_encode(&pod_scheduling_group_type, pod->spec.scheduling_group, out);
    else
        buf_add_cstr(out, "null");
    return buf_str(out);
}

static void log_quorum(const struct plain_plugin *self, const struct berth_pod *pod, bool met,
                       size_t n)
{
    struct buf group = BUF_INIT;
    engine_log_as(
        self->log, 4, "Permit.GangScheduling",
        met ? "Quorum is met for a gang. Allowing other pods from a gang waiting on permit"
            : "Quorum is not met for a gang. Waiting for another pod to allow",
        KV_POD(pod), KV_JSON("schedulingGroup", write_group(pod->pod, &group)),
        KV_INT(met ? "allowedPods" : "activatedPods", n));
    buf_release(&group);
}

/* Upstream: Permit. `state` includes this pod, which is assumed by now. */
static enum berth_code permit(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status)
{
    const struct plain_plugin *self = ctx;
    (void)node_name;
    struct str name = pod_group_of(pod->pod), namespace = pod->pod->metadata.namespace;
    if (str_empty(name))
        return BERTH_SUCCESS;
    const struct pod_group *group = group_object(self, pod->pod);
    if (!group) {
        status_printf(
            self->host, status,
            "failed to get podGroup %.*s/%.*s: podgroup.scheduling.k8s.io \"%.*s\" not found",
            STR_ARG(namespace), STR_ARG(name), STR_ARG(name));
        return BERTH_ERROR;
    }
    const struct gang_scheduling_policy *gang = group->spec.scheduling_policy.gang;
    const struct pod_group_state *state = group_state(self, pod->pod);
    if (!gang || !state)
        return BERTH_SUCCESS;
    if ((int64_t)pod_group_scheduled(state) < gang->min_count) {
        activate_unscheduled(self, state);
        if (engine_log_on(self->log, 4))
            log_quorum(self, pod, false, state->count[MEMBER_UNSCHEDULED]);
        status_printf(self->host, status, "waiting for minCount pods from a gang to be scheduled");
        *ret_timeout_ns = PERMIT_TIMEOUT;
        return BERTH_WAIT;
    }
    if (engine_log_on(self->log, 4))
        log_quorum(self, pod, true, state->count[MEMBER_ASSUMED]);
    /*
     * Not during a pod group cycle, which may still fail. Upstream allows the others even then: if
     * this member has to wait for victims after all, they run without it.
     */
    if (!cycle->in_group)
        allow_assumed(self, state);
    return BERTH_SUCCESS;
}

static void log_member_added(const struct plain_plugin *self, const struct berth_pod *pod,
                             const struct pod *added, bool same)
{
    struct buf own = BUF_INIT, other = BUF_INIT;
    engine_log(
        self->log, 5,
        same ? "another pod was added and it matches the target pod's scheduling group, which may "
               "make the pod schedulable"
             : "another pod was added but it doesn't match the target pod's scheduling group",
        KV_POD(pod), KV_JSON("schedulingGroup", write_group(pod->pod, &own)),
        KV_HINT_POD("addedPod", added),
        KV_JSON("addedPodSchedulingGroup", write_group(added, &other)));
    buf_release(&own);
    buf_release(&other);
}

static void log_group_added(const struct plain_plugin *self, const struct berth_pod *pod,
                            const struct object_meta *added, bool same)
{
    struct buf own = BUF_INIT;
    engine_log(
        self->log, 5,
        same ? "pod group was added and it matches the target pod's scheduling group, which may "
               "make "
               "the pod schedulable"
             : "pod group was added but it doesn't match the target pod's scheduling group",
        KV_POD(pod), KV_JSON("schedulingGroup", write_group(pod->pod, &own)),
        KV_META("addedPodGroup", added));
    buf_release(&own);
}

static enum berth_hint hint_member_added(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)before;
    const struct plain_plugin *self = ctx;
    const struct pod *added = hint_pod(after);
    struct str name = pod_group_of(pod->pod);
    bool same = !str_empty(name) && str_eq(name, pod_group_of(added)) &&
                str_eq(pod->pod->metadata.namespace, added->metadata.namespace);
    if (engine_log_on(self->log, 5))
        log_member_added(self, pod, added, same);
    return hint_if(same);
}

static enum berth_hint hint_group_added(void *ctx, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    (void)before;
    const struct plain_plugin *self = ctx;
    const struct object_meta *added = object_meta(object_of_abi(after));
    bool same = str_eq(pod_group_of(pod->pod), added->name) &&
                str_eq(pod->pod->metadata.namespace, added->namespace);
    if (engine_log_on(self->log, 5))
        log_group_added(self, pod, added, same);
    return hint_if(same);
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct plain_plugin *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_ADD, hint_member_added);
    self->host->register_event(r, BERTH_RESOURCE_POD_GROUP, BERTH_ACTION_ADD, hint_group_added);
}

const struct berth_plugin gang_scheduling_plugin = {
    PLUGIN_HEAD("GangScheduling"),
    .create = plain_plugin_create,
    .destroy = free,
    .events = events,
    .pre_enqueue = pre_enqueue,
    .permit = permit,
};
