/* SPDX-License-Identifier: Apache-2.0 */
/* NodeUnschedulable: rejects cordoned nodes unless the pod tolerates the unschedulable taint. */
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

struct node_unschedulable {
    const struct berth_host *host;
    const struct engine_log *log;
    berth_reason unschedulable;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct node_unschedulable *self = xnew(struct node_unschedulable);
    self->host = host;
    self->log = handle_log(h);
    self->unschedulable = host->reason(h, BERTH_STR("node(s) were unschedulable"));
    *ret_self = self;
    return 0;
}

static bool tolerates(const struct pod *pod)
{
    static const struct taint cordoned = {
        .key = STR_INIT(TAINT_NODE_UNSCHEDULABLE),
        .effect = STR_INIT("NoSchedule"),
    };
    /* The taint has no value: Lt and Gt never tolerate it, whether enabled or not. */
    return tolerations_tolerate(pod_tolerations(pod), &cordoned, false);
}

/* --- queueing hints --------------------------------------------------------------------------- */

static enum berth_hint after_node_change(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    const struct node_unschedulable *self = ctx;
    const struct node *old = hint_node(before), *new = hint_node(after);
    if (!new)
        return BERTH_QUEUE_SKIP;
    bool was_closed = !old || old->spec.unschedulable;
    bool helps = was_closed && !new->spec.unschedulable;
    engine_log(self->log, 5,
               helps ? "node was created or updated, pod may be schedulable now"
                     : "node was created or updated, but it doesn't make this pod schedulable",
               KV_POD(pod), KV_NODE(new));
    return hint_if(helps);
}

static enum berth_hint after_pod_change(void *ctx, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    (void)before;
    const struct node_unschedulable *self = ctx;
    const struct pod *changed = hint_pod(after);
    if (!changed)
        return BERTH_QUEUE_SKIP;
    bool own = hint_about(pod, changed), helps = own && tolerates(changed);
    engine_log(
        self->log, 5,
        helps
            ? "a new toleration is added for the unschedulable Pod, and it may make it schedulable"
        : own
            ? "a new toleration is added for the unschedulable Pod, but it's an unrelated "
              "toleration"
            : "a new toleration is added for a Pod, but it's an unrelated Pod and wouldn't change "
              "the TaintToleration plugin's decision",
        KV_HINT_POD("pod", changed));
    return hint_if(helps);
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct berth_host *host = ((struct node_unschedulable *)ctx)->host;
    host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_TAINT,
                         after_node_change);
    host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION,
                         after_pod_change);
}

/* --- filter ----------------------------------------------------------------------------------- */

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle;
    const struct node_unschedulable *self = ctx;
    if (!node->node->spec.unschedulable || tolerates(pod->pod))
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->unschedulable);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct node_unschedulable *self = ctx;
    const struct berth_columns *columns = batch->columns;
    /* Most clusters have no cordoned node: read the tolerations only if there is one. */
    if (sets_meet(batch->feasible, columns->unschedulable, columns->n) && !tolerates(pod->pod))
        batch_refuse_set(batch, columns->unschedulable, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                         self->unschedulable);
    return BERTH_SUCCESS;
}

const struct berth_plugin node_unschedulable_plugin = {
    PLUGIN_HEAD("NodeUnschedulable"),
    .create = create,
    .destroy = free,
    .events = events,
    .filter = filter,
    .filter_many = filter_many,
};
